//! The markers of a container that is being populated. Each step requires the marker that the previous step set, so no
//! step takes effect in another container.

use std::cell::Cell;

use crate::model::named::ContainerMarker;
use crate::model::named::binding::RestoreBegun;
use crate::model::{Directory, Error, MarkerOutcome, Result};
use crate::ports::{Ledger, Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Marks a new container as restoring. Returns the nonce of the marker, and what the container contains. With a
    /// token, the container must have the disk of the platform snapshot with this token. Returns `None` if the container already
    /// carries a marker, or has another disk.
    ///
    /// # Errors
    /// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) if that marker may be of an attempt whose
    /// answer was lost.
    pub(super) async fn mark_restoring(
        &self,
        dir: &Directory,
        files: &[String],
        token: Option<&str>,
    ) -> Result<Option<(String, RestoreBegun)>> {
        let is_answer_lost = Cell::new(false);
        // Each attempt has its own nonce: an attempt whose response was lost may still take effect, in another
        // container.
        let marked = self
            .retry(async || {
                let nonce = self.random_short_id()?.as_str().to_owned();
                let begun = self
                    .sandboxes()?
                    .begin_restore(&self.id, None, &ContainerMarker::Restoring(nonce.clone()), token, dir, files)
                    .await
                    .map_err(self.failed(During::Start))
                    .inspect_err(|_| is_answer_lost.set(true))?;
                Ok(begun.map(|begun| (nonce, begun)))
            })
            .await?;
        if marked.is_none() && is_answer_lost.get() {
            // The container may carry the marker of an earlier attempt.
            return Err(Error::another_container(&self.id));
        }
        Ok(marked)
    }

    /// Records that the container whose marker has the nonce is the sandbox's own. With a named workspace, every ready marker
    /// says so itself.
    pub(super) fn record_own_marker(&self, nonce: &str) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        if sandbox.binding.is_some() {
            return Ok(());
        }
        (sandbox.marker, sandbox.container) = (Some(nonce.to_owned()), None);
        sandbox.marked_at = Some(self.now());
        sandbox.unverified = None;
        self.ledger.put_sandbox(&sandbox)
    }

    /// Marks a container that started by itself as adopted: the workspace continues with its files. Returns the nonce
    /// of the marker.
    ///
    /// # Errors
    /// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) if the container does not carry the
    /// marker `from`.
    pub(super) async fn mark_adopted(&self, from: Option<&ContainerMarker>) -> Result<String> {
        self.set_new_marker(from, ContainerMarker::Adopted).await?.ok_or_else(|| Error::another_container(&self.id))
    }

    /// Marks a container that a probe found without a marker as adopted, so that nothing is restored into it. A call of
    /// a start that ended early may still be under way to the container, or may have arrived since the probe.
    pub(super) async fn protect_unmarked(&self) -> Result<()> {
        if self.set_new_marker(None, ContainerMarker::Adopted).await?.is_some() {
            return Ok(());
        }
        match self.read_marker().await? {
            Some(restoring @ ContainerMarker::Restoring(_)) => {
                self.set_new_marker(Some(&restoring), ContainerMarker::Adopted).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Replaces the marker `from` with the marker `to`.
    ///
    /// # Errors
    /// Those of [`mark_adopted`](Self::mark_adopted).
    pub(super) async fn advance_marker(&self, from: &ContainerMarker, to: &ContainerMarker) -> Result<()> {
        let is_updated = self
            .retry(async || {
                // The response to the previous attempt may have been lost.
                Ok(self.try_set_marker(Some(from), to).await? || self.read_marker().await?.as_ref() == Some(to))
            })
            .await?;
        if is_updated { Ok(()) } else { Err(Error::another_container(&self.id)) }
    }

    /// Replaces the marker `from` with the marker `to` and a new nonce. Returns the nonce, or `None` if the container
    /// does not carry `from`. Each attempt has its own nonce: an attempt whose response was lost may still take effect,
    /// in another container that carries no marker. No step continues from that nonce there.
    async fn set_new_marker(
        &self,
        from: Option<&ContainerMarker>,
        to: impl Fn(String) -> ContainerMarker,
    ) -> Result<Option<String>> {
        let mut nonces: Vec<String> = Vec::new();
        self.retry(async || {
            // The previous attempt may still take effect.
            if !nonces.is_empty() {
                self.update_start(|start| start.call_unconfirmed = true)?;
            }
            let nonce = self.random_short_id()?.as_str().to_owned();
            nonces.push(nonce.clone());
            if self.try_set_marker(from, &to(nonce.clone())).await? {
                return Ok(Some(nonce));
            }
            let current = self.read_marker().await?;
            Ok(nonces.iter().find(|nonce| current.as_ref() == Some(&to((*nonce).clone()))).cloned())
        })
        .await
    }

    async fn try_set_marker(&self, from: Option<&ContainerMarker>, to: &ContainerMarker) -> Result<bool> {
        let update =
            self.sandboxes()?.update_marker(&self.id, from, to, None).await.map_err(self.failed(During::Start))?;
        Ok(update.outcome == MarkerOutcome::Updated)
    }

    async fn read_marker(&self) -> Result<Option<ContainerMarker>> {
        let probe = self.sandboxes()?.probe(&self.id, &self.start_state()?.dir).await;
        Ok(probe.map_err(self.failed(During::Start))?.marker)
    }
}
