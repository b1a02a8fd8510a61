//! Verifies that a container is still the one that was observed before.
//!
//! The class for containers gives each container an identity. Its status has the identity, and a capture that expects one
//! fails in another container. So identities are compared, and nothing else is needed. All other functions here are for
//! the SDK 0.12, which has no such identity.
//!
//! If the container of a sandbox of 0.12 has ended, `createBackup` starts a new, empty container and successfully stores an
//! empty backup. To read the status before the call is not enough: the SDK reports a container as running that ended
//! unobserved, and a running container may end right after. The SDK has no lasting identity of a container that could
//! be compared. But a container that replaced another one is younger than the observation of the other one, and its age
//! can be measured.
//!
//! When the Worker detects a replacement, it leaves a note in the new container, outside of all directories that are
//! captured, so that the next call does not take the empty directory for the user's work.

use crate::model::named::ContainerMarker;
use crate::model::record::{ContainerObservation, ExpectedMarker, SandboxRecord};
use crate::model::{
    ContainerIdentity, Directory, DirectoryContent, Error, Probe, Result, SandboxStatus, Status, Timestamp,
};
use crate::ports::{Ledger, Ports, SandboxSession, SandboxSessionOf, Sandboxes};
use crate::service::calls::failures::During;
use crate::service::calls::retry::retry;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The maximum number of age measurements while the result is too close to decide.
pub(in crate::service) const MAX_AGE_MEASUREMENTS: u32 = 3;

/// How much older than its real age a container may appear, in milliseconds: the system counts in hundredths of a
/// second.
pub(in crate::service) const AGE_RESOLUTION_MILLIS: i64 = 10;

/// What is wrong with a container that has another identity or marker than the recorded one.
pub(super) const NOT_OWN: &str = "is not the one that was captured or restored";

/// The age of a container, compared to a point in time.
pub(super) enum Age {
    /// The container was started before; with the result of the probe.
    Older(Probe),
    /// The container was started after.
    Younger,
    /// The container was started at about that time.
    Unclear,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the status of the sandbox, which must be running. Starts nothing.
    ///
    /// # Errors
    /// [`Code::SandboxNotRunning`]; [`Code::SandboxStarting`] while the container is starting.
    pub(in crate::service) async fn running_status(&self) -> Result<SandboxStatus> {
        let status = self.sandbox_status().await?;
        match status.status {
            Status::Healthy => Ok(status),
            Status::Starting => Err(Error::container_starting(&self.id)),
            Status::Down => Err(self.not_running(self.ledger.sandbox()?.as_ref())),
        }
    }

    /// Returns the error for a sandbox without a running container.
    fn not_running(&self, sandbox: Option<&SandboxRecord>) -> Error {
        let Some(sandbox) = sandbox else { return Error::sandbox_unknown(&self.id) };
        match &sandbox.binding {
            Some(binding) if binding.superseded => Error::former_sandbox(&self.id, &binding.address),
            Some(binding) => Error::workspace_not_running(&binding.address),
            None => Error::sandbox_not_running(&self.id),
        }
    }

    /// As [`running_status`](Self::running_status), with the time at which the Worker read it.
    pub(super) async fn observe_running(&self) -> Result<ContainerObservation> {
        let since = self.now();
        Ok(ContainerObservation::new(self.running_status().await?, since))
    }

    /// Verifies that the running container is the expected one, and that its directory can be captured. If no container
    /// runs, the probe starts one, which is not the expected one. The first probe uses `session`, if there is one.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`] if another container runs, or if that is not known; [`Code::InvalidDirectory`] if the
    /// directory does not exist or can't be captured.
    pub(in crate::service) async fn verify_container(
        &self,
        session: Option<&SandboxSessionOf<'_, P>>,
        dir: &Directory,
        expectation: &ContainerExpectation,
    ) -> Result<()> {
        let since = match expectation {
            ContainerExpectation::Identified(container) => return self.verify_identified(dir, *container).await,
            ContainerExpectation::Unchanged(observation) => return self.verify_unchanged(dir, observation).await,
            ContainerExpectation::StartedBefore(since) | ContainerExpectation::ReadyBefore(since) => *since,
            ContainerExpectation::HasMarker(marker) => return self.verify_marker(session, dir, marker).await,
        };
        let probe = match self.compare_age(session, dir, since).await? {
            Age::Older(probe) => probe,
            Age::Younger => return Err(self.flag_replaced(None).await),
            Age::Unclear => return Err(Error::container_replaced(&self.id, "may have been replaced")),
        };
        let is_ready = || probe.marker.as_ref().is_some_and(ContainerMarker::is_ready);
        match expectation {
            ContainerExpectation::ReadyBefore(_) if !is_ready() => {
                Err(Error::container_replaced(&self.id, "cold-started without the workspace's files"))
            }
            ContainerExpectation::StartedBefore(_) if probe.is_replacement => {
                Err(Error::container_replaced(&self.id, "was replaced"))
            }
            _ => check_directory(dir, probe.directory_content),
        }
    }

