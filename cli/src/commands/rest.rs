//! The commands about a lineage, its keys, and the bucket.

use sandbox_snapshotter::model::answer::{KeyRotation, Sweep as Swept, Tree};
use sandbox_snapshotter::model::request::{LineageRequest, SweepRequest, WorkspaceRequest};

use super::confirm::confirm;
use super::context::Context;
use crate::args::rest::{Key, Lineage, Sweep};
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::words::count;

/// `lineage`
pub fn lineage(context: &Context, command: &Lineage) -> Result<Exit> {
    let session = context.session(&command.session)?;
    let request = LineageRequest { sandbox_id: context.sandbox(&command.place)?, check: !command.no_check, session };
    context.show::<Tree>("lineage", &request)
}

/// `key`
pub fn key(context: &Context, command: &Key) -> Result<Exit> {
    let Key::Rotate(command) = command;
    context.show::<KeyRotation>("rotateKey", &WorkspaceRequest::of(context.sandbox(&command.place)?))
}

/// `sweep`
pub fn sweep(context: &Context, command: &Sweep) -> Result<Exit> {
    let grace_seconds = command.grace.map_or(SweepRequest::GRACE, |span| span.0);
    let sweep = |dry_run| SweepRequest { dry_run, grace_seconds };
    if !command.dry_run {
        confirm(&command.consent, || {
            let found: Swept = context.ask_for("sweep", &sweep(true))?;
            Ok(format!("{} for good.", count(found.swept, "backup goes", "backups go")))
        })?;
    }
    context.show::<Swept>("sweep", &sweep(command.dry_run))
}
