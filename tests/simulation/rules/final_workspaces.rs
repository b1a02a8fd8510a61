//! What is checked of named workspaces when everything has come to rest.

use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::messages::{OnDiverged, StartSettings};
use sandbox_snapshotter::model::named::{Address, NamedRecord, State};
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::request::StartRequest;
use sandbox_snapshotter::model::{Code, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::CancellationToken;

use super::{has_dependents, lifecycle, named_workspaces};
use crate::world::{AnswerLost, Container, NamedService, World};

/// Checks the named workspaces, and the sandboxes that stand for them.
pub fn check_final_workspaces(world: &Rc<World>) {
    let addresses: Vec<Address> = world.workspace_stores.borrow().keys().cloned().collect();
    for address in &addresses {
        let Some(record) = world.workspace_store(address).stored_record() else { continue };
        if record.state.is_in_transition() || !record.tasks.is_empty() {
            let what = format_args!("{address} is {}, with {:?}", record.state, record.tasks);
            world.report_violation("rule 16, nothing passes at rest", &what);
        }
        let entry = world.directory_entry(address);
        let is_forgotten = entry.is_none() && record.state == State::Deleted;
        let is_known = |entry: WorkspaceEntry| entry.state == record.state && entry.sandbox_id == record.sandbox_id;
        if !is_forgotten && !entry.is_some_and(is_known) {
            world.report_violation(
                "rule 16, the Directory knows",
                &format_args!("{address}: {:?}", world.directory_entry(address)),
            );
        }
    }
    let ids: Vec<SandboxId> = world.ledgers.borrow().keys().cloned().collect();
    for id in ids {
        check_sandbox(world, &id);
    }
}

/// Rules 12 and 15: a sandbox runs for its name only, and nothing is left of what is nobody's any more.
fn check_sandbox(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let Some(workspace) = ledger.workspace().unwrap() else { return };
    let Some(standing) = workspace.binding else { return };
    if let Some(filling) = standing.restore_task {
        world.report_violation("rule 16, nothing passes at rest", &format_args!("{id} is filled: {filling:?}"));
    }
    let record = world.workspace_store(&standing.address).stored_record().filter(NamedRecord::exists);
    let is_same_origin = record.as_ref().is_some_and(|record| record.sandboxes().any(|own| own == id));
    let runs = record.is_some_and(|record| record.sandbox_id == *id && record.state == State::Active);
    let is_services = world.with_sandbox(id, |sandbox, _| {
        // The files of another image can't be told from somebody's.
        let is_odd = |container: &Container| {
            let image = Some(format!("image {}", container.image));
            !container.files.is_empty() && standing.image != image
        };
        sandbox.container.as_ref().is_some_and(|container| {
            // Files that a start was to adopt are not ended because the start failed; nor are those that were written before a stamp
            // that came late.
            let is_late = container.write_times.values().any(|at| *at < container.marker_set_at);
            let has_work = sandbox.adopted.contains(&container.started_at) || is_late;
            let check_marker = container.marker.is_some() && !has_work;
            check_marker || (container.is_untouched && !is_odd(container))
        })
    });
    let is_woken = world.history.borrow().cold_started.contains(id);
    if is_services && !runs && !is_woken {
        world.report_violation("rule 12, one sandbox runs for a name", &format_args!("{id} of {}", standing.address));
    }
    if is_same_origin {
        if workspace.decommissioned_at.is_some() {
            world.report_violation("rule 12, a sandbox is its name's", &format_args!("{id} is retired"));
        }
        return;
    }
    if workspace.decommissioned_at.is_none() {
        world.report_violation("rule 15, what is nobody's is retired", &format_args!("{id} of {}", standing.address));
    }
    if workspace.parent.is_some_and(|parent| parent.needs_snapshot) {
        world.report_violation("rule 15, holds are released", &format_args!("{id}"));
    }
    for row in ledger.live_snapshots() {
        let check_named_record = row.pinned || has_dependents(world, &ledger, &row.snapshot_id);
        if row.state() == SnapshotState::Ready && !check_named_record {
            world.report_violation(
                "rule 15, snapshots of what is nobody's go",
                &format_args!("{} of {id}", row.snapshot_id),
            );
        }
    }
}

/// Whether somebody damaged a snapshot of a workspace by hand: then retention may let it go.
fn has_damaged_snapshot(world: &Rc<World>, id: &SandboxId, name: &SnapshotId) -> bool {
    let row = world.ledger(id).snapshot(name).unwrap();
    let spoiled = &world.history.borrow().damaged_backups;
    row.is_some_and(|row| row.stored().is_some_and(|stored| spoiled.contains(stored.backup.id())))
}

/// Every workspace can be started, with its newest files. Calls the service.
pub async fn check_startable(world: Rc<World>) {
    let addresses: Vec<Address> = world.workspace_stores.borrow().keys().cloned().collect();
    for address in addresses {
        let Some(record) = world.workspace_store(&address).stored_record().filter(NamedRecord::exists) else {
            continue;
        };
        let source = lifecycle::expected_source(&world, &record.sandbox_id);
        let (asked_at, start) = (
            world.now(),
            StartSettings { on_diverged: OnDiverged::Rescue, accept_stale: true, ..StartSettings::default() },
        );
        let request = StartRequest { address: address.clone(), fingerprint: None, start };
        world.trace(&format_args!("starts {address} in the end"));
        let heard = world.call_named(&address, |named: NamedService| async move {
            named.start(request, CancellationToken::never()).await
        });
        match heard.await {
            Ok(Ok(started)) => {
                world.count("started in the end");
                named_workspaces::check_started(&world, &address, asked_at, &started);
            }
            Ok(Err(error)) => {
                let has_damaged_snapshot =
                    source.as_ref().is_some_and(|(name, _)| has_damaged_snapshot(&world, &record.sandbox_id, name));
                let is_gone = (source.is_none() || has_damaged_snapshot)
                    && matches!(error.code(), Code::NothingRestorable | Code::SnapshotNotFound);
                let is_damaged =
                    matches!(error.code(), Code::BackupIncomplete | Code::BackupNotFound | Code::BackupExpired);
                if !is_gone && !is_damaged {
                    world.report_violation("rule 11, a workspace can be started", &format_args!("{address}: {error}"));
                }
            }
            Err(AnswerLost) => {
                world.report_violation("rule 3, calls are answered", &format_args!("the start of {address} is not"));
            }
        }
    }
}
