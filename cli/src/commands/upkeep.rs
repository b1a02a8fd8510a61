//! The commands about a lineage, its keys, and the bucket.

use sandbox_snapshotter::model::answer::{KeyRotation, Sweep as Swept, Tree};
use sandbox_snapshotter::model::request::{LineageRequest, SweepRequest, WorkspaceRequest};

use super::confirm::confirm;
use super::context::Context;
use crate::args::upkeep::{Key, Lineage, Sweep};
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::words::count;

/// `lineage`
pub fn lineage(context: &Context, command: &Lineage) -> Result<Exit> {
    let session = context.session(&command.session)?;
    let request = LineageRequest { sandbox_id: context.sandbox(&command.place)?, check: !command.no_check, session };
    context.show::<Tree>(&context.look("lineage", &request)?)
}

/// `key`
pub fn key(context: &Context, command: &Key) -> Result<Exit> {
    let Key::Rotate(command) = command;
    let sandbox_id = context.sandbox(&command.place)?;
    confirm(&command.consent, || {
        Ok(Some(format!("Refs of {sandbox_id} that were signed before its last rotation are worth nothing then.")))
    })?;
    context.show::<KeyRotation>(&context.act("rotateKey", &WorkspaceRequest::of(sandbox_id))?)
}

/// `sweep`
pub fn sweep(context: &Context, command: &Sweep) -> Result<Exit> {
    let grace_seconds = command.grace.map_or(SweepRequest::GRACE, |span| span.0);
    let plan = || context.look::<Swept>("sweep", &SweepRequest { dry_run: true, grace_seconds });
    if command.dry_run {
        return context.show(&plan()?);
    }
    confirm(&command.consent, || {
        let count = match plan()?.read.swept {
            0 => return Ok(None),
            swept => count(swept, "backup goes", "backups go"),
        };
        Ok(Some(format!("{count} for good.")))
    })?;
    context.show::<Swept>(&context.act("sweep", &SweepRequest { dry_run: false, grace_seconds })?)
}
