//! What has to be refused.

use std::rc::Rc;

use sandbox_snapshotter::model::request::{DeleteRequest, Session};
use sandbox_snapshotter::model::{Code, Lineage, RestoreRequest, SandboxId, Selection, SnapshotRef, root_of};
use sandbox_snapshotter::service::{Abort, Snapshotter as _};
use serde_json::Value;

use super::taking::{known, selector};
use crate::book::{Call, Known};
use crate::rules::answers;
use crate::world::{Lost, Snapshotter, World};

/// Gives back a ref in which one field was altered.
pub async fn forge(world: Rc<World>) {
    let (Some(known), Some(other)) = (known(&world), known(&world)) else { return };
    let Some(forged) = altered(&world, &known, &other) else { return };
    let selection = Selection::of(forged);
    if was_done(&world, selection).await {
        world.violated("rule 8, a forged ref is refused", &format_args!("one of {} and {}", known.id, other.id));
    }
    world.count("forged refs");
}

/// A ref with a field of another one, or with a changed signature.
fn altered(world: &World, known: &Known, other: &Known) -> Option<SnapshotRef> {
    let [mut forged, other] = [known, other].map(|known| serde_json::to_value(&known.r#ref).unwrap());
    let fields = ["snapshotId", "originId", "backup", "createdAt", "signature", "rootId"];
    let field = fields[world.chance.below(fields.len())];
    let before = forged["ref"][field].clone();
    forged["ref"][field] = if field == "signature" && world.chance.one_in(2) {
        let text = before.as_str()?;
        let (start, last) = text.split_at(text.len() - 10);
        Value::from(start.to_owned() + &last.chars().rev().collect::<String>())
    } else {
        other["ref"][field].clone()
    };
    (forged["ref"][field] != before).then(|| SnapshotRef::decode(&forged).ok())?
}

/// Whether the service does something with a snapshot that it should refuse.
async fn was_done(world: &Rc<World>, selection: Selection) -> bool {
    let way = world.chance.below(5);
    let origin = selection.selector.origin_id().clone();
    let restore = RestoreRequest { selection: selection.clone(), idempotency_key: None };
    let work = |workspace: Snapshotter| async move {
        match way {
            0 => workspace.get(selection).await.map(drop),
            1 => workspace.delete(DeleteRequest { selection, force: false }).await.map(drop),
            2 => workspace.branch(restore, Abort::never()).await.map(drop),
            3 => workspace.manifest(selection).await.map(drop),
            _ => workspace.restore(restore, Abort::never()).await.map(drop),
        }
    };
    match world.ask(&origin, work).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            answers::failed(world, "something forbidden", &error);
            false
        }
        Err(Lost) => false,
    }
}

/// A sandbox of another lineage. Of one that nobody was told of, only its id says where it comes from.
fn foreigner(world: &World, id: &SandboxId) -> Option<SandboxId> {
    let book = world.book.borrow();
    let root = book.root(id);
    let foreign: Vec<SandboxId> =
        book.sandboxes().into_iter().filter(|other| book.root(other) != root && root_of(other) != root).collect();
    world.chance.pick(&foreign)
}

/// Asks in the session of another lineage.
pub async fn cross_sessions(world: Rc<World>) {
    let Some(known) = known(&world) else { return };
    let Some(other) = foreigner(&world, &known.origin) else { return };
    let session = Session { sandbox_id: Some(other.clone()), allow_cross_session: false };
    world.count("foreign sessions");
    if was_done(&world, Selection { selector: selector(&world, &known), session }).await {
        world.violated("rule 8, another lineage is refused", &format_args!("{} in {other}", known.id));
    }
}

/// Uses a key for another call than before.
pub async fn misuse_key(world: Rc<World>) {
    let keys: Vec<String> = world.book.borrow().keyed.keys().cloned().collect();
    let Some(key) = world.chance.pick(&keys) else { return };
    let mut keyed = world.book.borrow().keyed[&key].clone();
    match &mut keyed.call {
        Call::Snapshot(request) => request.excludes.push("*.tmp".to_owned()),
        Call::Derive(_, lineage @ Lineage::Restored) => *lineage = Lineage::Branch,
        Call::Derive(_, lineage @ Lineage::Branch) => *lineage = Lineage::Restored,
    }
    let is_known = keyed.answer.is_some() && world.now() - keyed.asked_at < super::KEPT;
    if !is_known {
        return;
    }
    world.count("keys misused");
    match super::perform(&world, &keyed.call, Abort::never()).await {
        Ok(Ok(_)) => {
            world.violated("rule 3, a key stands for one call", &format_args!("{key} answered another one"));
        }
        Ok(Err(error)) if error.code() != Code::IdempotencyConflict => {
            answers::failed(&world, "another call with a key", &error);
        }
        Ok(Err(_)) | Err(Lost) => {}
    }
}
