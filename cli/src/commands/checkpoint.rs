//! The commands for checkpoints.

use sandbox_snapshotter_client::model::checkpoint::{
    CheckpointCursor, CheckpointDescription, CheckpointDiff, CheckpointName, CheckpointPage, CreatedCheckpoint,
    DeletedCheckpoint,
};
use sandbox_snapshotter_client::model::request::{
    CheckpointLocation, CreateCheckpointRequest, DeleteCheckpointRequest, DiffCheckpointRequest,
    ListCheckpointsRequest, RestoreCheckpointRequest,
};
use sandbox_snapshotter_client::model::{Code, Directory};

use super::confirm::confirm;
use super::context::Context;
use super::lists;
use super::target::check_order;
use crate::args::checkpoint::{Checkpoint, LocationArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::checkpoints::Restored;

/// Runs the command.
pub fn run(context: &Context, command: Checkpoint) -> Result<Exit> {
    let name = |of: &LocationArgs, name: &str| -> Result<CheckpointName> {
        check_order(&of.target, name)?;
        Ok(CheckpointName::parse(name)?)
    };
    match command {
        Checkpoint::Create(command) => {
            let name = name(&command.location, &command.name)?;
            let description = command.message.as_deref().map(CheckpointDescription::parse).transpose()?;
            let request = CreateCheckpointRequest {
                location: checkpoint_location(context, &command.location)?,
                name,
                description,
                expiration_seconds: command.expires.map(|duration| duration.0),
            };
            context.show::<CreatedCheckpoint>(&context.call_mutating("checkpoints/create", &request)?)
        }
        Checkpoint::List(command) => {
            let paging = &command.paging;
            let limit =
                if paging.is_all() { ListCheckpointsRequest::MAX_LIMIT } else { ListCheckpointsRequest::DEFAULT_LIMIT };
            let cursor = paging.cursor.as_deref().map(CheckpointCursor::parse).transpose()?;
            let (location, limit) = (checkpoint_location(context, &command.location)?, paging.limit.unwrap_or(limit));
            let request = ListCheckpointsRequest { location, cursor, limit };
            lists::show(context, paging, None, |cursor| page(context, &request, cursor))
        }
        Checkpoint::Restore(command) => {
            let request = RestoreCheckpointRequest {
                name: name(&command.location, &command.name)?,
                location: checkpoint_location(context, &command.location)?,
                prune_empty_directories: command.prune,
            };
            let sandbox = &request.location.sandbox_id;
            confirm(&command.confirmation, || {
                Ok(Some(format!(
                    "This restores the files in the sandbox {sandbox} to the checkpoint {}.",
                    request.name
                )))
            })?;
            let restored = context.call_mutating::<Restored>("checkpoints/restore", &request);
            let mut restored = restored.map_err(|failure| explain_unknown(failure, &command.location.target))?;
            restored.value.target = command.location.target;
            context.show(&restored)
        }
        Checkpoint::Delete(command) => {
            let location = checkpoint_location(context, &command.location)?;
            let request = DeleteCheckpointRequest { location, name: name(&command.location, &command.name)? };
            context.show::<DeletedCheckpoint>(&context.call_mutating("checkpoints/delete", &request)?)
        }
        Checkpoint::Diff(command) => {
            let (name, max_bytes) = (
                name(&command.location, &command.name)?,
                command.max_bytes.unwrap_or(DiffCheckpointRequest::DEFAULT_BYTES),
            );
            let request =
                DiffCheckpointRequest { location: checkpoint_location(context, &command.location)?, name, max_bytes };
            let diff = context.call_read_only::<CheckpointDiff>("checkpoints/diff", &request);
            context.show(&diff.map_err(|failure| explain_unknown(failure, &command.location.target))?)
        }
    }
}

/// Adds the command that lists the checkpoints to the failure of a call for an unknown one, unless a similar one is suggested.
fn explain_unknown(failure: Failure, target: &str) -> Failure {
    if failure.code() != Some(Code::CheckpointNotFound.as_str()) || failure.remediation().starts_with("Did you mean") {
        return failure;
    }
    failure.with_remediation(format!(
        "`snapshotter checkpoint list {target}` lists the checkpoints. They are gone when their container has ended."
    ))
}

/// Returns the page of a list after a cursor.
fn page(context: &Context, request: &ListCheckpointsRequest, cursor: Option<&str>) -> Result<Answer<CheckpointPage>> {
    let cursor = cursor.map(CheckpointCursor::parse).transpose().map_err(|_| lists::invalid_cursor())?;
    context.call_read_only("checkpoints/list", &ListCheckpointsRequest { cursor, ..request.clone() })
}

impl lists::Page for CheckpointPage {
    const ROWS: &str = "checkpoints";

    fn len(&self) -> usize {
        self.checkpoints.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

fn checkpoint_location(context: &Context, given: &LocationArgs) -> Result<CheckpointLocation> {
    let dir = given.dir.as_deref().map(Directory::parse).transpose()?;
    let lineage_scope = context.lineage_scope(&given.lineage_scope)?;
    Ok(CheckpointLocation { sandbox_id: context.sandbox(&given.target)?, runtime: None, dir, lineage_scope })
}
