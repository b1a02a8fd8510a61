//! Migrates a workspace: stops it, and moves its sandbox to another runtime. The name, the ledger, the snapshots and
//! their refs stay as they are. The next start restores the files in the new runtime.
//!
//! If the object ends between the two steps, the workspace is stopped, and the caller can repeat the call.

use super::NamedWorkspace;
use super::stop::{StopReason, stopped};
use crate::model::named::answer::StoppedWorkspace;
use crate::model::named::messages::{SandboxStopped, SwitchRuntimeRequest};
use crate::model::named::{NamedRecord, State};
use crate::model::request::MigrateRequest;
use crate::model::{Code, Error, Result, Runtime};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::CancellationToken;

impl<P: Ports> NamedWorkspace<P> {
    /// Moves the workspace to another runtime. Succeeds, and stops nothing, if it is there already.
    pub async fn migrate(&self, request: MigrateRequest, abort: CancellationToken) -> Result<StoppedWorkspace> {
        let permit = self.acquire_permit(None)?;
        let operation = |this: Self, abort| async move {
            this.existing()?;
            let _lock = this.lock_operation(&abort).await?;
            this.migrate_now(request.runtime).await
        };
        self.report_stop(self.run_to_completion(permit, abort, operation).await?)
    }

    async fn migrate_now(&self, runtime: Runtime) -> Result<StoppedWorkspace> {
        let bound = self.ports.sandbox_bindings().for_new(Some(runtime));
        self.ports.sandboxes(bound.map_err(|error| error.of_migration(runtime))?)?;
        let record = self.existing()?;
        if runtime == Runtime::Sdk012 && record.settings.storage.has_platform() {
            return Err(Error::platform_storage_unsupported(&record.sandbox_id));
        }
        if runtime == Runtime::Sdk012 && record.settings.image.is_some() {
            return Err(Error::image_prevents_migration(&record.sandbox_id));
        }
        let cause = format!("it is migrated to the runtime {runtime}");
        // The workspace keeps running if its newest snapshot shows that the other runtime cannot restore it. If an
        // earlier call was interrupted, the ledger may be ahead of the record.
        let current = if record.claimed { self.switch_runtime(&record, runtime, true).await? } else { record.runtime };
        let outcome = if current == Some(runtime) {
            if record.runtime == current {
                return Ok(stopped(&record, SandboxStopped::default()));
            }
            stopped(&record, SandboxStopped::default())
        } else {
            let outcome = self.stop_now(&cause, StopReason::Migration).await?;
            if record.claimed {
                self.switch_confirmed(runtime).await?;
            }
            outcome
        };
        let record = match self.existing()?.state {
            State::Stopped => self.transition(State::Stopped, &cause, |record| {
                record.runtime = Some(runtime);
                record.problem = None;
            })?,
            // It was never started.
            _ => self.update_record(|record| {
                record.runtime = Some(runtime);
                record.version += 1;
            })?,
        };
        Ok(StoppedWorkspace { description: (&record).into(), ..outcome })
    }

    /// Moves the sandbox of the stopped workspace to another runtime.
    async fn switch_confirmed(&self, runtime: Runtime) -> Result<Option<Runtime>> {
        match self.switch_runtime(&self.existing()?, runtime, false).await {
            Err(error) if error.code() == Code::SandboxTimeout => {
                // A call to the container may still take effect, so the workspace continues in another sandbox.
                let record = self.relocate(Some(&error)).await?;
                self.switch_runtime(&record, runtime, false).await
            }
            switched => switched,
        }
    }

    /// Asks the ledger of the sandbox to switch the runtime. Returns the one that it has then.
    async fn switch_runtime(&self, record: &NamedRecord, runtime: Runtime, dry_run: bool) -> Result<Option<Runtime>> {
        let (address, version) = (record.address.clone(), record.version);
        let request = SwitchRuntimeRequest { address, runtime, version, dry_run };
        self.ports.sandbox_ledgers()?.switch_runtime(&record.sandbox_id, &request).await
    }
}
