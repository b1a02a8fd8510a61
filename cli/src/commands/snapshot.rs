//! The commands for snapshots.

use std::cmp::Reverse;
use std::collections::HashSet;

use sandbox_snapshotter_client::model::answer::{Deletion, Manifest, Page, Summary, Verification};
use sandbox_snapshotter_client::model::files::{FileDescription, FilePath};
use sandbox_snapshotter_client::model::freeze::Freeze;
use sandbox_snapshotter_client::model::request::{
    DeleteRequest, ForkFrom, ImportRequest, LabelRequest, ListRequest, SandboxFiles, SnapshotCursor, StatFileRequest,
};
use sandbox_snapshotter_client::model::{
    self, Code, Compression as Compressed, CompressionFormat, Consistency, Directory, Error, Label, RestoreRequest,
    SandboxId, SecretsMode, SecretsReport, Selection, Selector, SnapshotId, SnapshotRequest, TakenSnapshot,
    WorkspaceRef,
};
use serde_json::Value;

use super::confirm::confirm;
use super::context::{Context, key_or_new};
use super::documents;
use super::lists;
use super::target::parse_label;
use crate::args::common::{Paging, SnapshotSelector};
use crate::args::snapshot::{
    Compression, Create, Delete, DeltasOnDelete, Import, Label as LabelArgs, List, Restore, Snapshot,
};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::print_warning;
use crate::output::snapshots::{SnapshotList, names};
use crate::quoting::shell_words;

/// Runs the command.
pub fn run(context: &Context, command: Snapshot) -> Result<Exit> {
    match command {
        Snapshot::Create(command) => create(context, command),
        Snapshot::List(command) => list(context, &command),
        Snapshot::Show(command) => {
            context.show::<Manifest>(&context.call_read_only("manifest", &context.select_snapshot(&command.selector)?)?)
        }
        Snapshot::Verify(command) => {
            let answer =
                context.call_read_only::<Verification>("verify", &context.select_snapshot(&command.selector)?)?;
            context.output.show(&answer)?;
            Ok(if answer.value.ok { Exit::Done } else { Exit::CheckFailed })
        }
        Snapshot::Delete(command) => delete(context, &command),
        Snapshot::Pin(command) => {
            context.show::<Summary>(&context.call_mutating("pin", &context.select_snapshot(&command.selector)?)?)
        }
        Snapshot::Unpin(command) => {
            context.show::<Summary>(&context.call_mutating("unpin", &context.select_snapshot(&command.selector)?)?)
        }
        Snapshot::Label(command) => label(context, &command),
        Snapshot::Import(command) => import(context, &command),
    }
}

/// `restore` and `branch`
pub fn restore(context: &Context, operation: &str, command: Restore) -> Result<Exit> {
    let request = RestoreRequest {
        selection: context.select_snapshot(&command.selector)?,
        runtime: command.runtime.runtime,
        on_image_change: command.on_image_change.map(Into::into).unwrap_or_default(),
        idempotency_key: key_or_new(command.key)?,
    };
    context.show::<WorkspaceRef>(&context.call_mutating(operation, &request)?)
}

/// Returns the freeze of these commands, which the program accepts only together.
fn to_freeze(freeze: Option<String>, thaw: Option<String>, timeout_seconds: u32) -> Option<Freeze> {
    Some(Freeze { freeze: freeze?, thaw: thaw?, timeout_seconds })
}

