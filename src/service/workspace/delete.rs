//! Deletes a workspace: its name is free at once, and its snapshots are deleted as soon as no other sandbox depends on
//! them.

use super::NamedWorkspace;
use super::tasks::run_tasks_with_report;
use crate::model::named::answer::DeletedWorkspace;
use crate::model::named::messages::Decommissioned;
use crate::model::named::record::Task;
use crate::model::named::settings::{DependsOn, Hooks};
use crate::model::named::{NamedRecord, State};
use crate::model::{Result, SandboxId};
use crate::ports::{Ports, WorkspaceStore};
use crate::service::CancellationToken;
use crate::service::planted::{Bug, planted};

/// Acquires the operation lock and deletes the workspace. Succeeds if the workspace does not exist.
pub(super) async fn delete<P: Ports>(this: &NamedWorkspace<P>, abort: &CancellationToken) -> Result<DeletedWorkspace> {
    let _lock = this.lock_operation(abort).await?;
    this.in_process.next_sequence();
    let name = this.address.name.clone();
    let known = this.ports.workspace_store()?.record()?;
    let removed = known.as_ref().is_some_and(NamedRecord::exists);
    let own: Vec<SandboxId> = known.iter().flat_map(NamedRecord::sandboxes).cloned().collect();
    if removed {
        this.transition(State::Deleted, "it was deleted by a caller", |record| {
            for id in own.iter().take(if planted(Bug::FormerSandboxNotDecommissioned) { 1 } else { usize::MAX }) {
                record.add_task(Task::Decommission(id.clone()));
            }
            clear_record(record);
        })?;
    }
    // This includes the tasks that an earlier delete could not complete.
    let mut decommissioned = run_tasks_with_report(this).await?;
    count_own_as_removed(&mut decommissioned, &own);
    let tasks = this.ports.workspace_store()?.record()?.map(|record| record.tasks).unwrap_or_default();
    let pending = tasks.into_iter().map(|task| task.sandbox_id().clone()).collect();
    Ok(DeletedWorkspace {
        name,
        removed,
        removed_snapshots: decommissioned.removed,
        kept: decommissioned.kept,
        pending,
    })
}

/// Counts a snapshot as removed if only sandboxes of this workspace still depend on it: the release of these references
/// is under way.
fn count_own_as_removed(decommissioned: &mut Decommissioned, own: &[SandboxId]) {
    for kept in &mut decommissioned.kept {
        kept.dependents.retain(|dependent| !own.contains(dependent));
    }
    let before = decommissioned.kept.len();
    decommissioned.kept.retain(|kept| kept.pinned || !kept.dependents.is_empty());
    decommissioned.removed += before - decommissioned.kept.len();
}

/// Removes the data that the record of a deleted workspace must not keep: secrets, commands, snapshots, sandboxes.
pub(super) fn clear_record(record: &mut NamedRecord) {
    record.former_sandbox_ids.clear();
    record.fork_calls.clear();
    record.settings.env.clear();
    record.settings.hooks = Hooks::default();
    record.settings.depends_on = DependsOn::default();
    record.creation = None;
    record.last_snapshot = None;
    record.problem = None;
}
