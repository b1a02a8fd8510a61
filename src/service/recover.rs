//! Follows up what somebody left who died, or could not finish.
//!
//! Whatever passes has a row in the ledger, kept before the world is touched. When nobody works on it any more, it is a
//! loose end:
//!
//! | the row says                              | what is done                                                                |
//! | ----------------------------------------- | --------------------------------------------------------------------------- |
//! | a snapshot is made, the sandbox answered  | it is adopted, if the backup is whole and of that container; or else removed |
//! | a snapshot is made                        | its backup is looked for in R2 by its mark, and removed: now, and later once more |
//! | a snapshot is deleted                     | what is in R2 is deleted                                                    |
//! | a sandbox is made                         | it is destroyed                                                             |
//! | a sandbox is destroyed                    | it is looked at again, since a restore may still have gone on in it         |
//! | a call has no answer                      | the call can be made again                                                  |
//! | a container may be another than it was    | it is measured whether it is older                                          |
//! | a sandbox that stands for a name is filled | it is ended, unless it was finished                                        |
//! | word for another workspace                | it is passed on                                                             |

use futures_util::FutureExt;

use super::container::{self, Check};
use super::doubt::Looking;
use super::failures::{During, from_sandbox, from_storage};
use super::lifecycle::settle;
use super::memory::{Recovery, Work};
use super::planted::{Bug, planted};
use super::retry::retry;
use super::undo::{delete_marked, destroy};
use super::{Abort, CloudflareSandboxSnapshotter, delete, doubt, hold, label, restore, sight, snapshot, trace};
use crate::model::record::{Derivation, DerivationState, Look, LooseEnd, Sighting, SnapshotRecord, Stage};
use crate::model::{BackupHandle, BackupId, Code, Error, Mark, Part, Result, SandboxId, SnapshotId, Status, Timestamp};
use crate::ports::{BackupStore, Clock, Ledger, Ports, Sandboxes};

/// How long after it was looked for in vain a backup is looked for again, in milliseconds. Whatever comes still later is
/// left to the sweep.
const LOOKED_FOR_AGAIN_MILLIS: [i64; 3] = [60_000, 10 * 60_000, 60 * 60_000];

/// How long after a sandbox was seen to be down it is looked at again, in milliseconds: a restore that its maker has left
/// may start it after that.
const LOOKED_AT_AGAIN_MILLIS: [i64; 2] = [10 * 60_000, 60 * 60_000];

/// How long after it was destroyed a sandbox is looked at again, in milliseconds, and at least after a look that failed.
const AGAIN_MILLIS: i64 = 60_000;

/// How long it is waited at most after looks for a backup that fail, in milliseconds: as long as it has lasted by then.
const LONGEST_PAUSE_MILLIS: i64 = 64 * 60_000;

/// How far clocks may differ, in milliseconds.
const SKEW_MILLIS: i64 = 60_000;

/// Follows up what a former object left, once. Calls that come meanwhile wait for it: the answer to one of them may be among
/// it. Where all who wait go away, the next call begins again.
pub(super) async fn recovered<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) {
    let known = match &*this.memory.recovery.borrow() {
        Recovery::Due => None,
        Recovery::Underway(recovery) => recovery.upgrade(),
        Recovery::Done => return,
    };
    let recovery = known.unwrap_or_else(|| {
        let own = this.clone();
        let recovery = async move {
            // What fails is left to the alarm.
            drop(follow_up(&own, None).await);
            *own.memory.recovery.borrow_mut() = Recovery::Done;
        };
        let recovery = recovery.boxed_local().shared();
        *this.memory.recovery.borrow_mut() = recovery.downgrade().map_or(Recovery::Due, Recovery::Underway);
        recovery
    });
    recovery.await;
}

