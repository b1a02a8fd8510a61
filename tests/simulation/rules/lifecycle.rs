//! What must always hold of sandboxes that stand for names, checked on every effect.

use std::collections::BTreeSet;
use std::rc::Rc;

use sandbox_snapshotter::model::named::{ContainerMarker, NamedRecord, State};
use sandbox_snapshotter::model::record::{SnapshotRecord, SnapshotState, WorkspaceRecord};
use sandbox_snapshotter::model::{BackupId, Directory, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use crate::world::{Container, Files, IMAGE_FILE, OwnContainer, SourceSnapshot, World};

/// How long a wish of a caller counts, in milliseconds.
const REQUEST_VALID_MILLIS: i64 = 3600 * 1000;

/// How often a stop captures what goes on changing.
const MAX_CAPTURES: usize = 3;

/// The record of a named workspace changes.
pub fn check_named_record(world: &Rc<World>, before: Option<&NamedRecord>, after: &NamedRecord) {
    let address = &after.address;
    let from = before.map(|before| before.state);
    let is_step = from.is_none_or(|from| from == after.state || from.can_become(after.state));
    if !is_step || before.is_some_and(|before| before.version > after.version) {
        world.report_violation(
            "rule 16, states follow each other",
            &format_args!("{address}: {from:?}, {}", after.state),
        );
    }
    let is_news = before.is_none_or(|before| before.state != after.state || before.sandbox_id != after.sandbox_id);
    let was_ready = world.with_sandbox(&after.sandbox_id, |sandbox, _| {
        if let Some(container) = sandbox.container.as_mut().filter(|_| after.state == State::Active) {
            container.is_handed_out |= matches!(container.marker, Some(ContainerMarker::Ready(_)));
        }
        sandbox.was_ready
    });
    if after.state == State::Active && is_news && !was_ready {
        world.report_violation("rule 11, what is active was filled", &format_args!("{address}: {}", after.sandbox_id));
    }
}

/// The row of a workspace changes.
pub fn check_workspace_record(world: &Rc<World>, before: Option<&WorkspaceRecord>, after: &WorkspaceRecord) {
    let Some(before) = before else { return };
    let id = &after.sandbox_id;
    let address = |row: &WorkspaceRecord| row.binding.as_ref().map(|standing| standing.address.clone());
    if address(before) != address(after) {
        world.report_violation("rule 14, a sandbox stands for one name", &format_args!("{id}: {:?}", address(after)));
    }
    if before.decommissioned_at.is_some() && after.decommissioned_at.is_none() {
        world.report_violation("rule 15, what is retired stays so", &format_args!("{id}"));
    }
}

/// What a sandbox might be filled from is noted as long as it is: it may change while somebody makes up their mind.
pub fn update_source_snapshots(world: &Rc<World>, id: &SandboxId) {
    let standing = world.ledger(id).workspace().unwrap().and_then(|workspace| workspace.binding);
    let source = standing.filter(|standing| standing.restore_task.is_some()).map(|_| expected_source(world, id));
    world.with_sandbox(id, |sandbox, now| match source {
        None => sandbox.source_snapshots.clear(),
        Some(source) if sandbox.source_snapshots.last().is_some_and(|(_, last)| *last == source) => {}
        Some(source) => sandbox.source_snapshots.push((now, source)),
    });
}

/// What a sandbox is to be filled from, worked out once more: its newest whole snapshot, or the one that it was made from.
pub fn expected_source(world: &Rc<World>, id: &SandboxId) -> SourceSnapshot {
    let ledger = world.ledger(id);
    let workspace = ledger.workspace().unwrap()?;
    let dir = workspace.binding?.dir;
    let own =
        ledger.live_snapshots().into_iter().find(|row| row.state() == SnapshotState::Ready && can_restore(row, &dir));
    let row = match (own, workspace.parent) {
        (Some(row), _) => row,
        (None, Some(parent)) => {
            let row = world.ledger(&parent.origin_id).snapshot(&parent.snapshot_id).unwrap()?;
            (row.state() == SnapshotState::Ready).then_some(row)?
        }
        (None, None) => return None,
    };
    let files = world.ground_truths.borrow()[row.stored()?.backup.id()].files.clone();
    Some((row.snapshot_id, files))
}

/// The files of a snapshot that a sandbox can be filled from.
pub fn files_of(world: &Rc<World>, id: &SandboxId, snapshot: &SnapshotId) -> Option<Files> {
    let parent = world.ledger(id).workspace().unwrap().and_then(|workspace| workspace.parent);
    let ledgers = [Some(id.clone()), parent.map(|parent| parent.origin_id)];
    let mut rows = ledgers.iter().flatten().filter_map(|id| world.ledger(id).snapshot(snapshot).unwrap());
    let row = rows.find(|row| row.stored().is_some())?;
    Some(world.ground_truths.borrow()[row.stored()?.backup.id()].files.clone())
}

/// Those that are being let go, or just were: whoever began before that may still restore them.
fn evicted_sources(world: &Rc<World>, id: &SandboxId) -> Vec<SourceSnapshot> {
    let ledger = world.ledger(id);
    let parent = ledger.workspace().unwrap().and_then(|workspace| workspace.parent);
    let parents = parent.and_then(|parent| world.ledger(&parent.origin_id).snapshot(&parent.snapshot_id).unwrap());
    let own = ledger.live_snapshots().into_iter().filter(|row| row.state() == SnapshotState::Deleting);
    let truths = world.ground_truths.borrow();
    let source = |row: SnapshotRecord| {
        let files = truths[row.stored()?.backup.id()].files.clone();
        Some((row.snapshot_id, files))
    };
    own.chain(parents.filter(|row| row.state() != SnapshotState::Ready)).map(source).collect()
}

/// Whether a workspace can be started from a snapshot, worked out once more.
pub fn can_restore(row: &SnapshotRecord, dir: &Directory) -> bool {
    row.excludes.is_empty() && row.gitignore != Some(true) && !row.foreign && row.dir == *dir
}

/// A container gets a stamp.
pub fn check_marker(world: &Rc<World>, id: &SandboxId, to: &ContainerMarker) {
    update_source_snapshots(world, id);
    match to {
        ContainerMarker::Restoring(_) => {}
        // Where it was begun empty, nothing else says that it is.
        ContainerMarker::Restored(_) => check_restored_files(world, id),
        ContainerMarker::Ready(_) if !world.has_binding(id) => {}
        ContainerMarker::Ready(_) => {
            let baseline = world.ledger(id).workspace().unwrap().and_then(|workspace| workspace.binding?.baseline);
            let is_empty = world.with_sandbox(id, |sandbox, _| {
                sandbox.was_ready = true;
                let container = sandbox.container.as_mut().unwrap();
                container.is_untouched = false;
                // Another image may bring other files, which can't be told from somebody's.
                let listing = (!container.files.is_empty()).then(|| format!("{:?}", container.files));
                matches!(container.marker, Some(ContainerMarker::Adopted(_))) && listing == baseline
            });
            if is_empty {
                world.report_violation("rule 11, what is kept was written by somebody", &format_args!("{id}"));
            }
        }
        ContainerMarker::Adopted(_) => world.with_sandbox(id, |sandbox, _| {
            let started_at = sandbox.container.as_ref().unwrap().started_at;
            sandbox.adopted.insert(started_at);
        }),
    }
}

/// A backup has arrived where it was applied to.
pub fn check_arrival(world: &Rc<World>, id: &SandboxId, backup: &BackupId) {
    if world.has_binding(id) {
        return check_restored_files(world, id);
    }
    let files = world.ground_truths.borrow()[backup].files.clone();
    let snapshot_exists = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref().unwrap();
        sandbox.own_container =
            Some(OwnContainer { started_at: container.started_at, since: Timestamp::from_millis(0) });
        files.iter().all(|(file, content)| container.files.get(file) == Some(content))
    });
    if !snapshot_exists {
        world.report_violation("rule 11, what has arrived is there", &format_args!("{backup} in {id}"));
    }
}

