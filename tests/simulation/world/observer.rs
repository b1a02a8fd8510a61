//! Passes the events of the ports to the rules.

use std::rc::Rc;

use sandbox_snapshotter::model::named::settings::OnDiverged;
use sandbox_snapshotter::model::named::{Address, State, Transition};
use sandbox_snapshotter::model::{BackupOwner, Runtime, SandboxId};

use super::{Capture, ContainerNotes, DIR, Simulation, World};
use crate::memory::{Backup, Event, ObjectKey, RowChange, StoreChange, is_under};
use crate::rules::{self, autosaves, lifecycle, loss, sources};

/// Observes an event: traces it, checks it, and notes what later checks need.
pub(super) fn observe(world: &Rc<World>, event: Event<'_, Simulation>) {
    match event {
        Event::MarkerSet(id, to) => {
            lifecycle::check_marker(world, id, to);
            world.trace(&format_args!("the marker of {id} is {to}"));
            let since = world.busy_since(id);
            world.with_container(id, |container, now| {
                if container.marker.is_none() {
                    (container.notes.marker_set_at, container.notes.marker_call_at) = (now, since);
                }
            });
        }
        Event::Capture(id, options) => {
            world.with_container(id, |container, now| container.notes.captured_at.push(now));
            if BackupOwner::parse(&options.name).is_none_or(|owner| owner.origin_id != *id) {
                world.report_violation("rule 4, a stored backup names its owner", &format_args!("{:?}", options.name));
            }
        }
        Event::Stored(backup) => note_backup(world, backup),
        Event::Frozen(id, until) => note_freeze(world, id, until),
        Event::Deleted(backup) => {
            world.trace(&format_args!("deleted {}", backup.id()));
            world.count("backups deleted");
            rules::check_deleted_backup(world, backup);
        }
        Event::Unpacked(id, backup, requested_at) => {
            lifecycle::check_restore(world, id, backup, requested_at);
            world.with_container(id, |container, _| {
                // The mount over the directory hides the files.
                container.notes.write_times.clear();
                container.notes.is_used = true;
            });
            world.trace(&format_args!("restored {backup} into {id}"));
        }
        Event::DeltaApplied(id) => {
            let is_handed_out = world.with_container(id, |container, _| {
                container.notes.write_times.retain(|file, _| container.files.contains_key(file));
                container.notes.is_handed_out
            });
            if is_handed_out {
                world.report_violation("rule 2, no restore overwrites files", &format_args!("a delta in {id}"));
            }
        }
        Event::ArrivalRequested(id) => {
            // An application may have opened a session in the directory before the files arrived.
            let may_remain = world.profile.runtime == Runtime::Sdk012;
            let process = (may_remain && world.inject_fault(250)).then(|| "9 bash".to_owned());
            world.with_container(id, |container, _| container.process_below = process);
        }
        Event::Arrived(id, backup) => lifecycle::check_arrival(world, id, backup),
        Event::DiskStored(id, disk_id, disk, requested_at) => {
            lifecycle::check_disk(world, id, &disk.image, requested_at);
            let mut files = disk.files.clone();
            files.retain(|path, _| is_under(path, DIR));
            world.trace(&format_args!("the platform stores the disk of {id}: {files:?}"));
            world.disk_files.borrow_mut().insert(disk_id.to_owned(), files);
            world.count("platform snapshots");
        }
        Event::DiskStarted(id, disk) => {
            world.trace(&format_args!("{id} starts from the disk {:?}", disk.token));
            world.count("starts from platform snapshots");
        }
        Event::CheckedForSave(id, is_changed) => {
            world.with_sandbox(id, |sandbox, now| sandbox.notes.checked_at = now);
            if !is_changed {
                autosaves::check_unchanged(world, id);
            }
        }
        Event::DestroyRequested(id) => {
            let since = world.busy_since(id);
            world.with_sandbox(id, |sandbox, now| sandbox.notes.destroy_requests.insert(now, since));
        }
        Event::Destroyed(id, requested_at) => {
            lifecycle::check_end(world, id, requested_at);
            world.with_sandbox(id, |sandbox, now| {
                loss::note_end(world, id, sandbox, Some(requested_at));
                sandbox.notes.destroy_ended_at = now;
            });
            world.trace(&format_args!("destroys {id}"));
        }
        Event::Claim(id) if world.inject_fault(world.profile.id_collision_rate) => world.claim_by_other(id),
        Event::EnsureRunning(id, request) => {
            let mut history = world.history.borrow_mut();
            let requests = history.file_requests.entry(id.clone()).or_default();
            requests.allow_empty |= request.start.allow_empty;
            requests.keeps_no_files |= request.never_persistent;
            if request.start.on_diverged == OnDiverged::Discard {
                requests.discarded_at = Some(world.now());
            }
        }
        Event::StopSandbox(id, request) if !request.snapshot => {
            let mut history = world.history.borrow_mut();
            history.file_requests.entry(id.clone()).or_default().ended_unsaved_at = Some(world.now());
        }
        Event::Row(id, change) => observe_row(world, id, change),
        Event::Store(address, change) => observe_store(world, address, change),
        Event::Hook(_)
        | Event::Command(_)
        | Event::MarkerRequested(..)
        | Event::RestoreRequested(_)
        | Event::Claim(_)
        | Event::StopSandbox(..) => {}
    }
}

