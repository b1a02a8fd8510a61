//! Unverified containers: the container that runs may have replaced the one with the sandbox's files.
//!
//! A probe of a sandbox whose container has ended starts another, empty container; so does a capture. The Worker then
//! flags the new container as a replacement (`container`). But the object may end before that, the answer may be lost,
//! and the flag may fail. So the ledger records, before the sandbox is touched, since when a replacement may have
//! happened. Until the container is verified, it is accepted only if it is older than that time.
//!
//! Where the runtime proves the identity of a container, the ledger records the identity too. The next status tells
//! whether that container still runs: no command and no flag is needed.
//!
//! A capture records that time in its own row, which is written anyway. When the capture does not verify the container,
//! the time moves to the sandbox's row.

use std::cell::Cell;
use std::rc::Rc;

use crate::model::record::{
    CaptureInProgress, ContainerObservation, SnapshotRecord, Stage, UnverifiedContainer, Verification,
};
use crate::model::{ContainerIdentity, Error, Result, Timestamp};
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
        let reconcile_at = this.sandbox_record()?.unverified.map(|unverified| unverified.due_at);
        let reconcile_at = reconcile_at.filter(|due_at| *due_at > this.now());
        Ok(Self { exclusive_number: is_exclusive.then(|| started_count.get()), started_count, reconcile_at })
    }

    /// Ends a probe that found the same container after all work: restores the state from before the probe. Changes
    /// nothing when other work overlapped, because that may have started a container after this probe.
    pub fn finish_verified<P: Ports>(self, this: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
        if self.exclusive_number != Some(self.started_count.get()) {
            return Ok(());
        }
        let unverified = this.sandbox_record()?.unverified;
        this.put_unverified(
            unverified.zip(self.reconcile_at).map(|(unverified, due_at)| UnverifiedContainer { due_at, ..unverified }),
        )
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Records that another container than `container` may be started from now on. Returns the time before which a container
    /// must have started to be accepted.
    pub(in crate::service) fn mark_unverified(&self, container: Option<ContainerIdentity>) -> Result<Timestamp> {
        let (since, container) = self.unverified()?.unwrap_or((self.now(), container));
        self.save_unverified(since, container)
    }

    /// Returns the time before which a container that was observed at `observed_at` must have started to be accepted.
    pub(super) fn accepted_before(&self, observed_at: Timestamp) -> Result<Timestamp> {
        Ok(self.unverified()?.map_or(observed_at, |(since, _)| since.min(observed_at)))
    }

    /// Returns the time before which a container must have started to be accepted, and the only container that is, if it has
    /// an identity; `None` when the container is not unverified.
    pub(super) fn unverified(&self) -> Result<Option<(Timestamp, Option<ContainerIdentity>)>> {
        let unfinished = self.ledger.unfinished_snapshots()?;
        let from_captures = unfinished.iter().filter_map(|snapshot| match &snapshot.stage {
            Stage::Creating(progress) if progress.verification == Verification::DueUnverified => {
                Some((progress.observation.observed_at, progress.observation.identity()))
            }
            _ => None,
        });
        let from_record = self.sandbox_record()?.unverified.map(|unverified| (unverified.since, unverified.container));
        Ok(from_captures.chain(from_record).min_by_key(|(since, _)| *since))
    }

    /// Returns whether identities decide about a container: it has one, and so has the container that was observed before.
    pub(super) fn is_identified(&self, observation: &ContainerObservation) -> Result<bool> {
        let has_accepted = self.unverified()?.is_none_or(|(_, container)| container.is_some());
        Ok(has_accepted && observation.identity().is_some())
    }

    /// Verifies that a container is the only one that is accepted, if it is known which one that is.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`](crate::model::Code::SandboxReplaced) for another container.
    pub(in crate::service) fn verify_accepted(&self, observation: &ContainerObservation) -> Result<()> {
        match (self.unverified()?, observation.identity()) {
            (Some((_, Some(accepted))), Some(running)) if accepted != running => {
                self.require_container(accepted)?;
                Err(Error::container_replaced(&self.id, "was replaced"))
            }
            _ => Ok(()),
        }
    }

    /// Moves the unverified state of a capture from its row to that of the sandbox.
    pub(in crate::service) fn inherit_from_capture(&self, capture: &mut SnapshotRecord) -> Result<()> {
        self.refresh_verification(capture)?;
        let Stage::Creating(progress) = &mut capture.stage else { return Ok(()) };
        if progress.verification != Verification::DueUnverified {
            return Ok(());
        }
        progress.verification = Verification::Due;
        if let Some(mut row) = self.ledger.snapshot(&capture.snapshot_id)?
            && let Stage::Creating(stored) = &mut row.stage
        {
            stored.verification = Verification::Due;
            self.ledger.put_snapshot(&row)?;
        }
        let former = self.sandbox_record()?.unverified.map(|unverified| (unverified.since, unverified.container));
        let observed = (progress.observation.observed_at, progress.observation.identity());
        let (since, container) = former.filter(|(since, _)| *since < observed.0).unwrap_or(observed);
        self.save_unverified(since, container).map(drop)
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
    pub(super) fn trust_from_now(&self, container: Option<ContainerIdentity>) -> Result<Timestamp> {
        for mut capture in self.ledger.unfinished_snapshots()? {
            if let Stage::Creating(progress) = &mut capture.stage
                && progress.verification == Verification::DueUnverified
            {
                progress.verification = Verification::Due;
                self.ledger.put_snapshot(&capture)?;
            }
        }
        self.save_unverified(self.now(), container)
    }

    /// Verifies an unverified container, once no earlier work can start another one.
    pub(in crate::service) async fn reconcile_unverified(&self) -> Result<()> {
        let Some(unverified) = self.sandbox_record()?.unverified else { return Ok(()) };
        if self.now() < unverified.due_at || self.may_start_container()? {
            return Ok(());
        }
        let probe = ActiveProbe::begin(self)?;
        self.save_unverified(unverified.since, unverified.container)?;
        match unverified.container {
            Some(container) => match self.sandbox_status().await?.identity() {
                Some(running) if running != container => self.require_container(container)?,
                _ => {}
            },
            None => self.flag_if_replaced(&self.config.default_dir, unverified.since).await?,
        }
        probe.finish_verified(self)
    }

    fn save_unverified(&self, since: Timestamp, container: Option<ContainerIdentity>) -> Result<Timestamp> {
        let due_at = self.now().plus_millis(RETRY_DELAY_MILLIS);
        self.put_unverified(Some(UnverifiedContainer { since, due_at, container }))?;
        self.schedule_alarm(due_at)?;
        Ok(since)
    }

    /// Notes a call without an answer, which may start a container later: no probe in progress can rule that out.
    pub(super) fn note_unanswered(&self) {
        let started_count = &self.in_process.probes_started;
        started_count.set(started_count.get() + 1);
    }

    /// Accepts the container that runs now as verified.
    pub(in crate::service) fn accept_unverified(&self) -> Result<()> {
        if self.may_start_container()? { Ok(()) } else { self.put_unverified(None) }
    }

    /// Returns whether work in progress may start a container: in this process, or in a sandbox that did not answer.
    fn may_start_container(&self) -> Result<bool> {
        let unfinished = self.ledger.unfinished_snapshots()?;
        let may_be_running = |stage: &Stage| matches!(stage, Stage::Creating(CaptureInProgress { backup: None, .. }));
        Ok(Rc::strong_count(&self.in_process.probes_started) > 1
            || unfinished.iter().any(|snapshot| may_be_running(&snapshot.stage)))
    }

    fn put_unverified(&self, unverified: Option<UnverifiedContainer>) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        if sandbox.unverified != unverified {
            sandbox.unverified = unverified;
            self.ledger.put_sandbox(&sandbox)?;
        }
        Ok(())
    }
}
