//! The remediations for paths that name something else than the user expected: the command that does.

use std::slice;

use sandbox_snapshotter_client::model::Code;
use sandbox_snapshotter_client::model::files::{FileDescription, FilePage, FilePath, FileType};
use sandbox_snapshotter_client::model::request::{FileSource, ListFilesRequest, StatFileRequest};
use sandbox_snapshotter_client::model::similar::most_similar;

use super::context::Context;
use crate::args::files::{FileSelector, split_place, with_colon};
use crate::failure::Failure;
use crate::quoting::shell_words;

/// The words that select files, without a path.
pub(super) struct Place(Words);

enum Words {
    /// A running sandbox: `@name:path`.
    Sandbox(String),
    /// A snapshot, whose path is the last word.
    Snapshot(Vec<String>),
}

impl Place {
    /// Returns the words of a running sandbox.
    pub fn of_sandbox(target: &str) -> Self {
        Self(Words::Sandbox(target.to_owned()))
    }

    /// Returns the words of a selector.
    pub fn of(file: &FileSelector) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        if let Some(reference) = &file.reference {
            return Self(Words::Snapshot(vec!["--ref".to_owned(), reference.display().to_string()]));
        }
        let target = text(&file.target);
        if let Some(snapshot) = &file.snapshot {
            return Self(Words::Snapshot(vec![target, snapshot.clone()]));
        }
        Self::of_sandbox(split_place(&target).map_or(target.as_str(), |(target, _)| target))
    }

    /// Returns the command for a path.
    fn command(&self, command: &str, path: &str) -> String {
        let words = match &self.0 {
            Words::Sandbox(target) if path.is_empty() => vec![target.clone()],
            Words::Sandbox(target) => vec![format!("{target}:{path}")],
            Words::Snapshot(words) => {
                words.iter().cloned().chain([path.to_owned()]).filter(|word| !word.is_empty()).collect()
            }
        };
        format!("`snapshotter {command} {}`", shell_words(words.iter().map(String::as_str)))
    }

    /// Returns the remediation for a path that is not there, or that is of another type than the command needs; `None` for other
    /// failures.
    fn remediation(&self, code: &str, path: &FilePath, found: Option<&FileDescription>) -> Option<String> {
        let path = path.as_str().trim_end_matches('/');
        if code == Code::FileNotFound.as_str() {
            if path.starts_with('/') && matches!(self.0, Words::Snapshot(_)) {
                let list = self.command("ls", "");
                return Some(format!(
                    "A path in a snapshot is relative to its directory: {list} lists the files there."
                ));
            }
            if path.is_empty() && matches!(self.0, Words::Sandbox(_)) {
                return Some(
                    "The directory of the sandbox does not exist: a command removed it. `snapshotter workspace rollback NAME \
                     ID|LABEL` goes back to a snapshot, and `snapshotter exec --cwd / @NAME 'mkdir -p DIR'` creates it again."
                        .to_owned(),
                );
            }
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            return Some(format!("{} lists the files that are there.", self.command("ls", parent)));
        }
        let attributes = &found?.attributes;
        match (attributes.r#type, &attributes.target) {
            (FileType::Directory, _) => {
                Some(format!("It is a directory: {} lists its files.", self.command("ls", path)))
            }
            (FileType::File, _) => Some(format!("It is a file: {} prints it.", self.command("cat", path))),
            (FileType::Symlink, Some(target)) => {
                Some(format!("It is a symbolic link to {target:?}, and is not followed: pass the path of its target."))
            }
            _ => Some(format!("{} shows what it is.", self.command("stat", path))),
        }
    }
}

/// Replaces the remediation of a failure with the command for what is at the path.
pub(super) fn explain(
    context: &Context,
    failure: Failure,
    place: &Place,
    source: FileSource,
    path: &FilePath,
) -> Failure {
    let Some(code) = failure.code().map(str::to_owned) else { return failure };
    let is_of_other_type = [Code::NotAFile, Code::NotADirectory].iter().any(|other| other.as_str() == code);
    let similar = (code == Code::FileNotFound.as_str()).then(|| similar_path(context, &source, path)).flatten();
    let snapshot = match &source {
        FileSource::Snapshot(selection) => Some(selection.clone()),
        FileSource::Sandbox(_) => None,
    };
    let found = is_of_other_type.then(|| {
        let request = StatFileRequest { source, path: path.clone() };
        context.call_without_suggestions::<FileDescription>("files/stat", &request).ok()
    });
    let found = found.flatten().map(|answer| answer.value);
    let failure = match (place.remediation(&code, path, found.as_ref()), similar) {
        (Some(remediation), Some(similar)) => {
            failure.with_remediation(format!("Did you mean {similar:?}? {remediation}"))
        }
        (Some(remediation), None) => failure.with_remediation(remediation),
        (None, _) => failure,
    };
    match snapshot {
        Some(selection) => context.explain_omitted(failure, &selection, slice::from_ref(path)),
        None => failure,
    }
}

