//! Steps from one stamp to the next, in the same container.

use super::hooks::another_container;
use crate::model::Result;
use crate::model::named::Stamp;
use crate::ports::{Ports, Sandboxes};
use crate::service::failures::{During, from_sandbox};
use crate::service::retry::retry;
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// Steps to the next stamp.
///
/// # Errors
/// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) where the container carries another one.
pub(super) async fn stamp<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    from: Option<&Stamp>,
    to: &Stamp,
) -> Result<()> {
    if step(this, from, to).await? { Ok(()) } else { Err(another_container(this)) }
}

/// Sees to it that nobody fills the container any more: what one asked for who died since may still be on its way to a
/// container without a stamp.
pub(super) async fn spare<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let nonce = this.draw_short_id()?.as_str().to_owned();
    step(this, None, &Stamp::Kept(nonce)).await.map(drop)
}

async fn step<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, from: Option<&Stamp>, to: &Stamp) -> Result<bool> {
    let failed = |failure| from_sandbox(failure, &this.id, During::Start);
    let dir = this.standing()?.dir;
    retry(&*this.ports, &Abort::never(), async || {
        let sandboxes = this.ports.sandboxes()?;
        if sandboxes.stamp(&this.id, from, to).await.map_err(failed)? {
            return Ok(true);
        }
        // The answer may have been lost the last time.
        Ok(sandboxes.probe(&this.id, &dir).await.map_err(failed)?.stamp.as_ref() == Some(to))
    })
    .await
}
