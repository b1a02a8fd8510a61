//! The container in which a command may run, as the ledger of the sandbox knows it.
//!
//! A command starts a new, empty container where none is running. So the command itself first checks the container, and
//! does nothing in another one than the expected one:
//!
//! | the sandbox                            | the container is recognized by                         |
//! | -------------------------------------- | ------------------------------------------------------ |
//! | belongs to a named workspace           | a ready marker, which only its starts write            |
//! | is of a class that reports identities  | its identity, from its first capture on                |
//! | was captured or restored before        | the recorded marker                                    |
//! | is new to the ledger                   | its age: it ran before this Worker observed it         |

use crate::model::exec_call::{ExecContainer, ObservedForExec, PrepareExecRequest, PreparedExec};
use crate::model::record::ContainerObservation;
use crate::model::request::LineageScope;
use crate::model::{Code, Error, Result, SandboxStatus, Status};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns in which container of the sandbox a command may run.
    ///
    /// # Errors
    /// [`Code::SandboxNotRunning`], [`Code::SandboxStarting`], [`Code::SandboxReplaced`], [`Code::CrossLineage`].
    pub async fn prepare_exec(&self, request: PrepareExecRequest) -> Result<PreparedExec> {
        self.ports.check_bindings(false)?;
        let scope = LineageScope { sandbox_id: request.lineage_scope, allow_cross_lineage: false };
        self.check_lineage_scope(&scope).await?;
        self.ensure_not_decommissioned()?;
        let this = self.in_runtime(request.runtime)?;
        let since = this.now();
        let status = this.running_status().await.map_err(|error| this.adapt_exec_error(error))?;
        let sandbox = this.sandbox_record()?;
        let observation = ContainerObservation::new(status, since);
        let mut observed = None;
        this.ensure_not_restoring().map_err(|error| this.of_own_workspace(error))?;
        let container = if sandbox.binding.is_some() {
            ExecContainer::Ready
        } else if let Some(identity) = status.identity().filter(|_| {
            // Restores leave only a marker.
            sandbox.container.is_some() || sandbox.marker.is_none()
        }) {
            this.verify_accepted(&observation).map_err(|error| this.adapt_exec_error(error))?;
            if sandbox.container.is_some_and(|own| own != identity) {
                return Err(this.replaced_error("is not the one that was captured or restored"));
            }
            ExecContainer::Identified(identity)
        } else if let Some(nonce) = sandbox.marker {
            ExecContainer::Marked(nonce)
        } else {
            // The command may start another container. Until the container is verified, only an older one is accepted.
            let unverified_since = this.mark_unverified(None)?.min(since);
            let number = this.in_process.probes_started.get() + 1;
            this.in_process.probes_started.set(number);
            observed =
                Some(ObservedForExec { last_change: status.last_change, observed_at: since, number, runs: false });
            ExecContainer::OlderThan { millis: this.now().millis_since(unverified_since) }
        };
        let dir = this.directory(None)?;
        Ok(PreparedExec { container, runtime: this.runtime()?, dir, observed })
    }

    /// Verifies that the container that was observed for a command is the one that runs now. If the command runs, and no
    /// other probe or command began in the meantime, the container counts as verified.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`]
    pub async fn confirm_exec(&self, observed: ObservedForExec) -> Result<()> {
        let ObservedForExec { last_change, observed_at, number, runs } = observed;
        let status = SandboxStatus { status: Status::Healthy, last_change, identifies_container: false };
        let observation = ContainerObservation::new(status, observed_at);
        let unchanged = self.verify_unchanged(&self.config.default_dir, &observation).await;
        unchanged.map_err(|error| self.adapt_exec_error(error))?;
        if runs && self.in_process.probes_started.get() == number {
            self.accept_unverified()?;
        }
        Ok(())
    }

    /// Records that a command found another container than the expected one, and returns the error about it.
    pub async fn flag_replaced_container(&self) -> Result<Error> {
        let sandbox = self.sandbox_record()?;
        if sandbox.binding.is_some() || sandbox.marker.is_some() {
            // The next call recognizes the container by its marker.
            return Ok(self.replaced_error("is not the one with the files of the sandbox"));
        }
        let error = self.flag_replaced(None).await;
        Ok(self.adapt_exec_error(error))
    }

    fn replaced_error(&self, how: &str) -> Error {
        self.adapt_exec_error(Error::container_replaced(&self.id, how))
    }

    /// Returns a container error with a remediation that fits commands.
    fn adapt_exec_error(&self, error: Error) -> Error {
        let binding = || self.sandbox_record().ok()?.binding;
        match (error.code(), binding()) {
            (Code::SandboxNotRunning, Some(binding)) if binding.superseded => error,
            (Code::SandboxNotRunning, Some(binding)) => Error::exec_not_running(&self.id)
                .with_remediation("Start the workspace, or name it in place of the sandbox: then the call starts it.")
                .of_workspace(&binding.address),
            (Code::SandboxNotRunning, None) => Error::exec_not_running(&self.id),
            (Code::SandboxStarting, _) => error.without_wake(),
            (Code::SandboxReplaced, Some(_)) => self.of_own_workspace(error),
            (Code::SandboxReplaced, None) => {
                error.with_remediation("Pass `revive: true` to restore the newest snapshot of the sandbox first.")
            }
            _ => error,
        }
    }
}
