//! Requests of callers that change on their way to the service.

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::{Result, Selection, Selector, SnapshotRef};
use sandbox_snapshotter::ports::{Background, Ledger};
use sandbox_snapshotter::service::CancellationToken;

use super::Bug;
use crate::history::Call;
use crate::memory::{Group, ObjectKey};
use crate::world::World;

/// Returns a call as the service receives it.
pub fn as_received(world: &World, call: &Call) -> Call {
    let mut call = call.clone();
    if let Some(key) = call.key().cloned()
        && world.planted.is(Bug::ArgumentsNotCompared)
    {
        call = world.planted.first_calls.borrow_mut().entry(key).or_insert(call).clone();
    }
    if let Call::Snapshot(request) = &mut call {
        request.fresh &= !world.planted.is(Bug::StaleCaptureShared);
    }
    call
}

/// Returns a selection as the service decodes it. A ref whose signature is not checked is as good as a signed one.
pub fn as_decoded(world: &World, mut selection: Selection) -> Selection {
    if let Selector::Ref { r#ref } = &mut selection.selector
        && world.planted.is(Bug::SignatureNotChecked)
        && let Some(sandbox) = world.ledger(r#ref.origin_id()).sandbox().unwrap()
        && let Some(key) = sandbox.keys.first()
    {
        let (snapshot_id, backup) = (r#ref.snapshot_id().clone(), r#ref.backup().clone());
        let (origin_id, root_id) = (r#ref.origin_id().clone(), r#ref.root_id().clone());
        *r#ref = SnapshotRef::new(snapshot_id, origin_id, root_id, backup, r#ref.created_at(), |text| key.sign(text));
    }
    selection
}

/// Runs a restore or a branch in the object of a sandbox.
pub async fn run_derivation<T: 'static, F: Future<Output = Result<T>> + 'static>(
    world: Rc<World>,
    object: ObjectKey,
    abort: CancellationToken,
    derive: impl FnOnce(CancellationToken) -> F,
) -> Result<T> {
    if !world.planted.is(Bug::CancellationIgnored) {
        return derive(abort).await;
    }
    let group = world.object(&object).0;
    abort.run_until_cancelled(derive(CancellationToken::never()), &Abandoned { world, group }).await
}

/// Runs the work that a canceled call left.
struct Abandoned {
    world: Rc<World>,
    group: Group,
}

impl Background for Abandoned {
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        self.world.executor.spawn(self.group, work);
    }
}