    /// Verifies that the container with an identity runs, and that its directory can be captured.
    async fn verify_identified(&self, dir: &Directory, container: ContainerIdentity) -> Result<()> {
        let is_bound = self.sandbox_record()?.binding.is_some();
        match self.sandbox_status().await?.identity() {
            None => return Err(Error::container_replaced(&self.id, "ended during the call")),
            Some(other) if other != container => return Err(Error::container_replaced(&self.id, "was replaced")),
            // The probe may start another container. The alarm compares it.
            Some(_) if !is_bound => drop(self.mark_unverified(Some(container))?),
            Some(_) => {}
        }
        let probe = self.sandboxes()?.probe(&self.id, dir).await.map_err(self.failed(During::Probe))?;
        check_directory(dir, probe.directory_content)
    }

    /// Verifies that the container carries the marker. Every marker is unique to one container.
    async fn verify_marker(
        &self,
        mut session: Option<&SandboxSessionOf<'_, P>>,
        dir: &Directory,
        marker: &ExpectedMarker,
    ) -> Result<()> {
        let probe = self
            .retry(async || {
                let probe = match session.take() {
                    Some(session) => session.probe(dir).await,
                    None => self.sandboxes()?.probe(&self.id, dir).await,
                };
                probe.map_err(self.failed(During::Probe))
            })
            .await?;
        if !marker.matches(probe.marker.as_ref()) {
            return Err(Error::container_replaced(&self.id, NOT_OWN));
        }
        check_directory(dir, probe.directory_content)
    }

    /// Starts the sandbox if it is not running, and accepts its container as it is. Returns the observation, and the
    /// marker that the container carries.
    pub(super) async fn cold_start(
        &self,
        dir: &Directory,
        abort: &CancellationToken,
    ) -> Result<(ContainerObservation, Option<ContainerMarker>)> {
        retry(&*self.ports, abort, async || {
            let probe = self.sandboxes()?.probe(&self.id, dir).await.map_err(self.failed(During::Probe))?;
            check_directory(dir, probe.directory_content)?;
            if probe.is_replacement {
                self.sandboxes()?.set_replaced_note(&self.id, false).await.map_err(self.failed(During::Probe))?;
            }
            Ok((self.observe_running().await?, probe.marker))
        })
        .await
    }

    /// Verifies that the container has not ended. Starts nothing.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`]: the next container has none of the files.
    pub(in crate::service) async fn verify_running(&self) -> Result<()> {
        let is_up = self.sandbox_status().await?.status == Status::Healthy;
        if is_up { Ok(()) } else { Err(Error::container_replaced(&self.id, "ended during the call")) }
    }

    /// Verifies that the container of `observation` is the one that runs now.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`] if it is not, or if that is not known.
    pub(in crate::service) async fn verify_unchanged(
        &self,
        dir: &Directory,
        observation: &ContainerObservation,
    ) -> Result<()> {
        let now = self.sandbox_status().await?;
        if now.status != Status::Healthy {
            return Err(Error::container_replaced(&self.id, "ended during the call"));
        }
        #[allow(clippy::float_cmp)] // The value is only compared for identity, never calculated with.
        if now.last_change == observation.last_change {
            return Ok(());
        }
        if let Some(container) = observation.identity() {
            return Err(self.flag_replaced(Some(container)).await);
        }
        self.verify_started_before(dir, observation.observed_at).await
    }

    /// Verifies that the container that runs now was started before `since`.
    ///
    /// # Errors
    /// [`Code::SandboxReplaced`] if it was not, or if that is not known.
    pub(in crate::service) async fn verify_started_before(&self, dir: &Directory, since: Timestamp) -> Result<()> {
        match self.compare_age(None, dir, since).await? {
            Age::Older(_) => Ok(()),
            Age::Younger => Err(self.flag_replaced(None).await),
            Age::Unclear => Err(Error::container_replaced(&self.id, "may have been replaced")),
        }
    }

