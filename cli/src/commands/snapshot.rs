//! The commands about snapshots.

use std::cmp::Reverse;

use sandbox_snapshotter::model::answer::{Deletion, Manifest, Page, Summary, Verification};
use sandbox_snapshotter::model::request::{Cursor, DeleteRequest, ImportRequest, LabelRequest, ListRequest};
use sandbox_snapshotter::model::{
    Compression as Compressed, CompressionFormat, Directory, Label, RestoreRequest, SnapshotRequest, Taken,
    WorkspaceRef,
};
use serde_json::Value;

use super::confirm::confirm;
use super::context::{Context, key, list_of, read};
use super::input;
use crate::args::snapshot::{Compression, Create, Delete, Import, Label as Relabel, List, Restore, Snapshot};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::snapshots::names;

/// Does what was typed.
pub fn run(context: &Context, command: Snapshot) -> Result<Exit> {
    match command {
        Snapshot::Create(command) => create(context, command),
        Snapshot::List(command) => list(context, &command),
        Snapshot::Show(command) => context.show::<Manifest>("manifest", &context.pick(&command.pick)?),
        Snapshot::Verify(command) => {
            let answer = context.ask("verify", &context.pick(&command.pick)?)?;
            context.output.show::<Verification>(&answer)?;
            Ok(if read::<Verification>(&answer)?.ok { Exit::Done } else { Exit::Finding })
        }
        Snapshot::Delete(command) => delete(context, &command),
        Snapshot::Pin(command) => context.show::<Summary>("pin", &context.pick(&command.pick)?),
        Snapshot::Unpin(command) => context.show::<Summary>("unpin", &context.pick(&command.pick)?),
        Snapshot::Label(command) => label(context, &command),
        Snapshot::Import(command) => import(context, &command),
    }
}

/// `restore` and `branch`
pub fn restore(context: &Context, operation: &str, command: Restore) -> Result<Exit> {
    let selection = context.pick(&command.pick)?;
    context.show::<WorkspaceRef>(operation, &RestoreRequest { selection, idempotency_key: key(command.key)? })
}

fn create(context: &Context, command: Create) -> Result<Exit> {
    let format = command.compression.map(|format| match format {
        Compression::Gzip => CompressionFormat::Gzip,
        Compression::Lz4 => CompressionFormat::Lz4,
        Compression::Zstd => CompressionFormat::Zstd,
    });
    let threads = command.compression_threads;
    let request = SnapshotRequest {
        dir: directory(command.dir.as_deref())?,
        label: tag(command.tag.as_deref())?,
        replace: command.replace,
        expiration_seconds: command.expires.map(|span| span.0),
        excludes: command.excludes,
        gitignore: command.gitignore,
        compression: (format.is_some() || threads.is_some()).then_some(Compressed { format, threads }),
        wake: command.wake,
        fresh: command.fresh,
        session: context.session(&command.session)?,
        idempotency_key: key(command.key)?,
        ..SnapshotRequest::of(context.sandbox(&command.place)?)
    };
    context.show::<Taken>("snapshot", &request)
}

/// All snapshots of the sandboxes, or one page of them, the newest first: cursors are places in time, so one page can be of
/// several sandboxes.
fn list(context: &Context, command: &List) -> Result<Exit> {
    let (sandboxes, is_all) = (context.sandboxes(&command.place)?, command.paging.is_all());
    let limit = command.paging.limit.unwrap_or(if is_all { ListRequest::MAX_LIMIT } else { ListRequest::LIMIT });
    let (cursor, label_prefix) =
        (command.paging.cursor.as_deref().map(Cursor::parse).transpose()?, &command.tag_prefix);
    let session = context.session(&command.session)?;
    let (mut snapshots, mut is_more) = (Vec::new(), false);
    for sandbox_id in sandboxes {
        let (cursor, label_prefix, session) = (cursor.clone(), label_prefix.clone(), session.clone());
        let request = ListRequest { sandbox_id, cursor, limit, label_prefix, check: !command.no_check, session };
        let (mut rows, has_more) = rows(context, request, is_all)?;
        snapshots.append(&mut rows);
        is_more |= has_more;
    }
    let position = |row: &Value| (text(row, "createdAt"), text(row, "snapshotId"));
    snapshots.sort_by_cached_key(|row| Reverse(position(row)));
    let count = limit as usize;
    if !is_all && snapshots.len() > count {
        snapshots.truncate(count);
        is_more = true;
    }
    let last = snapshots.last().filter(|_| is_more).map(read::<Summary>).transpose()?;
    let cursor = last.map(|Summary { created_at, snapshot_id, .. }| Cursor { created_at, snapshot_id });
    context.output.show::<Page>(&list_of("snapshots", snapshots, cursor.as_ref()))?;
    Ok(Exit::Done)
}

/// The rows of one page, or of all from there on, and whether there are more.
fn rows(context: &Context, mut request: ListRequest, is_all: bool) -> Result<(Vec<Value>, bool)> {
    let mut rows = Vec::new();
    loop {
        let mut page = context.ask("list", &request)?;
        let Some(Value::Array(more)) = page.get_mut("snapshots").map(Value::take) else {
            return Err(Failure::foreign("a list has no snapshots"));
        };
        rows.extend(more);
        let cursor = page.get("cursor").and_then(Value::as_str).map(Cursor::parse).transpose()?;
        if cursor.is_none() || !is_all {
            return Ok((rows, cursor.is_some()));
        }
        request.cursor = cursor;
    }
}

fn delete(context: &Context, command: &Delete) -> Result<Exit> {
    let (selection, force) = (context.pick(&command.pick)?, command.force);
    if force {
        confirm(&command.consent, || Ok(about(&context.ask_for("get", &selection)?)))?;
    }
    context.show::<Deletion>("delete", &DeleteRequest { selection, force })
}

/// What goes with a snapshot.
fn about(snapshot: &Summary) -> String {
    let Summary { snapshot_id, label, .. } = snapshot;
    let pinned = if snapshot.pinned { " It is pinned." } else { "" };
    let held = match names(&snapshot.holders) {
        holders if holders.is_empty() => String::new(),
        holders => format!(" It is needed by {holders}."),
    };
    format!("The snapshot {snapshot_id}, {:?}, goes for good.{pinned}{held}", label.as_str())
}

fn label(context: &Context, command: &Relabel) -> Result<Exit> {
    let (new_label, replace) = (Label::parse(&command.to)?, command.replace);
    let selection = context.pick(&command.pick)?;
    context.show::<Summary>("label", &LabelRequest { selection, new_label, replace })
}

fn import(context: &Context, command: &Import) -> Result<Exit> {
    let request = ImportRequest {
        label: tag(command.tag.as_deref())?,
        replace: command.replace,
        expiration_seconds: command.expires.map(|span| span.0),
        ..ImportRequest::of(context.sandbox(&command.place)?, input::json(&command.backup)?)
    };
    context.show::<Taken>("import", &request)
}

fn directory(dir: Option<&str>) -> Result<Option<Directory>> {
    Ok(dir.map(Directory::parse).transpose()?)
}

fn tag(tag: Option<&str>) -> Result<Option<Label>> {
    Ok(tag.map(Label::parse).transpose()?)
}

fn text(row: &Value, field: &str) -> String {
    row.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
