//! Container observation: decides which container may be captured, and how it is recognized after the capture.
//!
//! | the sandbox | its own container is | any other container |
//! | --- | --- | --- |
//! | belongs to a named workspace | one that was handed out, by its ready marker | is refused |
//! | was captured or restored before | the one with the recorded marker | is refused; `wake` rescues, `adopt` adopts |
//! | is new to the ledger | one that this Worker cannot have started | is refused; `wake` and `adopt` accept it |
//!
//! A capture of a new sandbox marks its own container.
//!
//! Before the capture, the status must say that the container is running. The Worker probes the container only after
//! the capture. That one probe covers the time before, during and after the capture; an earlier probe could start a
//! container, as a capture can.

use super::identity::{self, AGE_RESOLUTION_MILLIS, Age, ContainerExpectation, MAX_AGE_MEASUREMENTS, NOT_OWN};
use crate::model::answer::SnapshotState;
use crate::model::named::ContainerMarker;
use crate::model::record::{
    CaptureInProgress, ContainerObservation, ExpectedMarker, SandboxRecord, Stage, Verification,
};
use crate::model::request::CapturePurpose;
use crate::model::{
    Code, ContainerIdentity, Directory, DirectoryContent, Error, MarkerOutcome, MarkerUpdate, Result, SnapshotRequest,
    Timestamp,
};
use crate::ports::{Ledger, Ports, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::calls::retry::retry;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// A container that can be captured.
pub(in crate::service) struct ObservedContainer {
    /// When the Worker observed it, and the status at that time.
    pub observation: ContainerObservation,
    /// Whether a probe has verified it.
    pub verification: Verification,
    /// The marker that it must carry, where that is known already.
    pub marker: Option<ExpectedMarker>,
    /// Whether its files are the sandbox's own, as far as is known.
    pub is_same_origin: bool,
    /// Whether the capture makes the container the sandbox's own.
    pub adopts: bool,
}

impl ObservedContainer {
    fn own(observation: ContainerObservation, verification: Verification, marker: Option<ExpectedMarker>) -> Self {
        Self { observation, verification, marker, is_same_origin: true, adopts: false }
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the running container that is to be captured. Starts one only where the request accepts any container.
    pub(in crate::service) async fn observe_container(
        &self,
        request: &SnapshotRequest,
        dir: &Directory,
        abort: &CancellationToken,
    ) -> Result<ObservedContainer> {
        let mut sandbox = self.sandbox_record()?;
        sandbox.container = self.own_container(&sandbox)?;
        if sandbox.binding.is_some() {
            return self.observe_named(&sandbox, request, dir, abort).await;
        }
        if self.is_known_sandbox(&sandbox)? {
            return self.observe_known(&sandbox, request, dir, abort).await;
        }
        self.observe_new(request, dir, abort).await
    }

    /// Marks the container of a sandbox that is captured for the first time, if it ran before this Worker could have
    /// started it. Returns the marker. This happens before the capture, because the command that writes the marker may
    /// itself start a container.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`] when the container started later, or when its age is too close to decide.
    pub(in crate::service) async fn mark_container(&self, progress: &CaptureInProgress) -> Result<String> {
        let since = self.accepted_before(progress.observation.observed_at)?;
        // Where an earlier version captured the sandbox, the container must have run at that time.
        let since = self.legacy_capture_began_at()?.map_or(since, |first_capture| first_capture.min(since));
        for _ in 0..MAX_AGE_MEASUREMENTS {
            let (elapsed_at_start, nonce, MarkerUpdate { age_millis, elapsed_millis, outcome, .. }) = self
                .put_new_marker(
                    |elapsed_at_start| match progress.verification {
                        Verification::Done => None,
                        Verification::Due | Verification::DueUnverified => Some(elapsed_at_start.max(0)),
                    },
                    since,
                )
                .await?;
            let elapsed_at_answer = self.now().millis_since(since) - elapsed_millis;
            let marker = match outcome {
                MarkerOutcome::Updated => nonce,
                // An earlier attempt or another deployment wrote it.
                MarkerOutcome::OtherMarker(Some(ContainerMarker::Ready(nonce))) => nonce,
                MarkerOutcome::TooYoung => return Err(self.flag_replaced(None).await),
                MarkerOutcome::OtherMarker(_) => {
                    return Err(Error::container_replaced(&self.id, NOT_OWN));
                }
            };
            if progress.verification == Verification::Done || age_millis >= elapsed_at_answer + AGE_RESOLUTION_MILLIS {
                return Ok(marker);
            }
            if age_millis < elapsed_at_start {
                return Err(self.flag_replaced(None).await);
            }
        }
        Err(Error::container_replaced(&self.id, "may have been replaced"))
    }

    /// Writes a new marker, with a new nonce for each attempt: a delayed attempt that marks another container leaves a
    /// nonce that was never returned. Returns the milliseconds since `since` when the attempt began, the nonce, and the
    /// answer of the container.
    async fn put_new_marker(
        &self,
        older_than: impl Fn(i64) -> Option<i64>,
        since: Timestamp,
    ) -> Result<(i64, String, MarkerUpdate)> {
        self.retry(async || {
            let nonce = self.random_short_id()?.as_str().to_owned();
            let elapsed_at_start = self.now().millis_since(since);
            let marker = ContainerMarker::Ready(nonce.clone());
            let update = self.sandboxes()?.update_marker(&self.id, None, &marker, older_than(elapsed_at_start)).await;
            Ok((elapsed_at_start, nonce, update.map_err(self.failed(During::Probe))?))
        })
        .await
    }

    /// Returns what the container of a capture must match.
    pub(in crate::service) fn container_expectation(
        &self,
        progress: &CaptureInProgress,
    ) -> Result<ContainerExpectation> {
        match (&progress.expected_marker, progress.verification) {
            (_, Verification::Done) => Ok(match progress.observation.identity() {
                Some(container) => ContainerExpectation::Identified(container),
                None => ContainerExpectation::Unchanged(progress.observation),
            }),
            (Some(marker), _) => Ok(ContainerExpectation::HasMarker(marker.clone())),
            (None, _) => self.expectation_since(progress.observation.observed_at),
        }
    }

    /// Verifies, for a named workspace, that the container was already the workspace's own when the capture began. A
    /// ready marker alone does not prove that: it is also there when a start adopted the container's files during the
    /// capture.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`] when a start adopted the files after the capture began.
    pub(in crate::service) fn verify_was_own(&self, expectation: &ContainerExpectation) -> Result<()> {
        let ContainerExpectation::ReadyBefore(since) = expectation else { return Ok(()) };
        match self.sandbox_record()?.start_state().and_then(|start| start.adopted_at) {
            Some(adopted_at) if adopted_at >= *since => Err(Error::adopted_during_capture(&self.id)),
            _ => Ok(()),
        }
    }

    /// Returns the container of the last capture that counts, or of one that recovery will complete.
    fn own_container(&self, sandbox: &SandboxRecord) -> Result<Option<ContainerIdentity>> {
        let unfinished = self.ledger.unfinished_snapshots()?;
        let mut proved = unfinished.iter().filter(|row| !row.rescue).filter_map(|row| match &row.stage {
            Stage::Creating(progress) if progress.backup.is_some() && !progress.discarded => {
                progress.observation.identity().filter(|_| progress.verification == Verification::Done)
            }
            _ => None,
        });
        Ok(sandbox.container.or_else(|| proved.next()))
    }

    /// Returns whether the sandbox was captured or restored before.
    fn is_known_sandbox(&self, sandbox: &SandboxRecord) -> Result<bool> {
        Ok(sandbox.marker.is_some()
            || sandbox.container.is_some()
            || sandbox.parent.is_some()
            || self.legacy_capture_began_at()?.is_some())
    }

    /// Returns when the newest capture of the sandbox began, for rows of earlier versions, which put no markers on
    /// containers.
    fn legacy_capture_began_at(&self) -> Result<Option<Timestamp>> {
        const SEARCH_ROWS: u32 = 10;
        let rows = self.ledger.snapshot_page(None, None, SEARCH_ROWS)?;
        let is_capture =
            |stored: Option<&crate::model::record::StoredBackup>| stored.is_some_and(|stored| !stored.imported);
        let captured =
            rows.iter().find(|row| row.state() == SnapshotState::Ready && !row.rescue && is_capture(row.stored()));
        Ok(captured.map(|row| row.began_at))
    }

    /// Observes a sandbox that belongs to a named workspace.
    async fn observe_named(
        &self,
        sandbox: &SandboxRecord,
        request: &SnapshotRequest,
        dir: &Directory,
        abort: &CancellationToken,
    ) -> Result<ObservedContainer> {
        if request.adopt {
            return Err(Error::adopt_of_workspace(&self.id));
        }
        let verification = if request.wake { Verification::Done } else { Verification::Due };
        let own = sandbox.container;
        let observed = match self.observe_running().await {
            Ok(observation) if own.is_some() && observation.identity() == own => {
                return Ok(ObservedContainer::own(observation, Verification::Done, None));
            }
            Ok(observation) if request.wake => {
                let expectation = self.expectation_since(observation.observed_at)?;
                self.verify_container(None, dir, &expectation).await.map(|()| observation)
            }
            observed => observed,
        };
        match observed {
            // Nothing would end a container that is started here.
            Err(error) if error.code() == Code::SandboxNotRunning => {
                Err(error.with_remediation("Start the workspace of the sandbox, then take the snapshot."))
            }
            Err(error) if request.wake && is_container_error(&error) => {
                let (observation, marker) = self.cold_start(dir, abort).await?;
                self.ensure_still_marked(request, marker.as_ref())?;
                if marker.is_some_and(|marker| marker.is_restoring()) {
                    // The restore of an earlier start may still arrive. A start rules that out before it captures the
                    // files.
                    return Err(Error::start_unfinished(&self.id));
                }
                Ok(ObservedContainer { observation, verification, marker: None, is_same_origin: false, adopts: false })
            }
            observed => observed.map(|observation| ObservedContainer::own(observation, verification, None)),
        }
    }

    /// Observes a sandbox that was captured or restored before.
    async fn observe_known(
        &self,
        sandbox: &SandboxRecord,
        request: &SnapshotRequest,
        dir: &Directory,
        abort: &CancellationToken,
    ) -> Result<ObservedContainer> {
        let observed = self.observe_running().await;
        let identity = observed.as_ref().ok().and_then(ContainerObservation::identity);
        if let (Ok(observation), Some(_)) = (&observed, identity)
            && identity == sandbox.container
        {
            return Ok(ObservedContainer::own(*observation, Verification::Done, None));
        }
        let may_start = request.wake && observed.as_ref().is_err_and(is_container_error);
        let is_recorded = sandbox.marker.is_some() || sandbox.container.is_some();
        let accepts_any = observed.is_ok() && (request.adopt || (request.wake && is_recorded));
        if may_start || accepts_any {
            return self.observe_any(sandbox, request, dir, abort).await;
        }
        let observation = observed?;
        if identity.is_some() && sandbox.container.is_some() {
            return Err(Error::container_replaced(&self.id, NOT_OWN));
        }
        match &sandbox.marker {
            Some(marker) => {
                Ok(ObservedContainer::own(observation, Verification::Due, Some(ExpectedMarker::Own(marker.clone()))))
            }
            None if self.legacy_capture_began_at()?.is_some() => {
                Ok(ObservedContainer::own(observation, Verification::DueUnverified, None))
            }
            None => Err(Error::container_replaced(&self.id, NOT_OWN)),
        }
    }

    /// Observes the container that runs, or starts one. Where it is not the sandbox's own, the capture gives a rescue
    /// snapshot, or adopts the container.
    async fn observe_any(
        &self,
        sandbox: &SandboxRecord,
        request: &SnapshotRequest,
        dir: &Directory,
        abort: &CancellationToken,
    ) -> Result<ObservedContainer> {
        let run_probe = async || {
            retry(&*self.ports, abort, async || {
                self.sandboxes()?.probe(&self.id, dir).await.map_err(self.failed(During::Probe))
            })
            .await
        };
        let began_at = self.now();
        let probe = run_probe().await?;
        self.ensure_still_marked(request, probe.marker.as_ref())?;
        identity::check_directory(dir, probe.directory_content)?;
        let observation = self.observe_running().await?;
        let own_marker = sandbox.marker.clone().map(ExpectedMarker::Own);
        if own_marker.as_ref().is_some_and(|expected_marker| expected_marker.matches(probe.marker.as_ref())) {
            return Ok(ObservedContainer::own(observation, Verification::Due, own_marker));
        }
        let nonce = self.random_short_id()?.as_str().to_owned();
        let (new_marker, expected_marker) = match (request.adopt, &probe.marker) {
            (true, _) if probe.directory_content == DirectoryContent::Empty => {
                return Err(Error::nothing_to_adopt(&self.id, dir));
            }
            (true, _) => (ContainerMarker::Ready(nonce.clone()), ExpectedMarker::Own(nonce)),
            (false, Some(present)) => (present.clone(), ExpectedMarker::Foreign(present.to_string())),
            (false, None) => (
                ContainerMarker::Adopted(nonce.clone()),
                ExpectedMarker::Foreign(ContainerMarker::Adopted(nonce).to_string()),
            ),
        };
        if probe.marker.as_ref() != Some(&new_marker) {
            let update = self
                .sandboxes()?
                .update_marker(&self.id, probe.marker.as_ref(), &new_marker, None)
                .await
                .map_err(self.failed(During::Probe))?;
            if update.outcome != MarkerOutcome::Updated {
                return Err(Error::container_replaced(&self.id, "was replaced during the call"));
            }
            // Containers without a marker cannot be distinguished: the command may have started another one, and marked
            // that. With `adopt`, the container must have run before this call; with `wake`, this call may have started
            // it, and it is accepted.
            let second_probe = if request.adopt {
                self.compare_age(None, dir, began_at).await?
            } else {
                Age::Older(run_probe().await?)
            };
            match second_probe {
                Age::Older(second_probe)
                    if second_probe.marker == Some(new_marker)
                        && second_probe.directory_content == probe.directory_content => {}
                _ => return Err(Error::container_replaced(&self.id, "was replaced during the call")),
            }
        }
        Ok(ObservedContainer {
            observation,
            verification: Verification::Due,
            marker: Some(expected_marker),
            is_same_origin: false,
            adopts: request.adopt,
        })
    }

    /// Verifies that a container whose files are to be rescued was not replaced: a start has marked it before.
    ///
    /// # Errors
    /// [`Code::OperationInterrupted`] for a container without a marker.
    fn ensure_still_marked(&self, request: &SnapshotRequest, marker: Option<&ContainerMarker>) -> Result<()> {
        let is_replaced = request.purpose == CapturePurpose::Rescue && marker.is_none();
        if is_replaced { Err(Error::another_container(&self.id)) } else { Ok(()) }
    }

    /// Observes a sandbox that is new to the ledger.
    async fn observe_new(
        &self,
        request: &SnapshotRequest,
        dir: &Directory,
        abort: &CancellationToken,
    ) -> Result<ObservedContainer> {
        let accepts_any = request.wake || request.adopt;
        let mut verification = if accepts_any { Verification::Done } else { Verification::DueUnverified };
        let observed = match self.observe_running().await {
            Ok(observation) if self.is_identified(&observation)? => {
                verification = Verification::Done;
                self.verify_accepted(&observation).map(|()| observation)
            }
            Ok(observation) if accepts_any => {
                self.mark_unverified(None)?;
                let expectation = self.expectation_since(observation.observed_at)?;
                self.verify_container(None, dir, &expectation).await.map(|()| observation)
            }
            observed => observed,
        };
        match observed {
            Err(error) if request.adopt && is_replaced_error(&error) => {
                self.observe_any(&self.sandbox_record()?, request, dir, abort).await
            }
            Err(error) if request.wake && is_container_error(&error) => {
                let (observation, _) = self.cold_start(dir, abort).await?;
                self.trust_from_now(observation.identity())?;
                Ok(ObservedContainer::own(observation, verification, None))
            }
            observed => observed.map(|observation| ObservedContainer::own(observation, verification, None)),
        }
    }

    /// Returns what a container must match that was observed at `observed_at`.
    fn expectation_since(&self, observed_at: Timestamp) -> Result<ContainerExpectation> {
        if self.sandbox_record()?.binding.is_some() {
            return Ok(ContainerExpectation::ReadyBefore(observed_at));
        }
        Ok(ContainerExpectation::StartedBefore(self.accepted_before(observed_at)?))
    }
}

fn is_container_error(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxStarting) || is_replaced_error(error)
}

fn is_replaced_error(error: &Error) -> bool {
    error.code() == Code::SandboxReplaced
}
