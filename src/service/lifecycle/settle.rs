//! What is left of a sandbox that was being started when somebody died, or that is nobody's any more: a restore may still
//! go on in it, and start it again. So it is looked at until it stays down.

use super::halt::{end, sleeps};
use super::{Sight, left_unfinished, look, sparing_look};
use crate::model::named::messages::HaltRequest;
use crate::model::named::standing::Standing;
use crate::model::record::LooseEnd;
use crate::model::{Result, Timestamp};
use crate::ports::{Clock, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::planted::{Bug, planted};
use crate::service::undo::destroy;

/// How long after it was seen to be down a sandbox is looked at again, in milliseconds.
const AGAIN_MILLIS: [i64; 3] = [60_000, 10 * 60_000, 60 * 60_000];

/// When somebody has to look.
pub(in crate::service) fn due<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    Ok(filling(this)?.map(|loose| loose.due))
}

/// Ends what nobody finished, if it is due by then.
pub(in crate::service) async fn follow_up<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    by: Option<Timestamp>,
) -> Result<()> {
    let Some(loose) = filling(this)?.filter(|loose| by.is_none_or(|by| loose.due <= by)) else { return Ok(()) };
    // Whoever is at work on it sees to it.
    let Some(_turn) = this.memory.lifecycle.try_lock() else { return Ok(()) };
    let is_retired = this.workspace()?.retired_at.is_some();
    let sight = if is_retired { look(this).await } else { sparing_look(this).await };
    let is_early = loose.due > this.ports.clock().now();
    let has_files = matches!(sight, Ok(Sight::Alive(_) | Sight::Diverged { .. }));
    let Standing { former, address, .. } = this.standing()?;
    let is_left_alone = has_files && !is_retired && !former;
    let (is_down, ended) = match sight {
        // What those who died asked for may still come. A look before its time does not count, however often workers die.
        Ok(Sight::Asleep) if is_early => return this.wake_by(loose.due),
        Ok(Sight::Diverged { .. }) if is_early && is_left_alone => return this.wake_by(loose.due),
        Ok(Sight::Asleep) => (true, sleeps(this).await),
        Ok(_) if is_left_alone => {
            left_unfinished(this)?;
            return this.stand(|standing| standing.filling = None);
        }
        // It may be this look that started its container.
        Ok(_) if has_files && !is_retired => (false, end(this, HaltRequest::capturing(address)).await.map(drop)),
        Ok(_) if planted(Bug::UnfinishedNotEnded) => return this.stand(|standing| standing.filling = None),
        Ok(_) => (false, destroy(this, &this.id).await),
        Err(error) => (false, Err(error)),
    };
    let now = this.ports.clock().now();
    let tries = filling(this)?.map_or(0, |loose| loose.tries);
    let tries = if is_down { tries + 1 } else { 0 };
    let again = AGAIN_MILLIS.get(tries as usize).map(|millis| now.plus_millis(*millis));
    this.stand(|standing| {
        standing.filling = again.map(|due| LooseEnd { due, tries });
        standing.late &= again.is_some();
    })?;
    if let Some(due) = again {
        this.wake_by(due)?;
    }
    ended
}

fn filling<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<LooseEnd>> {
    Ok(this.workspace()?.standing.and_then(|standing| standing.filling))
}
