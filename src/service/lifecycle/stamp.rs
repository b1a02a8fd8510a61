//! How far a container is that is being made somebody's place of work: every step is bound to the stamp of the one before,
//! so that none of them happens in another container.

use super::hooks::another_container;
use crate::model::named::Stamp;
use crate::model::named::standing::Begun;
use crate::model::{Directory, Result, StampOutcome};
use crate::ports::{Ports, Sandboxes};
use crate::service::failures::{During, from_sandbox};
use crate::service::retry::retry;
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// Stamps a new container as one that is being filled; answers the nonce that is on it, and what is in it.
///
/// # Errors
/// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) where the container carries a stamp already.
pub(super) async fn begin<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    files: &[String],
) -> Result<(String, Begun)> {
    // Each attempt has a nonce of its own: one whose answer was lost may still come, when another container runs.
    retry(&*this.ports, &Abort::never(), async || {
        let nonce = this.draw_short_id()?.as_str().to_owned();
        let begun = this.ports.sandboxes()?.begin(&this.id, None, &Stamp::Filling(nonce.clone()), dir, files).await;
        let begun = begun.map_err(|failure| from_sandbox(failure, &this.id, During::Start))?;
        begun.map(|begun| (nonce, begun)).ok_or_else(|| another_container(this))
    })
    .await
}

/// Stamps a container that woke by itself as one whose files are kept; answers the nonce that is on it.
///
/// # Errors
/// As those of [`begin`].
pub(super) async fn keep<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, from: Option<&Stamp>) -> Result<String> {
    first(this, from, Stamp::Kept).await?.ok_or_else(|| another_container(this))
}

/// Sees to it that a container is not filled which was seen without a stamp: what one asked for who died since may still be on
/// its way to it, or have come by now.
pub(super) async fn spare<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    if first(this, None, Stamp::Kept).await?.is_some() {
        return Ok(());
    }
    match found(this).await? {
        Some(filling @ Stamp::Filling(_)) => first(this, Some(&filling), Stamp::Kept).await.map(drop),
        _ => Ok(()),
    }
}

/// Steps from one stamp to the next.
///
/// # Errors
/// As those of [`begin`].
pub(super) async fn step<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, from: &Stamp, to: &Stamp) -> Result<()> {
    let is_there = retry(&*this.ports, &Abort::never(), async || {
        // The answer may have been lost the last time.
        Ok(is_set(this, Some(from), to).await? || found(this).await?.as_ref() == Some(to))
    })
    .await?;
    if is_there { Ok(()) } else { Err(another_container(this)) }
}

/// Each attempt has a nonce of its own: one whose answer was lost may still come, when another container runs that carries no
/// stamp. Nothing goes on from it there.
async fn first<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    from: Option<&Stamp>,
    to: impl Fn(String) -> Stamp,
) -> Result<Option<String>> {
    let mut nonces: Vec<String> = Vec::new();
    retry(&*this.ports, &Abort::never(), async || {
        // The attempt before may still come.
        if !nonces.is_empty() {
            this.stand(|standing| standing.late = true)?;
        }
        let nonce = this.draw_short_id()?.as_str().to_owned();
        nonces.push(nonce.clone());
        if is_set(this, from, &to(nonce.clone())).await? {
            return Ok(Some(nonce));
        }
        let found = found(this).await?;
        Ok(nonces.iter().find(|nonce| found.as_ref() == Some(&to((*nonce).clone()))).cloned())
    })
    .await
}

async fn is_set<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, from: Option<&Stamp>, to: &Stamp) -> Result<bool> {
    let stamped = this.ports.sandboxes()?.stamp(&this.id, from, to, None).await;
    let stamping = stamped.map_err(|failure| from_sandbox(failure, &this.id, During::Start))?;
    Ok(stamping.outcome == StampOutcome::Done)
}

async fn found<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Stamp>> {
    let probe = this.ports.sandboxes()?.probe(&this.id, &this.standing()?.dir).await;
    Ok(probe.map_err(|failure| from_sandbox(failure, &this.id, During::Start))?.stamp)
}
