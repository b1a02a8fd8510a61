//! Calls that the service must refuse.

use std::rc::Rc;

use sandbox_snapshotter::model::named::settings::OnImageChange;
use sandbox_snapshotter::model::request::{DeleteRequest, LineageScope};
use sandbox_snapshotter::model::{Code, DerivationKind, RestoreRequest, SandboxId, Selection, SnapshotRef, root_of};
use sandbox_snapshotter::service::CancellationToken;
use serde_json::Value;

use super::snapshots::{pick_selector, pick_snapshot};
use crate::history::{Call, KnownSnapshot};
use crate::planted;
use crate::rules::answers;
use crate::world::{AnswerLost, SandboxService, World};

/// Uses a ref in which one field was altered.
pub async fn forge_ref(world: Rc<World>) {
    let (Some(known), Some(other)) = (pick_snapshot(&world), pick_snapshot(&world)) else { return };
    let Some(forged) = alter_ref(&world, &known, &other) else { return };
    let selection = Selection::of(forged);
    if is_accepted(&world, selection).await {
        world.report_violation("rule 8, a forged ref is refused", &format_args!("from {} and {}", known.id, other.id));
    }
    world.count("forged refs");
}

/// Returns the ref with a field of another ref, or with a changed signature.
fn alter_ref(world: &World, known: &KnownSnapshot, other: &KnownSnapshot) -> Option<SnapshotRef> {
    let [mut forged, other] = [known, other].map(|known| serde_json::to_value(&known.r#ref).unwrap());
    let fields = ["snapshotId", "originId", "backup", "createdAt", "signature", "rootId"];
    let field = fields[world.rng.below(fields.len())];
    let before = forged["ref"][field].clone();
    forged["ref"][field] = if field == "signature" && world.rng.one_in(2) {
        let text = before.as_str()?;
        let (start, last) = text.split_at(text.len() - 10);
        Value::from(start.to_owned() + &last.chars().rev().collect::<String>())
    } else {
        other["ref"][field].clone()
    };
    (forged["ref"][field] != before).then(|| SnapshotRef::decode(&forged).ok())?
}

/// Makes a call that the service should refuse. Returns whether the service accepts it.
async fn is_accepted(world: &Rc<World>, selection: Selection) -> bool {
    let operation = world.rng.below(5);
    let selection = planted::as_decoded(world, selection);
    let origin = selection.selector.origin_id().clone();
    let restore = RestoreRequest {
        selection: selection.clone(),
        runtime: None,
        on_image_change: OnImageChange::Report,
        idempotency_key: None,
    };
    let work = |sandbox: SandboxService| async move {
        match operation {
            0 => sandbox.get(selection).await.map(drop),
            1 => sandbox.delete(DeleteRequest::of(selection, false)).await.map(drop),
            2 => sandbox.branch(restore, CancellationToken::never()).await.map(drop),
            3 => sandbox.manifest(selection).await.map(drop),
            _ => sandbox.restore(restore, CancellationToken::never()).await.map(drop),
        }
    };
    match world.call_sandbox(&origin, work).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            answers::check_failure(world, "a forbidden call", &error);
            false
        }
        Err(AnswerLost) => false,
    }
}

/// Picks a sandbox of another lineage. The id alone shows the lineage of a sandbox that was never returned.
fn pick_foreign_sandbox(world: &World, id: &SandboxId) -> Option<SandboxId> {
    let history = world.history.borrow();
    let root = history.root(id);
    let foreign: Vec<SandboxId> =
        history.sandboxes().into_iter().filter(|other| history.root(other) != root && root_of(other) != root).collect();
    world.rng.pick(&foreign)
}

/// Makes a call with the scope of another lineage.
pub async fn cross_lineage(world: Rc<World>) {
    let Some(known) = pick_snapshot(&world) else { return };
    let Some(other) = pick_foreign_sandbox(&world, &known.origin) else { return };
    let scope = LineageScope { sandbox_id: Some(other.clone()), allow_cross_lineage: false };
    world.count("calls from another lineage");
    if is_accepted(&world, Selection { selector: pick_selector(&world, &known), lineage_scope: scope }).await {
        world.report_violation(
            "rule 8, a call from another lineage is refused",
            &format_args!("{} in {other}", known.id),
        );
    }
}

/// Uses an idempotency key for another call than before.
pub async fn reuse_key(world: Rc<World>) {
    let keys: Vec<String> = world.history.borrow().keyed_calls.keys().cloned().collect();
    let Some(key) = world.rng.pick(&keys) else { return };
    let mut keyed = world.history.borrow().keyed_calls[&key].clone();
    match &mut keyed.call {
        Call::Snapshot(request) => request.excludes.push("*.tmp".to_owned()),
        Call::Derive(_, kind @ DerivationKind::Restored) => *kind = DerivationKind::Branch,
        Call::Derive(_, kind @ DerivationKind::Branch) => *kind = DerivationKind::Restored,
    }
    let is_known = keyed.answer.is_some() && world.now() - keyed.requested_at < super::KEY_RETENTION_MILLIS;
    if !is_known {
        return;
    }
    world.count("keys used for another call");
    match super::send_call(&world, &keyed.call, CancellationToken::never()).await {
        Ok(Ok(_)) => {
            world.report_violation("rule 3, a key identifies one call", &format_args!("{key} answered another call"));
        }
        Ok(Err(error)) if error.code() != Code::IdempotencyConflict => {
            answers::check_failure(&world, "another call with a key", &error);
        }
        Ok(Err(_)) | Err(AnswerLost) => {}
    }
}
