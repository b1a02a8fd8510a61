//! What has become of a sandbox: whether it runs, and whether its files are in place.

use super::stamp;
use crate::model::named::Stamp;
use crate::model::{Place, Result, Status};
use crate::ports::{Clock, Ports, Sandboxes};
use crate::service::failures::{During, from_sandbox};
use crate::service::planted::{Bug, planted};
use crate::service::retry::retry;
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::service) enum Sight {
    /// It does not run.
    Asleep,
    /// It runs, with its files in place, in the container of that stamp.
    Alive(Stamp),
    /// Somebody began to make it, and did not finish.
    Unfinished,
    /// It woke by itself, without its files.
    Woken,
    /// It woke by itself, without its files, and others were written since.
    Diverged {
        /// The stamp that it carries: of a start that adopts those files, or of one that was given up before it came.
        stamp: Option<Stamp>,
    },
}

/// Looks at the state first, which starts nothing, and then into the container.
pub(in crate::service) async fn look<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Sight> {
    let failed = |failure| from_sandbox(failure, &this.id, During::Look);
    let standing = this.standing()?;
    retry(&*this.ports, &Abort::never(), async || {
        let sandboxes = this.ports.sandboxes()?;
        if sandboxes.state(&this.id).await.map_err(failed)?.status == Status::Down {
            return Ok(Sight::Asleep);
        }
        let probe = sandboxes.probe(&this.id, &standing.dir).await.map_err(failed)?;
        Ok(match probe.stamp {
            stamp if planted(Bug::StampNotChecked) => Sight::Alive(stamp.unwrap_or(Stamp::Ready(String::new()))),
            Some(stamp) if stamp.is_ready() => {
                let now = this.ports.clock().now();
                this.stand(|standing| {
                    standing.opened_at = standing.opened_at.or(Some(now)).filter(|_| !planted(Bug::OpenedNotKept));
                })?;
                Sight::Alive(stamp)
            }
            Some(Stamp::Kept(_)) if planted(Bug::KeptIsUnfinished) => Sight::Unfinished,
            Some(Stamp::Filling(nonce)) if standing.begun.as_ref() == Some(&nonce) => Sight::Unfinished,
            stamp @ (None | Some(Stamp::Kept(_) | Stamp::Filling(_))) => {
                let is_empty = matches!(probe.place, Place::Empty | Place::Missing);
                // The image may have brought something.
                let is_woken = is_empty || {
                    let survey = sandboxes.survey(&this.id, &standing.dir).await.map_err(failed)?;
                    survey.is_as(standing.baseline.as_ref())
                };
                if is_woken { Sight::Woken } else { Sight::Diverged { stamp } }
            }
            Some(_) => Sight::Unfinished,
        })
    })
    .await
}

/// As [`look`], where somebody died who was filling the container: what was written into it since is not filled any more.
pub(super) async fn sparing_look<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Sight> {
    let sight = look(this).await?;
    if sight != (Sight::Diverged { stamp: None }) {
        return Ok(sight);
    }
    stamp::spare(this).await?;
    look(this).await
}

/// As [`look`], or [`sparing_look`], for whoever starts or ends the sandbox. What is in place is not being filled any more.
pub(super) async fn settled_look<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, is_sparing: bool) -> Result<Sight> {
    let sight = if is_sparing { sparing_look(this).await? } else { look(this).await? };
    if matches!(sight, Sight::Alive(_)) {
        this.stand(|standing| standing.filling = None)?;
    }
    Ok(sight)
}
