//! What must always hold, as far as it can be seen from outside of the service. Each violation begins with the rule.
//!
//! - here: what is checked on every change of a row
//! - `answers`: what is checked on every answer
//! - `lifecycle`: what is checked on every effect on a sandbox that stands for a name
//! - `names`: what is checked on every answer about named workspaces
//! - `rest`: what is checked of named workspaces when everything has come to rest
//! - `retention`: what a policy says, worked out once more
//! - `aftermath`: what is checked when everything has come to rest

pub mod answers;
pub mod final_state;
pub mod final_workspaces;
pub mod lifecycle;
pub mod named_workspaces;
pub mod retention;

use std::rc::Rc;

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::record::{Derivation, DerivedState, Removal, SnapshotRecord, Stage, StoredBackup};
use sandbox_snapshotter::model::{SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use crate::world::{CheckedLedger, OwnContainer, World};

/// How exactly the age of a container can be measured, in milliseconds.
const AGE_RESOLUTION_MILLIS: i64 = 10;

/// Checks the change of a snapshot's row in the ledger of `id`.
pub fn check_snapshot_row(world: &Rc<World>, id: &SandboxId, before: Option<&SnapshotRecord>, after: &SnapshotRecord) {
    let name = &after.snapshot_id;
    match (before.map(|before| &before.stage), &after.stage) {
        (Some(Stage::Creating(making)), Stage::Ready { stored }) => {
            world.count("snapshots");
            if world.ledger(id).crashed_at() > after.began_at.as_millis() {
                world.count("snapshots adopted");
            }
            let standing = world.ledger(id).workspace().unwrap().and_then(|workspace| workspace.binding);
            if !after.rescue && standing.is_none_or(|standing| lifecycle::can_restore(after, &standing.dir)) {
                world.history.borrow_mut().captured.insert(id.clone());
            }
            check_capture(world, id, making.observation.observed_at, after, stored);
            check_continuity(world, id, making.adopts, after, stored);
        }
        (Some(Stage::Ready { stored: before }), Stage::Ready { stored }) => {
            let is_whole = is_restorable(world, stored);
            if before.damage.is_none() && stored.damage.is_some() && is_whole {
                world.report_violation("rule 7, only damage is recorded", &format_args!("{name}: {:?}", stored.damage));
            }
        }
        (Some(Stage::Ready { .. }), Stage::Deleting { removal: end, .. }) => check_removal(world, id, after, end),
        // What was let go of an application's own backup can be imported again.
        (Some(Stage::Deleted { .. }), Stage::Ready { stored }) if stored.imported => {
            world.history.borrow_mut().reimported.insert(name.clone());
        }
        (Some(Stage::Deleting { .. } | Stage::Deleted { .. }), Stage::Ready { .. } | Stage::Creating(_)) => {
            world.report_violation("rule 1, what is gone stays gone", &format_args!("{name} is back"));
        }
        (Some(Stage::Deleting { .. }), Stage::Deleted { stored, .. }) => {
            let bucket = world.bucket.borrow();
            if bucket.get(stored.backup.id()).is_some_and(|backup| backup.parse_mark().is_some()) {
                world.report_violation(
                    "rule 4, what was let go is gone from R2",
                    &format_args!("{name} is still there"),
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
        // It is made by its own workspace.
        (None, DerivedState::Ready { needs_snapshot: true }) => {
            world.history.borrow_mut().parents.insert(id.clone(), after.snapshot_id.clone());
        }
        (Some(DerivedState::Pending(_)), DerivedState::Ready { .. }) => {
            world.count("sandboxes made");
            world.with_sandbox(id, |sandbox, _| sandbox.is_in_use = true);
        }
        (Some(DerivedState::Ready { .. }), DerivedState::Pending(_) | DerivedState::Ending(_)) => {
            world.report_violation("rule 3, a sandbox is somebody's", &format_args!("{id} is taken back"));
        }
        (Some(DerivedState::Ending(_)), DerivedState::Ready { .. }) => {
            world.report_violation("rule 4, no sandbox runs that nobody got", &format_args!("{id} was given up"));
        }
        (Some(DerivedState::Pending(_)), DerivedState::Ending(_)) => world.count("sandboxes taken back"),
        _ => {}
    }
}

/// A capture is made: it must be of the container that was seen before.
fn check_capture(world: &Rc<World>, id: &SandboxId, since: Timestamp, row: &SnapshotRecord, stored: &StoredBackup) {
    let name = &row.snapshot_id;
    let truths = world.ground_truths.borrow();
    let truth = &truths[stored.backup.id()];
    if truth.sandbox != *id || truth.captured_at < row.began_at.as_millis() {
        world.report_violation("rule 1, a snapshot is of its sandbox and time", &format_args!("{name} of {id}"));
    }
    let has_damaged_snapshot = world.history.borrow().damaged_backups.contains(stored.backup.id());
    if !has_damaged_snapshot && !is_restorable(world, stored) {
        world.report_violation("rule 1, what was made is whole in R2", &format_args!("{name}"));
    }
    let is_half_filled = matches!(truth.marker, Some(ContainerMarker::Restoring(_) | ContainerMarker::Restored(_)));
    let is_ready = matches!(truth.marker, Some(ContainerMarker::Ready(_)));
    // Of a container that woke by itself, and that a start has kept since.
    let check_named_record = || world.with_sandbox(id, |sandbox, _| sandbox.adopted.contains(&truth.started_at));
    if is_half_filled || (world.has_binding(id) && !row.foreign && !is_ready && !check_named_record()) {
        world.report_violation(
            "rule 10, only the workspace's own files are captured",
            &format_args!("{name}: {:?}", truth.marker),
        );
    }
    // What is woken is taken as it is, up to the moment at which its capture begins; and what stands for a name is known by
    // its stamp.
    let since =
        if world.has_binding(id) || world.history.borrow().cold_started.contains(id) { row.began_at } else { since };
    if truth.started_at > since.as_millis() + AGE_RESOLUTION_MILLIS {
        let late = truth.started_at - since.as_millis();
        let about = format_args!("{name} of {id}, of a container that was started {late} ms after the sighting");
        world.report_violation("rule 5, a replaced container is not captured", &about);
    }
    if truth.is_untouched && !row.foreign && !world.history.borrow().cold_started.contains(id) {
        world.report_violation("rule 5, nothing empty by accident", &format_args!("{name} of {id}"));
    }
}

/// A capture of a sandbox without a name is made: it must be of the container that was captured or restored before, or be set aside.
fn check_continuity(world: &Rc<World>, id: &SandboxId, adopts: bool, row: &SnapshotRecord, stored: &StoredBackup) {
    if world.has_binding(id) {
        return;
    }
    let started_at = world.ground_truths.borrow()[stored.backup.id()].started_at;
    let own = world.with_sandbox(id, |sandbox, _| {
        // A capture that began before may end later.
        let own = sandbox.own_container.filter(|own| own.since <= row.began_at);
        if (!row.rescue || adopts) && own == sandbox.own_container {
            sandbox.own_container = Some(OwnContainer { started_at, since: row.began_at });
        }
        own
    });
    if row.rescue {
        world.count("rescue snapshots");
    } else if own.is_some_and(|own| own.started_at != started_at) {
        world.report_violation(
            "rule 11, a capture continues the one before",
            &format_args!("{} of {id}", row.snapshot_id),
        );
    }
}

/// A snapshot is let go: somebody must have asked for it, or the policy says so.
fn check_removal(world: &Rc<World>, id: &SandboxId, row: &SnapshotRecord, end: &Removal) {
    let name = &row.snapshot_id;
    let ledger = world.ledger(id);
    world.history.borrow_mut().evicted.insert(name.clone());
    let derivations = ledger.derived_from(std::slice::from_ref(name)).unwrap();
    let may_start_container = derivations.iter().any(|row| matches!(row.state, DerivedState::Pending(_)));
    let has_dependents = may_start_container || has_dependents(world, &ledger, name);
    if end.reason == "deleted by a caller" {
        world.count("deletions");
        let asked = world.history.borrow().delete_requests.get(name).copied();
        match asked {
            None => world.report_violation("rule 1, nothing goes unasked", &format_args!("{name}")),
            Some(_) if may_start_container => {
                world.report_violation("rule 6, what is being restored stays", &format_args!("{name}"));
            }
            Some(false) if row.pinned || has_dependents => {
                world.report_violation("rule 6, what is held or pinned is not deleted", &format_args!("{name}"));
            }
            Some(_) => {}
        }
        return;
    }
    world.count("evictions");
    if row.pinned || has_dependents {
        return world.report_violation("rule 6, what is held or pinned is not let go", &format_args!("{name}"));
    }
    if ledger.workspace().unwrap().is_some_and(|workspace| workspace.decommissioned_at.is_some()) {
        return;
    }
    let policy = ledger.workspace().unwrap().map(|workspace| workspace.policy).unwrap_or_default();
    // Whether those that go at the same moment count is open.
    let mut rows = retention::candidates(world, id, world.now());
    let with_others = retention::retention_reason(&rows, name, &policy, world.now());
    rows.retain(|row| row.id == *name || !world.history.borrow().evicted.contains(&row.id));
    let without = retention::retention_reason(&rows, name, &policy, world.now());
    if let Some(why) = with_others.and(without) {
        world.report_violation("rule 6, retention lets go what the policy says", &format_args!("{name}: {why}"));
    }
}

/// Whether somebody got a sandbox from a snapshot, and has no snapshot of that sandbox yet; or may have got one whose answer
/// was lost.
pub fn has_dependents(world: &World, ledger: &CheckedLedger, id: &SnapshotId) -> bool {
    let book = world.history.borrow();
    let is_retired = |sandbox: &SandboxId| {
        let ledger = world.ledgers.borrow().get(sandbox).cloned();
        ledger
            .is_some_and(|own| own.workspace().unwrap().is_some_and(|workspace| workspace.decommissioned_at.is_some()))
    };
    book.parents
        .iter()
        .any(|(sandbox, parent)| parent == id && !book.captured.contains(sandbox) && !is_retired(sandbox))
        || ledger
            .derived_from(std::slice::from_ref(id))
            .unwrap()
            .iter()
            .any(|row| row.needs_snapshot() && !book.parents.contains_key(&row.sandbox_id))
}

/// Whether both objects of a backup are there, and the SDK restores them.
pub fn is_restorable(world: &World, stored: &StoredBackup) -> bool {
    let bucket = world.bucket.borrow();
    let now = Timestamp::from_millis(world.now());
    bucket.get(stored.backup.id()).is_some_and(|backup| {
        backup.is_complete() && backup.metadata.as_ref().is_some_and(|metadata| !metadata.is_expired(now))
    })
}