/// The files are in place: they must be those of what it is to be filled from.
fn check_restored_files(world: &Rc<World>, id: &SandboxId) {
    let since = world.busy_since(id);
    let parent = world.ledger(id).workspace().unwrap().and_then(|workspace| workspace.parent);
    let outgoing = evicted_sources(world, id);
    let allow_empty = world.history.borrow().file_requests.get(id).is_some_and(|wishes| wishes.allow_empty);
    let problem = world.with_sandbox(id, |sandbox, _| {
        let may_be_empty = allow_empty || (!sandbox.was_handed_out && parent.is_none());
        let until = sandbox.source_snapshots.iter().skip(1).map(|(at, _)| *at).chain([i64::MAX]);
        let counts = sandbox.source_snapshots.iter().zip(until).filter(|(_, until)| *until >= since);
        let sources: Vec<SourceSnapshot> = counts.map(|((_, source), _)| source.clone()).collect();
        let container = sandbox.container.as_mut().unwrap();
        let unwritten = container.restored_files();
        let base: Files =
            container.files.iter().filter(|(file, _)| **file == IMAGE_FILE).map(|(k, v)| (*k, *v)).collect();
        let is_of = |source: &&SourceSnapshot| match source {
            Some((_, files)) => {
                let is_unwritten = |file: &u8| !container.write_times.contains_key(file);
                files.iter().filter(|(file, _)| is_unwritten(file)).eq(unwritten.iter())
            }
            None => may_be_empty && unwritten == base,
        };
        container.restored_from = sources.iter().filter(is_of).cloned().collect();
        let is_outgoing = || outgoing.iter().flatten().any(|source| is_of(&&Some(source.clone())));
        let is_right = !container.restored_from.is_empty() || is_outgoing();
        (!is_right).then(|| format!("{id} has {:?}, and not one of {sources:?}", container.files))
    });
    if let Some(problem) = problem {
        world.report_violation("rule 11, a start gives the newest files", &format_args!("{problem}"));
    }
}