fn note_freeze(world: &World, id: &SandboxId, until: Option<i64>) {
    world.trace(&format_args!("{id} is frozen until {until:?}"));
    world.count(if until.is_some() { "freezes" } else { "thaws" });
    world.with_container(id, |container, now| container.notes.frozen = until.map(|until| (now, until)));
}

fn note_backup(world: &World, backup: &mut Backup<Simulation>) {
    let (id, capture) = (backup.id(), &backup.capture);
    let name = backup.metadata.as_ref().and_then(|metadata| metadata.name.as_ref());
    world.trace(&format_args!("stored {id} {name:?} {:?}", capture.files));
    // What a snapshot must have, and not what the carrier of a delta contains.
    let files = capture.tree.clone().unwrap_or_else(|| capture.files.clone());
    let frozen = world.with_sandbox(&capture.sandbox, |sandbox, now| {
        let container = sandbox.container.as_ref().filter(|container| container.started_at == capture.started_at);
        container?.notes.frozen.filter(|(from, until)| *from <= capture.captured_at && now < *until)
    });
    let notes = ContainerNotes { frozen, ..capture.notes.clone() };
    world.count(if capture.tree.is_some() { "carriers stored" } else { "full archives stored" });
    world.ground_truths.borrow_mut().insert(id.clone(), Capture { files, notes, ..capture.clone() });
    backup.has_checksum = !world.rng.one_in(4);
}

fn observe_row(world: &Rc<World>, id: &SandboxId, change: &RowChange<'_>) {
    match change {
        RowChange::Sandbox(before, after) => {
            lifecycle::check_sandbox_record(world, *before, after);
            sources::update_source_snapshots(world, id);
        }
        RowChange::Snapshot(before, after) => {
            let (name, label) = (&after.snapshot_id, after.label.as_str());
            world.trace(&format_args!("{id}: {name} {label:?} is {}", after.state().as_str()));
            rules::check_snapshot_row(world, id, *before, after);
            sources::update_source_snapshots(world, id);
        }
        RowChange::LabelTaken(row) => {
            world.report_violation("rule 9, labels are unique", &format_args!("{:?} in {id}", row.label.as_str()));
        }
        RowChange::SnapshotDeleted(row) => {
            world.trace(&format_args!("{id}: the row of {} is deleted", row.snapshot_id));
            rules::check_deleted_snapshot_row(world, row);
        }
        RowChange::Derivation(before, after) => {
            world.trace(&format_args!("{id}: {} is {:?}", after.sandbox_id, after.state));
            rules::check_derivation_row(world, *before, after);
        }
        RowChange::DerivationDeleted(row) => {
            world.trace(&format_args!("{id}: the row of {} is deleted", row.sandbox_id));
            rules::check_deleted_derivation_row(world, row);
        }
        RowChange::Alarm(at) => world.set_alarm(ObjectKey::Sandbox(id.clone()), *at),
    }
}

fn observe_store(world: &Rc<World>, address: &Address, change: &StoreChange<'_>) {
    match change {
        StoreChange::Record(before, after) => {
            // The product stores the record as JSON.
            let stored = serde_json::from_str(&serde_json::to_string(after).unwrap()).ok();
            assert_eq!(stored.as_ref(), Some(*after), "a record is the same after it was stored");
            lifecycle::check_named_record(world, *before, after);
            autosaves::check_record(world, *before, after);
        }
        StoreChange::Transition(_, transition) => note_transition(world, address, transition),
        StoreChange::Alarm(at) => world.set_alarm(ObjectKey::Workspace(address.clone()), *at),
    }
}

fn note_transition(world: &World, address: &Address, transition: &Transition) {
    world.count("transitions");
    let from = transition.from.map_or("nothing", |from| from.as_str());
    world.trace(&format_args!("{address}: from {from} to {}: {}", transition.to, transition.cause));
    // A deletion takes effect between the call and its answer.
    if transition.to == State::Deleted
        && let Some(at) = world.history.borrow_mut().workspace_deletes_at.get_mut(address)
    {
        *at = world.now();
    }
}
