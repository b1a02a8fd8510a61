//! What can be done with snapshots that are there.

use std::future::Future;
use std::num::NonZeroU32;
use std::rc::Rc;

use sandbox_snapshotter::model::policy::{KeepLast, Policy};
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::request::{
    ApplyRetentionRequest, DeleteRequest, ImportRequest, LabelRequest, LineageRequest, ListRequest, PolicyRequest,
    SweepRequest, WorkspaceRequest,
};
use sandbox_snapshotter::model::{Result, SandboxId, Selection, Selector};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::{Snapshotter as _, sweep as sweep_bucket};

use super::taking::{known, label as some_label, sandbox, selector, session};
use crate::book::Known;
use crate::rules::answers;
use crate::world::{Desk, Lost, Snapshotter, World};

/// A snapshot, and a way to name it.
fn selected(world: &World) -> Option<(Known, Selection)> {
    let known = known(world)?;
    let selection = Selection { selector: selector(world, &known), session: session(world, &known.origin) };
    Some((known, selection))
}

/// Asks a workspace for something about a snapshot; the answer, if one came.
async fn ask<T: 'static, F: Future<Output = Result<T>> + 'static>(
    world: &Rc<World>,
    what: &str,
    (known, selector): (&Known, Selector),
    work: impl FnOnce(Snapshotter) -> F,
) -> Option<T> {
    world.trace(&format_args!("asks for {what} of {}", known.id));
    match world.ask(&known.origin, work).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            answers::refused(world, what, &selector, known, &error);
            None
        }
        Err(Lost) => None,
    }
}

/// Looks at a snapshot in one way or another.
pub async fn look(world: Rc<World>) {
    let Some((known, selection)) = selected(&world) else { return };
    let selector = selection.selector.clone();
    let way = world.chance.below(3);
    let look = async move |workspace: Snapshotter| match way {
        0 => workspace.get(selection).await.map(drop),
        1 => workspace.verify(selection).await.map(drop),
        _ => workspace.manifest(selection).await.map(drop),
    };
    ask(&world, "a look", (&known, selector), look).await;
}

/// Lists what there is, or shows the tree.
pub async fn list(world: Rc<World>) {
    let id = sandbox(&world);
    let session = session(&world, &id);
    let asked = id.clone();
    if world.chance.one_in(3) {
        let request = LineageRequest { sandbox_id: asked, check: false, session };
        let tree = async move |workspace: Snapshotter| workspace.lineage(request).await.map(drop);
        return about(&world, "the lineage", &id, tree).await;
    }
    let check = world.chance.one_in(2);
    let request = ListRequest { sandbox_id: asked, cursor: None, limit: 5, label_prefix: None, check, session };
    let list = async move |workspace: Snapshotter| {
        let page = workspace.list(request).await?;
        assert!(page.snapshots.windows(2).all(|pair| pair[0].created_at >= pair[1].created_at), "the newest first");
        Ok(())
    };
    about(&world, "a list", &id, list).await;
}

/// Asks a workspace for something that is not about one snapshot.
async fn about<F: Future<Output = Result<()>> + 'static>(
    world: &Rc<World>,
    what: &str,
    id: &SandboxId,
    work: impl FnOnce(Snapshotter) -> F,
) {
    world.trace(&format_args!("asks for {what} of {id}"));
    if let Ok(Err(error)) = world.ask(id, work).await {
        answers::failed(world, what, &error);
    }
}

/// Gives a snapshot another label.
pub async fn label(world: Rc<World>) {
    let Some((known, selection)) = selected(&world) else { return };
    let selector = selection.selector.clone();
    let request = LabelRequest { selection, new_label: some_label(&world), replace: !world.chance.one_in(3) };
    let label = async move |workspace: Snapshotter| workspace.label(request).await.map(drop);
    ask(&world, "a label", (&known, selector), label).await;
}

/// Pins a snapshot, or unpins it.
pub async fn pin(world: Rc<World>) {
    let Some((known, selection)) = selected(&world) else { return };
    let is_label = matches!(selection.selector, Selector::Label { .. });
    let pinned = is_label || !world.chance.one_in(3);
    let selector = selection.selector.clone();
    if !pinned {
        world.book.borrow_mut().pins.entry(known.id.clone()).or_default().unpins = true;
    }
    let pin = async move |workspace: Snapshotter| workspace.pin(selection, pinned).await;
    if let Some(summary) = ask(&world, "a pin", (&known, selector), pin).await {
        let mut book = world.book.borrow_mut();
        book.pins.entry(summary.snapshot_id).or_default().pinned |= pinned;
    }
}

