//! Moves a workspace to another sandbox, because its own sandbox no longer answers.
//!
//! No files are lost: the move happens while the files are in snapshots, at the end of a stop or while a new container
//! gets them. The snapshots stay where they are, and the new sandbox is made from the newest one. The former sandbox is
//! ended as soon as it answers, with a snapshot of the files that it contains by then.

use super::NamedWorkspace;
use crate::model::named::Task;
use crate::model::named::messages::{NewestSnapshot, SnapshotKey};
use crate::model::named::{NamedRecord, State};
use crate::model::{Code, Error, Result};
use crate::ports::{Ports, SandboxLedgerClient};

impl<P: Ports> NamedWorkspace<P> {
    /// Moves the name to another sandbox, which gets the files at the next start.
    pub(super) async fn relocate(&self, error: Option<&Error>) -> Result<NamedRecord> {
        let record = self.existing()?;
        let platform = self.ports.sandbox_ledgers()?.platform_snapshot(&record.sandbox_id).await?;
        let id = match self.ports.sandbox_ledgers()?.newest_snapshot(&record.sandbox_id).await? {
            Some(NewestSnapshot { snapshot: newest, .. }) => {
                let origin = SnapshotKey { origin_id: newest.origin_id, snapshot_id: newest.id };
                let is_same_origin = origin.origin_id == record.sandbox_id;
                match self.claim_id_for_snapshot(&record, &origin, platform.as_ref()).await {
                    // The workspace has no snapshot of its own, and the snapshot that it was made from was deleted with
                    // `force`.
                    Err(error) if error.code() == Code::SnapshotNotFound && !is_same_origin => {
                        self.claim_id_without_snapshot(&record, platform.as_ref()).await?
                    }
                    claimed => claimed?,
                }
            }
            None => self.claim_id_without_snapshot(&record, platform.as_ref()).await?,
        };
        self.set_policy(&id, &record.settings.retention).await?;
        let cause =
            format!("its sandbox {:?} does not answer, so it continues in another one", record.sandbox_id.as_str());
        let problem = error.map(|error| self.problem(error));
        let now = self.now();
        self.transition(State::Stopped, &cause, |record| {
            let former = std::mem::replace(&mut record.sandbox_id, id.clone());
            let decommission = Task::Decommission(id);
            record.tasks.retain(|task| *task != decommission);
            record.add_task(Task::StopUnused(former.clone()));
            record.former_sandbox_ids.insert(0, former);
            record.root_id = None;
            record.claimed = true;
            record.started_at.get_or_insert(now);
            record.problem = problem;
        })
    }
}
