//! Container guard: runs calls only in the container that has the sandbox's files.
//!
//! A command starts a new, empty container where none is running. So its script first checks the container, and does
//! nothing in another one than the required one:
//!
//! | the sandbox                            | the container is recognized by                         |
//! | -------------------------------------- | ------------------------------------------------------ |
//! | belongs to a named workspace           | a ready marker, which only its starts write            |
//! | is of a class that reports identities  | its identity, from its first capture on                |
//! | was captured or restored before        | the recorded marker                                    |
//! | is new to the ledger                   | its age: it ran before this Worker observed it         |
//!
//! The script cannot distinguish a container in its first seconds from one that started for the command itself: the ledger
//! then measures the age of the container, and the command is sent again.

use crate::model::record::ContainerObservation;
use crate::model::required_container::{ContainerRefusal, Refusal, RequiredContainer};
use crate::model::{Code, Error, Result};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::container::identity::NOT_OWN;
use crate::service::container::unverified::ActiveProbe;

/// What is wrong with a container of a named workspace without a ready marker.
const NOT_READY: &str = "is not ready: its start did not finish, or it cold-started without the workspace's files";

/// The longest time from the start of a container until a command runs in it, in milliseconds.
const MAX_START_MILLIS: i64 = 20_000;

/// Makes a call in the required container. `verify_age` verifies that the running container is old enough, and
/// `flag_other` records that another one is running, and returns the error about it.
///
/// # Errors
/// [`Code::SandboxReplaced`]
pub(in crate::service) async fn call_in_container<T, R>(
    mut required: RequiredContainer,
    mut call: impl AsyncFnMut(&RequiredContainer) -> Result<Result<T, Refusal<R>>>,
    verify_age: impl AsyncFn() -> Result<()>,
    flag_other: impl AsyncFn() -> Result<Error>,
) -> Result<Result<T, R>> {
    if let RequiredContainer::OlderThan { millis } = &mut required {
        *millis = millis.saturating_add(MAX_START_MILLIS);
    }
    let mut is_old_enough = false;
    loop {
        match call(&required).await? {
            Ok(done) => return Ok(Ok(done)),
            Err(Refusal::Call(refusal)) => return Ok(Err(refusal)),
            // The age of the container only grows, so the next attempt can require this one.
            Err(Refusal::Container(ContainerRefusal::TooYoung { age_millis })) if !is_old_enough => {
                verify_age().await?;
                is_old_enough = true;
                required = RequiredContainer::OlderThan { millis: age_millis };
            }
            Err(Refusal::Container(_)) => return Err(flag_other().await?),
        }
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns in which container of the sandbox a call may run, and the observation of that container if its age decides.
    /// The sandbox must be running with its files in place.
    ///
    /// # Errors
    /// [`Code::SandboxNotRunning`], [`Code::SandboxStarting`], [`Code::SandboxReplaced`]
    pub(in crate::service) async fn required_container(
        &self,
    ) -> Result<(RequiredContainer, Option<ContainerObservation>)> {
        let since = self.now();
        let status = self.running_status().await?;
        self.ensure_not_restoring()?;
        let sandbox = self.sandbox_record()?;
        if sandbox.binding.is_some() {
            return Ok((RequiredContainer::Ready, None));
        }
        // Restores leave only a marker.
        let is_identified = sandbox.container.is_some() || sandbox.marker.is_none();
        if let Some(identity) = status.identity().filter(|_| is_identified) {
            self.verify_accepted(&ContainerObservation::new(status, since))?;
            if sandbox.container.is_some_and(|own| own != identity) {
                return Err(Error::container_replaced(&self.id, NOT_OWN));
            }
            return Ok((RequiredContainer::Identified(identity), None));
        }
        if let Some(nonce) = sandbox.marker {
            return Ok((RequiredContainer::Marked(nonce), None));
        }
        let since = self.accepted_before(since)?;
        let millis = self.now().millis_since(since);
        Ok((RequiredContainer::OlderThan { millis }, Some(ContainerObservation::new(status, since))))
    }

    /// Makes a call in the container that has the files of the sandbox.
    ///
    /// # Errors
    /// Those of [`required_container`](Self::required_container)
    pub(in crate::service) async fn run_in_container<T, R>(
        &self,
        call: impl AsyncFn(&RequiredContainer) -> Result<Result<T, Refusal<R>>>,
    ) -> Result<Result<T, R>> {
        let (required, observation) = self.required_container().await?;
        let flag_other = async || self.flag_other_container().await;
        let Some(observation) = observation else {
            let probe = self.begin_identified(&required)?;
            let outcome = call_in_container(required, call, async || Ok(()), flag_other).await?;
            drop(probe.map(|probe| probe.finish_verified(self)));
            return Ok(outcome);
        };
        // The call may start another container.
        let probe = ActiveProbe::begin(self)?;
        self.mark_unverified(None)?;
        let dir = &self.config.default_dir;
        let verify_age = async || self.verify_started_before(dir, observation.observed_at).await;
        let outcome = call_in_container(required, call, verify_age, flag_other).await;
        if !matches!(&outcome, Err(error) if error.code() == Code::SandboxReplaced) {
            self.verify_unchanged(dir, &observation).await?;
        }
        // Without an answer, the container stays unverified until the alarm verifies it. The alarm also retries what
        // fails here.
        let answer = outcome?;
        drop(probe.finish_verified(self));
        Ok(answer)
    }

    /// Records the container of a call in a sandbox that is new to the ledger, if it has an identity: until the call is answered, no
    /// other container is accepted.
    fn begin_identified(&self, required: &RequiredContainer) -> Result<Option<ActiveProbe>> {
        let Some(identity) = required.identity() else { return Ok(None) };
        if self.sandbox_record()?.container.is_some() {
            return Ok(None);
        }
        let probe = ActiveProbe::begin(self)?;
        self.mark_unverified(Some(identity))?;
        Ok(Some(probe))
    }

    /// Records that a call found another container than the required one, and returns the error about it.
    pub(in crate::service) async fn flag_other_container(&self) -> Result<Error> {
        let sandbox = self.sandbox_record()?;
        // The next call recognizes a container by its marker.
        Ok(if sandbox.binding.is_some() {
            Error::container_replaced(&self.id, NOT_READY)
        } else if sandbox.marker.is_some() {
            Error::container_replaced(&self.id, NOT_OWN)
        } else {
            self.flag_replaced(None).await
        })
    }
}
