//! The markers of a container that is being populated. Each step requires the marker that the previous step set, so no
//! step takes effect in another container.

use super::hooks::container_replaced;
use crate::model::named::ContainerMarker;
use crate::model::named::binding::RestoreBegun;
use crate::model::{Directory, MarkerOutcome, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::calls::retry::retry;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// Marks a new container as restoring. Returns the nonce of the marker, and what the container contains.
///
/// # Errors
/// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) if the container already carries a marker.
pub(super) async fn mark_restoring<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    files: &[String],
) -> Result<(String, RestoreBegun)> {
    // Each attempt has its own nonce: an attempt whose response was lost may still take effect, in another container.
    retry(&*this.ports, &CancellationToken::never(), async || {
        let nonce = this.random_short_id()?.as_str().to_owned();
        let begun = this
            .ports
            .sandboxes()?
            .begin_restore(&this.id, None, &ContainerMarker::Restoring(nonce.clone()), dir, files)
            .await;
        let begun = begun.map_err(|failure| from_sandbox(failure, &this.id, During::Start))?;
        begun.map(|begun| (nonce, begun)).ok_or_else(|| container_replaced(this))
    })
    .await
}

/// Marks a container that started by itself as adopted: the workspace continues with its files. Returns the nonce of
/// the marker.
///
/// # Errors
/// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) if the container does not carry the marker
/// `from`.
pub(super) async fn mark_adopted<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    from: Option<&ContainerMarker>,
) -> Result<String> {
    set_with_new_nonce(this, from, ContainerMarker::Adopted).await?.ok_or_else(|| container_replaced(this))
}

/// Marks a container that a probe found without a marker as adopted, so that nothing is restored into it. A call of a
/// start that ended early may still be under way to the container, or may have arrived since the probe.
pub(super) async fn protect_unmarked<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    if set_with_new_nonce(this, None, ContainerMarker::Adopted).await?.is_some() {
        return Ok(());
    }
    match read_marker(this).await? {
        Some(restoring @ ContainerMarker::Restoring(_)) => {
            set_with_new_nonce(this, Some(&restoring), ContainerMarker::Adopted).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Replaces the marker `from` with the marker `to`.
///
/// # Errors
/// Those of [`mark_adopted`].
pub(super) async fn advance<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    from: &ContainerMarker,
    to: &ContainerMarker,
) -> Result<()> {
    let is_updated = retry(&*this.ports, &CancellationToken::never(), async || {
        // The response to the previous attempt may have been lost.
        Ok(try_set(this, Some(from), to).await? || read_marker(this).await?.as_ref() == Some(to))
    })
    .await?;
    if is_updated { Ok(()) } else { Err(container_replaced(this)) }
}

/// Replaces the marker `from` with the marker `to` and a new nonce. Returns the nonce, or `None` if the container does
/// not carry `from`. Each attempt has its own nonce: an attempt whose response was lost may still take effect, in
/// another container that carries no marker. No step continues from that nonce there.
async fn set_with_new_nonce<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    from: Option<&ContainerMarker>,
    to: impl Fn(String) -> ContainerMarker,
) -> Result<Option<String>> {
    let mut nonces: Vec<String> = Vec::new();
    retry(&*this.ports, &CancellationToken::never(), async || {
        // The previous attempt may still take effect.
        if !nonces.is_empty() {
            this.update_binding(|binding| binding.call_unconfirmed = true)?;
        }
        let nonce = this.random_short_id()?.as_str().to_owned();
        nonces.push(nonce.clone());
        if try_set(this, from, &to(nonce.clone())).await? {
            return Ok(Some(nonce));
        }
        let current = read_marker(this).await?;
        Ok(nonces.iter().find(|nonce| current.as_ref() == Some(&to((*nonce).clone()))).cloned())
    })
    .await
}

async fn try_set<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    from: Option<&ContainerMarker>,
    to: &ContainerMarker,
) -> Result<bool> {
    let response = this.ports.sandboxes()?.update_marker(&this.id, from, to, None).await;
    let update = response.map_err(|failure| from_sandbox(failure, &this.id, During::Start))?;
    Ok(update.outcome == MarkerOutcome::Updated)
}

async fn read_marker<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<ContainerMarker>> {
    let probe = this.ports.sandboxes()?.probe(&this.id, &this.binding()?.dir).await;
    Ok(probe.map_err(|failure| from_sandbox(failure, &this.id, During::Start))?.marker)
}
