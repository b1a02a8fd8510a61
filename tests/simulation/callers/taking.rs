//! Writing into sandboxes, taking snapshots of them, and making others from these.

use std::rc::Rc;

use sandbox_snapshotter::model::request::Session;
use sandbox_snapshotter::model::{
    Code, Error, Label, Lineage, RestoreRequest, SandboxId, Selection, Selector, SnapshotRequest,
};
use sandbox_snapshotter::service::Abort;

use super::make;
use crate::book::{Call, Known};
use crate::rules::answers;
use crate::world::World;

/// Labels that people like.
const LABELS: [&str; 3] = ["before", "after", "release 1"];

/// One of the labels that people like.
pub fn label(world: &World) -> Label {
    Label::parse(LABELS[world.chance.below(LABELS.len())]).unwrap()
}

/// A sandbox that callers can work with.
pub fn sandbox(world: &World) -> SandboxId {
    world.chance.pick(&world.book.borrow().sandboxes()).unwrap()
}

/// One of the newest snapshots, or any.
pub fn known(world: &World) -> Option<Known> {
    let book = world.book.borrow();
    let newest = if world.chance.one_in(2) { book.snapshots.len().saturating_sub(3) } else { 0 };
    world.chance.pick(&book.snapshots[newest..])
}

/// One of the ways to name a snapshot.
pub fn selector(world: &World, known: &Known) -> Selector {
    match world.chance.below(4) {
        0 => Selector::Id { sandbox_id: known.origin.clone(), snapshot_id: known.id.clone() },
        1 => Selector::Label { sandbox_id: known.origin.clone(), label: known.label.clone() },
        _ => Selector::Ref { r#ref: known.r#ref.clone() },
    }
}

/// A session that may use what belongs to a sandbox.
pub fn session(world: &World, id: &SandboxId) -> Session {
    let book = world.book.borrow();
    let root = book.root(id);
    let all = book.sandboxes();
    let relatives: Vec<SandboxId> = all.iter().filter(|other| book.root(other) == root).cloned().collect();
    match world.chance.below(4) {
        0 => Session { sandbox_id: world.chance.pick(&relatives), allow_cross_session: false },
        1 => Session { sandbox_id: world.chance.pick(&all), allow_cross_session: true },
        _ => Session::NONE,
    }
}

/// A wish to stop, which mostly never comes.
pub fn abort(world: &Rc<World>) -> Abort {
    if !world.chance.one_in(12) {
        return Abort::never();
    }
    let (world, millis) = (Rc::clone(world), world.chance.millis(1000));
    Abort::when(async move { world.executor.sleep(millis).await })
}

fn key(world: &World) -> Option<String> {
    (!world.chance.one_in(3)).then(|| format!("key-{:x}", world.chance.next()))
}

/// Writes a file.
pub async fn write(world: Rc<World>) {
    let id = sandbox(&world);
    world.writes(&id, u8::try_from(world.chance.below(4)).unwrap());
}

fn snapshot_request(world: &World, id: SandboxId) -> SnapshotRequest {
    let chance = &world.chance;
    let label = chance.one_in(3).then(|| label(world));
    SnapshotRequest {
        replace: label.is_some() && !chance.one_in(3),
        label,
        expiration_seconds: chance.pick(&[None, None, None, Some(60), Some(86_400), Some(0)]).unwrap(),
        excludes: if chance.one_in(5) { vec!["*.log".to_owned()] } else { Vec::new() },
        wake: chance.one_in(15),
        adopt: chance.one_in(12) && !world.stands(&id),
        fresh: chance.one_in(3),
        idempotency_key: key(world),
        ..SnapshotRequest::of(id)
    }
}

/// Takes a snapshot.
pub async fn snapshot(world: Rc<World>) {
    let request = snapshot_request(&world, sandbox(&world));
    world.trace(&format_args!("asks for a snapshot of {}: {:?}", request.sandbox_id, request.idempotency_key));
    let abort = abort(&world);
    make(&world, Call::Snapshot(request), abort).await;
}

/// Restores a snapshot, or branches from it.
pub async fn derive(world: Rc<World>) {
    let Some(known) = known(&world) else { return };
    let selection = Selection { selector: selector(&world, &known), session: session(&world, &known.origin) };
    let request = RestoreRequest { selection, idempotency_key: key(&world) };
    let lineage = if world.chance.one_in(2) { Lineage::Restored } else { Lineage::Branch };
    world.trace(&format_args!("asks for a sandbox from {}: {:?}", known.id, request.idempotency_key));
    let abort = abort(&world);
    make(&world, Call::Derive(request, lineage), abort).await;
}

/// Makes a call again that was made before, or is under way.
pub async fn repeat(world: Rc<World>) {
    let calls: Vec<Call> = world.book.borrow().keyed.values().map(|keyed| keyed.call.clone()).collect();
    let Some(call) = world.chance.pick(&calls) else { return };
    world.trace(&format_args!("asks again: {:?}", call.key()));
    make(&world, call, Abort::never()).await;
}

/// Makes several calls at the same time: the same one, or nearly.
pub async fn burst(world: Rc<World>) {
    let id = sandbox(&world);
    let request = snapshot_request(&world, id);
    let calls = (0..2 + world.chance.below(3)).map(|_| {
        let mut request = request.clone();
        if world.chance.one_in(2) {
            request.idempotency_key = None;
        }
        if world.chance.one_in(4) && request.idempotency_key.is_none() {
            request.fresh = true;
        }
        let abort = abort(&world);
        make(&world, Call::Snapshot(request), abort)
    });
    let calls: Vec<_> = calls.collect();
    futures_util::future::join_all(calls).await;
}

/// A snapshot, restore or branch failed.
pub fn failed(world: &Rc<World>, call: &Call, error: &Error) {
    match call {
        Call::Snapshot(request) => {
            answers::failed(world, "a snapshot", error);
            // Who is told that the sandbox was cut off has to look into it before the next try.
            if error.code() == Code::BackupInterrupted {
                world.looks(&request.sandbox_id);
            }
        }
        Call::Derive(request, _) => {
            let selector = &request.selection.selector;
            let known = match selector {
                Selector::Ref { r#ref } => world.book.borrow().known(r#ref.snapshot_id()).cloned(),
                Selector::Id { snapshot_id, .. } => world.book.borrow().known(snapshot_id).cloned(),
                Selector::Label { .. } => None,
            };
            match known {
                Some(known) => answers::refused(world, "a restore", selector, &known, error),
                None => answers::failed(world, "a restore", error),
            }
            if error.code() == Code::CrossSession {
                world.violated("rule 8, one's own lineage is allowed", &format_args!("{error}"));
            }
        }
    }
    if error.code() == Code::IdempotencyConflict {
        world.violated("rule 3, the same answer for the same key", &format_args!("{error}"));
    }
}
