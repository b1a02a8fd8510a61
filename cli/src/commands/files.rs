//! The commands for the files of snapshots and of running sandboxes.

use sandbox_snapshotter_client::model::escape::escape;
use sandbox_snapshotter_client::model::files::{
    FileContent, FileCursor, FileDescription, FilePage, FilePath, FilesSummary, RestoredFiles,
};
use sandbox_snapshotter_client::model::request::{
    FileSource, ListFilesRequest, ReadFileRequest, RestoreFilesRequest, SandboxFiles, StatFileRequest, SummaryRequest,
};
use sandbox_snapshotter_client::model::{Directory, Selection};

use super::context::Context;
use super::file_hints::{Place, explain, explain_slash};
use super::lists;
use crate::args::common::{self, Paging};
use crate::args::files::{Cat, Du, FileSelector, Ls, RestoreFiles, Stat, split_place, with_colon};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::{is_terminal, print, print_bytes};
use crate::quoting::shell_words;

impl lists::Page for FilePage {
    const ROWS: &str = "files";

    fn len(&self) -> usize {
        self.files.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

/// `ls`
pub fn list(context: &Context, command: Ls) -> Result<Exit> {
    let Ls { file, paging } = command;
    let place = Place::of(&file);
    let target = file.target.clone().unwrap_or_default();
    let (source, path) = match file.sandbox_alone() {
        Some(target) => {
            let files = sandbox_files(context, target, &file.lineage_scope);
            (files.map_err(|failure| explain_slash(context, failure, target))?.into(), FilePath::root())
        }
        None => locate(context, file)?,
    };
    let limit = if paging.is_all() { ListFilesRequest::MAX_LIMIT } else { ListFilesRequest::DEFAULT_LIMIT };
    let limit = paging.limit.unwrap_or(limit);
    let request = ListFilesRequest { path: Some(path.clone()), limit, ..ListFilesRequest::of(source.clone()) };
    let mut fetch = |cursor: Option<&str>| {
        let cursor = cursor.map(FileCursor::parse).transpose().map_err(|_| lists::invalid_cursor())?;
        let page = context.call_read_only::<FilePage>("files/list", &ListFilesRequest { cursor, ..request.clone() });
        page.map_err(|failure| {
            explain_slash(context, explain(context, failure, &place, source.clone(), &path), &target)
        })
    };
    if context.output.json || !paging.is_all() {
        return context.show(&whole(&paging, fetch)?);
    }
    lists::show(context, &paging, None, &mut fetch)
}

/// Returns all pages as one, or one page.
fn whole(paging: &Paging, mut fetch: impl FnMut(Option<&str>) -> Result<Answer<FilePage>>) -> Result<Answer<FilePage>> {
    let mut page = fetch(paging.cursor.as_deref())?.value;
    while paging.is_all()
        && let Some(cursor) = page.cursor.take()
    {
        let next = fetch(Some(&cursor))?.value;
        page.files.extend(next.files);
        page.cursor = next.cursor;
    }
    Answer::of(serde_json::to_value(&page).map_err(|_| lists::invalid_cursor())?)
}

/// `stat`
pub fn stat(context: &Context, command: Stat) -> Result<Exit> {
    let place = Place::of(&command.file);
    let (source, path) = locate(context, command.file)?;
    let request = StatFileRequest { source: source.clone(), path: path.clone() };
    let found = context.call_read_only::<FileDescription>("files/stat", &request);
    context.show(&found.map_err(|failure| explain(context, failure, &place, source, &path))?)
}

/// `du`
pub fn summarize(context: &Context, command: Du) -> Result<Exit> {
    let file = command.file;
    if file.in_sandbox().is_some() || file.sandbox_alone().is_some() {
        let remediation =
            "Pass the ID or LABEL of a snapshot too. In a running sandbox, run `du` with `snapshotter exec`.";
        return Err(Failure::invalid("INVALID_USAGE", "No snapshot is selected.", remediation));
    }
    let place = Place::of(&file);
    let (selection, path) = select(context, file)?;
    let request = SummaryRequest { selection: selection.clone(), path: Some(path.clone()) };
    let summary = context.call_read_only::<FilesSummary>("files/summary", &request);
    context.show(&summary.map_err(|failure| explain(context, failure, &place, selection.into(), &path))?)
}

/// `cat`: prints the content part by part. In JSON mode, prints the answer with the first part.
pub fn cat(context: &Context, command: Cat) -> Result<Exit> {
    let place = Place::of(&command.file);
    let (source, path) = locate(context, command.file)?;
    let mut request = ReadFileRequest::first_part(source.clone(), path.clone());
    loop {
        let answer = context.call_read_only::<FileContent>("files/read", &request);
        let answer = answer.map_err(|failure| explain(context, failure, &place, source.clone(), &path))?;
        if context.output.json {
            return context.show(&answer);
        }
        let part = answer.value;
        let bytes = part.bytes().ok_or_else(|| Failure::foreign_answer("the content of a file is not valid"))?;
        // A terminal would execute control characters.
        if is_terminal() { print(&escape(&String::from_utf8_lossy(&bytes))) } else { print_bytes(&bytes) }?;
        request.offset = part.offset + part.length;
        if part.length == 0 || request.offset >= part.file.attributes.size_bytes {
            return Ok(Exit::Done);
        }
    }
}

/// `restore-files`
pub fn restore(context: &Context, command: RestoreFiles) -> Result<Exit> {
    let RestoreFiles { target, snapshot, paths, to, dir, overwrite, lineage_scope } = command;
    let lineage_scope = context.lineage_scope(&lineage_scope)?;
    let selector = context.find_snapshot(&target, &snapshot, &lineage_scope)?;
    let to = match to {
        Some(to) => context.known_sandbox(&to)?,
        None => context.sandbox(&target)?,
    };
    let paths: Vec<_> = paths.iter().map(|path| FilePath::parse(path)).collect::<Result<_, _>>()?;
    let dir = dir.as_deref().map(Directory::parse).transpose()?;
    let selection = Selection { selector, lineage_scope };
    let request = RestoreFilesRequest::of(selection.clone(), paths.clone());
    let request = RestoreFilesRequest { to: Some(to), dir, overwrite, ..request };
    let restored = context.call_mutating("files/restore", &request);
    let restored = restored.map_err(|failure| context.explain_omitted(failure, &selection, &paths))?;
    context.output.show::<RestoredFiles>(&restored)?;
    let has_restored = !restored.value.restored.is_empty();
    Ok(if has_restored || restored.value.skipped.is_empty() { Exit::Done } else { Exit::Conflict })
}

/// Returns where the selected file is, and its path there.
fn locate(context: &Context, file: FileSelector) -> Result<(FileSource, FilePath)> {
    if let Some((target, path)) = file.in_sandbox() {
        return Ok((sandbox_files(context, target, &file.lineage_scope)?.into(), parse_path(path)?));
    }
    if file.reference.is_none() && file.snapshot.is_none() {
        let place = file.target.as_deref().and_then(with_colon);
        let place = place.as_deref().unwrap_or("SANDBOX:PATH or @NAME:PATH");
        let remediation = format!("Pass the ID or LABEL of a snapshot too. For a running sandbox, pass {place}.");
        return Err(Failure::invalid("INVALID_USAGE", "No snapshot is selected.", remediation));
    }
    let is_without_path = file.reference.is_none() && file.path.is_none();
    let (selection, path) = select(context, file)?;
    if let Some(search) = context.snapshot_search.borrow_mut().as_mut() {
        search.may_be_path = is_without_path;
    }
    Ok((selection.into(), path))
}

/// Selects the files of a running sandbox or of a workspace.
pub(super) fn sandbox_files(context: &Context, target: &str, scope: &common::LineageScope) -> Result<SandboxFiles> {
    context.selection(target, scope).map(SandboxFiles::from)
}

/// Parses a path; the directory itself if it is empty.
pub(super) fn parse_path(path: &str) -> Result<FilePath> {
    Ok(if path.is_empty() { FilePath::root() } else { FilePath::parse(path)? })
}

/// Returns the selected snapshot, and the path in it.
pub(super) fn select(context: &Context, file: FileSelector) -> Result<(Selection, FilePath)> {
    refuse_path_before_snapshot(&file)?;
    let (snapshot, path) = file.split();
    let path = path.as_deref().map_or_else(|| Ok(FilePath::root()), FilePath::parse)?;
    Ok((context.select_snapshot(&snapshot)?, path))
}

/// Fails if the path precedes the snapshot, as in `@name:path snapshot`. An id of a sandbox may contain a colon.
fn refuse_path_before_snapshot(file: &FileSelector) -> Result<()> {
    let (Some(target), Some(snapshot)) = (&file.target, &file.snapshot) else { return Ok(()) };
    let Some((workspace, folder)) = split_place(target).filter(|(target, _)| target.starts_with('@')) else {
        return Ok(());
    };
    if snapshot.starts_with('@') {
        let message = format!("{target:?} and {snapshot:?} are two places.");
        return Err(Failure::invalid("INVALID_USAGE", message, "Run the command for each of them."));
    }
    let folder = folder.trim_end_matches('/');
    let path = file.path.as_ref().map_or_else(|| folder.to_owned(), |path| format!("{folder}/{path}"));
    let right = shell_words([workspace, snapshot, &path]);
    let message = format!("{target:?} names present files, and {snapshot:?} a snapshot.");
    Err(Failure::invalid("INVALID_USAGE", message, format!("The path of a snapshot comes last: `{right}`.")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        file: FileSelector,
    }

    fn refusal(words: &[&str]) -> Option<String> {
        let Line { file } = Line::parse_from(std::iter::once(&"ls").chain(words));
        match refuse_path_before_snapshot(&file).err()? {
            Failure::Reported(report) => Some(report.remediation),
            Failure::OutputClosed => None,
        }
    }

    #[test]
    fn a_path_before_the_snapshot_is_refused_with_the_right_order() {
        let right = |words: &str| Some(format!("The path of a snapshot comes last: `{words}`."));
        assert_eq!(refusal(&["@w1:d", "base"]), right("@w1 base d"));
        assert_eq!(refusal(&["@w1:d/", "base", "e"]), right("@w1 base d/e"));
        assert_eq!(refusal(&["@w1:d", "@w1:e"]).as_deref(), Some("Run the command for each of them."));
        for accepted in [&["@w1", "base", "d"][..], &["@w1:d"], &["a:b", "base"], &["@w1", "base"]] {
            assert_eq!(refusal(accepted), None);
        }
    }
}
