//! Calls that write files, take snapshots, and make sandboxes from snapshots.

use std::rc::Rc;

use sandbox_snapshotter::model::freeze::Freeze;
use sandbox_snapshotter::model::named::settings::OnImageChange;
use sandbox_snapshotter::model::request::LineageScope;
use sandbox_snapshotter::model::{
    Code, Consistency, DerivationKind, Error, Label, RestoreRequest, SandboxId, Selection, Selector, SnapshotRequest,
};
use sandbox_snapshotter::service::CancellationToken;

use super::make_call;
use crate::history::{Call, KnownSnapshot};
use crate::rules::answers;
use crate::world::World;

/// The labels that callers choose from.
const LABELS: [&str; 3] = ["before", "after", "release 1"];

/// Picks a label.
pub fn pick_label(world: &World) -> Label {
    Label::parse(LABELS[world.rng.below(LABELS.len())]).unwrap()
}

/// Picks a sandbox that callers can use.
pub fn pick_sandbox(world: &World) -> SandboxId {
    world.rng.pick(&world.history.borrow().sandboxes()).unwrap()
}

/// Picks a snapshot: in half of the cases, one of the three newest.
pub fn pick_snapshot(world: &World) -> Option<KnownSnapshot> {
    let history = world.history.borrow();
    let newest = if world.rng.one_in(2) { history.known_snapshots.len().saturating_sub(3) } else { 0 };
    world.rng.pick(&history.known_snapshots[newest..])
}

/// Picks one of the ways to select a snapshot.
pub fn pick_selector(world: &World, known: &KnownSnapshot) -> Selector {
    match world.rng.below(4) {
        0 => Selector::Id { sandbox_id: known.origin.clone(), snapshot_id: known.id.clone() },
        1 => Selector::Label { sandbox_id: known.origin.clone(), label: known.label.clone() },
        _ => Selector::Ref { r#ref: known.r#ref.clone() },
    }
}

/// Picks a lineage scope that permits the snapshots of a sandbox.
pub fn pick_lineage_scope(world: &World, id: &SandboxId) -> LineageScope {
    let history = world.history.borrow();
    let root = history.root(id);
    let all = history.sandboxes();
    let relatives: Vec<SandboxId> = all.iter().filter(|other| history.root(other) == root).cloned().collect();
    match world.rng.below(4) {
        0 => LineageScope { sandbox_id: world.rng.pick(&relatives), allow_cross_lineage: false },
        1 => LineageScope { sandbox_id: world.rng.pick(&all), allow_cross_lineage: true },
        _ => LineageScope::UNRESTRICTED,
    }
}

/// Picks a cancellation token, which in most cases is never canceled.
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
    let rng = &world.rng;
    let label = rng.one_in(3).then(|| pick_label(world));
    SnapshotRequest {
        replace: label.is_some() && !rng.one_in(3),
        label,
        expiration_seconds: rng.pick(&[None, None, None, Some(60), Some(86_400), Some(0)]).unwrap(),
        incremental: rng.pick(&[None, None, None, Some(false), Some(true)]).unwrap(),
        excludes: if rng.one_in(if world.profile.incremental { 20 } else { 5 }) {
            vec!["*.log".to_owned()]
        } else {
            Vec::new()
        },
        wake: rng.one_in(15),
        adopt: rng.one_in(12) && !world.has_binding(&id),
        fresh: rng.one_in(3),
        freeze: rng.one_in(4).then(|| pick_freeze(world)),
        consistency: rng.pick(&[Consistency::Reported, Consistency::Reported, Consistency::Settled]).unwrap(),
        idempotency_key: pick_key(world),
        ..SnapshotRequest::of(id)
    }
}

fn pick_freeze(world: &World) -> Freeze {
    let freeze = world.rng.pick(&["true", "true", "write", "write, and fail", "hang"]).unwrap().to_owned();
    let thaw = world.rng.pick(&["true", "write", "fail"]).unwrap().to_owned();
    Freeze { freeze, thaw, timeout_seconds: world.rng.pick(&[Freeze::MIN_SECONDS, Freeze::MAX_SECONDS]).unwrap() }
}

/// Takes a snapshot.
pub async fn snapshot(world: Rc<World>) {
    let request = snapshot_request(&world, pick_sandbox(&world));
    world.trace(&format_args!("requests a snapshot of {}: {:?}", request.sandbox_id, request.idempotency_key));
    let abort = pick_cancellation(&world);
    make_call(&world, Call::Snapshot(request), abort).await;
}

/// Restores a snapshot, or branches from it.
pub async fn derive(world: Rc<World>) {
    let Some(known) = pick_snapshot(&world) else { return };
    let selection =
        Selection { selector: pick_selector(&world, &known), lineage_scope: pick_lineage_scope(&world, &known.origin) };
    let request = RestoreRequest {
        selection,
        runtime: None,
        on_image_change: pick_image_choice(&world),
        idempotency_key: pick_key(&world),
    };
    let kind = if world.rng.one_in(2) { DerivationKind::Restored } else { DerivationKind::Branch };
    world.trace(&format_args!("requests a sandbox from {}: {:?}", known.id, request.idempotency_key));
    let abort = pick_cancellation(&world);
    make_call(&world, Call::Derive(request, kind), abort).await;
}

/// Picks what is done if a sandbox has another image than its snapshot.
pub fn pick_image_choice(world: &World) -> OnImageChange {
    let choices = [OnImageChange::Report, OnImageChange::Report, OnImageChange::Fail, OnImageChange::Allow];
    world.rng.pick(&choices).unwrap()
}

/// Repeats a call that was made before or is still in progress.
pub async fn repeat_call(world: Rc<World>) {
    let calls: Vec<Call> = world.history.borrow().keyed_calls.values().map(|keyed| keyed.call.clone()).collect();
    let Some(call) = world.rng.pick(&calls) else { return };
    world.trace(&format_args!("repeats {:?}", call.key()));
    make_call(&world, call, CancellationToken::never()).await;
}

/// Makes several equal or similar snapshot calls at the same time.
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

/// Checks the error of a snapshot, restore or branch.
pub fn check_failure(world: &Rc<World>, call: &Call, error: &Error) {
    match call {
        Call::Snapshot(request) => {
            answers::check_failure(world, "a snapshot", error);
            // After this error the application has to inspect the sandbox before it retries.
            if error.code() == Code::BackupInterrupted {
                world.acknowledge_files(&request.sandbox_id);
            }
        }
        Call::Derive(request, _) => {
            let selector = &request.selection.selector;
            let known = match selector {
                Selector::Ref { r#ref } => world.history.borrow().find_snapshot(r#ref.snapshot_id()).cloned(),
                Selector::Short { r#ref } => world.history.borrow().find_snapshot(r#ref.snapshot_id()).cloned(),
                Selector::Id { snapshot_id, .. } => world.history.borrow().find_snapshot(snapshot_id).cloned(),
                Selector::Label { .. } => None,
            };
            match known {
                Some(known) => answers::check_refusal(world, "a restore", selector, &known, error),
                None => answers::check_failure(world, "a restore", error),
            }
            if error.code() == Code::CrossLineage {
                world.report_violation("rule 8, a call within the lineage is allowed", &format_args!("{error}"));
            }
        }
    }
    if error.code() == Code::IdempotencyConflict {
        world.report_violation("rule 3, a key returns the same answer", &format_args!("{error}"));
    }
}
