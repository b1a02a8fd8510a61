//! A workspace ends: its name is free at once, and its snapshots go as soon as nobody else needs them.

use super::NamedWorkspace;
use super::chores::work_off_all;
use crate::model::named::answer::DeletedWorkspace;
use crate::model::named::messages::Retired;
use crate::model::named::record::Chore;
use crate::model::named::settings::{DependsOn, Hooks};
use crate::model::named::{NamedRecord, State};
use crate::model::{Result, SandboxId};
use crate::ports::{Home, Ports};
use crate::service::Abort;
use crate::service::planted::{Bug, planted};

/// Deletes the workspace, when it is this call's turn. One that is gone already is fine.
pub(super) async fn delete<P: Ports>(this: &NamedWorkspace<P>, abort: &Abort) -> Result<DeletedWorkspace> {
    let _turn = this.turn(abort).await?;
    this.memory.next();
    let name = this.address.name.clone();
    let known = this.ports.home()?.named()?;
    let removed = known.as_ref().is_some_and(NamedRecord::exists);
    let own: Vec<SandboxId> = known.iter().flat_map(NamedRecord::sandboxes).cloned().collect();
    if removed {
        this.step(State::Deleted, "it was deleted by a caller", |record| {
            for id in own.iter().take(if planted(Bug::FormerNotRetired) { 1 } else { usize::MAX }) {
                record.add_chore(Chore::Retire(id.clone()));
            }
            forget(record);
        })?;
    }
    // Also what a delete before could not do.
    let mut retired = work_off_all(this).await?;
    leave_to_release(&mut retired, &own);
    let left = this.ports.home()?.named()?.map(|record| record.chores).unwrap_or_default();
    let pending = left.into_iter().map(|chore| chore.sandbox_id().clone()).collect();
    Ok(DeletedWorkspace { name, removed, removed_snapshots: retired.removed, kept: retired.kept, pending })
}

/// Counts those snapshots as removed that only sandboxes of this workspace still need: word that they do not is on its way.
fn leave_to_release(retired: &mut Retired, own: &[SandboxId]) {
    for kept in &mut retired.kept {
        kept.holders.retain(|holder| !own.contains(holder));
    }
    let before = retired.kept.len();
    retired.kept.retain(|kept| kept.pinned || !kept.holders.is_empty());
    retired.removed += before - retired.kept.len();
}

/// What was somebody's is not kept of a workspace that is gone: secrets, commands, snapshots, sandboxes.
pub(super) fn forget(record: &mut NamedRecord) {
    record.former.clear();
    record.forks.clear();
    record.settings.env.clear();
    record.settings.hooks = Hooks::default();
    record.settings.depends_on = DependsOn::default();
    record.creation = None;
    record.last_snapshot = None;
    record.problem = None;
}
