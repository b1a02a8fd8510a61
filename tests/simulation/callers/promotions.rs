//! The promotions of callers.

use std::rc::Rc;

use sandbox_snapshotter::model::named::{Address, WorkspaceName};
use sandbox_snapshotter::model::request::{PromoteFrom, PromoteRequest};
use sandbox_snapshotter::model::{SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Ledger;

use super::named_workspaces::{check_failure, pick_address};
use super::snapshots::pick_cancellation;
use crate::rules::loss;
use crate::world::{AnswerLost, NamedService, World};

/// Promotes another workspace, or a snapshot of another workspace. A caller whose answer is lost repeats the call.
pub async fn promote(world: Rc<World>) {
    let address = pick_address(&world);
    let Some(from) = pick_source(&world, &address) else { return };
    let idempotency_key = world.rng.one_in(2).then(|| format!("promote-{:x}", world.rng.next_u64()));
    let request = PromoteRequest {
        accept_stale: world.rng.one_in(2),
        idempotency_key,
        ..PromoteRequest::of(address.clone(), from)
    };
    if matches!(send(&world, &request).await, Err(AnswerLost)) && request.idempotency_key.is_some() {
        send(&world, &request).await.ok();
    }
}

fn pick_source(world: &World, address: &Address) -> Option<PromoteFrom> {
    let others: Vec<(SandboxId, WorkspaceName)> = world
        .history
        .borrow()
        .named_sandboxes
        .iter()
        .filter(|(_, other)| other.name != address.name)
        .map(|(id, other)| (id.clone(), other.name.clone()))
        .collect();
    let (id, name) = world.rng.pick(&others)?;
    if world.rng.one_in(2) {
        return Some(PromoteFrom::Workspace(name));
    }
    let snapshots: Vec<SnapshotId> =
        world.ledger(&id).live_snapshots().into_iter().map(|row| row.snapshot_id).collect();
    world.rng.pick(&snapshots).map(|id| PromoteFrom::Snapshot(id.into()))
}

async fn send(world: &Rc<World>, request: &PromoteRequest) -> Result<(), AnswerLost> {
    let (address, requested_at, abort) = (request.address.clone(), world.now(), pick_cancellation(world));
    world.trace(&format_args!("promotes {:?} to {address}", request.from));
    let own = request.clone();
    let outcome =
        world.call_named(&address, |named: NamedService| async move { named.promote(own, abort).await }).await?;
    match outcome {
        Ok(described) => {
            world.count("promotions");
            let id = described.sandbox_id;
            check_origin(world, &address, &id);
            if let Some(may_have_lost) = described.may_have_lost {
                loss::check_answer(world, &address, requested_at, may_have_lost);
            }
        }
        Err(error) => check_failure(world, &address, "a promotion", &error),
    }
    Ok(())
}

/// Checks that the sandbox has the lineage of the workspace's former one, and no files of another tenant.
fn check_origin(world: &Rc<World>, address: &Address, id: &SandboxId) {
    let root = |id: &SandboxId| world.ledger(id).sandbox().unwrap().map(|row| row.root_id);
    let record = world.workspace_store(address).stored_record();
    let former =
        record.filter(|record| record.sandbox_id == *id).and_then(|record| record.former_sandbox_ids.first().cloned());
    // An object that ended before it was claimed has no lineage of its own.
    if former.and_then(|former| root(&former)).is_some_and(|former| root(id) != Some(former)) {
        world.report_violation("rule 8, a promotion stays in its lineage", &format_args!("{id} of {address}"));
    }
    let row = world.ledger(id).sandbox().unwrap();
    let origin = row.as_ref().and_then(|row| row.parent.as_ref()).map(|parent| parent.origin_id.clone());
    let origin = origin.and_then(|origin| world.ledger(&origin).sandbox().unwrap()?.binding);
    if origin.is_some_and(|binding| binding.address.tenant != address.tenant) {
        world.report_violation("rule 14, tenants are isolated", &format_args!("{id} of {address}"));
    }
    let mut history = world.history.borrow_mut();
    if let Some(row) = row {
        history.returned_sandboxes.insert(id.clone(), row.root_id);
        history.named_sandboxes.insert(id.clone(), address.clone());
    }
}