/// A backup is applied to a sandbox, which was asked for then. What is written after that is at the writer's own risk: nobody can
/// take it back.
pub fn check_restore(world: &Rc<World>, id: &SandboxId, backup: &BackupId, asked_at: i64) {
    if !world.has_binding(id) {
        if world.with_sandbox(id, |sandbox, _| sandbox.is_in_use) {
            world.report_violation("rule 2, no restore into what exists", &format_args!("{backup} into {id}"));
        }
        return;
    }
    let since = world.busy_since(id).min(asked_at);
    let problem = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref().unwrap();
        match &container.marker {
            Some(ContainerMarker::Restoring(_)) => None,
            Some(stamp @ (ContainerMarker::Restored(_) | ContainerMarker::Ready(_))) => {
                Some(format!("{backup} into {id}, which is {stamp}"))
            }
            Some(ContainerMarker::Adopted(_)) | None => {
                let overwritten = container.write_times.iter().find(|(_, at)| **at < since);
                overwritten.map(|(file, _)| format!("{backup} into {id}, where {file} was written"))
            }
        }
    });
    if let Some(problem) = problem {
        world.report_violation("rule 2, no restore into what exists", &format_args!("{problem}"));
    }
}

/// A sandbox is ended by the service, which asked for that then: nothing that somebody wrote may be lost unasked.
pub fn check_end(world: &Rc<World>, id: &SandboxId, asked_at: i64) {
    if !world.has_binding(id) {
        if world.with_sandbox(id, |sandbox, _| sandbox.is_in_use) {
            world.report_violation("rule 2, nobody's sandbox is destroyed", &format_args!("{id}"));
        }
        return;
    }
    let ledger = world.ledger(id);
    if ledger.workspace().unwrap().is_some_and(|workspace| workspace.decommissioned_at.is_some()) {
        return;
    }
    let wishes = world.history.borrow().file_requests.get(id).copied().unwrap_or_default();
    let is_wished = |at: Option<i64>| at.is_some_and(|at| world.now() - at < REQUEST_VALID_MILLIS);
    if is_wished(wishes.ended_unsaved_at) {
        return;
    }
    let since = world.busy_since(id);
    let deleted: BTreeSet<SnapshotId> = world.history.borrow().delete_requests.keys().cloned().collect();
    let let_go = world.history.borrow().evicted.union(&deleted).cloned().collect::<BTreeSet<_>>();
    let is_saved = |file: u8, content: u64, is_same_origin: bool| {
        // What a caller had deleted is not lost either; nor a rescue snapshot that the policy let go since.
        let gone = if is_same_origin { &deleted } else { &let_go };
        let rows_gone = gone.iter().filter_map(|id| ledger.snapshot(id).unwrap());
        ledger.live_snapshots().into_iter().chain(rows_gone).any(|row| {
            let is_restorable = if is_same_origin { !row.foreign && row.excludes.is_empty() } else { true };
            let snapshot_exists = row.state() == SnapshotState::Ready || gone.contains(&row.snapshot_id);
            is_restorable
                && snapshot_exists
                && row.stored().is_some_and(|stored| {
                    let truths = world.ground_truths.borrow();
                    truths[stored.backup.id()].files.get(&file) == Some(&content)
                })
        })
    };
    let lost = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref()?;
        let is_same_origin = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        if !is_same_origin && is_wished(wishes.discarded_at) {
            return None;
        }
        // What is written into it before it is handed out, while it is started or ended, is at the writer's own risk; and what is
        // written after its end was asked for, which nobody can take back: who asked may have died since.
        let is_sent = matches!(container.marker, Some(ContainerMarker::Restoring(_) | ContainerMarker::Restored(_)));
        let is_at_risk = |at: i64| {
            (at >= since && !container.is_handed_out) || at >= asked_at || (is_sent && at >= container.marker_call_at)
        };
        let captures = container.captured_at.iter().filter(|at| **at >= since).count();
        let is_excused =
            |at: i64| captures >= MAX_CAPTURES || is_at_risk(at) || (is_same_origin && at >= container.watched_at);
        let lost = container
            .write_times
            .iter()
            .find(|(file, at)| !is_excused(**at) && !is_saved(**file, container.files[*file], is_same_origin));
        lost.map(|(file, at)| format!("{file} in {id}, {} ms ago, {}", world.now() - at, describe_container(container)))
    });
    if let Some(lost) = lost {
        world.report_violation("rule 10, nothing that was written is lost", &format_args!("{lost}"));
    }
}

fn describe_container(container: &Container) -> String {
    format!("{:?} with {:?}, looked at {}", container.marker, container.files, container.watched_at)
}
