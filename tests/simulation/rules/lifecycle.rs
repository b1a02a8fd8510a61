//! The rules for sandboxes that the service starts, checked on every effect: those of named workspaces, and those that are
//! revived.

use std::collections::BTreeSet;
use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::{ContainerMarker, NamedRecord, State};
use sandbox_snapshotter::model::record::{SandboxRecord, SnapshotRecord};
use sandbox_snapshotter::model::{BackupId, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::loss;
use super::sources::{evicted_sources, update_source_snapshots};
use crate::world::{Container, DIR, IMAGE_FILE, OwnContainer, SourceSnapshot, World};

/// The time for which a request permits an effect, in milliseconds.
const REQUEST_VALID_MILLIS: i64 = 3600 * 1000;

/// The maximum number of captures of a stop while files change.
const MAX_CAPTURES: usize = 3;

/// Checks a change of the record of a named workspace.
pub fn check_named_record(world: &Rc<World>, before: Option<&NamedRecord>, after: &NamedRecord) {
    let address = &after.address;
    let from = before.map(|before| before.state);
    let is_valid_transition = from.is_none_or(|from| from == after.state || from.can_become(after.state));
    if !is_valid_transition || before.is_some_and(|before| before.version > after.version) {
        world.report_violation(
            "rule 16, every transition is valid",
            &format_args!("{address}: {from:?}, {}", after.state),
        );
    }
    let is_new = before.is_none_or(|before| before.state != after.state || before.sandbox_id != after.sandbox_id);
    let was_ready = world.with_sandbox(&after.sandbox_id, |sandbox, _| {
        if let Some(container) = sandbox.container.as_mut().filter(|_| after.state == State::Active) {
            container.notes.is_handed_out |= matches!(container.marker, Some(ContainerMarker::Ready(_)));
        }
        sandbox.notes.was_ready
    });
    if after.state == State::Active && is_new && !was_ready {
        world.report_violation(
            "rule 11, an active workspace was ready",
            &format_args!("{address}: {}", after.sandbox_id),
        );
    }
}

/// Checks a change of the row of a sandbox.
pub fn check_sandbox_record(world: &Rc<World>, before: Option<&SandboxRecord>, after: &SandboxRecord) {
    if let Some(platform) = after.binding.as_ref().and_then(|binding| binding.platform_snapshot.as_ref()) {
        let known = world.platform_rows.borrow_mut().insert(platform.id.clone(), platform.clone());
        if known.is_none() {
            loss::note_saved_files(world, &after.sandbox_id, &world.disk_files.borrow()[&platform.id]);
        }
    }
    let Some(before) = before else { return };
    let id = &after.sandbox_id;
    let address = |row: &SandboxRecord| row.binding.as_ref().map(|binding| binding.address.clone());
    if address(before) != address(after) {
        world.report_violation(
            "rule 14, a sandbox belongs to one named workspace",
            &format_args!("{id}: {:?}", address(after)),
        );
    }
    if before.decommissioned_at.is_some() && after.decommissioned_at.is_none() {
        world.report_violation("rule 15, a decommissioned sandbox stays decommissioned", &format_args!("{id}"));
    }
}

/// Checks a new marker of a container.
pub fn check_marker(world: &Rc<World>, id: &SandboxId, to: &ContainerMarker) {
    update_source_snapshots(world, id);
    match to {
        ContainerMarker::Restoring(_) => {}
        // After an empty start, the marker is the only effect to check.
        ContainerMarker::Restored(_) => check_restored_files(world, id),
        ContainerMarker::Ready(_) if !world.has_binding(id) => {
            let is_adopted = world.is_revived(id)
                && world
                    .with_container(id, |container, _| matches!(container.marker, Some(ContainerMarker::Adopted(_))));
            if is_adopted {
                note_own_container(world, id, Timestamp::from_millis(world.now()));
            }
        }
        ContainerMarker::Ready(_) => {
            let baseline = world.ledger(id).sandbox().unwrap().and_then(|sandbox| sandbox.binding?.start.baseline);
            let is_empty = world.with_sandbox(id, |sandbox, _| {
                sandbox.notes.was_ready = true;
                let container = sandbox.container.as_mut().unwrap();
                let is_without_restore = container.notes.restored_from.iter().flatten().next().is_none();
                if is_without_restore {
                    // A caller accepted that the workspace continues without its earlier files.
                    sandbox.notes.ended_with.clear();
                }
                container.notes.is_used = true;
                // Another image may contain other files, which cannot be distinguished from written files.
                matches!(container.marker, Some(ContainerMarker::Adopted(_))) && container.content_hash(DIR) == baseline
            });
            if is_empty {
                world.report_violation("rule 11, an adopted container holds written files", &format_args!("{id}"));
            }
        }
        ContainerMarker::Adopted(_) => world.with_sandbox(id, |sandbox, _| {
            let started_at = sandbox.container.as_ref().unwrap().started_at;
            sandbox.notes.adopted.insert(started_at);
        }),
    }
}

/// Checks that the platform stores only the workspace's own files, and that it is not the only copy of files in a container of another
/// image than the deployed one, which could not be restored. A late platform snapshot may be of a container whose image was deployed
/// when it was requested.
pub fn check_disk(world: &Rc<World>, id: &SandboxId, image: &str, requested_at: i64) {
    let since = world.busy_since(id).min(requested_at);
    let is_replaced = !world.is_deployed(image) && world.image_deployed_at.get() < since;
    let is_recent = |row: &SnapshotRecord| row.created_at() >= Timestamp::from_millis(since);
    if is_replaced && !world.ledger(id).live_snapshots().iter().any(is_recent) {
        world.report_violation("rule 11, a stored disk can be restored", &format_args!("{id}: {image}"));
    }
    let marker = world.with_container(id, |container, now| {
        container.notes.disk_stored_at.push(now);
        container.marker.clone()
    });
    if !matches!(marker, Some(ContainerMarker::Ready(_))) {
        world.report_violation(
            "rule 10, only the workspace's own files are captured",
            &format_args!("{id}: {marker:?}"),
        );
    }
}

/// Notes that the container that runs has the files of a sandbox without a name. Captures that began before `since` do not
/// continue it.
fn note_own_container(world: &Rc<World>, id: &SandboxId, since: Timestamp) {
    world.with_sandbox(id, |sandbox, now| {
        let started_at = sandbox.container.as_ref().unwrap().started_at;
        sandbox.notes.set_own(OwnContainer { started_at, since }, true, now);
    });
}

/// Checks that an applied backup has arrived in the container.
pub fn check_arrival(world: &Rc<World>, id: &SandboxId, backup: &BackupId) {
    if world.has_binding(id) {
        return check_restored_files(world, id);
    }
    let files = world.ground_truths.borrow()[backup].files.clone();
    // The application knows the id of a revived sandbox, and may write in it meanwhile.
    let is_revived = world.is_revived(id);
    let since = if is_revived { world.now() } else { 0 };
    note_own_container(world, id, Timestamp::from_millis(since));
    let has_arrived = world.with_container(id, |container, _| {
        let is_written = |file: &String| is_revived && container.notes.write_times.contains_key(file);
        files.iter().all(|(file, content)| container.files.get(file) == Some(content) || is_written(file))
    });
    if !has_arrived {
        world.report_violation("rule 11, an arrived backup is in the container", &format_args!("{backup} in {id}"));
    }
    if is_revived {
        check_restored_files(world, id);
    }
}

/// Checks the files after a restore: they must be those of an expected source.
fn check_restored_files(world: &Rc<World>, id: &SandboxId) {
    let since = world.busy_since(id);
    let parent = world.ledger(id).sandbox().unwrap().and_then(|sandbox| sandbox.parent);
    let removed = evicted_sources(world, id);
    let requests = world.history.borrow().file_requests.get(id).copied().unwrap_or_default();
    let problem = world.with_sandbox(id, |sandbox, _| {
        let has_no_files = !sandbox.notes.was_handed_out || requests.keeps_no_files;
        let may_be_empty = requests.allow_empty || (has_no_files && parent.is_none());
        let until = sandbox.notes.source_snapshots.iter().skip(1).map(|(at, _)| *at).chain([i64::MAX]);
        let valid = sandbox.notes.source_snapshots.iter().zip(until).filter(|(_, until)| *until >= since);
        let sources: Vec<SourceSnapshot> = valid.flat_map(|((_, sources), _)| sources.clone()).collect();
        let container = sandbox.container.as_mut().unwrap();
        let unwritten = container.restored_files();
        let mut base = container.files_in(DIR);
        base.retain(|file, _| file == IMAGE_FILE);
        let is_of = |source: &&SourceSnapshot| match source {
            Some((_, files)) => {
                let is_unwritten = |file: &String| !container.notes.write_times.contains_key(file);
                files.iter().filter(|(file, _)| is_unwritten(file)).eq(unwritten.iter())
            }
            None => may_be_empty && unwritten == base,
        };
        container.notes.restored_from = sources.iter().filter(is_of).cloned().collect();
        let is_removed = || removed.iter().flatten().any(|source| is_of(&&Some(source.clone())));
        let is_right = !container.notes.restored_from.is_empty() || is_removed();
        (!is_right).then(|| format!("{id} has {:?}, not the files of one of {sources:?}", container.files))
    });
    if let Some(problem) = problem {
        world.report_violation("rule 11, a start restores the newest files", &format_args!("{problem}"));
    }
}

/// Checks that a backup may be applied to a sandbox. The restore was requested at `requested_at` and cannot be stopped, so
/// files that were written later may be lost.
pub fn check_restore(world: &Rc<World>, id: &SandboxId, backup: &BackupId, requested_at: i64) {
    if !world.is_started_by_service(id) {
        if world.with_sandbox(id, |sandbox, _| sandbox.notes.is_in_use) {
            world.report_violation("rule 2, no restore overwrites files", &format_args!("{backup} into {id}"));
        }
        return;
    }
    let since = world.busy_since(id).min(requested_at);
    let own_marker = world.ledger(id).sandbox().unwrap().filter(|sandbox| sandbox.binding.is_none());
    // A late call of a capture that failed marks the next container, too. Nothing continues from that marker.
    let is_abandoned =
        |nonce: &String| own_marker.as_ref().is_some_and(|sandbox| sandbox.marker.as_ref() != Some(nonce));
    let problem = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref().unwrap();
        match &container.marker {
            Some(ContainerMarker::Restoring(_)) => None,
            Some(marker @ (ContainerMarker::Restored(_) | ContainerMarker::Ready(_)))
                if !matches!(marker, ContainerMarker::Ready(nonce) if is_abandoned(nonce)) =>
            {
                Some(format!("{backup} into {id}, which is {marker}"))
            }
            Some(_) | None => {
                let overwritten = container.notes.write_times.iter().find(|(_, at)| **at < since);
                overwritten.map(|(file, _)| format!("{backup} into {id}, where {file} was written"))
            }
        }
    });
    if let Some(problem) = problem {
        world.report_violation("rule 2, no restore overwrites files", &format_args!("{problem}"));
    }
    // The mount hides the files.
    check_no_file_lost(world, id, requested_at);
}

