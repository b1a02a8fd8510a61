//! Deletes a workspace: its name is free at once, and its snapshots are deleted as soon as no other sandbox depends on
//! them.

use super::{CoalesceKey, NamedWorkspace};
use crate::model::named::Task;
use crate::model::named::answer::DeletedWorkspace;
use crate::model::named::messages::Decommissioned;
use crate::model::named::settings::{DependsOn, Hooks};
use crate::model::named::{NamedRecord, State};
use crate::model::{Result, SandboxId};
use crate::ports::Ports;
use crate::service::CancellationToken;

impl<P: Ports> NamedWorkspace<P> {
    /// Deletes the workspace: ends its sandbox, deletes its snapshots, and frees its name. Succeeds if the workspace
    /// does not exist.
    pub async fn delete(&self, abort: CancellationToken) -> Result<DeletedWorkspace> {
        let permit = self.acquire_permit(Some(CoalesceKey::Delete))?;
        let operation = |this: Self, abort| async move { this.run_delete(&abort).await };
        self.run_to_completion(permit, abort, operation).await
    }

    async fn run_delete(&self, abort: &CancellationToken) -> Result<DeletedWorkspace> {
        let _lock = self.lock_operation(abort).await?;
        self.in_process.next_sequence();
        let name = self.address.name.clone();
        let known = self.record()?;
        let removed = known.as_ref().is_some_and(NamedRecord::exists);
        let own: Vec<SandboxId> = known.iter().flat_map(NamedRecord::sandboxes).cloned().collect();
        if removed {
            self.transition(State::Deleted, "it was deleted by a caller", |record| {
                for id in &own {
                    record.add_task(Task::Decommission(id.clone()));
                }
                clear_record(record);
            })?;
        }
        // This includes the tasks that an earlier delete could not complete.
        let mut decommissioned = self.run_tasks().await?;
        count_own_as_removed(&mut decommissioned, &own);
        let deleted = self.record()?;
        let deleted_at = deleted.as_ref().and_then(NamedRecord::deletion).map(|change| change.at);
        let tasks = deleted.map(|record| record.tasks).unwrap_or_default();
        let pending = tasks.into_iter().map(|task| task.sandbox_id().clone()).collect();
        Ok(DeletedWorkspace {
            name,
            removed,
            deleted_at,
            removed_snapshots: decommissioned.removed,
            kept: decommissioned.kept,
            platform_data_until: decommissioned.platform_data_until,
            pending,
        })
    }
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
    record.promotions.clear();
    record.former_files = None;
    record.settings.env.clear();
    record.settings.hooks = Hooks::default();
    record.settings.depends_on = DependsOn::default();
    record.creation = None;
    record.last_snapshot = None;
    record.saved_bytes = None;
    record.platform_snapshot = None;
    record.last_restore = None;
    record.problem = None;
}
