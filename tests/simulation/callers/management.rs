//! Operations on existing snapshots.

use std::future::Future;
use std::num::NonZeroU32;
use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::policy::{KeepLast, Policy};
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, DeleteRequest, ImportRequest, LabelRequest, LineageRequest, ListRequest, SandboxRequest,
    SetRetentionRequest, SweepRequest,
};
use sandbox_snapshotter::model::{DeltasOnDelete, Result, SandboxId, Selection, Selector};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::sweep as sweep_bucket;

use super::snapshots::{pick_label, pick_lineage_scope, pick_sandbox, pick_selector, pick_snapshot};
use crate::history::KnownSnapshot;
use crate::rules::answers;
use crate::world::{AnswerLost, SandboxService, World};

/// Picks a snapshot, and a selection that selects it.
fn pick_selection(world: &World) -> Option<(KnownSnapshot, Selection)> {
    let known = pick_snapshot(world)?;
    let selection =
        Selection { selector: pick_selector(world, &known), lineage_scope: pick_lineage_scope(world, &known.origin) };
    Some((known, selection))
}

/// Calls the service of a sandbox about a snapshot. Returns the answer if one arrived.
async fn call_about_snapshot<T: 'static, F: Future<Output = Result<T>> + 'static>(
    world: &Rc<World>,
    what: &str,
    (known, selector): (&KnownSnapshot, Selector),
    work: impl FnOnce(SandboxService) -> F,
) -> Option<T> {
    world.trace(&format_args!("requests {what} of {}", known.id));
    match world.call_sandbox(&known.origin, work).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            answers::check_refusal(world, what, &selector, known, &error);
            None
        }
        Err(AnswerLost) => None,
    }
}

/// Gets or verifies a snapshot, or reads its manifest.
pub async fn inspect(world: Rc<World>) {
    let Some((known, selection)) = pick_selection(&world) else { return };
    let selector = selection.selector.clone();
    let operation = world.rng.below(3);
    let read = async move |sandbox: SandboxService| match operation {
        0 => sandbox.get(selection).await.map(drop),
        1 => sandbox.verify(selection).await.map(drop),
        _ => sandbox.manifest(selection).await.map(drop),
    };
    call_about_snapshot(&world, "an inspection", (&known, selector), read).await;
}

/// Lists the snapshots of a sandbox, or reads its lineage.
pub async fn list(world: Rc<World>) {
    let id = pick_sandbox(&world);
    let scope = pick_lineage_scope(&world, &id);
    let sandbox_id = id.clone();
    if world.rng.one_in(3) {
        let request = LineageRequest { sandbox_id, check: false, lineage_scope: scope };
        let tree = async move |sandbox: SandboxService| sandbox.lineage(request).await.map(drop);
        return call_service(&world, "the lineage", &id, tree).await;
    }
    let check = world.rng.one_in(2);
    let request = ListRequest { limit: 5, check, lineage_scope: scope, ..ListRequest::of(sandbox_id) };
    let list = async move |sandbox: SandboxService| {
        let page = sandbox.list(request).await?;
        assert!(page.snapshots.windows(2).all(|pair| pair[0].created_at >= pair[1].created_at), "the newest is first");
        Ok(())
    };
    call_service(&world, "a list", &id, list).await;
}

/// Calls the service of a sandbox about something other than one snapshot.
async fn call_service<F: Future<Output = Result<()>> + 'static>(
    world: &Rc<World>,
    what: &str,
    id: &SandboxId,
    work: impl FnOnce(SandboxService) -> F,
) {
    world.trace(&format_args!("requests {what} of {id}"));
    if let Ok(Err(error)) = world.call_sandbox(id, work).await {
        answers::check_failure(world, what, &error);
    }
}

/// Changes the label of a snapshot.
pub async fn label(world: Rc<World>) {
    let Some((known, selection)) = pick_selection(&world) else { return };
    let selector = selection.selector.clone();
    let request = LabelRequest { selection, new_label: pick_label(&world), replace: !world.rng.one_in(3) };
    let label = async move |sandbox: SandboxService| sandbox.label(request).await.map(drop);
    call_about_snapshot(&world, "a label", (&known, selector), label).await;
}

/// Pins a snapshot, or unpins it.
pub async fn pin(world: Rc<World>) {
    let Some((known, selection)) = pick_selection(&world) else { return };
    let is_label = matches!(selection.selector, Selector::Label { .. });
    let pinned = is_label || !world.rng.one_in(3);
    let selector = selection.selector.clone();
    if !pinned {
        world.history.borrow_mut().pin_requests.entry(known.id.clone()).or_default().unpin_requested = true;
    }
    let pin = async move |sandbox: SandboxService| sandbox.pin(selection, pinned).await;
    if let Some(summary) = call_about_snapshot(&world, "a pin", (&known, selector), pin).await {
        let mut history = world.history.borrow_mut();
        history.pin_requests.entry(summary.snapshot_id).or_default().pinned |= pinned;
    }
}