/// Checks that the service may end a sandbox, which it requested at `requested_at`. Written files may only be lost if a caller
/// requested that.
pub fn check_end(world: &Rc<World>, id: &SandboxId, requested_at: i64) {
    if !world.is_started_by_service(id) {
        if world.with_sandbox(id, |sandbox, _| sandbox.notes.is_in_use) {
            world.report_violation("rule 2, a sandbox in use is not destroyed", &format_args!("{id}"));
        }
        return;
    }
    check_no_file_lost(world, id, requested_at);
}

/// Checks that the files of a container are saved, before an effect that was requested at `requested_at` removes them.
fn check_no_file_lost(world: &Rc<World>, id: &SandboxId, requested_at: i64) {
    let ledger = world.ledger(id);
    if ledger.sandbox().unwrap().is_some_and(|sandbox| sandbox.decommissioned_at.is_some()) {
        return;
    }
    let requests = world.history.borrow().file_requests.get(id).copied().unwrap_or_default();
    let is_recent = |at: Option<i64>| at.is_some_and(|at| world.now() - at < REQUEST_VALID_MILLIS);
    if is_recent(requests.ended_unsaved_at) {
        return;
    }
    let has_binding = world.has_binding(id);
    let since = world.busy_since(id);
    let deleted: BTreeSet<SnapshotId> = world.history.borrow().delete_requests.keys().cloned().collect();
    let removed = world.history.borrow().evicted.union(&deleted).cloned().collect::<BTreeSet<_>>();
    let binding = ledger.sandbox().unwrap().and_then(|sandbox| sandbox.binding);
    let is_superseded = binding.as_ref().is_some_and(|binding| binding.superseded);
    let platform = binding.and_then(|binding| binding.platform_snapshot);
    let in_disk = |file: &str, content: &str| {
        let disks = world.disk_files.borrow();
        let files = platform.as_ref().map(|platform| &disks[&platform.id]);
        files.is_some_and(|files| files.get(file).is_some_and(|saved| saved == content))
    };
    let is_saved = |file: &str, content: &str, is_own_container: bool| {
        if is_own_container && in_disk(file, content) {
            return true;
        }
        // Files of a snapshot that a caller deleted are not lost. Neither are files of a rescue snapshot, or of a former sandbox, that
        // the policy removed.
        let gone = if is_own_container && !is_superseded { &deleted } else { &removed };
        let rows_gone = gone.iter().filter_map(|id| ledger.snapshot(id).unwrap());
        ledger.live_snapshots().into_iter().chain(rows_gone).any(|row| {
            let is_restorable = if is_own_container { !row.foreign && row.excludes.is_empty() } else { true };
            let snapshot_exists = row.state() == SnapshotState::Ready || gone.contains(&row.snapshot_id);
            is_restorable
                && snapshot_exists
                && row.stored().is_some_and(|stored| {
                    let truths = world.ground_truths.borrow();
                    truths[stored.backup.id()].files.get(file).is_some_and(|saved| saved == content)
                })
        })
    };
    let lost = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref()?;
        let is_ready = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        let is_known = sandbox.notes.own_container.is_some_and(|own| own.started_at == container.started_at);
        let is_own_container = if has_binding { is_ready } else { is_known };
        if !is_own_container && is_recent(requests.discarded_at) {
            return None;
        }
        // Files that are written during a start or an end, before the container is returned, may be lost. So may files that
        // are written after the end was requested: a request that was sent cannot be stopped.
        let is_unfinished =
            matches!(container.marker, Some(ContainerMarker::Restoring(_) | ContainerMarker::Restored(_)));
        let is_at_risk = |at: i64| {
            (at >= sandbox.notes.busy_since(since, requested_at) && !container.notes.is_handed_out)
                || at >= requested_at
                || (is_unfinished && at >= container.notes.marker_call_at)
        };
        let count = |captured_at: &[i64]| captured_at.iter().filter(|at| **at >= since).count();
        let captures = count(&container.notes.captured_at).max(count(&container.notes.disk_stored_at));
        let is_excused =
            |at: i64| captures >= MAX_CAPTURES || is_at_risk(at) || (is_own_container && at >= container.watched_at);
        let lost =
            container.notes.write_times.iter().find(|(file, at)| {
                !is_excused(**at) && !is_saved(file, &container.files[file.as_str()], is_own_container)
            });
        lost.map(|(file, at)| format!("{file} in {id}, {} ms ago, {}", world.now() - at, describe_container(container)))
    });
    if let Some(lost) = lost {
        world.report_violation("rule 10, no written file is lost", &format_args!("{lost}"));
    }
}

fn describe_container(container: &Container) -> String {
    format!("{:?} with {:?}, checked for changes at {}", container.marker, container.files, container.watched_at)
}
