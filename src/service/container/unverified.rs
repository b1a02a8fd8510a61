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

use crate::model::record::{CaptureInProgress, SnapshotRecord, Stage, UnverifiedContainer, Verification};
use crate::model::{Result, Timestamp};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::tasks::backoff::RETRY_DELAY_MILLIS;

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
        let is_exclusive = !this.may_start_container()?;
        let started_count = Rc::clone(&this.in_process.probes_started);
        started_count.set(started_count.get() + 1);
        let reconcile_at = this.workspace()?.unverified.map(|unverified| unverified.due_at);
        let reconcile_at = reconcile_at.filter(|due_at| *due_at > this.now());
        Ok(Self { exclusive_number: is_exclusive.then(|| started_count.get()), started_count, reconcile_at })
    }

    /// Ends a probe that found the same container after all work: restores the state from before the probe. Changes
    /// nothing when other work overlapped, because that may have started a container after this probe.
    pub fn finish_verified<P: Ports>(self, this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
        if self.exclusive_number != Some(self.started_count.get()) {
            return Ok(());
        }
        let unverified = this.workspace()?.unverified;
        this.put_unverified(
            unverified.zip(self.reconcile_at).map(|(unverified, due_at)| UnverifiedContainer { due_at, ..unverified }),
        )
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Records that a container may be started from now on. Returns the time before which a container must have started
    /// to be accepted.
    pub(in crate::service) fn mark_unverified(&self) -> Result<Timestamp> {
        let now = self.now();
        self.save_unverified_since(self.unverified_since()?.unwrap_or(now))
    }

    /// Returns the time before which a container must have started to be accepted; `None` when the container is not
    /// unverified.
    pub(super) fn unverified_since(&self) -> Result<Option<Timestamp>> {
        let unfinished = self.ledger.unfinished_snapshots()?;
        let from_captures = unfinished.iter().filter_map(|snapshot| match &snapshot.stage {
            Stage::Creating(progress) if progress.verification == Verification::DueUnverified => {
                Some(progress.observation.observed_at)
            }
            _ => None,
        });
        let from_workspace = self.workspace()?.unverified.map(|unverified| unverified.since);
        Ok(from_captures.chain(from_workspace).min())
    }

    /// Moves the unverified state of a capture to the workspace's row, before the row of the capture is rewritten or
    /// deleted.
    pub(in crate::service) fn inherit_from_capture(&self, capture: &mut SnapshotRecord) -> Result<()> {
        self.refresh_verification(capture)?;
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        if progress.verification != Verification::DueUnverified {
            return Ok(());
        }
        progress.verification = Verification::Due;
        let former_since = self.workspace()?.unverified.map(|unverified| unverified.since);
        let since = progress.observation.observed_at;
        self.save_unverified_since(former_since.map_or(since, |former_since| former_since.min(since))).map(drop)
    }

    /// Reads again from the ledger whether a capture leaves the container unverified: another call may have accepted
    /// the container in the meantime.
    pub(in crate::service) fn refresh_verification(&self, capture: &mut SnapshotRecord) -> Result<()> {
        let known = self.ledger.snapshot(&capture.snapshot_id)?;
        if let Some(Stage::Creating(known)) = known.map(|known| known.stage)
            && let Stage::Creating(progress) = &mut capture.stage
        {
            progress.verification = known.verification;
        }
        Ok(())
    }

    /// Accepts the container that runs now, whatever its age. Only a container that starts later is unverified, and
    /// captures in progress no longer leave this one unverified.
    pub(super) fn trust_from_now(&self) -> Result<Timestamp> {
        for mut capture in self.ledger.unfinished_snapshots()? {
            if let Stage::Creating(progress) = &mut capture.stage
                && progress.verification == Verification::DueUnverified
            {
                progress.verification = Verification::Due;
                self.ledger.put_snapshot(&capture)?;
            }
        }
        self.save_unverified_since(self.now())
    }

    /// Verifies an unverified container, once no earlier work can start another one.
    pub(in crate::service) async fn reconcile_unverified(&self) -> Result<()> {
        let Some(unverified) = self.workspace()?.unverified else { return Ok(()) };
        if self.now() < unverified.due_at || self.may_start_container()? {
            return Ok(());
        }
        let probe = ActiveProbe::begin(self)?;
        self.save_unverified_since(unverified.since)?;
        self.flag_if_replaced(&self.config.default_dir, unverified.since).await?;
        probe.finish_verified(self)
    }

    fn save_unverified_since(&self, since: Timestamp) -> Result<Timestamp> {
        let due_at = self.now().plus_millis(RETRY_DELAY_MILLIS);
        self.put_unverified(Some(UnverifiedContainer { since, due_at }))?;
        self.schedule_alarm(due_at)?;
        Ok(since)
    }

    /// Returns whether work in progress may start a container: in this process, or in a sandbox that did not answer.
    fn may_start_container(&self) -> Result<bool> {
        let unfinished = self.ledger.unfinished_snapshots()?;
        let may_be_running = |stage: &Stage| matches!(stage, Stage::Creating(CaptureInProgress { backup: None, .. }));
        Ok(Rc::strong_count(&self.in_process.probes_started) > 1
            || unfinished.iter().any(|snapshot| may_be_running(&snapshot.stage)))
    }

    fn put_unverified(&self, unverified: Option<UnverifiedContainer>) -> Result<()> {
        let mut workspace = self.workspace()?;
        if workspace.unverified != unverified {
            workspace.unverified = unverified;
            self.ledger.put_workspace(&workspace)?;
        }
        Ok(())
    }
}
