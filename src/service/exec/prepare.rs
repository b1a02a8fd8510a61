//! The container in which a command may run, as the ledger of the sandbox knows it (see
//! [`guard`](crate::service::container::guard)).

use crate::model::exec_call::{ExecPurpose, ObservedForExec, PrepareExecRequest, PreparedExec};
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
        let required = this.required_container().await;
        let (container, observation) = required.map_err(|error| this.adapt_not_running(error, request.purpose))?;
        let mut observed = None;
        if let Some(ContainerObservation { last_change, observed_at, .. }) = observation {
            // The command may start another container. Until the container is verified, only an older one is accepted.
            this.mark_unverified(None)?;
            let number = this.in_process.probes_started.get() + 1;
            this.in_process.probes_started.set(number);
            observed = Some(ObservedForExec { last_change, observed_at, number, runs: false });
        }
        let dir = this.directory(None)?;
        let has_dir = this.sandbox_record()?.binding.is_some();
        Ok(PreparedExec { container, runtime: this.runtime()?, dir, has_dir, observed })
    }

    /// Verifies that the container that runs now was started before it was observed for a command. If the command runs, and no
    /// other probe or command began in the meantime, the container counts as verified.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`]
    pub async fn confirm_exec(&self, observed: ObservedForExec) -> Result<()> {
        let ObservedForExec { last_change, observed_at, number, runs } = observed;
        let status = SandboxStatus { status: Status::Healthy, last_change, identifies_container: false };
        let observation = ContainerObservation::new(status, observed_at);
        let dir = &self.config.default_dir;
        let verified = if runs {
            self.verify_unchanged(dir, &observation).await
        } else {
            self.verify_started_before(dir, observed_at).await
        };
        verified.map_err(|error| self.adapt_exec_error(error))?;
        if runs && self.in_process.probes_started.get() == number {
            self.accept_unverified()?;
        }
        Ok(())
    }

    /// Records that a command found another container than the expected one, and returns the error about it.
    pub async fn flag_replaced_container(&self) -> Result<Error> {
        self.flag_other_container().await.map(|error| self.adapt_exec_error(error))
    }

    /// Returns a container error that fits what is to run.
    fn adapt_not_running(&self, error: Error, purpose: ExecPurpose) -> Error {
        if error.code() != Code::SandboxNotRunning {
            return self.adapt_exec_error(error);
        }
        match (self.sandbox_record().ok().and_then(|sandbox| sandbox.binding), purpose) {
            // The error names the workspace.
            (Some(binding), _) if binding.superseded => error,
            (_, ExecPurpose::BackgroundCommands) => Error::commands_not_running(&self.id),
            (_, ExecPurpose::Diff) => Error::diff_not_running(&self.id),
            (Some(binding), ExecPurpose::Command) => Error::exec_not_running(&self.id)
                .with_remediation("Start the workspace, or name it in place of the sandbox: then the call starts it.")
                .of_workspace(&binding.address),
            (None, ExecPurpose::Command) => Error::exec_not_running(&self.id),
        }
    }

    /// Returns a container error with a remediation that fits commands.
    fn adapt_exec_error(&self, error: Error) -> Error {
        let is_bound = || self.sandbox_record().is_ok_and(|sandbox| sandbox.binding.is_some());
        match error.code() {
            Code::SandboxStarting => self.of_own_workspace(error.without_wake()),
            Code::SandboxReplaced if is_bound() => self.of_own_workspace(error),
            Code::SandboxReplaced => {
                error.with_remediation("Pass `revive: true` to restore the newest snapshot of the sandbox first.")
            }
            _ => error,
        }
    }
}