/// Follows up every loose end that is due by then; all of them, where no time is given.
pub(super) async fn follow_up<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, by: Option<Timestamp>) -> Result<()> {
    let is_due = |loose: LooseEnd| by.is_none_or(|by| loose.due <= by);
    let ledger = this.ports.ledger()?;
    let mut outcome = Ok(());
    for snapshot in ledger.unfinished()?.into_iter().filter(|snapshot| snapshot.loose().is_some_and(is_due)) {
        outcome = outcome.and(follow_up_snapshot(this, snapshot).await);
    }
    for derivation in ledger.unsettled()?.into_iter().filter(|derivation| derivation.loose().is_some_and(is_due)) {
        outcome = outcome.and(follow_up_sandbox(this, &derivation.sandbox_id).await);
    }
    for release in ledger.releases()?.into_iter().filter(|release| is_due(release.loose)) {
        outcome = outcome.and(hold::pass_on(this, release).await);
    }
    for request in ledger.unanswered()?.into_iter().filter(|request| !this.memory.has_key(&request.key)) {
        ledger.forget_request(&request.key)?;
    }
    outcome = outcome.and(settle::follow_up(this, by).await);
    outcome.and(doubt::follow_up(this).await)
}

async fn follow_up_snapshot<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, snapshot: SnapshotRecord) -> Result<()> {
    match &snapshot.stage {
        Stage::Deleting { .. } => delete::finish(this, &snapshot.snapshot_id).await,
        Stage::Making(_) => follow_up_capture(this, &snapshot.snapshot_id).await,
        Stage::Ready { .. } | Stage::Deleted { .. } => Ok(()),
    }
}

async fn follow_up_capture<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SnapshotId) -> Result<()> {
    let Some(_underway) = this.memory.take(Work::Snapshot(id.clone())) else { return Ok(()) };
    let ledger = this.ports.ledger()?;
    // It may have been finished since it was found to be due.
    let Some(mut capture) = ledger.snapshot(id)? else { return Ok(()) };
    let mark = capture.mark(&this.id);
    if matches!(&capture.stage, Stage::Making(making) if making.look == Look::DueInDoubt)
        && !planted(Bug::DoubtOfCaptureLost)
    {
        doubt::take_over(this, &mut capture)?;
        ledger.put_snapshot(&capture)?;
    }
    let Stage::Making(making) = &mut capture.stage else { return Ok(()) };
    let found = match making.backup.clone() {
        Some(backup) if !making.discarded => match adopt(this, &capture, backup, &mark).await {
            Ok(Adopted::Yes) => return Ok(()),
            Ok(Adopted::No(id)) => delete_marked(this, &id, &mark).await,
            Err(error) => Err(error),
        },
        Some(backup) => delete_marked(this, backup.id(), &mark).await,
        None => remove_wherever(this, &mark, capture.began_at).await,
    };
    let Stage::Making(making) = &mut capture.stage else { return Ok(()) };
    let now = this.ports.clock().now();
    let LooseEnd { due, tries } = making.loose;
    let again = match &found {
        Ok(true) => None,
        Ok(false) if making.backup.is_some() => None,
        // A look before its time does not count, however often workers die.
        _ if due > now => return this.wake_by(due).and(found.map(drop)),
        Ok(false) => LOOKED_FOR_AGAIN_MILLIS.get(tries as usize).map(|millis| (*millis, tries + 1)),
        // Nor does one that fails: what the capture has asked for may still come.
        Err(_) => Some((now.millis_since(capture.began_at).clamp(AGAIN_MILLIS, LONGEST_PAUSE_MILLIS), tries)),
    };
    match again {
        None => ledger.forget_snapshot(&capture.snapshot_id)?,
        Some((millis, tries)) => {
            making.loose = later(this, millis, tries)?;
            label::note(this, &mut capture)?;
            ledger.put_snapshot(&capture)?;
        }
    }
    found.map(drop)
}

enum Adopted {
    Yes,
    /// The backup must not be used.
    No(BackupId),
}

