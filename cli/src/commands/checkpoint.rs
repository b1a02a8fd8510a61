//! The commands about checkpoints.

use sandbox_snapshotter::model::Directory;
use sandbox_snapshotter::model::checkpoint::{
    CheckpointCursor, CheckpointDescription, CheckpointDiff, CheckpointName, Checkpoints, CreatedCheckpoint,
    RestoredCheckpoint,
};
use sandbox_snapshotter::model::request::{
    CheckpointsRequest, CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest,
    RestoreCheckpointRequest,
};

use super::confirm::confirm;
use super::context::Context;
use super::lists;
use crate::args::checkpoint::{Checkpoint, Spot};
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::answer::Answer;

/// Does what was typed.
pub fn run(context: &Context, command: Checkpoint) -> Result<Exit> {
    let name = |name: &str| CheckpointName::parse(name);
    match command {
        Checkpoint::Create(command) => {
            let name = name(&command.name)?;
            let description = command.message.as_deref().map(CheckpointDescription::parse).transpose()?;
            let request = CreateCheckpointRequest { at: spot(context, &command.spot)?, name, description };
            context.show::<CreatedCheckpoint>(&context.act("checkpoints/create", &request)?)
        }
        Checkpoint::List(command) => {
            let paging = &command.paging;
            let limit = if paging.is_all() { ListCheckpointsRequest::MAX_LIMIT } else { ListCheckpointsRequest::LIMIT };
            let cursor = paging.cursor.as_deref().map(CheckpointCursor::parse).transpose()?;
            let (at, limit) = (spot(context, &command.spot)?, paging.limit.unwrap_or(limit));
            let request = ListCheckpointsRequest { at, cursor, limit };
            lists::show(context, paging, None, |cursor| page(context, &request, cursor))
        }
        Checkpoint::Restore(command) => {
            let request = RestoreCheckpointRequest { at: spot(context, &command.spot)?, name: name(&command.name)? };
            let sandbox = &request.at.sandbox_id;
            confirm(&command.consent, || {
                Ok(Some(format!("The files in {sandbox} go back to the checkpoint {}.", request.name)))
            })?;
            context.show::<RestoredCheckpoint>(&context.act("checkpoints/restore", &request)?)
        }
        Checkpoint::Diff(command) => {
            let (name, max_bytes) = (name(&command.name)?, command.max_bytes.unwrap_or(DiffCheckpointRequest::BYTES));
            let request = DiffCheckpointRequest { at: spot(context, &command.spot)?, name, max_bytes };
            context.show::<CheckpointDiff>(&context.look("checkpoints/diff", &request)?)
        }
    }
}

/// The page of a list after a cursor.
fn page(context: &Context, request: &ListCheckpointsRequest, cursor: Option<&str>) -> Result<Answer<Checkpoints>> {
    let cursor = cursor.map(CheckpointCursor::parse).transpose().map_err(|_| lists::bad_cursor())?;
    context.look("checkpoints/list", &ListCheckpointsRequest { cursor, ..request.clone() })
}

impl lists::Page for Checkpoints {
    const ROWS: &str = "checkpoints";

    fn len(&self) -> usize {
        self.checkpoints.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

fn spot(context: &Context, spot: &Spot) -> Result<CheckpointsRequest> {
    let dir = spot.dir.as_deref().map(Directory::parse).transpose()?;
    let session = context.session(&spot.session)?;
    Ok(CheckpointsRequest { sandbox_id: context.sandbox(&spot.place)?, dir, session })
}
