//! Container guard: runs checkpoint calls only in the container that has the sandbox's files.
//!
//! A command starts a new, empty container when none is running. So the script first compares the age of its container
//! with the age that the Worker requires, and writes nothing in a container that is too young. The script cannot
//! distinguish a container in its first seconds from one that started for the command itself: the Worker then compares
//! the age that it reports (see `container`), and sends the command again.

use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer};
use crate::model::record::ContainerObservation;
use crate::model::{Code, ContainerIdentity, Directory, Error, Result, Timestamp};
use crate::ports::{Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::During;
use crate::service::container::identity::{AGE_RESOLUTION_MILLIS, MAX_AGE_MEASUREMENTS};
use crate::service::container::unverified::ActiveProbe;

/// The longest time from the start of a container until a command runs in it, in milliseconds.
const MAX_START_MILLIS: i64 = 20_000;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Runs a call in the sandbox, which must be running with its files in place.
    pub(super) async fn run_in_container(&self, dir: &Directory, call: &CheckpointCall) -> Result<CheckpointOutcome> {
        let since = self.now();
        let status = self.running_status().await?;
        if self.workspace()?.binding.is_some() {
            self.ensure_not_restoring()?;
            return self
                .send_checkpoint_call(dir, RequiredContainer::Ready, call)
                .await?
                .map_err(|refusal| self.refusal_error(dir, call, refusal));
        }
        let probe = ActiveProbe::begin(self)?;
        self.verify_accepted(&ContainerObservation::new(status, since))?;
        let since = self.mark_unverified(status.identity())?.min(since);
        let outcome = self.run_in_older_container(dir, call, since, status.identity()).await;
        if !matches!(&outcome, Err(error) if error.code() == Code::SandboxReplaced) {
            self.verify_unchanged(dir, &ContainerObservation::new(status, since)).await?;
        }
        // Without an answer, the container stays unverified until the alarm verifies it. The alarm also retries what
        // fails here.
        let answer = outcome?;
        drop(probe.finish_verified(self));
        answer.map_err(|refusal| self.refusal_error(dir, call, refusal))
    }

    /// Runs a call in a container that started before `since`.
    async fn run_in_older_container(
        &self,
        dir: &Directory,
        call: &CheckpointCall,
        since: Timestamp,
        container: Option<ContainerIdentity>,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>> {
        let elapsed = || self.now().millis_since(since);
        let mut required_age = elapsed() + MAX_START_MILLIS;
        for _ in 0..MAX_AGE_MEASUREMENTS {
            let elapsed_at_start = elapsed();
            let answer = self.send_checkpoint_call(dir, RequiredContainer::OlderThan(required_age), call).await?;
            let Err(CheckpointRefusal::TooYoung { age_millis }) = answer else { return Ok(answer) };
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

    async fn send_checkpoint_call(
        &self,
        dir: &Directory,
        required_container: RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, CheckpointRefusal>> {
        self.sandboxes()?
            .run_checkpoint(&self.id, dir, required_container, call)
            .await
            .map_err(self.failed(During::Checkpoint))
    }
}
