//! The rules that must always hold, checked from outside of the service. The text of each violation begins with its rule.
//!
//! - here: checks of every change of a row
//! - `answers`: checks of every answer
//! - `lifecycle`: checks of every effect on a sandbox that the service starts
//! - `loss`: checks that a start reports the loss of files
//! - `named_workspaces`: checks of every answer about named workspaces
//! - `sources`: what a start restores, computed independently of the product
//! - `retention`: the decisions of a policy, computed independently of the product
//! - `autosaves`: checks of automatic saves
//! - `final_state`: checks after all work has ended
//! - `final_workspaces`: checks of named workspaces after all work has ended

pub mod answers;
pub mod autosaves;
pub mod final_state;
pub mod final_workspaces;
pub mod lifecycle;
pub mod loss;
pub mod named_workspaces;
pub mod retention;
pub mod sources;

use std::rc::Rc;

use sandbox_snapshotter::model::answer::{Removal, SnapshotState};
use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::record::{
    ContainerObservation, Derivation, DerivedState, SnapshotRecord, Stage, StoredBackup,
};
use sandbox_snapshotter::model::{BackupId, Provenance, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use crate::memory::{Backup, MemoryLedger};
use crate::world::{OwnContainer, Simulation, World};

/// The resolution of the measured age of a container, in milliseconds.
const AGE_RESOLUTION_MILLIS: i64 = 10;

/// Checks the change of a snapshot's row in the ledger of `id`.
pub fn check_snapshot_row(world: &Rc<World>, id: &SandboxId, before: Option<&SnapshotRecord>, after: &SnapshotRecord) {
    let name = &after.snapshot_id;
    match (before.map(|before| &before.stage), &after.stage) {
        (Some(Stage::Creating(making)), Stage::Ready { stored }) => {
            world.count("snapshots");
            if after.autosave {
                world.count("automatic snapshots");
            }
            if world.crashed_at.borrow().get(id).is_some_and(|at| *at > after.began_at.as_millis()) {
                world.count("snapshots completed after a crash");
            }
            let binding = world.ledger(id).sandbox().unwrap().and_then(|sandbox| sandbox.binding);
            if !after.rescue && binding.is_none_or(|binding| sources::can_restore(after, &binding.start.dir)) {
                world.history.borrow_mut().captured.insert(id.clone());
            }
            loss::note_saved(world, id, stored);
            check_capture(world, id, &making.observation, after, stored);
            check_continuity(world, id, making.adopts, after, stored);
        }
        (Some(Stage::Ready { stored: before }), Stage::Ready { stored }) => {
            let is_intact = is_restorable(world, stored);
            if before.damage.is_none() && stored.damage.is_some() && is_intact {
                world.report_violation(
                    "rule 7, only real damage is recorded",
                    &format_args!("{name}: {:?}", stored.damage),
                );
            }
        }
        (Some(Stage::Ready { .. }), Stage::Deleting { removal, .. } | Stage::Deleted { removal, .. }) => {
            check_removal(world, id, after, removal);
        }
        // The application can import its own backup again after its snapshot was removed.
        (None | Some(Stage::Deleted { .. }), Stage::Ready { stored }) if stored.imported => {
            let mut history = world.history.borrow_mut();
            if history.evicted.contains(name) {
                history.reimported.insert(name.clone());
            }
        }
        (Some(Stage::Deleting { .. } | Stage::Deleted { .. }), Stage::Ready { .. } | Stage::Creating(_)) => {
            world.report_violation("rule 1, a deleted snapshot stays deleted", &format_args!("{name} is back"));
        }
        (Some(Stage::Deleting { .. }), Stage::Deleted { stored, .. }) => {
            let bucket = world.bucket.borrow();
            if bucket.get(stored.backup.id()).is_some_and(|backup| backup.owner().is_some()) {
                world.report_violation(
                    "rule 4, a deleted snapshot has no backup in R2",
                    &format_args!("{name} still has one"),
                );
            }
        }
        _ => {}
    }
}

/// Checks the change of the row of a sandbox that is made from a snapshot.
pub fn check_derivation_row(world: &Rc<World>, before: Option<&Derivation>, after: &Derivation) {
    let id = &after.sandbox_id;
    match (before.map(|before| before.state), after.state) {
        // A named workspace creates its sandbox itself.
        (None, DerivedState::Ready { needs_snapshot: true }) => {
            world.history.borrow_mut().parents.insert(id.clone(), after.snapshot_id.clone());
        }
        (Some(DerivedState::Pending(_)), DerivedState::Ready { .. }) => {
            world.count("sandboxes made");
            world.with_sandbox(id, |sandbox, _| sandbox.notes.is_in_use = true);
        }
        (Some(DerivedState::Ready { .. }), DerivedState::Pending(_) | DerivedState::Ending(_)) => {
            world.report_violation("rule 3, a returned sandbox has a ready row", &format_args!("{id} is rolled back"));
        }
        (Some(DerivedState::Ending(_)), DerivedState::Ready { .. }) => {
            world.report_violation("rule 4, only returned sandboxes run", &format_args!("{id} was ending"));
        }
        (Some(DerivedState::Pending(_)), DerivedState::Ending(_)) => world.count("sandboxes rolled back"),
        _ => {}
    }
}

/// Checks the deletion of a snapshot's row.
pub fn check_deleted_snapshot_row(world: &World, row: &SnapshotRecord) {
    let name = &row.snapshot_id;
    match row.stage {
        Stage::Ready { .. } => {
            world.report_violation("rule 1, a snapshot is listed", &format_args!("the row of {name} was deleted"));
        }
        Stage::Creating(_) => {
            world.count("captures rolled back");
            if !world.backup_ids_of(name).is_empty() {
                let what = format_args!("the row of {name} was deleted first");
                world.report_violation("rule 4, every backup in R2 has a row", &what);
            }
        }
        Stage::Deleting { .. } | Stage::Deleted { .. } => {}
    }
}

/// Checks the deletion of the row of a sandbox that was made from a snapshot.
pub fn check_deleted_derivation_row(world: &World, row: &Derivation) {
    let id = &row.sandbox_id;
    match row.state {
        DerivedState::Ready { .. } => {
            let what = format_args!("the row of {id} was deleted");
            world.report_violation("rule 3, a returned sandbox has a ready row", &what);
        }
        DerivedState::Ending(_) if world.files(id).is_some() => {
            world.report_violation("rule 4, only returned sandboxes run", &format_args!("{id}"));
        }
        DerivedState::Pending(_) | DerivedState::Ending(_) => {}
    }
}

/// Checks the deletion of a backup: it must have an owner, which no longer lists it.
pub fn check_deleted_backup(world: &World, backup: &Backup<Simulation>) {
    if backup.metadata.is_none() {
        return;
    }
    let id = backup.id();
    let needs = |row: &SnapshotRecord| {
        let stored = row.stored().filter(|_| row.state() == SnapshotState::Ready);
        stored.and_then(|stored| stored.backup.delta()).is_some_and(|delta| delta.base.backup.id() == id)
    };
    for ledger in world.ledgers.borrow().values() {
        if let Some(delta) = ledger.live_snapshots().iter().find(|row| needs(row)) {
            let what = format_args!("the base of {} was deleted", delta.snapshot_id);
            world.report_violation("rule 1, a snapshot can be restored", &what);
        }
    }
    let Some(owner) = backup.owner() else {
        return world
            .report_violation("rule 9, a backup without an owner is not deleted", &format_args!("{id} was deleted"));
    };
    let ledger = world.ledgers.borrow().get(&owner.origin_id).cloned();
    let row = ledger.and_then(|ledger| ledger.snapshot(&owner.snapshot_id).unwrap());
    if row.is_some_and(|row| {
        row.state() == SnapshotState::Ready && row.stored().is_some_and(|stored| stored.backup.id() == id)
    }) {
        let what = format_args!("the backup of {} was deleted", owner.snapshot_id);
        world.report_violation("rule 1, a snapshot can be restored", &what);
    }
}

/// Checks a finished capture: it must be of the container that was observed before.
fn check_capture(
    world: &Rc<World>,
    id: &SandboxId,
    observation: &ContainerObservation,
    row: &SnapshotRecord,
    stored: &StoredBackup,
) {
    let name = &row.snapshot_id;
    let truths = world.ground_truths.borrow();
    let truth = &truths[stored.backup.id()];
    if truth.sandbox != *id || truth.captured_at < row.began_at.as_millis() {
        world.report_violation("rule 1, a snapshot matches its sandbox and time", &format_args!("{name} of {id}"));
    }
    if let Some(known) = &row.provenance
        && Some(known) != Provenance::parse(&truth.image).as_ref()
    {
        let about = format_args!("{name} of {id}: {known}, and its container ran on {}", truth.image);
        world.report_violation("rule 18, a snapshot has the provenance of its container", &about);
    }
    if !is_damaged(world, stored) && !is_restorable(world, stored) {
        world.report_violation("rule 1, a finished snapshot is complete in R2", &format_args!("{name}"));
    }
    let damaged = &world.history.borrow().damaged_backups;
    let base = stored.backup.delta().map(|delta| delta.base.backup.id());
    if base.and_then(|base| damaged.get(base)).is_some_and(|at| *at < row.began_at.as_millis()) {
        world.report_violation("rule 1, a delta has a base", &format_args!("the base of {name} was damaged before"));
    }
    let is_restoring = matches!(truth.marker, Some(ContainerMarker::Restoring(_) | ContainerMarker::Restored(_)));
    // An interrupted revival may leave its marker in a container in which no restore began. A caller may accept its files.
    let may_be_marked = row.foreign && !world.is_started_by_service(id);
    let is_ready = matches!(truth.marker, Some(ContainerMarker::Ready(_)));
    // A container that cold-started, and that a start adopted since.
    let is_adopted = || world.with_sandbox(id, |sandbox, _| sandbox.notes.adopted.contains(&truth.started_at));
    if (is_restoring && !may_be_marked) || (world.has_binding(id) && !row.foreign && !is_ready && !is_adopted()) {
        world.report_violation(
            "rule 10, only the workspace's own files are captured",
            &format_args!("{name}: {:?}", truth.marker),
        );
    }
    // A snapshot with `wake` captures any container that runs when the capture begins. The container of a named workspace is
    // identified by its marker.
    let is_other = observation.identity().is_some() && observation.identity() != truth.identity;
    let is_accepted = world.has_binding(id) || world.history.borrow().cold_started.contains(id);
    let since = if is_accepted { row.began_at } else { observation.observed_at };
    if is_other {
        let about = format_args!("{name} of {id}, of another container than the observed one");
        world.report_violation("rule 5, a replaced container is not captured", &about);
    } else if observation.identity().is_none() && truth.started_at > since.as_millis() + AGE_RESOLUTION_MILLIS {
        let late = truth.started_at - since.as_millis();
        let about = format_args!("{name} of {id}, of a container that was started {late} ms after the observation");
        world.report_violation("rule 5, a replaced container is not captured", &about);
    }
    if !truth.notes.is_used && !row.foreign && !world.history.borrow().cold_started.contains(id) {
        world.report_violation("rule 5, no unused container is captured", &format_args!("{name} of {id}"));
    }
}

/// Checks a finished capture of a sandbox without a name: it must be of the container that was captured or restored before,
/// or be a rescue snapshot.
fn check_continuity(world: &Rc<World>, id: &SandboxId, adopts: bool, row: &SnapshotRecord, stored: &StoredBackup) {
    if world.has_binding(id) {
        return;
    }
    let started_at = world.ground_truths.borrow()[stored.backup.id()].started_at;
    let own = world.with_sandbox(id, |sandbox, now| {
        // A capture that began earlier may end later.
        let own = sandbox.notes.own_container.filter(|own| own.since <= row.began_at);
        if (!row.rescue || adopts) && own == sandbox.notes.own_container {
            let runs = sandbox.container.as_ref().is_some_and(|container| container.started_at == started_at);
            sandbox.notes.set_own(OwnContainer { started_at, since: row.began_at }, runs, now);
        }
        own
    });
    if row.rescue {
        world.count("rescue snapshots");
    } else if own.is_some_and(|own| own.started_at != started_at) {
        world.report_violation(
            "rule 11, a capture continues the previous one",
            &format_args!("{} of {id}", row.snapshot_id),
        );
    }
}

/// Checks the removal of a snapshot: a caller must have requested it, or the policy must demand it.
fn check_removal(world: &Rc<World>, id: &SandboxId, row: &SnapshotRecord, removal: &Removal) {
    let name = &row.snapshot_id;
    let ledger = world.ledger(id);
    world.history.borrow_mut().evicted.insert(name.clone());
    let derivations = ledger.derived_from(std::slice::from_ref(name)).unwrap();
    let is_being_restored = derivations.iter().any(|row| matches!(row.state, DerivedState::Pending(_)));
    let has_dependents = is_being_restored || has_dependents(world, &ledger, name);
    if removal.reason == "deleted by a caller" {
        world.count("deletions");
        let mut history = world.history.borrow_mut();
        let with_base = row.base_id().and_then(|base| history.delta_delete_requests.get(base).copied());
        if let Some(force) = with_base {
            *history.delete_requests.entry(name.clone()).or_default() |= force;
        }
        let requested = history.delete_requests.get(name).copied();
        drop(history);
        match requested {
            None => world.report_violation("rule 1, no snapshot is deleted without a request", &format_args!("{name}")),
            Some(_) if is_being_restored => {
                world.report_violation("rule 6, a snapshot stays while it is restored", &format_args!("{name}"));
            }
            Some(false) if row.pinned || has_dependents => {
                world.report_violation("rule 6, a needed or pinned snapshot is not deleted", &format_args!("{name}"));
            }
            Some(_) => {}
        }
        return;
    }
    world.count("evictions");
    if row.pinned || has_dependents {
        return world.report_violation("rule 6, retention keeps a needed or pinned snapshot", &format_args!("{name}"));
    }
    if ledger.sandbox().unwrap().is_some_and(|sandbox| sandbox.decommissioned_at.is_some()) {
        return;
    }
    let sandbox = ledger.sandbox().unwrap();
    let keep_autosaves = sandbox.as_ref().and_then(|sandbox| sandbox.binding.as_ref()?.autosave_keep);
    let policy = sandbox.map(|sandbox| sandbox.policy).unwrap_or_default();
    if row.autosave {
        world.count("automatic snapshots evicted");
        return autosaves::check_eviction(world, id, row, &policy, keep_autosaves);
    }
    // The snapshots that are removed at the same moment may or may not count.
    let mut rows = retention::candidates(world, id, world.now());
    let with_removed = retention::retention_reason(&rows, name, &policy, world.now());
    rows.retain(|row| row.id == *name || !world.history.borrow().evicted.contains(&row.id));
    let without_removed = retention::retention_reason(&rows, name, &policy, world.now());
    if let Some(reason) = with_removed.and(without_removed) {
        world.report_violation("rule 6, retention follows the policy", &format_args!("{name}: {reason}"));
    }
}

/// Returns whether a sandbox that was created from a snapshot has no own snapshot yet. The sandbox was returned to a
/// caller, or its answer may have been lost.
pub fn has_dependents(world: &World, ledger: &MemoryLedger, id: &SnapshotId) -> bool {
    let history = world.history.borrow();
    let is_decommissioned = |sandbox: &SandboxId| {
        let ledger = world.ledgers.borrow().get(sandbox).cloned();
        ledger.is_some_and(|own| own.sandbox().unwrap().is_some_and(|sandbox| sandbox.decommissioned_at.is_some()))
    };
    history
        .parents
        .iter()
        .any(|(sandbox, parent)| parent == id && !history.captured.contains(sandbox) && !is_decommissioned(sandbox))
        || ledger
            .derived_from(std::slice::from_ref(id))
            .unwrap()
            .iter()
            .any(|row| row.needs_snapshot() && !history.parents.contains_key(&row.sandbox_id))
}

/// Returns whether both objects of a backup exist and the SDK restores them, and those of the base of a delta.
pub fn is_restorable(world: &World, stored: &StoredBackup) -> bool {
    let bucket = world.bucket.borrow();
    let now = Timestamp::from_millis(world.now());
    backups_of(stored).iter().all(|id| {
        bucket.get(id).is_some_and(|backup| {
            backup.is_complete() && backup.metadata.as_ref().is_some_and(|metadata| !metadata.is_expired(now))
        })
    })
}

/// Returns whether the backup of a snapshot, or of its base, was damaged by hand.
pub fn is_damaged(world: &World, stored: &StoredBackup) -> bool {
    let damaged = &world.history.borrow().damaged_backups;
    backups_of(stored).iter().any(|id| damaged.contains_key(id))
}

/// Returns the backups that a restore of a snapshot reads.
fn backups_of(stored: &StoredBackup) -> Vec<BackupId> {
    let base = stored.backup.delta().map(|delta| delta.base.backup.id().clone());
    [Some(stored.backup.id().clone()), base].into_iter().flatten().collect()
}