fn create(context: &Context, command: Create) -> Result<Exit> {
    let format = command.compression.map(|format| match format {
        Compression::Gzip => CompressionFormat::Gzip,
        Compression::Lz4 => CompressionFormat::Lz4,
        Compression::Zstd => CompressionFormat::Zstd,
    });
    let threads = command.compression_threads;
    if let Some(pattern) = command.excludes.iter().find(|pattern| pattern.contains(',')) {
        print_warning(&format!(
            "the comma is a part of the pattern {pattern:?}: for several patterns, repeat `--exclude`"
        ));
    }
    let request = SnapshotRequest {
        runtime: command.runtime.runtime,
        dir: directory(command.dir.as_deref())?,
        label: command.label.as_deref().map(parse_label).transpose()?,
        replace: command.replace,
        expiration_seconds: command.expires.map(|duration| duration.0),
        excludes: command.excludes,
        gitignore: command.gitignore,
        compression: (format.is_some() || threads.is_some()).then_some(Compressed { format, threads }),
        wake: command.wake,
        adopt: command.adopt,
        fresh: command.fresh,
        incremental: command.incremental,
        secrets: command.secrets.map(Into::into),
        freeze: to_freeze(command.freeze, command.thaw, command.freeze_timeout),
        consistency: if command.settled { Consistency::Settled } else { Consistency::Reported },
        lineage_scope: context.lineage_scope(&command.lineage_scope)?,
        idempotency_key: key_or_new(command.key)?,
        ..SnapshotRequest::of(context.sandbox(&command.target)?)
    };
    let taken = context.call_mutating("snapshot", &request)?;
    context.show::<TakenSnapshot>(&taken)?;
    let is_of_workspace = command.target.starts_with('@');
    if is_of_workspace && leaves_out_files(&request, taken.value.capture.secrets.as_ref()) {
        context.warn_except_in_json(Some(PARTIAL.to_owned()));
    }
    if request.gitignore == Some(true) && !context.output.json {
        warn_outside_of_repository(context, &request.sandbox_id, taken.value.snapshot.backup().dir());
    }
    Ok(Exit::Done)
}

/// The note about a snapshot of a workspace that leaves out files.
const PARTIAL: &str = "the snapshot leaves out files: a start of the workspace does not restore it by itself, only \
                       `snapshotter workspace rollback` or `start --from` does";

/// Returns whether a snapshot leaves out files that its directory had.
fn leaves_out_files(request: &SnapshotRequest, secrets: Option<&SecretsReport>) -> bool {
    !request.excludes.is_empty()
        || request.gitignore == Some(true)
        || secrets.is_some_and(|report| report.mode == SecretsMode::Exclude && report.excluded > 0)
}

/// Warns if the directory has no `.git`: outside of a repository, git ignores nothing.
fn warn_outside_of_repository(context: &Context, sandbox_id: &SandboxId, dir: &Directory) {
    let files = SandboxFiles { dir: Some(dir.clone()), ..SandboxFiles::sandbox(sandbox_id.clone()) };
    let Ok(path) = FilePath::parse(".git") else { return };
    let found = context
        .call_without_suggestions::<FileDescription>("files/stat", &StatFileRequest { source: files.into(), path });
    if found.is_err_and(|failure| failure.code() == Some(Code::FileNotFound.as_str())) {
        print_warning(&format!(
            "{dir} has no .git, so `--gitignore` excluded nothing unless a parent directory is a git repository; `--exclude` needs none"
        ));
    }
}

impl lists::Page for Page {
    const ROWS: &str = "snapshots";

