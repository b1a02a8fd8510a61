//! `revive`: restores the files of a sandbox that has lost them.

use sandbox_snapshotter_client::model::request::ReviveRequest;
use sandbox_snapshotter_client::model::revive::RevivedSandbox;

use super::context::{Context, key_or_new};
use crate::args::revive::Revive;
use crate::exit::Exit;
use crate::failure::Result;

/// Runs the command.
pub fn run(context: &Context, command: Revive) -> Result<Exit> {
    let request = ReviveRequest {
        on_diverged: command.on_diverged.map(Into::into).unwrap_or_default(),
        on_image_change: command.on_image_change.map(Into::into).unwrap_or_default(),
        idempotency_key: key_or_new(command.key)?,
        lineage_scope: context.lineage_scope(&command.lineage_scope)?,
        ..ReviveRequest::of(context.sandbox(&command.target)?)
    };
    context.show::<RevivedSandbox>(&context.call_mutating("revive", &request)?)
}