/// Deletes a snapshot.
pub async fn delete(world: Rc<World>) {
    let Some((known, mut selection)) = pick_selection(&world) else { return };
    if matches!(selection.selector, Selector::Label { .. }) {
        selection.selector = Selector::Ref { r#ref: known.r#ref.clone() };
    }
    let force = world.rng.one_in(4);
    *world.history.borrow_mut().delete_requests.entry(known.id.clone()).or_default() |= force;
    let selector = selection.selector.clone();
    let deltas = if world.rng.one_in(4) { DeltasOnDelete::Delete } else { DeltasOnDelete::Keep };
    if deltas == DeltasOnDelete::Delete {
        *world.history.borrow_mut().delta_delete_requests.entry(known.id.clone()).or_default() |= force;
    }
    let request = DeleteRequest { deltas, ..DeleteRequest::of(selection, force) };
    let delete = async move |sandbox: SandboxService| sandbox.delete(request).await;
    if call_about_snapshot(&world, "a deletion", (&known, selector), delete).await.is_some() {
        let row = world.ledger(&known.origin).snapshot(&known.id).unwrap();
        let reimported = world.history.borrow().reimported.contains(&known.id);
        if !reimported && row.is_some_and(|row| row.state() == SnapshotState::Ready) {
            world.report_violation("rule 1, a deleted snapshot is gone", &format_args!("{} still exists", known.id));
        }
    }
}

/// Picks a retention policy.
pub fn pick_policy(world: &World) -> Policy {
    let rng = &world.rng;
    let seconds = [0, 60, 3600, 86_400, 7 * 86_400];
    let keep_last = rng.one_in(2).then(|| KeepLast {
        count: NonZeroU32::new(1 + u32::try_from(rng.below(3)).unwrap()).unwrap(),
        expiration_seconds: if rng.one_in(3) { rng.pick(&seconds) } else { None },
        delete_evicted: !rng.one_in(4),
    });
    Policy {
        keep_last,
        expiration_seconds: rng.pick(&seconds).unwrap(),
        keep_daily: if rng.one_in(4) { 2 } else { 0 },
        keep_weekly: u32::from(rng.one_in(4)),
    }
}

/// Sets a retention policy.
pub async fn set_retention(world: Rc<World>) {
    let (policy, id) = (pick_policy(&world), pick_sandbox(&world));
    world.trace(&format_args!("{policy:?}"));
    let request = SetRetentionRequest { sandbox_id: id.clone(), policy, dry_run: world.rng.one_in(5) };
    let set = async move |sandbox: SandboxService| sandbox.set_retention(request).await.map(drop);
    call_service(&world, "another policy", &id, set).await;
}

/// Applies the retention policy.
pub async fn apply_retention(world: Rc<World>) {
    let id = pick_sandbox(&world);
    let request = ApplyRetentionRequest { sandbox_id: id.clone(), dry_run: world.rng.one_in(4) };
    let apply = async move |sandbox: SandboxService| sandbox.apply_retention(request).await.map(drop);
    call_service(&world, "its policy", &id, apply).await;
}

/// Rotates the signing key.
pub async fn rotate_key(world: Rc<World>) {
    let id = pick_sandbox(&world);
    let request = SandboxRequest::of(id.clone());
    let rotate = async move |sandbox: SandboxService| sandbox.rotate_key(request).await.map(drop);
    call_service(&world, "another key", &id, rotate).await;
}

/// Imports a backup that the application made, or the backup of a snapshot.
pub async fn import(world: Rc<World>) {
    let app_backup = world.rng.pick(&world.history.borrow().app_backups);
    let snapshot = pick_snapshot(&world).filter(|_| world.rng.one_in(3));
    let Some((id, backup)) = snapshot.map(|known| (known.origin, known.r#ref.backup().clone())).or(app_backup) else {
        return;
    };
    let label = world.rng.one_in(3).then(|| pick_label(&world));
    let replace = label.is_some() && world.rng.one_in(2);
    let request =
        ImportRequest { sandbox_id: id.clone(), runtime: None, backup, label, replace, expiration_seconds: None };
    world.trace(&format_args!("imports {} into {id}", request.backup.id()));
    let import = async move |sandbox: SandboxService| sandbox.import(request).await;
    match world.call_sandbox(&id, import).await {
        Ok(Ok(taken)) => {
            world.count("imports");
            let (name, label) = (taken.snapshot.snapshot_id().clone(), taken.capture.label.clone());
            let mut history = world.history.borrow_mut();
            if history.find_snapshot(&name).is_none() {
                history.known_snapshots.push(KnownSnapshot { id: name, origin: id, r#ref: taken.snapshot, label });
            }
        }
        Ok(Err(error)) => answers::check_failure(&world, "an import", &error),
        Err(AnswerLost) => {}
    }
}

/// Sweeps the bucket.
pub async fn sweep(world: Rc<World>) {
    let grace_seconds = world.rng.pick(&[0, 60, 3600, SweepRequest::DEFAULT_GRACE_SECONDS]).unwrap();
    let request = SweepRequest { dry_run: world.rng.one_in(4), grace_seconds };
    world.trace(&format_args!("sweeps backups older than {grace_seconds} s"));
    world.count("sweeps");
    if let Err(error) = sweep_bucket(&world.entrypoint(), request).await {
        answers::check_failure(&world, "a sweep", &error);
    }
}
