//! A sandbox is ended, with a snapshot of what is in it.
//!
//! What can't be captured is not ended.

use super::capture::{capture, save_to_end};
use super::resume::MARGIN;
use super::{Sight, hooks, is_not_superseded, left_unfinished, look, look_after, note_late, settled_look};
use crate::model::named::messages::{HaltRequest, Halted};
use crate::model::named::standing::Standing;
use crate::model::{Code, Result};
use crate::ports::{Ports, Sandboxes};
use crate::service::failures::{During, from_sandbox};
use crate::service::planted::{Bug, planted};
use crate::service::retry::retry;
use crate::service::undo::destroy;
use crate::service::{Abort, CloudflareSandboxSnapshotter};

/// Looks, and ends the sandbox where it runs.
pub(in crate::service) async fn halt<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    request: HaltRequest,
) -> Result<Halted> {
    let _turn = this.memory.lifecycle.lock().await;
    end(&this, request).await
}

/// As [`halt`], for a caller whose turn it is.
pub(super) async fn end<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: HaltRequest) -> Result<Halted> {
    if this.workspace()?.standing.is_none_or(|standing| standing.address != request.address) {
        return Ok(Halted { was_asleep: true, ..Halted::default() });
    }
    is_not_superseded(this, request.version)?;
    this.stand(|standing| standing.former |= request.former)?;
    let halted = note_late(this, capture_and_end(this, request).await)?;
    let Standing { former, late, .. } = this.standing()?;
    if former || late {
        look_after(this)?;
    }
    Ok(halted)
}

async fn capture_and_end<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: HaltRequest) -> Result<Halted> {
    let mut halted = Halted { was_asleep: true, ..Halted::default() };
    let left = left_unfinished(this)?;
    match settled_look(this, left.is_some() && request.snapshot).await? {
        Sight::Asleep => return sleeps(this).await.map(|()| halted),
        Sight::Unfinished | Sight::Woken => {}
        Sight::Diverged { .. } if !request.snapshot => {}
        Sight::Diverged { stamp } => halted.saved = Some(save_to_end(this, stamp.as_ref()).await?),
        Sight::Alive(stamp) => {
            halted.was_asleep = false;
            let dir = this.standing()?.dir;
            for (name, hook) in &request.hooks {
                halted.hooks.push(hooks::run(this, &stamp, &dir, name, hook, &request.env).await?);
            }
            if request.snapshot {
                match capture(this).await {
                    Ok((snapshot, unsettled)) => (halted.snapshot, halted.unsettled) = (Some(snapshot), unsettled),
                    Err(_) if planted(Bug::EndedUncaptured) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    match destroy(this, &this.id).await {
        Ok(()) => sleeps(this).await?,
        // It may come late, and its files are saved: the workspace does without it.
        Err(error) if error.code() == Code::SandboxTimeout => halted.end_unanswered = true,
        Err(error) => {
            return Err(match &halted.snapshot {
                Some(snapshot) => error.and(&format!("The snapshot {} was taken.", snapshot.id)),
                None => error,
            });
        }
    }
    if halted.saved.is_some() {
        // That capture has come to its end.
        this.stand(|standing| standing.filling = left)?;
    }
    Ok(halted)
}

/// Where a capture or its look has started a container without the workspace's files, that one falls asleep again by itself.
/// Whoever is at work on the sandbox sees to it otherwise.
pub(in crate::service) async fn let_sleep<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let Some(_turn) = this.memory.lifecycle.try_lock() else { return Ok(()) };
    if look(this).await? == Sight::Woken { sleeps(this).await } else { Ok(()) }
}

/// Whatever wakes the sandbox from now on, it falls asleep again by itself.
pub(super) async fn sleeps<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    retry(&*this.ports, &Abort::never(), async || {
        let kept = this.ports.sandboxes()?.keep_awake(&this.id, Some(MARGIN)).await;
        kept.map_err(|failure| from_sandbox(failure, &this.id, During::Destroy))
    })
    .await
}
