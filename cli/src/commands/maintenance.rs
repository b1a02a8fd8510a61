//! The commands for signing keys and for the bucket.

use sandbox_snapshotter_client::model::answer::{KeyRotation, Sweep as Swept};
use sandbox_snapshotter_client::model::request::{SandboxRequest, SweepRequest};

use super::confirm::confirm;
use super::context::Context;
use crate::args::maintenance::{Key, Sweep};
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::render::count;

/// `key`
pub fn key(context: &Context, command: &Key) -> Result<Exit> {
    let Key::Rotate(command) = command;
    let sandbox_id = context.known_sandbox(&command.target)?;
    confirm(&command.confirmation, || {
        Ok(Some(format!("Refs of {sandbox_id} that were signed before its last rotation become invalid.")))
    })?;
    context.show::<KeyRotation>(&context.call_mutating("rotateKey", &SandboxRequest::of(sandbox_id))?)
}

/// `sweep`
pub fn sweep(context: &Context, command: &Sweep) -> Result<Exit> {
    let grace_seconds = command.grace.map_or(SweepRequest::DEFAULT_GRACE_SECONDS, |duration| duration.0);
    let plan = || context.call_read_only::<Swept>("sweep", &SweepRequest { dry_run: true, grace_seconds });
    if command.dry_run {
        return context.show(&plan()?);
    }
    confirm(&command.confirmation, || {
        let deleted = plan()?.value.deleted;
        let backups = count(deleted, "backup", "backups");
        Ok((deleted > 0).then(|| format!("This permanently deletes {backups}.")))
    })?;
    context.show::<Swept>(&context.call_mutating("sweep", &SweepRequest { dry_run: false, grace_seconds })?)
}
