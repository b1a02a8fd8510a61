//! The rules of automatic saves: a save that was reported is in a snapshot, a check misses no change, no save evicts a
//! snapshot of a caller, and no save counts as a use of the workspace.

use std::num::NonZeroU32;
use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::{Address, ContainerMarker, NamedRecord, State, Transition};
use sandbox_snapshotter::model::policy::Policy;
use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::model::{SandboxId, Timestamp};

use super::retention;
use crate::history::Turn;
use crate::world::World;

/// Checks a check that found no change: every file that was written in the container is in a snapshot.
pub fn check_unchanged(world: &Rc<World>, id: &SandboxId) {
    world.count("checks without a change");
    let unsaved = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref()?;
        let is_own = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        let is_saved = |file: &String| sandbox.notes.saved.contains(&container.files[file]);
        // A file that is written while a start works on the container, at the same time, may not count as changed.
        let written =
            container.notes.write_times.iter().filter(|(_, at)| **at > container.ready_at).map(|(file, _)| file);
        let mut unsaved = written.filter(|file| container.files.contains_key(*file) && !is_saved(file));
        unsaved.next().filter(|_| is_own).cloned()
    });
    if let Some(file) = unsaved {
        world.report_violation("rule 1, a check misses no change", &format_args!("{file} of {id} is in no snapshot"));
    }
}

/// Notes that a workspace accepted the end of a turn, which was reported at `requested_at`: its files are to be saved.
pub fn note_turn(world: &Rc<World>, address: &Address, requested_at: i64) {
    let Some(record) = world.workspace_store(address).stored_record() else { return };
    let sandbox_id = record.sandbox_id.clone();
    let ended_count = world.with_sandbox(&sandbox_id, |sandbox, _| sandbox.notes.ended_count);
    let turn = Turn { sandbox_id, requested_at, ended_count };
    world.history.borrow_mut().turns.insert(address.clone(), turn);
    check_turn(world, &record);
}

/// Checks that the last turn is not forgotten: its files are still to be saved, or a check, a capture, a start or a stop that
/// began after the turn handled them.
fn check_turn(world: &Rc<World>, record: &NamedRecord) {
    let Some(turn) = world.history.borrow().turns.get(&record.address).cloned() else { return };
    let is_since = |transition: &Transition| {
        transition.at.as_millis() >= turn.requested_at && !matches!(transition.to, State::Stopping | State::Active)
    };
    let is_handled = record.sandbox_id != turn.sandbox_id
        || record.history.iter().any(is_since)
        || world.with_sandbox(&turn.sandbox_id, |sandbox, _| {
            let container = sandbox.container.as_ref();
            let is_own = container.is_some_and(|it| matches!(it.marker, Some(ContainerMarker::Ready(_))));
            let captured_at = container.and_then(|it| it.notes.captured_at.last().copied()).unwrap_or_default();
            sandbox.notes.checked_at.max(captured_at) >= turn.requested_at
                || sandbox.notes.ended_count != turn.ended_count
                || !is_own
        });
    if is_handled {
        world.count("turns saved");
        world.history.borrow_mut().turns.remove(&record.address);
    } else if record.turn_ended_at.is_none() && record.unsaved_since.is_none() {
        world.history.borrow_mut().turns.remove(&record.address);
        let what = format_args!("the turn of {} at {}", record.address, turn.requested_at);
        world.report_violation("rule 1, the files of a turn are saved", &what);
    }
}

/// Checks a change of the record of a named workspace: a save is reported only if there is a snapshot, and it does not
/// change when the workspace stops.
pub fn check_record(world: &Rc<World>, before: Option<&NamedRecord>, after: &NamedRecord) {
    check_turn(world, after);
    let Some(before) = before else { return };
    let is_start = before.last_restore != after.last_restore;
    let is_transition = is_start || before.history != after.history || before.settings != after.settings;
    let is_save = before.last_saved_at != after.last_saved_at || before.unsaved_since != after.unsaved_since;
    let is_turn = before.turn_ended_at != after.turn_ended_at;
    if is_transition || before.sandbox_id != after.sandbox_id {
        return;
    }
    if (is_save || is_turn) && before.active_at != after.active_at {
        world.report_violation(
            "rule 15, a save is no use of the workspace",
            &format_args!("{} was active at {}", after.address, after.active_at),
        );
    }
    if is_turn && after.turn_ended_at.is_some() {
        world.count("turns ended");
    }
    let Some(saved_at) = after.last_saved_at.filter(|at| before.last_saved_at.is_none_or(|before| before < *at)) else {
        return;
    };
    if !has_snapshot(world, after, saved_at) {
        world.report_violation(
            "rule 1, a reported save is in a snapshot",
            &format_args!("{} was saved at {saved_at}", after.address),
        );
    }
}

/// Returns whether the workspace has a snapshot of this time, or a later one, or restored one of this time.
fn has_snapshot(world: &Rc<World>, record: &NamedRecord, saved_at: Timestamp) -> bool {
    let is_restored = record.last_restore.as_ref().is_some_and(|restore| restore.created_at >= saved_at);
    let is_platform = record.platform_snapshot.as_ref().is_some_and(|platform| platform.created_at >= saved_at);
    let was_removed = world.history.borrow().workspace_deletes_at.contains_key(&record.address);
    let rows = world.ledger(&record.sandbox_id).live_snapshots();
    let is_in_ledger = rows.iter().any(|row| {
        // A caller may delete the snapshot at the same time.
        matches!(row.state(), SnapshotState::Ready | SnapshotState::Deleting) && row.created_at() >= saved_at
    });
    let is_deleted = !world.history.borrow().delete_requests.is_empty();
    is_restored || is_platform || was_removed || is_in_ledger || is_deleted
}

/// Checks the eviction of an automatic snapshot.
pub fn check_eviction(
    world: &Rc<World>,
    id: &SandboxId,
    row: &SnapshotRecord,
    policy: &Policy,
    keep: Option<NonZeroU32>,
) {
    let keep = keep.map_or(u32::MAX, NonZeroU32::get);
    // The snapshots that are removed at the same moment may or may not count.
    let mut rows = retention::candidates(world, id, world.now());
    let with_removed = retention::must_keep_autosave(&rows, &row.snapshot_id, policy, keep, world.now());
    rows.retain(|other| other.id == row.snapshot_id || !world.history.borrow().evicted.contains(&other.id));
    let without_removed = retention::must_keep_autosave(&rows, &row.snapshot_id, policy, keep, world.now());
    if with_removed && without_removed {
        let what = format_args!("{} of {id}", row.snapshot_id);
        world.report_violation("rule 6, retention keeps the newest automatic snapshots", &what);
    }
}