/// Deletes a snapshot.
pub async fn delete(world: Rc<World>) {
    let Some((known, mut selection)) = selected(&world) else { return };
    if matches!(selection.selector, Selector::Label { .. }) {
        selection.selector = Selector::Ref { r#ref: known.r#ref.clone() };
    }
    let force = world.chance.one_in(4);
    *world.book.borrow_mut().deletes.entry(known.id.clone()).or_default() |= force;
    let selector = selection.selector.clone();
    let request = DeleteRequest { selection, force };
    let delete = async move |workspace: Snapshotter| workspace.delete(request).await;
    if ask(&world, "a deletion", (&known, selector), delete).await.is_some() {
        let row = world.ledger(&known.origin).snapshot(&known.id).unwrap();
        let came_back = world.book.borrow().came_back.contains(&known.id);
        if !came_back && row.is_some_and(|row| row.state() == SnapshotState::Ready) {
            world.violated("rule 1, what was deleted is gone", &format_args!("{} is still there", known.id));
        }
    }
}

/// Some policy.
pub fn policy(world: &World) -> Policy {
    let chance = &world.chance;
    let seconds = [0, 60, 3600, 86_400, 7 * 86_400];
    let keep_last = chance.one_in(2).then(|| KeepLast {
        count: NonZeroU32::new(1 + u32::try_from(chance.below(3)).unwrap()).unwrap(),
        expiration_seconds: if chance.one_in(3) { chance.pick(&seconds) } else { None },
        delete_evicted: !chance.one_in(4),
    });
    Policy {
        keep_last,
        expiration_seconds: chance.pick(&seconds).unwrap(),
        keep_daily: if chance.one_in(4) { 2 } else { 0 },
        keep_weekly: u32::from(chance.one_in(4)),
    }
}

/// Sets another policy.
pub async fn set_retention(world: Rc<World>) {
    let (policy, id) = (policy(&world), sandbox(&world));
    world.trace(&format_args!("{policy:?}"));
    let request = PolicyRequest { sandbox_id: id.clone(), policy, dry_run: world.chance.one_in(5) };
    let set = async move |workspace: Snapshotter| workspace.set_retention(request).await.map(drop);
    about(&world, "another policy", &id, set).await;
}

/// Applies the policy.
pub async fn apply_retention(world: Rc<World>) {
    let id = sandbox(&world);
    let request = ApplyRetentionRequest { sandbox_id: id.clone(), dry_run: world.chance.one_in(4) };
    let apply = async move |workspace: Snapshotter| workspace.apply_retention(request).await.map(drop);
    about(&world, "its policy", &id, apply).await;
}

/// Signs with another key.
pub async fn rotate_key(world: Rc<World>) {
    let id = sandbox(&world);
    let request = WorkspaceRequest::of(id.clone());
    let rotate = async move |workspace: Snapshotter| workspace.rotate_key(request).await.map(drop);
    about(&world, "another key", &id, rotate).await;
}

/// Takes in a backup that the application made itself, or one of the product's own.
pub async fn import(world: Rc<World>) {
    let own = world.chance.pick(&world.book.borrow().own);
    let made = known(&world).filter(|_| world.chance.one_in(3));
    let Some((id, backup)) = made.map(|known| (known.origin, known.r#ref.backup().clone())).or(own) else { return };
    let label = world.chance.one_in(3).then(|| some_label(&world));
    let replace = label.is_some() && world.chance.one_in(2);
    let request = ImportRequest { sandbox_id: id.clone(), backup, label, replace, expiration_seconds: None };
    world.trace(&format_args!("imports {} into {id}", request.backup.id()));
    let import = async move |workspace: Snapshotter| workspace.import(request).await;
    match world.ask(&id, import).await {
        Ok(Ok(taken)) => {
            world.count("imports");
            let (name, label) = (taken.snapshot.snapshot_id().clone(), taken.capture.label.clone());
            let mut book = world.book.borrow_mut();
            if book.known(&name).is_none() {
                book.snapshots.push(Known { id: name, origin: id, r#ref: taken.snapshot, label });
            }
        }
        Ok(Err(error)) => answers::failed(&world, "an import", &error),
        Err(Lost) => {}
    }
}

/// Sweeps the bucket.
pub async fn sweep(world: Rc<World>) {
    let grace_seconds = world.chance.pick(&[0, 60, 3600, SweepRequest::GRACE]).unwrap();
    let request = SweepRequest { dry_run: world.chance.one_in(4), grace_seconds };
    world.trace(&format_args!("sweeps what is older than {grace_seconds} s"));
    world.count("sweeps");
    if let Err(error) = sweep_bucket(&Desk::new(&world, None, None, 0), request).await {
        answers::failed(&world, "a sweep", &error);
    }
}
