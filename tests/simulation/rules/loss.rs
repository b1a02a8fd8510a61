//! The rule that every loss is reported: no answer says that nothing is lost while a file of the workspace is in no
//! snapshot, until an answer has reported the loss.

use std::rc::Rc;

use sandbox_snapshotter::model::SandboxId;
use sandbox_snapshotter::model::named::record::RestoreReport;
use sandbox_snapshotter::model::named::{Address, ContainerMarker};
use sandbox_snapshotter::model::record::StoredBackup;

use crate::memory::Sandbox;
use crate::world::{EndedContainer, Files, Simulation, World};

/// The time after the end of a container in which its status may still change, in milliseconds.
const STATUS_SETTLES_MILLIS: i64 = 4 * 60 * 1000;

/// Notes the files of a container that is about to end: by itself, or because the service requested it at `requested_at`.
pub fn note_end(simulation: &Simulation, id: &SandboxId, sandbox: &mut Sandbox<Simulation>, requested_at: Option<i64>) {
    let since = simulation.busy_since(id);
    if let Some(requested_at) = requested_at {
        excuse_unchecked(sandbox, sandbox.notes.busy_since(since, requested_at));
    }
    let Some(container) = &sandbox.container else { return };
    let is_own = matches!(container.marker, Some(ContainerMarker::Ready(_)));
    if sandbox.notes.own_container.is_some_and(|own| own.started_at == container.started_at) {
        sandbox.notes.own_ended_at = Some(simulation.now());
    }
    // An operation may have checked the container for the last time before it fails.
    let last_request = sandbox.notes.destroy_requests.last_key_value().map(|(at, _)| *at);
    let last_checked_at = requested_at.or(last_request.filter(|at| *at > since));
    let is_unfinished = container.marker.as_ref().is_some_and(ContainerMarker::is_restoring);
    let begun_at = requested_at.map_or(since, |requested_at| sandbox.notes.busy_since(since, requested_at));
    // A file that is written while a start or a stop works on the container, at the same time, may be lost.
    let is_excused = |at: i64| {
        (at >= begun_at && !container.notes.is_handed_out)
            || (is_unfinished && at >= container.notes.marker_call_at)
            || last_checked_at.is_some_and(|checked_at| at >= checked_at || (is_own && at >= container.watched_at))
    };
    let times = container.notes.write_times.iter().filter(|(_, at)| !is_excused(**at));
    let written = times.map(|(file, at)| (file.clone(), (container.files[file].clone(), *at)));
    let written = written.filter(|(_, (content, _))| !sandbox.notes.saved.contains(content)).collect();
    let is_soon = simulation.now() - sandbox.notes.destroyed_at <= STATUS_SETTLES_MILLIS;
    if requested_at.is_some() {
        sandbox.notes.destroyed_at = simulation.now();
    }
    // The status of a sandbox does not show a container that fails so soon after the end of another one.
    if is_soon && !is_own {
        return;
    }
    let (at, checked_at) = (simulation.now(), container.watched_at);
    sandbox.notes.ended_with.push(EndedContainer { at, is_own, checked_at, written });
}

/// Excuses the loss of files that were written after the last check of a stop that began at `since` and destroys the container,
/// also if the container ended by itself before the request to destroy it.
fn excuse_unchecked(sandbox: &mut Sandbox<Simulation>, since: i64) {
    let checked = |ended: &&mut EndedContainer| ended.is_own && ended.at >= since && ended.checked_at >= since;
    for ended in sandbox.notes.ended_with.iter_mut().filter(checked) {
        ended.written.retain(|_, (_, at)| *at < ended.checked_at);
    }
}

/// Notes the files of a finished snapshot.
pub fn note_saved(world: &Rc<World>, id: &SandboxId, stored: &StoredBackup) {
    note_saved_files(world, id, &world.ground_truths.borrow()[stored.backup.id()].files);
}

/// Notes the files of a snapshot or of a platform snapshot.
pub fn note_saved_files(world: &World, id: &SandboxId, files: &Files) {
    let saved: Vec<String> = files.values().cloned().collect();
    world.with_sandbox(id, |sandbox, _| {
        for ended in &mut sandbox.notes.ended_with {
            ended.written.retain(|_, (content, _)| !saved.contains(content));
        }
        sandbox.notes.saved.extend(saved);
    });
}

/// Notes that a caller did not receive the answer to a start or stop: it was lost, or the caller aborted the start. The service
/// reports a loss twice, so both reports may be lost.
pub fn note_lost_answer(world: &Rc<World>, address: &Address) {
    let lost_answers = {
        let mut history = world.history.borrow_mut();
        let count = history.lost_answers.entry(address.clone()).or_default();
        *count += 1;
        *count
    };
    let record = world.workspace_store(address).stored_record();
    if lost_answers > 1 && record.is_some_and(|record| record.restore_report == RestoreReport::Again) {
        note_reported(world, address);
    }
}

/// Notes that a caller received an answer that reports a possible loss.
pub fn note_reported(world: &Rc<World>, address: &Address) {
    world.history.borrow_mut().lost_answers.remove(address);
    let Some(record) = world.workspace_store(address).stored_record() else { return };
    for id in record.sandboxes() {
        world.with_sandbox(id, |sandbox, _| sandbox.notes.ended_with.clear());
    }
}

/// Checks the `mayHaveLost` of an answer to a start that was requested at `requested_at`.
pub fn check_answer(world: &Rc<World>, address: &Address, requested_at: i64, may_have_lost: bool) {
    let Some(record) = world.workspace_store(address).stored_record() else { return };
    world.count(if may_have_lost { "possible losses reported" } else { "restores without a loss" });
    if may_have_lost {
        return note_reported(world, address);
    }
    for id in record.sandboxes() {
        let is_former = *id != record.sandbox_id;
        let lost = world.with_sandbox(id, |sandbox, _| {
            // The application may write in a sandbox that the workspace no longer uses.
            let ended = sandbox.notes.ended_with.iter().filter(|ended| ended.is_own || !is_former);
            let mut lost = ended.filter(|ended| ended.at < requested_at);
            lost.find_map(|ended| ended.written.keys().next().map(|file| (file.clone(), ended.at)))
        });
        if let Some((file, at)) = lost {
            let what = format_args!("{file} in {id} of {address}, lost {} ms ago", world.now() - at);
            world.report_violation("rule 17, every loss is reported", &what);
        }
    }
}
