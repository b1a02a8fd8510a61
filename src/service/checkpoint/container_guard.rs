//! Container guard: runs checkpoint calls only in the container that has the sandbox's files.
//!
//! A command starts a new, empty container when none is running. So the script first compares the age of its container
//! with the age that the Worker requires, and writes nothing in a container that is too young. The script cannot
//! distinguish a container in its first seconds from one that started for the command itself: the Worker then compares
//! the age that it reports (see `container`), and sends the command again.

use super::refusal::refusal_error;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal, RequiredContainer};
use crate::model::record::ContainerObservation;
use crate::model::{Code, Directory, Result, Timestamp};
use crate::ports::{Clock, Ports, Sandboxes};
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::container::identity::{self, AGE_RESOLUTION_MILLIS, MAX_AGE_MEASUREMENTS};
use crate::service::container::unverified::{self, ActiveProbe};
use crate::service::workspace::sandbox;

/// The longest time from the start of a container until a command runs in it, in milliseconds.
const MAX_START_MILLIS: i64 = 20_000;

/// Runs a call in the sandbox, which must be running with its files in place.
pub(super) async fn run_in_container<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    call: &CheckpointCall,
) -> Result<CheckpointOutcome> {
    let since = this.ports.clock().now();
    let status = identity::require_running(&this.id, identity::status(&*this.ports, &this.id).await?)?;
    if this.workspace()?.binding.is_some() {
        sandbox::ensure_not_restoring(this)?;
        return send_call(this, dir, RequiredContainer::Ready, call)
            .await?
            .map_err(|refusal| refusal_error(this, dir, call, refusal));
    }
    let probe = ActiveProbe::begin(this)?;
    let since = unverified::mark_unverified(this)?.min(since);
    let outcome = run_in_older_container(this, dir, call, since).await;
    if !matches!(&outcome, Err(error) if error.code() == Code::SandboxReplaced) {
        identity::verify_unchanged(&*this.ports, &this.id, dir, &ContainerObservation::new(status, since)).await?;
    }
    // Without an answer, the container stays unverified until the alarm verifies it. The alarm also retries what fails
    // here.
    let answer = outcome?;
    drop(probe.finish_verified(this));
    answer.map_err(|refusal| refusal_error(this, dir, call, refusal))
}

/// Runs a call in a container that started before `since`.
async fn run_in_older_container<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    call: &CheckpointCall,
    since: Timestamp,
) -> Result<Result<CheckpointOutcome, CheckpointRefusal>> {
    let elapsed = || this.ports.clock().now().millis_since(since);
    let mut required_age = elapsed() + MAX_START_MILLIS;
    for _ in 0..MAX_AGE_MEASUREMENTS {
        let elapsed_at_start = elapsed();
        let answer = send_call(this, dir, RequiredContainer::OlderThan(required_age), call).await?;
        let Err(CheckpointRefusal::TooYoung { age_millis }) = answer else { return Ok(answer) };
        if age_millis < elapsed_at_start {
            return Err(identity::flag_replaced(&*this.ports, &this.id).await);
        }
        if age_millis >= elapsed() + AGE_RESOLUTION_MILLIS {
            // The container started before `since`. Its age only grows, so the next attempt can require this one.
            required_age = age_millis;
        }
    }
    Err(identity::replaced(&this.id, "may have been replaced"))
}

async fn send_call<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    required_container: RequiredContainer,
    call: &CheckpointCall,
) -> Result<Result<CheckpointOutcome, CheckpointRefusal>> {
    let outcome = this.ports.sandboxes()?.run_checkpoint(&this.id, dir, required_container, call).await;
    outcome.map_err(|failure| from_sandbox(failure, &this.id, During::Checkpoint))
}
