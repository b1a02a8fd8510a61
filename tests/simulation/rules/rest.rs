//! What is checked of named workspaces when everything has come to rest.

use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::Entry;
use sandbox_snapshotter::model::named::messages::{OnDiverged, Start};
use sandbox_snapshotter::model::named::{Address, NamedRecord, State};
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::request::StartRequest;
use sandbox_snapshotter::model::{Code, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::Abort;

use super::{is_held, lifecycle, names};
use crate::world::{Container, Lost, Named, World};

/// Checks the named workspaces, and the sandboxes that stand for them.
pub fn at_rest(world: &Rc<World>) {
    let addresses: Vec<Address> = world.homes.borrow().keys().cloned().collect();
    for address in &addresses {
        let Some(record) = world.home(address).record() else { continue };
        if record.state.is_passing() || !record.chores.is_empty() {
            let what = format_args!("{address} is {}, with {:?}", record.state, record.chores);
            world.violated("rule 16, nothing passes at rest", &what);
        }
        let entry = world.entry(address);
        let is_forgotten = entry.is_none() && record.state == State::Deleted;
        let is_known = |entry: Entry| entry.state == record.state && entry.sandbox_id == record.sandbox_id;
        if !is_forgotten && !entry.is_some_and(is_known) {
            world.violated("rule 16, the Directory knows", &format_args!("{address}: {:?}", world.entry(address)));
        }
    }
    let ids: Vec<SandboxId> = world.ledgers.borrow().keys().cloned().collect();
    for id in ids {
        sandbox(world, &id);
    }
}

/// Rules 12 and 15: a sandbox runs for its name only, and nothing is left of what is nobody's any more.
fn sandbox(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let Some(workspace) = ledger.workspace().unwrap() else { return };
    let Some(standing) = workspace.standing else { return };
    if let Some(filling) = standing.filling {
        world.violated("rule 16, nothing passes at rest", &format_args!("{id} is filled: {filling:?}"));
    }
    let record = world.home(&standing.address).record().filter(NamedRecord::exists);
    let is_own = record.as_ref().is_some_and(|record| record.sandboxes().any(|own| own == id));
    let runs = record.is_some_and(|record| record.sandbox_id == *id && record.state == State::Active);
    let is_services = world.with(id, |sandbox, _| {
        // The files of another image can't be told from somebody's.
        let is_odd = |container: &Container| {
            let image = Some(format!("image {}", container.image));
            !container.files.is_empty() && standing.image != image
        };
        sandbox.container.as_ref().is_some_and(|container| {
            // Files that a start was to adopt are not ended because the start failed; nor are those that were written before a stamp
            // that came late.
            let is_late = container.writes.values().any(|at| *at < container.stamped_at);
            let has_work = sandbox.kept.contains(&container.started_at) || is_late;
            let is_stamped = container.stamp.is_some() && !has_work;
            is_stamped || (container.is_accident && !is_odd(container))
        })
    });
    let is_woken = world.book.borrow().woken.contains(id);
    if is_services && !runs && !is_woken {
        world.violated("rule 12, one sandbox runs for a name", &format_args!("{id} of {}", standing.address));
    }
    if is_own {
        if workspace.retired_at.is_some() {
            world.violated("rule 12, a sandbox is its name's", &format_args!("{id} is retired"));
        }
        return;
    }
    if workspace.retired_at.is_none() {
        world.violated("rule 15, what is nobody's is retired", &format_args!("{id} of {}", standing.address));
    }
    if workspace.parent.is_some_and(|parent| parent.needed) {
        world.violated("rule 15, holds are released", &format_args!("{id}"));
    }
    for row in ledger.all() {
        let is_kept = row.pinned || is_held(world, &ledger, &row.snapshot_id);
        if row.state() == SnapshotState::Ready && !is_kept {
            world.violated("rule 15, snapshots of what is nobody's go", &format_args!("{} of {id}", row.snapshot_id));
        }
    }
}

/// Whether somebody damaged a snapshot of a workspace by hand: then retention may let it go.
fn is_spoiled(world: &Rc<World>, id: &SandboxId, name: &SnapshotId) -> bool {
    let row = world.ledger(id).snapshot(name).unwrap();
    let spoiled = &world.book.borrow().spoiled;
    row.is_some_and(|row| row.stored().is_some_and(|stored| spoiled.contains(stored.backup.id())))
}

/// Every workspace can be started, with its newest files. Calls the service.
pub async fn can_be_started(world: Rc<World>) {
    let addresses: Vec<Address> = world.homes.borrow().keys().cloned().collect();
    for address in addresses {
        let Some(record) = world.home(&address).record().filter(NamedRecord::exists) else { continue };
        let source = lifecycle::source(&world, &record.sandbox_id);
        let (asked_at, start) =
            (world.now(), Start { on_diverged: OnDiverged::Save, accept_stale: true, ..Start::default() });
        let request = StartRequest { address: address.clone(), fingerprint: None, start };
        world.trace(&format_args!("starts {address} in the end"));
        let heard = world.ask_named(&address, |named: Named| async move { named.start(request, Abort::never()).await });
        match heard.await {
            Ok(Ok(started)) => {
                world.count("started in the end");
                names::started(&world, &address, asked_at, &started);
            }
            Ok(Err(error)) => {
                let is_spoiled = source.as_ref().is_some_and(|(name, _)| is_spoiled(&world, &record.sandbox_id, name));
                let is_gone = (source.is_none() || is_spoiled)
                    && matches!(error.code(), Code::NothingRestorable | Code::SnapshotNotFound);
                let is_damaged =
                    matches!(error.code(), Code::BackupIncomplete | Code::BackupNotFound | Code::BackupExpired);
                if !is_gone && !is_damaged {
                    world.violated("rule 11, a workspace can be started", &format_args!("{address}: {error}"));
                }
            }
            Err(Lost) => world.violated("rule 3, calls are answered", &format_args!("the start of {address} is not")),
        }
    }
}
