//! Calls that revive sandboxes.

use std::rc::Rc;

use sandbox_snapshotter::model::named::settings::OnDiverged;
use sandbox_snapshotter::model::request::ReviveRequest;
use sandbox_snapshotter::service::CancellationToken;

use super::snapshots::pick_sandbox;
use crate::rules::answers;
use crate::world::{AnswerLost, World};

/// Revives a sandbox, whose container has ended in half of the cases.
pub async fn revive(world: Rc<World>) {
    let id = pick_sandbox(&world);
    if world.has_binding(&id) {
        return;
    }
    if world.rng.one_in(2) {
        world.end_container(&id, world.rng.one_in(2));
    }
    let choices = [OnDiverged::Fail, OnDiverged::Fail, OnDiverged::Rescue, OnDiverged::Adopt, OnDiverged::Discard];
    let on_diverged = world.rng.pick(&choices).unwrap();
    world.trace(&format_args!("revives {id}: {on_diverged:?}"));
    let requested_at = world.now();
    if on_diverged == OnDiverged::Discard {
        let mut history = world.history.borrow_mut();
        history.file_requests.entry(id.clone()).or_default().discarded_at = Some(requested_at);
    }
    let request = ReviveRequest { on_diverged, ..ReviveRequest::of(id.clone()) };
    let revive = |sandbox: crate::world::SandboxService| async move {
        sandbox.revive(request, CancellationToken::never()).await
    };
    match world.call_sandbox(&id, revive).await {
        Ok(Ok(revived)) => answers::check_revival(&world, requested_at, &revived),
        Ok(Err(error)) => answers::check_failure(&world, "a revival", &error),
        Err(AnswerLost) => {}
    }
}