    fn len(&self) -> usize {
        self.snapshots.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

impl lists::Page for SnapshotList {
    const ROWS: &str = <Page as lists::Page>::ROWS;

    fn len(&self) -> usize {
        self.page.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        self.page.cursor()
    }
}

/// Lists all snapshots of a sandbox or named workspace, or one page of them, newest first.
fn list(context: &Context, command: &List) -> Result<Exit> {
    let sandboxes = context.sandboxes(&command.target)?;
    let Some(present) = sandboxes.first() else { return Err(Failure::foreign_answer("a workspace without a sandbox")) };
    let paging = &command.paging;
    let limit = if paging.is_all() { ListRequest::MAX_LIMIT } else { ListRequest::DEFAULT_LIMIT };
    let request = ListRequest {
        cursor: paging.cursor.as_deref().map(SnapshotCursor::parse).transpose()?,
        limit: paging.limit.unwrap_or(limit),
        label_prefix: command.label_prefix.clone(),
        // The output of `--quiet` does not contain the results of the check.
        check: !command.no_check && (context.output.json || !context.output.quiet),
        lineage_scope: context.lineage_scope(&command.lineage_scope)?,
        ..ListRequest::of(present.clone())
    };
    let prefix = command.label_prefix.as_deref().filter(|prefix| !prefix.is_empty());
    let empty_message = prefix.map(|prefix| format!("There are no snapshots whose label begins with {prefix:?}."));
    if sandboxes.len() == 1 {
        return lists::show(context, paging, empty_message, |cursor| {
            let page = page(context, &request, present, cursor)?;
            if cursor.is_none() && page.value.snapshots.is_empty() {
                context.known_sandbox(&command.target)?;
            }
            Ok(page)
        });
    }
    lists::show_whole(context, &list_all(context, paging, &request, &sandboxes)?, empty_message)
}

/// Lists the snapshots of several sandboxes together. A cursor is a position in time, so it is valid for all of them.
fn list_all(
    context: &Context,
    paging: &Paging,
    request: &ListRequest,
    sandboxes: &[SandboxId],
) -> Result<Answer<SnapshotList>> {
    let (mut snapshots, mut is_more, mut former) = (Vec::new(), false, HashSet::new());
    for (index, sandbox) in sandboxes.iter().enumerate() {
        let (rows, rest) = lists::collect_rows(paging, |cursor| page(context, request, sandbox, cursor))?;
        // The present sandbox is the first one.
        let ids = rows.iter().filter(|_| index > 0).map(|row| SnapshotId::parse(&text(row, "snapshotId")));
        former.extend(ids.filter_map(std::result::Result::ok));
        snapshots.extend(rows);
        is_more |= rest.is_some();
    }
    snapshots.sort_by_cached_key(|row| Reverse((text(row, "createdAt"), text(row, "snapshotId"))));
    let count = if paging.is_all() { snapshots.len() } else { request.limit as usize };
    is_more |= snapshots.len() > count;
    snapshots.truncate(count);
    let last = snapshots.last().filter(|_| is_more).cloned().map(Answer::<Summary>::of).transpose()?;
    let cursor = last.map(|Answer { value: Summary { created_at, snapshot_id, .. }, .. }| {
        SnapshotCursor { created_at, snapshot_id }.to_string()
    });
    let mut found = lists::to_page::<SnapshotList>(snapshots, cursor)?;
    found.value.former = former;
    Ok(found)
}

/// Returns the number of snapshots of a sandbox.
pub fn count(context: &Context, sandbox: &SandboxId) -> Result<usize> {
    let request = ListRequest { limit: ListRequest::MAX_LIMIT, check: false, ..ListRequest::of(sandbox.clone()) };
    let (rows, _) = lists::collect_rows(&Paging::ALL, |cursor| page(context, &request, sandbox, cursor))?;
    Ok(rows.len())
}

/// Returns the page of a sandbox's snapshots after a cursor.
fn page(context: &Context, request: &ListRequest, sandbox: &SandboxId, cursor: Option<&str>) -> Result<Answer<Page>> {
    let cursor = cursor.map(SnapshotCursor::parse).transpose().map_err(|_| lists::invalid_cursor())?;
    context.call_read_only("list", &ListRequest { target: sandbox.clone().into(), cursor, ..request.clone() })
}

fn delete(context: &Context, command: &Delete) -> Result<Exit> {
    let (mut selection, force) = (context.select_own_snapshot(&command.selector)?, command.force);
    check_not_newest(context, &command.selector, &selection)?;
    let explain = |failure: Failure| match &command.selector {
        SnapshotSelector { target: Some(target), snapshot: Some(snapshot), .. } => {
            let selected = shell_words([target.as_str(), snapshot]);
            let unpin = format!("`snapshotter snapshot unpin {selected}`");
            failure.with_term("`unpin`", &unpin).with_term("unpin()", &unpin)
        }
        _ => failure,
    };
    confirm(&command.confirmation, || {
        let snapshot = context.call_read_only::<Summary>("get", &selection)?.value;
        let Summary { snapshot_id, pinned, dependents, .. } = &snapshot;
        if !force && (*pinned || !dependents.is_empty()) {
            // The server would refuse it: there is nothing to confirm.
            return Err(explain(Error::snapshot_has_dependents(snapshot_id, *pinned, dependents).into()));
        }
        let effect = delete_effect(&snapshot, command.deltas);
        // The label may move to another snapshot before the user answers.
        if let Selector::Label { sandbox_id, .. } = &selection.selector {
            let (sandbox_id, snapshot_id) = (sandbox_id.clone(), snapshot.snapshot_id);
            selection.selector = Selector::Id { sandbox_id, snapshot_id };
        }
        Ok(Some(effect))
    })?;
    let deltas = match command.deltas {
        Some(DeltasOnDelete::Delete) => model::DeltasOnDelete::Delete,
        Some(DeltasOnDelete::Keep) | None => model::DeltasOnDelete::Keep,
    };
    let request = DeleteRequest { deltas, ..DeleteRequest::of(selection, force) };
    context.show::<Deletion>(&context.call_mutating("delete", &request).map_err(explain)?)
}

/// Verifies that `latest` does not select the newest snapshot, but one with this label: a repeated deletion would delete another one
/// each time.
fn check_not_newest(context: &Context, given: &SnapshotSelector, selection: &Selection) -> Result<()> {
    if given.snapshot.as_deref() != Some(ForkFrom::LATEST) {
        return Ok(());
    }
    let Summary { snapshot_id, label, .. } = context.call_read_only::<Summary>("get", selection)?.value;
    if label.as_str() == ForkFrom::LATEST { Ok(()) } else { Err(Error::deletion_of_latest(&snapshot_id).into()) }
}

/// Describes the deletion of a snapshot.
fn delete_effect(snapshot: &Summary, of_deltas: Option<DeltasOnDelete>) -> String {
    let Summary { snapshot_id, label, .. } = snapshot;
    let pinned = if snapshot.pinned { " It is pinned." } else { "" };
    let needed = match names(&snapshot.dependents) {
        dependents if dependents.is_empty() => String::new(),
        dependents => format!(" It is needed by {dependents}."),
    };
    let ids = snapshot.deltas.iter().map(SnapshotId::as_str).collect::<Vec<_>>().join(", ");
    let deltas = match of_deltas {
        _ if ids.is_empty() => String::new(),
        Some(DeltasOnDelete::Delete) => format!(" It also deletes its deltas: {ids}."),
        Some(DeltasOnDelete::Keep) | None => format!(" Its archive stays in R2 for its deltas: {ids}."),
    };
    format!("This permanently deletes the snapshot {snapshot_id}, {:?}.{pinned}{needed}{deltas}", label.as_str())
}

fn label(context: &Context, command: &LabelArgs) -> Result<Exit> {
    let (new_label, replace) = (parse_label(&command.to)?, command.replace);
    let selection = context.select_snapshot(&command.selector)?;
    if let Some(target) = &command.selector.target {
        context.check_new_label(target, &new_label, &selection)?;
    }
    context.show::<Summary>(&context.call_mutating("label", &LabelRequest { selection, new_label, replace })?)
}

fn import(context: &Context, command: &Import) -> Result<Exit> {
    let request = ImportRequest {
        runtime: command.runtime.runtime,
        label: command.label.as_deref().map(parse_label).transpose()?,
        replace: command.replace,
        expiration_seconds: command.expires.map(|duration| duration.0),
        ..ImportRequest::of(context.sandbox(&command.target)?, documents::json(&command.backup)?)
    };
    let imported = context.call_mutating::<TakenSnapshot>("import", &request)?;
    context.show(&imported)?;
    if let Some(note) = ignored_label(request.label.as_ref(), &imported.value) {
        print_warning(&note);
    }
    Ok(Exit::Done)
}

/// Returns the note about a label that a snapshot did not get, because the backup was imported before.
fn ignored_label(label: Option<&Label>, imported: &TakenSnapshot) -> Option<String> {
    let (given, own) = (label?, &imported.capture.label);
    (given != own).then(|| {
        let id = imported.snapshot.snapshot_id();
        format!("the backup is the snapshot {id} already, which keeps the label {:?}", own.as_str())
    })
}

fn directory(dir: Option<&str>) -> Result<Option<Directory>> {
    Ok(dir.map(Directory::parse).transpose()?)
}

fn text(row: &Value, field: &str) -> String {
    row.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
