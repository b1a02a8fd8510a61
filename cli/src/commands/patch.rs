//! The differences between two snapshots, or a snapshot and the present files, line by line.

use sandbox_snapshotter_client::model::diff::{FileChange, SnapshotDiff};
use sandbox_snapshotter_client::model::files::{FileAttributes, FileContent, FilePath, FileType};
use sandbox_snapshotter_client::model::request::{FileSource, ReadFileRequest};

use super::context::Context;
use crate::failure::{Failure, Result};
use crate::output::changes::repository;
use crate::output::diff::colorize;
use crate::output::patch::{Content, Side, file_patch};
use crate::output::{is_terminal, print, print_plain, print_warning};

/// The size of the largest file that is compared line by line, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The maximum number of files that are compared line by line. Each needs a call for either side.
const MAX_FILES: usize = 1_000;

/// Prints the differences below some paths as a patch; all of them if there is no path.
pub(super) fn print_patch(
    context: &Context,
    diff: &SnapshotDiff,
    [from, to]: [&FileSource; 2],
    paths: &[FilePath],
) -> Result<()> {
    let selected = diff.changes.iter().filter(|change| is_selected(change, paths)).filter(|change| has_content(change));
    let (hidden, shown): (Vec<_>, Vec<_>) =
        selected.partition(|change| paths.is_empty() && repository(change).is_some());
    let mut is_empty = true;
    for change in shown.iter().take(MAX_FILES) {
        let patch = patch_of(context, change, from, to)?;
        is_empty &= patch.is_empty();
        if is_terminal() { print(&colorize(&patch)) } else { print_plain(&patch) }?;
    }
    if !hidden.is_empty() {
        print_warning(&format!("{} changed files below .git are not shown", hidden.len()));
    }
    if shown.len() > MAX_FILES {
        print_warning(&format!("{} more changed files are not shown; `--path` selects some", shown.len() - MAX_FILES));
    }
    if is_empty && is_terminal() {
        return print("No lines differ.\n");
    }
    Ok(())
}

fn is_selected(change: &FileChange, paths: &[FilePath]) -> bool {
    let is_below = |path: &str, of: &FilePath| {
        let of = of.normalized();
        let rest = path.strip_prefix(of.as_str());
        of.as_str().is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut names = [Some(&change.path), change.previous_path.as_ref()].into_iter().flatten();
    paths.is_empty() || names.any(|path| paths.iter().any(|of| is_below(path, of)))
}

/// Returns whether one side is a file or a symbolic link: a patch has no directories.
fn has_content(change: &FileChange) -> bool {
    change.from.iter().chain(&change.to).any(is_file)
}

fn is_file(attributes: &FileAttributes) -> bool {
    matches!(attributes.r#type, FileType::File | FileType::Symlink)
}

fn patch_of(context: &Context, change: &FileChange, from: &FileSource, to: &FileSource) -> Result<String> {
    let before = change.previous_path.as_ref().unwrap_or(&change.path);
    let is_unnamed = change.path_bytes.is_some();
    let read = |source: &FileSource, path: &str, attributes: &FileAttributes| match attributes.r#type {
        FileType::Symlink => Ok(Content::of(attributes.target.clone().unwrap_or_default().into_bytes())),
        _ if is_unnamed || attributes.size_bytes > MAX_FILE_BYTES => Ok(Content::Large),
        _ => read_file(context, source, path),
    };
    let read_side = |source: &FileSource, path: &str, attributes: Option<&FileAttributes>| {
        attributes.filter(|attributes| is_file(attributes)).map(|found| read(source, path, found)).transpose()
    };
    let (old, new) = (read_side(from, before, change.from.as_ref())?, read_side(to, &change.path, change.to.as_ref())?);
    let old = side(before, change.from.as_ref(), old.as_ref());
    Ok(file_patch(old, side(&change.path, change.to.as_ref(), new.as_ref())))
}

fn side<'a>(path: &'a str, attributes: Option<&'a FileAttributes>, content: Option<&'a Content>) -> Option<Side<'a>> {
    attributes.zip(content).map(|(attributes, content)| Side { path, attributes, content })
}

/// Reads a file whole. The file of a running sandbox may have grown since it was listed.
fn read_file(context: &Context, source: &FileSource, path: &str) -> Result<Content> {
    let mut request = ReadFileRequest::first_part(source.clone(), FilePath::parse(path)?);
    let mut bytes = Vec::new();
    loop {
        let part = context.call_read_only::<FileContent>("files/read", &request)?.value;
        let next = part.bytes().ok_or_else(|| Failure::foreign_answer("the content of a file is not valid"))?;
        bytes.extend_from_slice(&next);
        request.offset = part.offset + part.length;
        if request.offset > MAX_FILE_BYTES {
            return Ok(Content::Large);
        }
        if part.length == 0 || request.offset >= part.file.attributes.size_bytes {
            return Ok(Content::of(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_select_files_and_what_is_below_directories() {
        let change = json!({ "path": "src/main.rs", "change": "renamed", "certainty": "content", "previousPath": "old/main.rs" });
        let change = json::from_value::<FileChange>(&change).unwrap();
        let is_selected = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|path| FilePath::parse(path).unwrap()).collect();
            is_selected(&change, &paths)
        };
        for paths in [&[][..], &["src"], &["src/"], &["./src/main.rs"], &["docs", "old"], &["."]] {
            assert!(is_selected(paths), "{paths:?}");
        }
        for paths in [&["sr"][..], &["src/main"], &["main.rs"]] {
            assert!(!is_selected(paths), "{paths:?}");
        }
    }
}
