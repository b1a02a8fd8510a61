//! Unverified containers: the container that runs may have replaced the one with the sandbox's files.
//!
//! A probe of a sandbox whose container has ended starts another, empty container; so does a capture. The Worker then
//! flags the new container as a replacement (`container`). But the object may end before that, the answer may be lost,
//! and the flag may fail. So the ledger records, before the sandbox is touched, since when a replacement may have
//! happened. Until the container is verified, it is accepted only if it is older than that time.
//!
//! A capture records that time in its own row, which is written anyway. When the capture does not verify the container,
//! the time moves to the workspace's row.

use std::cell::Cell;
use std::rc::Rc;

use super::identity;
use crate::model::record::{CaptureInProgress, SnapshotRecord, Stage, UnverifiedContainer, Verification};
use crate::model::{Result, Timestamp};
use crate::ports::{Clock, Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::planted::{Bug, planted};

/// The delay after which the alarm verifies a container that no other work has verified, in milliseconds.
const RECONCILE_AFTER_MILLIS: i64 = 60_000;

/// A probe or a capture of the sandbox in progress.
pub(in crate::service) struct ActiveProbe {
    started_count: Rc<Cell<u64>>,
    /// The number of this probe among all that were started; `None` when other work in progress may start a container.
    exclusive_number: Option<u64>,
    /// When an earlier unverified state is due, if that is in the future: its cause may still start a container.
    reconcile_at: Option<Timestamp>,
}

impl ActiveProbe {
    /// Begins a probe.
    pub fn begin<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Self> {
        let is_exclusive = !may_start_container(this)?;
        let started_count = Rc::clone(&this.in_process.probes_started);
        started_count.set(started_count.get() + 1);
        let reconcile_at = due(this)?.filter(|due_at| *due_at > this.ports.clock().now());
        Ok(Self { exclusive_number: is_exclusive.then(|| started_count.get()), started_count, reconcile_at })
    }

    /// Ends a probe that found the same container after all work: restores the state from before the probe. Changes
    /// nothing when other work overlapped, because that may have started a container after this probe.
    pub fn finish_verified<P: Ports>(self, this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
        if self.exclusive_number != Some(self.started_count.get()) {
            return Ok(());
        }
        let unverified = this.workspace()?.unverified;
        save(
            this,
            unverified.zip(self.reconcile_at).map(|(unverified, due_at)| UnverifiedContainer { due_at, ..unverified }),
        )
    }
}

/// Records that a container may be started from now on. Returns the time before which a container must have started to
/// be accepted.
pub(in crate::service) fn mark_unverified<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Timestamp> {
    let now = this.ports.clock().now();
    save_since(this, since(this)?.unwrap_or(now))
}

/// Returns the time before which a container must have started to be accepted; `None` when the container is not
/// unverified.
pub(in crate::service) fn since<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    let unfinished = this.ports.ledger()?.unfinished_snapshots()?;
    let from_captures = unfinished.iter().filter_map(|snapshot| match &snapshot.stage {
        Stage::Creating(progress) if progress.verification == Verification::DueUnverified => {
            Some(progress.observation.observed_at)
        }
        _ => None,
    });
    let from_workspace = this.workspace()?.unverified.map(|unverified| unverified.since);
    Ok(from_captures.chain(from_workspace).min())
}

/// Moves the unverified state of a capture to the workspace's row, before the row of the capture is rewritten or
/// deleted.
pub(in crate::service) fn inherit_from_capture<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    capture: &mut SnapshotRecord,
) -> Result<()> {
    refresh_verification(this, capture)?;
    let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
    if progress.verification != Verification::DueUnverified {
        return Ok(());
    }
    progress.verification = Verification::Due;
    let former_since = this.workspace()?.unverified.map(|unverified| unverified.since);
    let since = progress.observation.observed_at;
    save_since(this, former_since.map_or(since, |former_since| former_since.min(since))).map(drop)
}

/// Reads again from the ledger whether a capture leaves the container unverified: another call may have accepted the
/// container in the meantime.
pub(in crate::service) fn refresh_verification<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    capture: &mut SnapshotRecord,
) -> Result<()> {
    let known = this.ports.ledger()?.snapshot(&capture.snapshot_id)?;
    if let Some(Stage::Creating(known)) = known.map(|known| known.stage)
        && let Stage::Creating(progress) = &mut capture.stage
    {
        progress.verification = known.verification;
    }
    Ok(())
}

/// Accepts the container that runs now, whatever its age. Only a container that starts later is unverified, and
/// captures in progress no longer leave this one unverified.
pub(in crate::service) fn trust_from_now<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Timestamp> {
    let ledger = this.ports.ledger()?;
    for mut capture in ledger.unfinished_snapshots()? {
        if let Stage::Creating(progress) = &mut capture.stage
            && progress.verification == Verification::DueUnverified
        {
            progress.verification = Verification::Due;
            ledger.put_snapshot(&capture)?;
        }
    }
    save_since(this, this.ports.clock().now())
}

/// Returns when an unverified container is to be verified.
pub(in crate::service) fn due<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<Option<Timestamp>> {
    Ok(this.workspace()?.unverified.map(|unverified| unverified.due_at))
}

/// Verifies an unverified container, once no earlier work can start another one.
pub(in crate::service) async fn reconcile<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
    let Some(unverified) = this.workspace()?.unverified else { return Ok(()) };
    if this.ports.clock().now() < unverified.due_at || may_start_container(this)? {
        return Ok(());
    }
    let probe = ActiveProbe::begin(this)?;
    save_since(this, unverified.since)?;
    identity::flag_if_replaced(&*this.ports, &this.id, &this.config.default_dir, unverified.since).await?;
    probe.finish_verified(this)
}

fn save_since<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, since: Timestamp) -> Result<Timestamp> {
    let due_at = this.ports.clock().now().plus_millis(RECONCILE_AFTER_MILLIS);
    save(this, Some(UnverifiedContainer { since, due_at }))?;
    this.schedule_alarm(due_at)?;
    Ok(since)
}

/// Returns whether work in progress may start a container: in this process, or in a sandbox that did not answer.
fn may_start_container<P: Ports>(this: &CloudflareSandboxSnapshotter<P>) -> Result<bool> {
    let unfinished = this.ports.ledger()?.unfinished_snapshots()?;
    let may_be_running = |stage: &Stage| matches!(stage, Stage::Creating(CaptureInProgress { backup: None, .. }));
    Ok(Rc::strong_count(&this.in_process.probes_started) > 1
        || unfinished.iter().any(|snapshot| may_be_running(&snapshot.stage)))
}

fn save<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, unverified: Option<UnverifiedContainer>) -> Result<()> {
    let mut workspace = this.workspace()?;
    if workspace.unverified != unverified && !planted(Bug::UnverifiedNotStored) {
        workspace.unverified = unverified;
        this.ports.ledger()?.put_workspace(&workspace)?;
    }
    Ok(())
}
