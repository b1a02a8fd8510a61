//! Container guard: runs calls that change files only in the container that has the sandbox's files.
//!
//! A command starts a new, empty container when none is running. So the script first compares the age of its container
//! with the age that the Worker requires, and writes nothing in a container that is too young. The script cannot
//! distinguish a container in its first seconds from one that started for the command itself: the Worker then compares
//! the age that it reports (see `container`), and sends the command again.

use crate::model::checkpoint_call::{CheckpointRefusal, RequiredContainer};
use crate::model::file_part::PartRefusal;
use crate::model::record::ContainerObservation;
use crate::model::{Code, ContainerIdentity, Directory, Error, Result, Timestamp};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::container::identity::{AGE_RESOLUTION_MILLIS, MAX_AGE_MEASUREMENTS};
use crate::service::container::unverified::ActiveProbe;

/// The longest time from the start of a container until a command runs in it, in milliseconds.
const MAX_START_MILLIS: i64 = 20_000;

/// Why the script refused a call.
pub(in crate::service) trait Refusal {
    /// Returns the age of a container that is too young, in milliseconds.
    fn too_young(&self) -> Option<i64>;
}

impl Refusal for CheckpointRefusal {
    fn too_young(&self) -> Option<i64> {
        if let Self::TooYoung { age_millis } = self { Some(*age_millis) } else { None }
    }
}

impl Refusal for PartRefusal {
    fn too_young(&self) -> Option<i64> {
        if let Self::TooYoung { age_millis } = self { Some(*age_millis) } else { None }
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Sends a call to the sandbox, which must be running with its files in place.
    pub(in crate::service) async fn run_in_container<T, R: Refusal>(
        &self,
        dir: &Directory,
        send: impl AsyncFn(RequiredContainer) -> Result<Result<T, R>>,
    ) -> Result<Result<T, R>> {
        let since = self.now();
        let status = self.running_status().await?;
        self.ensure_not_restoring()?;
        if self.sandbox_record()?.binding.is_some() {
            return send(RequiredContainer::Ready).await;
        }
        let probe = ActiveProbe::begin(self)?;
        self.verify_accepted(&ContainerObservation::new(status, since))?;
        let since = self.mark_unverified(status.identity())?.min(since);
        let outcome = self.run_in_older_container(&send, since, status.identity()).await;
        if !matches!(&outcome, Err(error) if error.code() == Code::SandboxReplaced) {
            self.verify_unchanged(dir, &ContainerObservation::new(status, since)).await?;
        }
        // Without an answer, the container stays unverified until the alarm verifies it. The alarm also retries what
        // fails here.
        let answer = outcome?;
        drop(probe.finish_verified(self));
        Ok(answer)
    }

    /// Sends a call to a container that started before `since`.
    async fn run_in_older_container<T, R: Refusal>(
        &self,
        send: &impl AsyncFn(RequiredContainer) -> Result<Result<T, R>>,
        since: Timestamp,
        container: Option<ContainerIdentity>,
    ) -> Result<Result<T, R>> {
        let elapsed = || self.now().millis_since(since);
        let mut required_age = elapsed() + MAX_START_MILLIS;
        for _ in 0..MAX_AGE_MEASUREMENTS {
            let elapsed_at_start = elapsed();
            let answer = send(RequiredContainer::OlderThan(required_age)).await?;
            let Some(age_millis) = answer.as_ref().err().and_then(Refusal::too_young) else { return Ok(answer) };
            if age_millis < elapsed_at_start {
                return Err(self.flag_replaced(container).await);
            }
            if age_millis >= elapsed() + AGE_RESOLUTION_MILLIS {
                // The container started before `since`. Its age only grows, so the next attempt can require this one.
                required_age = age_millis;
            }
        }
        Err(Error::container_replaced(&self.id, "may have been replaced"))
    }
}