    /// Leaves the note of a replacement in the container, unless the container was started before `since`.
    pub(super) async fn flag_if_replaced(&self, dir: &Directory, since: Timestamp) -> Result<()> {
        if self.sandbox_status().await?.status == Status::Down {
            return Ok(());
        }
        match self.compare_age(None, dir, since).await? {
            Age::Older(_) => Ok(()),
            // A further measurement would not decide it.
            Age::Younger | Age::Unclear => {
                self.sandboxes()?.set_replaced_note(&self.id, true).await.map_err(self.failed(During::Probe))
            }
        }
    }

    /// Compares the age of the container with a point in time. If no container runs, the probe starts one; the SDK
    /// interrupts the call that does so, so the probe is repeated here, where `since` is still known. The first probe
    /// uses `session`, if there is one; later probes do not, so a broken session does not fail them.
    pub(super) async fn compare_age(
        &self,
        mut session: Option<&SandboxSessionOf<'_, P>>,
        dir: &Directory,
        since: Timestamp,
    ) -> Result<Age> {
        for _ in 0..MAX_AGE_MEASUREMENTS {
            let (elapsed_at_call, probe) = self
                .retry(async || {
                    let elapsed_at_call = self.now().millis_since(since);
                    let probe = match session.take() {
                        Some(session) => session.probe(dir).await,
                        None => self.sandboxes()?.probe(&self.id, dir).await,
                    };
                    let probe = probe.inspect_err(|_| self.note_unanswered());
                    Ok((elapsed_at_call, probe.map_err(self.failed(During::Probe))?))
                })
                .await?;
            // The container measured its age when the probe began, however long the probe took.
            let elapsed_at_answer = self.now().millis_since(since) - probe.elapsed_millis;
            if probe.age_millis >= elapsed_at_answer + AGE_RESOLUTION_MILLIS {
                return Ok(Age::Older(probe));
            }
            if probe.age_millis < elapsed_at_call {
                return Ok(Age::Younger);
            }
        }
        Ok(Age::Unclear)
    }

    /// Records that no container but this one is the sandbox's own, unless another one was recorded before.
    pub(super) fn require_container(&self, container: ContainerIdentity) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        if sandbox.container.is_none() {
            sandbox.container = Some(container);
            self.ledger.put_sandbox(&sandbox)?;
        }
        Ok(())
    }

    /// Returns the status of the sandbox. Starts nothing.
    pub(in crate::service) async fn sandbox_status(&self) -> Result<SandboxStatus> {
        self.sandboxes()?.status(&self.id).await.map_err(self.failed(During::Probe))
    }

    /// Records that the container that was observed before was replaced, and returns the error about it: in the ledger, or
    /// as a note in the new container, if the container that was replaced has no identity.
    pub(in crate::service) async fn flag_replaced(&self, replaced: Option<ContainerIdentity>) -> Error {
        let noted = match (replaced, self.sandboxes()) {
            (Some(container), _) => self.require_container(container).is_ok(),
            (None, Ok(sandboxes)) => sandboxes.set_replaced_note(&self.id, true).await.is_ok(),
            (None, Err(_)) => false,
        };
        let error = Error::container_replaced(&self.id, "was replaced");
        if noted { error } else { error.with_note("The new container could not be marked as a replacement.") }
    }
}

/// The condition under which the container of a sandbox is the expected one.
pub(in crate::service) enum ContainerExpectation {
    /// The container has this identity. A capture proves it, because it fails in another container.
    Identified(ContainerIdentity),
    /// The container is the one that was observed.
    Unchanged(ContainerObservation),
    /// The container was started before this time, and does not carry the note of a replacement.
    StartedBefore(Timestamp),
    /// The container was started before this time, and carries the marker [`ContainerMarker::Ready`], because the
    /// sandbox belongs to a named workspace.
    ReadyBefore(Timestamp),
    /// The container carries this marker.
    HasMarker(ExpectedMarker),
}

/// Verifies that the directory exists, and is neither a symbolic link nor another kind of file.
pub(in crate::service) fn check_directory(dir: &Directory, content: DirectoryContent) -> Result<()> {
    let problem = match content {
        DirectoryContent::NonEmpty | DirectoryContent::Empty => return Ok(()),
        DirectoryContent::Missing => "does not exist",
        DirectoryContent::Symlink => "is reached through a symbolic link, and a backup would contain only the link",
        DirectoryContent::NotDirectory => "is not a directory",
        DirectoryContent::Unmounted => return Err(Error::unmounted_directory(dir)),
    };
    Err(Error::not_a_directory(dir, problem))
}