/// Returns the path with a similar name in the directory of a path that is not there.
fn similar_path(context: &Context, source: &FileSource, path: &FilePath) -> Option<String> {
    let path = path.normalized();
    let (parent, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
    let request = ListFilesRequest {
        path: FilePath::parse(parent).ok().filter(|parent| !parent.as_str().is_empty()),
        limit: ListFilesRequest::MAX_LIMIT,
        ..ListFilesRequest::of(source.clone())
    };
    let page = context.call_without_suggestions::<FilePage>("files/list", &request).ok()?.value;
    let similar = most_similar(name, page.files.iter().map(|file| file.name.as_str()))?;
    Some(if parent.is_empty() { similar.to_owned() } else { format!("{parent}/{similar}") })
}

/// Adds the place with a colon to the failure of a target that may have a slash there, as in `@name/path`.
pub(super) fn explain_slash(context: &Context, failure: Failure, target: &str) -> Failure {
    let Some(place) = with_colon(target) else { return failure };
    let is_unknown = failure.code() == Some(Code::WorkspaceNotFound.as_str());
    let name = split_place(&place).map_or(target, |(name, _)| name);
    if (is_unknown && context.is_workspace(name)) || failure.code() == Some(Code::InvalidWorkspaceName.as_str()) {
        return failure.with_remediation(format!("For a path in the workspace {name}, write {place}."));
    }
    failure
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sandbox_snapshotter_client::model::{Directory, Error, SandboxId, json};
    use serde_json::json;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        file: FileSelector,
    }

    fn place(words: &[&str]) -> Place {
        Place::of(&Line::parse_from(std::iter::once(&"ls").chain(words)).file)
    }

    fn described(r#type: &str) -> FileDescription {
        json::from_value(&json!({
            "sandboxId": "s", "path": "src", "type": r#type, "sizeBytes": 1, "mode": "0644", "uid": 0, "gid": 0,
            "modifiedAt": "2026-11-20T05:00:00.000Z", "target": "there",
        }))
        .unwrap()
    }

    #[test]
    fn the_directory_of_a_sandbox_is_not_a_file_in_it() {
        let (id, dir) = (SandboxId::parse("s").unwrap(), Directory::parse("/workspace").unwrap());
        let message = |path| {
            let error = Error::sandbox_file_not_found(&id, &dir, &FilePath::parse(path).unwrap());
            error.message().to_owned()
        };
        for root in ["/", ".", ""] {
            assert_eq!(message(root), "The directory \"/workspace\" of the sandbox \"s\" does not exist.", "{root}");
        }
        assert_eq!(message("src"), "\"/workspace\" of the sandbox \"s\" contains no \"src\".");
    }

    #[test]
    fn remediation_is_the_command_for_what_is_at_the_path() {
        let path = |path| FilePath::parse(path).unwrap();
        let in_snapshot = place(&["@notebook", "before it", "src"]);
        let of = |place: &Place, code: Code, r#type: &str| {
            place.remediation(code.as_str(), &path("src"), Some(&described(r#type))).unwrap()
        };
        assert_eq!(
            of(&in_snapshot, Code::NotAFile, "directory"),
            "It is a directory: `snapshotter ls @notebook 'before it' src` lists its files."
        );
        assert_eq!(
            of(&place(&["@notebook:src"]), Code::NotADirectory, "file"),
            "It is a file: `snapshotter cat @notebook:src` prints it."
        );
        assert!(of(&in_snapshot, Code::NotAFile, "symlink").contains("a symbolic link to \"there\""));
        for (place, missing, expected) in [
            (place(&["@notebook:a/b"]), "a/b", "`snapshotter ls @notebook:a` lists"),
            (place(&["@notebook:b"]), "b", "`snapshotter ls @notebook` lists"),
            (place(&["agent-42", "before", "a/b"]), "a/b", "`snapshotter ls agent-42 before a` lists"),
            (place(&["--ref", "ref.json", "b"]), "b", "`snapshotter ls --ref ref.json` lists"),
            (place(&["agent-42", "before", "/workspace/a"]), "/workspace/a", "A path in a snapshot is relative to"),
        ] {
            let remediation = place.remediation(Code::FileNotFound.as_str(), &path(missing), None).unwrap();
            assert!(remediation.starts_with(expected), "{remediation}");
        }
        assert_eq!(in_snapshot.remediation("SANDBOX_NOT_RUNNING", &path("src"), None), None);
    }
}