/// Takes a capture as made, if its backup is whole, and of the container that was seen before.
async fn adopt<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    capture: &SnapshotRecord,
    backup: BackupHandle,
    mark: &Mark,
) -> Result<Adopted> {
    let Stage::Making(making) = &capture.stage else { return Err(Error::defect()) };
    let _adopting = this.memory.adopting.lock().await;
    let looking = Looking::begin(this)?;
    // What the capture had left in doubt may be settled since, and this is a look too.
    let workspace = this.workspace()?;
    if workspace.standing.is_none() && workspace.marker.is_none() {
        doubt::begin(this)?;
    }
    let after = Sighting { since: this.ports.clock().now(), ..making.sighting };
    let check = if planted(Bug::AdoptedUncompared) { Check::Same(after) } else { sight::check(this, making)? };
    let confirmed = match container::is_still_up(&*this.ports, &this.id).await {
        Ok(()) => snapshot::confirm(this, None, &backup, mark, &capture.dir, &check).await,
        Err(error) => Err(error),
    };
    let known = this.ports.ledger()?.snapshot(&capture.snapshot_id)?;
    let is_unwanted = known.is_some_and(|known| known.is_unwanted());
    match confirmed {
        Ok(_) if is_unwanted => Ok(Adopted::No(backup.id().clone())),
        Ok(found) => {
            snapshot::finish(this, capture.clone(), backup, found)?;
            // What fails is left to the alarm.
            drop(looking.end(this));
            trace::adopted(&capture.snapshot_id);
            Ok(Adopted::Yes)
        }
        // Of a ledger that can't be read, nothing is known: no backup is deleted for that.
        Err(error) if error.retryable() || error.code() == Code::LedgerCorrupt => Err(error),
        Err(_) => Ok(Adopted::No(backup.id().clone())),
    }
}

/// Looks for backups with a mark in the whole bucket, and deletes them. Says whether there were any.
async fn remove_wherever<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    mark: &Mark,
    began_at: Timestamp,
) -> Result<bool> {
    let failed = |failure| from_storage(failure, "looking for what is left of a snapshot");
    let backups = this.ports.backups()?;
    let mut removed = false;
    let mut cursor: Option<String> = None;
    loop {
        let listing =
            retry(&*this.ports, &Abort::never(), async || backups.list(cursor.as_deref()).await.map_err(failed))
                .await?;
        for listed in listing.objects {
            if listed.part == Part::Metadata && listed.uploaded_at >= began_at.plus_millis(-SKEW_MILLIS) {
                removed |= delete_marked(this, &listed.id, mark).await?;
            }
        }
        cursor = listing.cursor;
        if cursor.is_none() {
            return Ok(removed);
        }
    }
}

async fn follow_up_sandbox<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, id: &SandboxId) -> Result<()> {
    let Some(_underway) = this.memory.take(Work::Sandbox(id.clone())) else { return Ok(()) };
    let ledger = this.ports.ledger()?;
    let Some(derivation) = ledger.derivation(id)? else { return Ok(()) };
    let loose = match derivation.state {
        DerivationState::Ready { .. } => return Ok(()),
        DerivationState::Pending(_) if planted(Bug::PendingNotFollowedUp) => return Ok(()),
        DerivationState::Pending(_) => {
            restore::end(this, &derivation)?;
            return destroy(this, id).await;
        }
        // A restore that was begun may still start it.
        DerivationState::Ending(loose) if loose.due > this.ports.clock().now() && !planted(Bug::LookedAtTooEarly) => {
            return this.wake_by(loose.due);
        }
        DerivationState::Ending(loose) => loose,
    };
    let state = this.ports.sandboxes()?.state(id).await.map_err(|failure| from_sandbox(failure, id, During::Look));
    let is_down = state.is_ok_and(|state| state.status == Status::Down);
    let destroyed = if is_down { Ok(()) } else { destroy(this, id).await };
    let again = match (is_down, &destroyed) {
        (true, _) => LOOKED_AT_AGAIN_MILLIS.get(loose.tries as usize).copied(),
        (false, Ok(())) => Some(AGAIN_MILLIS),
        (false, Err(_)) => Some(10 * AGAIN_MILLIS),
    };
    let Some(millis) = again else { return ledger.forget_derivation(id) };
    // Only what stays down is gone.
    let loose = later(this, millis, if is_down { loose.tries + 1 } else { 0 })?;
    ledger.put_derivation(&Derivation { state: DerivationState::Ending(loose), ..derivation })?;
    destroyed
}

fn later<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, millis: i64, tries: u32) -> Result<LooseEnd> {
    let due = this.ports.clock().now().plus_millis(millis);
    this.wake_by(due)?;
    Ok(LooseEnd { due, tries })
}
