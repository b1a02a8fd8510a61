//! What the alarm of a workspace does. It is set to the earliest time at which there is something to do.

use super::delete::REMEMBERED_MILLIS;
use super::lifecycle::settle;
use super::once::KEPT_MILLIS;
use super::planted::{Bug, planted};
use super::{CloudflareSandboxSnapshotter, doubt, once, recover, retain, suspect};
use crate::model::record::{Derivation, Release, SnapshotRecord};
use crate::model::{Result, Timestamp};
use crate::ports::{Clock, Ledger, Ports};

/// How soon the alarm comes again when there is more to do than one could finish, in milliseconds.
const SOON_MILLIS: i64 = 60_000;

/// How often answers and memories that are too old are removed, in milliseconds: once a day.
const TIDY_MILLIS: i64 = 24 * 3600 * 1000;

/// Follows up loose ends, lets go what the policy says, forgets what need not be known any more, and sets the alarm anew.
///
/// # Errors
/// What could not be done; it is tried again by the next alarm.
pub(super) async fn alarm<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let now = this.ports.clock().now();
    // When this one dies, the next one comes all the same.
    let fallback = now.plus_millis(SOON_MILLIS);
    ledger.set_alarm(Some(fallback))?;
    let work = async {
        recover::recovered(this).await;
        let followed_up = recover::follow_up(this, Some(now)).await;
        followed_up.and(retain::pass(this).await)
    };
    let outcome = work.await;
    let seen = if planted(Bug::ExpirationMissed) { this.ports.clock().now() } else { now };
    tidy(this, seen, fallback)?;
    outcome
}

/// Forgets what need not be known any more, and sets the alarm to what is due next. What was asked for meanwhile is not
/// `fallback`, and stays. `seen` is the time up to which expirations were seen to.
fn tidy<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, seen: Timestamp, fallback: Timestamp) -> Result<()> {
    let ledger = this.ports.ledger()?;
    let now = this.ports.clock().now();
    let answers_left = ledger.forget_answered(now.plus_millis(-KEPT_MILLIS))?;
    let memories_left = ledger.forget_deleted(now.plus_millis(-REMEMBERED_MILLIS))?;
    let tidied = (answers_left || memories_left).then(|| now.plus_millis(TIDY_MILLIS));
    let asked = ledger.alarm()?.filter(|at| *at != fallback);
    let times = [next(this, now)?, next_expiration(this, seen)?, tidied, asked];
    ledger.set_alarm(times.into_iter().flatten().min())
}

/// The earliest time at which something is due.
fn next<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, now: Timestamp) -> Result<Option<Timestamp>> {
    let ledger = this.ports.ledger()?;
    let unfinished = ledger.unfinished()?;
    let unsettled = ledger.unsettled()?;
    let releases = ledger.releases()?;
    let snapshots = unfinished.iter().filter_map(SnapshotRecord::loose);
    let sandboxes = unsettled.iter().filter_map(Derivation::loose);
    let words = releases.iter().map(|release: &Release| release.loose);
    // What is overdue now could not be done, or is somebody's work.
    let due = snapshots
        .chain(sandboxes)
        .chain(words)
        .map(|loose| loose.due)
        .chain(once::due(this)?)
        .chain(doubt::due(this)?)
        .chain(suspect::due(this)?)
        .chain(settle::due(this)?);
    Ok(due.map(|due| due.max(now.plus_millis(SOON_MILLIS))).min())
}

/// The next time at which a snapshot expires, after `seen`. Those that stay although they have expired are passed over.
fn next_expiration<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, seen: Timestamp) -> Result<Option<Timestamp>> {
    let ledger = this.ports.ledger()?;
    let mut limit = 2;
    loop {
        let expiring = ledger.expiring(Timestamp::LAST, limit)?;
        let next = expiring.iter().filter_map(|snapshot| snapshot.expires_at).find(|time| *time > seen);
        if next.is_some() || expiring.len() < limit as usize {
            return Ok(next);
        }
        limit *= 2;
    }
}
