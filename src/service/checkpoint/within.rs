//! The work is done in the container that the caller means.
//!
//! A command starts a new, empty container where none is running. The script looks first whether it is in one that was there
//! before, by its age: so nothing is written in another one. A container in its first seconds can't be told from one that
//! was started for the command itself; it is measured (`container`), and the command is sent once more.

use super::refused::refused;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use crate::model::record::Sighting;
use crate::model::{Code, Directory, Result, Timestamp};
use crate::ports::{Clock, Ports, Sandboxes};
use crate::service::container::{self, MEASUREMENTS, RESOLUTION_MILLIS};
use crate::service::doubt::{self, Looking};
use crate::service::failures::{During, from_sandbox};
use crate::service::{CloudflareSandboxSnapshotter, lifecycle};

/// How long it takes at most from the start of a container until a command runs in it, in milliseconds.
const STARTED_MILLIS: i64 = 20_000;

/// Carries a call out in the sandbox, which must be running with its files in place.
pub(super) async fn carry_out<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    call: &CheckpointCall,
) -> Result<CheckpointDone> {
    let since = this.ports.clock().now();
    let state = container::up(&this.id, container::state(&*this.ports, &this.id).await?)?;
    if this.workspace()?.standing.is_some() {
        lifecycle::is_not_being_filled(this)?;
        return ask(this, dir, Meant::HandedOut, call).await?.map_err(|refusal| refused(this, dir, call, refusal));
    }
    let looking = Looking::begin(this)?;
    let since = doubt::begin(this)?.min(since);
    let outcome = in_older(this, dir, call, since).await;
    if !matches!(&outcome, Err(error) if error.code() == Code::SandboxReplaced) {
        container::is_the_same(&*this.ports, &this.id, dir, &Sighting::of(state, since)).await?;
    }
    // Where there was no answer, doubt is left to the alarm; and so is what fails now.
    let answer = outcome?;
    drop(looking.end(this));
    answer.map_err(|refusal| refused(this, dir, call, refusal))
}

/// Carries a call out in a container that was started before `since`.
async fn in_older<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    call: &CheckpointCall,
    since: Timestamp,
) -> Result<Result<CheckpointDone, CheckpointRefusal>> {
    let passed = || this.ports.clock().now().millis_since(since);
    let mut age = passed() + STARTED_MILLIS;
    for _ in 0..MEASUREMENTS {
        let asked = passed();
        let answer = ask(this, dir, Meant::Aged(age), call).await?;
        let Err(CheckpointRefusal::Young { age_millis }) = answer else { return Ok(answer) };
        if age_millis < asked {
            return Err(container::took_its_place(&*this.ports, &this.id).await);
        }
        if age_millis >= passed() + RESOLUTION_MILLIS {
            // It is the one, and grows older.
            age = age_millis;
        }
    }
    Err(container::replaced(&this.id, "may have been replaced"))
}

async fn ask<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    dir: &Directory,
    meant: Meant,
    call: &CheckpointCall,
) -> Result<Result<CheckpointDone, CheckpointRefusal>> {
    let outcome = this.ports.sandboxes()?.checkpoint(&this.id, dir, meant, call).await;
    outcome.map_err(|failure| from_sandbox(failure, &this.id, During::Checkpoint))
}
