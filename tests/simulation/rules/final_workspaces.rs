//! Checks of named workspaces after all work has ended.

use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::settings::{OnDiverged, StartSettings};
use sandbox_snapshotter::model::named::{Address, ContainerMarker, NamedRecord, State};
use sandbox_snapshotter::model::request::StartRequest;
use sandbox_snapshotter::model::{Code, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::CancellationToken;

use super::{has_dependents, is_damaged, named_workspaces, sources};
use crate::world::{AnswerLost, Container, DIR, NamedService, SourceSnapshot, World};

/// Checks the named workspaces and their sandboxes.
pub fn check_final_workspaces(world: &Rc<World>) {
    let addresses: Vec<Address> = world.workspace_stores.borrow().keys().cloned().collect();
    for address in &addresses {
        let Some(record) = world.workspace_store(address).stored_record() else { continue };
        if record.state.is_in_transition() || !record.tasks.is_empty() {
            let what = format_args!("{address} is {}, with {:?}", record.state, record.tasks);
            world.report_violation("rule 16, no transition or task is left", &what);
        }
        let entry = world.directory_entry(address);
        let is_expired = entry.is_none() && record.state == State::Deleted;
        let is_current = |entry: WorkspaceEntry| entry.state == record.state && entry.sandbox_id == record.sandbox_id;
        if !is_expired && !entry.is_some_and(is_current) {
            world.report_violation(
                "rule 16, the Directory lists the present state",
                &format_args!("{address}: {:?}", world.directory_entry(address)),
            );
        }
    }
    let ids: Vec<SandboxId> = world.ledgers.borrow().keys().cloned().collect();
    for id in ids {
        check_sandbox(world, &id);
    }
}

/// Rules 12 and 15: a sandbox runs only for its named workspace, and a sandbox without a workspace is decommissioned.
fn check_sandbox(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let Some(sandbox) = ledger.sandbox().unwrap() else { return };
    if sandbox.is_restoring() {
        world.report_violation("rule 16, no transition or task is left", &format_args!("{id} has a reconcile task"));
    }
    let Some(binding) = sandbox.binding else { return };
    let record = world.workspace_store(&binding.address).stored_record().filter(NamedRecord::exists);
    let is_current = record.as_ref().is_some_and(|record| record.sandboxes().any(|own| own == id));
    let runs = record.is_some_and(|record| record.sandbox_id == *id && record.state == State::Active);
    let has_service_container = world.with_sandbox(id, |sandbox, _| {
        // The files of another image cannot be distinguished from written files. Neither can those of the image, if the
        // application wrote into the container before its marker.
        let seems_written = |container: &Container| {
            let hash = container.content_hash(DIR);
            hash.is_some() && (binding.start.image.as_ref() != Some(&container.image) || binding.start.baseline != hash)
        };
        sandbox.container.as_ref().is_some_and(|container| {
            // A container that a start was about to adopt keeps running if the start fails. So does one whose files were written
            // before its marker arrived late.
            let is_late = container.notes.write_times.values().any(|at| *at < container.notes.marker_set_at);
            // So does one with files of the image that the service never got a listing of: it cannot distinguish them either.
            let is_protected = match &container.marker {
                Some(ContainerMarker::Adopted(_)) => seems_written(container),
                Some(ContainerMarker::Restoring(nonce)) => {
                    seems_written(container) && binding.start.restore_nonce.as_ref() != Some(nonce)
                }
                _ => false,
            };
            let has_work = sandbox.notes.adopted.contains(&container.started_at) || is_late || is_protected;
            let is_marked = container.marker.is_some() && !has_work;
            is_marked || (!container.notes.is_used && !seems_written(container))
        })
    });
    let is_cold_started = world.history.borrow().cold_started.contains(id);
    if has_service_container && !runs && !is_cold_started {
        world.report_violation(
            "rule 12, one sandbox runs for a named workspace",
            &format_args!("{id} of {}", binding.address),
        );
    }
    if is_current {
        if sandbox.decommissioned_at.is_some() {
            world.report_violation("rule 12, a sandbox in use is not decommissioned", &format_args!("{id}"));
        }
        return;
    }
    if sandbox.decommissioned_at.is_none() {
        world.report_violation(
            "rule 15, a sandbox without a workspace is decommissioned",
            &format_args!("{id} of {}", binding.address),
        );
    }
    if sandbox.parent.is_some_and(|parent| parent.needs_snapshot) {
        world.report_violation("rule 15, a decommissioned sandbox releases its reference", &format_args!("{id}"));
    }
    for row in ledger.live_snapshots() {
        let is_needed = row.pinned || has_dependents(world, &ledger, &row.snapshot_id);
        if row.state() == SnapshotState::Ready && !is_needed {
            world.report_violation(
                "rule 15, a decommissioned sandbox has no snapshots",
                &format_args!("{} of {id}", row.snapshot_id),
            );
        }
    }
}

/// Returns whether a snapshot of a workspace was damaged by hand. Retention may then remove it.
fn has_damaged_snapshot(world: &Rc<World>, id: &SandboxId, name: &SnapshotId) -> bool {
    let row = world.ledger(id).snapshot(name).unwrap();
    row.is_some_and(|row| row.stored().is_some_and(|stored| is_damaged(world, stored)))
}

/// Returns whether the creation of a workspace did not finish, and the snapshot that it was to begin with was removed meanwhile. Its
/// sandbox may have snapshots: its id is that of a sandbox without a name for callers who use it.
fn is_source_gone(world: &Rc<World>, record: &NamedRecord) -> bool {
    let is_made = world.ledger(&record.sandbox_id).sandbox().unwrap().is_some_and(|sandbox| sandbox.binding.is_some());
    let source = record.source.as_ref().filter(|_| !is_made);
    source.is_some_and(|source| {
        let row = world.ledger(&source.origin_id).snapshot(&source.snapshot_id).unwrap();
        row.is_none_or(|row| row.state() != SnapshotState::Ready)
    })
}

/// Starts every workspace, and checks that it has its newest files. Calls the service.
pub async fn check_startable(world: Rc<World>) {
    let addresses: Vec<Address> = world.workspace_stores.borrow().keys().cloned().collect();
    for address in addresses {
        let Some(record) = world.workspace_store(&address).stored_record().filter(NamedRecord::exists) else {
            continue;
        };
        let sources = sources::expected_sources(&world, &record.sandbox_id);
        let is_disk_gone =
            sources::current_platform(&world, &record.sandbox_id).is_some_and(|platform| !world.has_disk(&platform));
        let (requested_at, start) = (
            world.now(),
            StartSettings { on_diverged: OnDiverged::Rescue, accept_stale: true, ..StartSettings::default() },
        );
        let request = StartRequest { start, ..StartRequest::of(address.clone()) };
        world.trace(&format_args!("starts {address} after all work has ended"));
        let outcome = world.call_named(&address, |named: NamedService| async move {
            named.start(request, CancellationToken::never()).await
        });
        match outcome.await {
            Ok(Ok(started)) => {
                world.count("final starts");
                named_workspaces::check_started(&world, &address, requested_at, &started);
            }
            Ok(Err(error)) => {
                let is_lost = |source: &SourceSnapshot| match source {
                    None => true,
                    Some((name, _)) => {
                        name.as_ref().is_some_and(|name| has_damaged_snapshot(&world, &record.sandbox_id, name))
                    }
                };
                // The disk is the first source.
                let is_all_lost = sources.iter().skip(usize::from(is_disk_gone)).all(is_lost);
                let is_all_lost = is_all_lost || is_source_gone(&world, &record);
                let is_gone = is_all_lost && matches!(error.code(), Code::NothingRestorable | Code::SnapshotNotFound);
                let is_damaged =
                    matches!(error.code(), Code::BackupIncomplete | Code::BackupNotFound | Code::BackupExpired);
                let is_expected = is_gone || is_damaged || (is_disk_gone && is_all_lost && error.is_retryable());
                if !is_expected {
                    world.report_violation("rule 11, a workspace can be started", &format_args!("{address}: {error}"));
                }
            }
            Err(AnswerLost) => {
                world
                    .report_violation("rule 3, every call is answered", &format_args!("the start of {address} is not"));
            }
        }
    }
}
