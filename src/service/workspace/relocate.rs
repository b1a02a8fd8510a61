//! Moves a workspace to another sandbox, because its own sandbox no longer answers.
//!
//! No files are lost: the move happens while the files are in snapshots, at the end of a stop or while a new container
//! gets them. The snapshots stay where they are, and the new sandbox is made from the newest one. The former sandbox is
//! ended as soon as it answers, with a snapshot of the files that it contains by then.

use super::NamedWorkspace;
use super::create::{draw_id, set_policy};
use super::update::claim_id_for_snapshot;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::record::{SnapshotKey, Task};
use crate::model::named::{NamedRecord, State};
use crate::model::{Code, Error, Result, SandboxId};
use crate::ports::{Ports, SandboxLedgerClient};
use crate::service::calls::failures::from_workspace;

/// The number of random ids that are tried before the move fails because all of them are taken.
const MAX_ID_ATTEMPTS: u32 = 4;

/// Moves the name to another sandbox, which gets the files at the next start.
pub(super) async fn relocate<P: Ports>(this: &NamedWorkspace<P>, error: Option<&Error>) -> Result<NamedRecord> {
    let record = this.existing()?;
    let id = match this.ports.sandbox_ledgers()?.newest_snapshot(&record.sandbox_id).await? {
        Some(newest) => {
            let origin = SnapshotKey { origin_id: newest.origin_id, snapshot_id: newest.id };
            let is_same_origin = origin.origin_id == record.sandbox_id;
            match claim_id_for_snapshot(this, &record, &origin).await {
                // The workspace has no snapshot of its own, and the snapshot that it was made from was deleted with
                // `force`.
                Err(error) if error.code() == Code::SnapshotNotFound && !is_same_origin => {
                    claim_id_without_snapshot(this, &record).await?
                }
                claimed => claimed?,
            }
        }
        None => claim_id_without_snapshot(this, &record).await?,
    };
    set_policy(this, &id, &record.settings.retention).await?;
    let cause = format!("its sandbox {:?} does not answer, so it continues in another one", record.sandbox_id.as_str());
    let problem = error.map(|error| this.problem(error));
    let now = this.now();
    this.transition(State::Stopped, &cause, |record| {
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

/// Claims an id for a workspace that has no snapshot. If the workspace was started before, it starts empty only if the
/// caller allows it.
async fn claim_id_without_snapshot<P: Ports>(this: &NamedWorkspace<P>, record: &NamedRecord) -> Result<SandboxId> {
    for _ in 0..MAX_ID_ATTEMPTS {
        let id = draw_id(this, None)?;
        this.update_record(|record| record.add_task(Task::Decommission(id.clone())))?;
        let binding = WorkspaceBinding {
            first_started_at: record.started_at,
            ..WorkspaceBinding::new((*this.address).clone(), record.settings.dir.clone())
        };
        let claimed = this.ports.sandbox_ledgers()?.claim(&id, &id, None, Some(&binding), None).await;
        if claimed.map_err(|failure| from_workspace(failure, &id))? {
            return Ok(id);
        }
        this.update_record(|record| record.tasks.retain(|task| *task.sandbox_id() != id))?;
    }
    Err(Error::new(
        Code::Internal,
        format!("All {MAX_ID_ATTEMPTS} random sandbox ids for {:?} are already taken.", this.address.name.as_str()),
        "Try again. If the error persists, report it.",
    ))
}
