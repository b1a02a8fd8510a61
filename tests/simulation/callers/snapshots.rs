//! Writing into sandboxes, taking snapshots of them, and making others from these.

use std::rc::Rc;

use sandbox_snapshotter::model::request::LineageScope;
use sandbox_snapshotter::model::{
    Code, DerivationKind, Error, Label, RestoreRequest, SandboxId, Selection, Selector, SnapshotRequest,
};
use sandbox_snapshotter::service::CancellationToken;

use super::make_call;
use crate::history::{Call, KnownSnapshot};
use crate::rules::answers;
use crate::world::World;

/// Labels that people like.
const LABELS: [&str; 3] = ["before", "after", "release 1"];

/// One of the labels that people like.
pub fn pick_label(world: &World) -> Label {
    Label::parse(LABELS[world.rng.below(LABELS.len())]).unwrap()
}

/// A sandbox that callers can work with.
pub fn pick_sandbox(world: &World) -> SandboxId {
    world.rng.pick(&world.history.borrow().sandboxes()).unwrap()
}

/// One of the newest snapshots, or any.
pub fn pick_snapshot(world: &World) -> Option<KnownSnapshot> {
    let book = world.history.borrow();
    let newest = if world.rng.one_in(2) { book.known_snapshots.len().saturating_sub(3) } else { 0 };
    world.rng.pick(&book.known_snapshots[newest..])
}

/// One of the ways to name a snapshot.
pub fn pick_selector(world: &World, known: &KnownSnapshot) -> Selector {
    match world.rng.below(4) {
        0 => Selector::Id { sandbox_id: known.origin.clone(), snapshot_id: known.id.clone() },
        1 => Selector::Label { sandbox_id: known.origin.clone(), label: known.label.clone() },
        _ => Selector::Ref { r#ref: known.r#ref.clone() },
    }
}

/// A session that may use what belongs to a sandbox.
pub fn pick_lineage_scope(world: &World, id: &SandboxId) -> LineageScope {
    let book = world.history.borrow();
    let root = book.root(id);
    let all = book.sandboxes();
    let relatives: Vec<SandboxId> = all.iter().filter(|other| book.root(other) == root).cloned().collect();
    match world.rng.below(4) {
        0 => LineageScope { sandbox_id: world.rng.pick(&relatives), allow_cross_lineage: false },
        1 => LineageScope { sandbox_id: world.rng.pick(&all), allow_cross_lineage: true },
        _ => LineageScope::UNRESTRICTED,
    }
}

/// A wish to stop, which mostly never comes.
pub fn pick_cancellation(world: &Rc<World>) -> CancellationToken {
    if !world.rng.one_in(12) {
        return CancellationToken::never();
    }
    let (world, millis) = (Rc::clone(world), world.rng.millis(1000));
    CancellationToken::from_signal(async move { world.executor.sleep(millis).await })
}

fn pick_key(world: &World) -> Option<String> {
    (!world.rng.one_in(3)).then(|| format!("key-{:x}", world.rng.next_u64()))
}

/// Writes a file.
pub async fn write_file(world: Rc<World>) {
    let id = pick_sandbox(&world);
    world.write_file(&id, u8::try_from(world.rng.below(4)).unwrap());
}

fn snapshot_request(world: &World, id: SandboxId) -> SnapshotRequest {
    let chance = &world.rng;
    let label = chance.one_in(3).then(|| pick_label(world));
    SnapshotRequest {
        replace: label.is_some() && !chance.one_in(3),
        label,
        expiration_seconds: chance.pick(&[None, None, None, Some(60), Some(86_400), Some(0)]).unwrap(),
        excludes: if chance.one_in(5) { vec!["*.log".to_owned()] } else { Vec::new() },
        wake: chance.one_in(15),
        adopt: chance.one_in(12) && !world.has_binding(&id),
        fresh: chance.one_in(3),
        idempotency_key: pick_key(world),
        ..SnapshotRequest::of(id)
    }
}

/// Takes a snapshot.
pub async fn snapshot(world: Rc<World>) {
    let request = snapshot_request(&world, pick_sandbox(&world));
    world.trace(&format_args!("asks for a snapshot of {}: {:?}", request.sandbox_id, request.idempotency_key));
    let abort = pick_cancellation(&world);
    make_call(&world, Call::Snapshot(request), abort).await;
}

/// Restores a snapshot, or branches from it.
pub async fn derive(world: Rc<World>) {
    let Some(known) = pick_snapshot(&world) else { return };
    let selection =
        Selection { selector: pick_selector(&world, &known), lineage_scope: pick_lineage_scope(&world, &known.origin) };
    let request = RestoreRequest { selection, idempotency_key: pick_key(&world) };
    let lineage = if world.rng.one_in(2) { DerivationKind::Restored } else { DerivationKind::Branch };
    world.trace(&format_args!("asks for a sandbox from {}: {:?}", known.id, request.idempotency_key));
    let abort = pick_cancellation(&world);
    make_call(&world, Call::Derive(request, lineage), abort).await;
}

/// Makes a call again that was made before, or is under way.
pub async fn repeat_call(world: Rc<World>) {
    let calls: Vec<Call> = world.history.borrow().keyed_calls.values().map(|keyed| keyed.call.clone()).collect();
    let Some(call) = world.rng.pick(&calls) else { return };
    world.trace(&format_args!("asks again: {:?}", call.key()));
    make_call(&world, call, CancellationToken::never()).await;
}

/// Makes several calls at the same time: the same one, or nearly.
pub async fn call_together(world: Rc<World>) {
    let id = pick_sandbox(&world);
    let request = snapshot_request(&world, id);
    let calls = (0..2 + world.rng.below(3)).map(|_| {
        let mut request = request.clone();
        if world.rng.one_in(2) {
            request.idempotency_key = None;
        }
        if world.rng.one_in(4) && request.idempotency_key.is_none() {
            request.fresh = true;
        }
        let abort = pick_cancellation(&world);
        make_call(&world, Call::Snapshot(request), abort)
    });
    let calls: Vec<_> = calls.collect();
    futures_util::future::join_all(calls).await;
}

/// A snapshot, restore or branch failed.
pub fn check_failure(world: &Rc<World>, call: &Call, error: &Error) {
    match call {
        Call::Snapshot(request) => {
            answers::check_failure(world, "a snapshot", error);
            // Who is told that the sandbox was cut off has to look into it before the next try.
            if error.code() == Code::BackupInterrupted {
                world.acknowledge_files(&request.sandbox_id);
            }
        }
        Call::Derive(request, _) => {
            let selector = &request.selection.selector;
            let known = match selector {
                Selector::Ref { r#ref } => world.history.borrow().find_snapshot(r#ref.snapshot_id()).cloned(),
                Selector::Id { snapshot_id, .. } => world.history.borrow().find_snapshot(snapshot_id).cloned(),
                Selector::Label { .. } => None,
            };
            match known {
                Some(known) => answers::check_refusal(world, "a restore", selector, &known, error),
                None => answers::check_failure(world, "a restore", error),
            }
            if error.code() == Code::CrossLineage {
                world.report_violation("rule 8, one's own lineage is allowed", &format_args!("{error}"));
            }
        }
    }
    if error.code() == Code::IdempotencyConflict {
        world.report_violation("rule 3, the same answer for the same key", &format_args!("{error}"));
    }
}
