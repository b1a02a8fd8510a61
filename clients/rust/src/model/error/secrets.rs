//! Errors about files with secrets.

use crate::model::ids::quoted;
use crate::model::named::Address;
use crate::model::{Code, Error, SandboxId, SnapshotId, counted};

/// The maximum number of paths that a message quotes.
const MAX_QUOTED: usize = 20;

impl Error {
    /// [`Code::SecretsFound`], for the files that a search found in a sandbox: the number of all, and the first paths.
    pub fn secrets_found(id: &SandboxId, count: u64, paths: &[String]) -> Self {
        let seem = if count == 1 { "seems" } else { "seem" };
        Self::new(
            Code::SecretsFound,
            format!(
                "{} in the sandbox {:?} {seem} to contain secrets: {}",
                counted(count, "file"),
                id.as_str(),
                list(paths, count)
            ),
            "Remove the files, pass `secrets: \"exclude\"` to leave them out, or pass `secrets: \"keep\"` if they may be stored.",
        )
    }

    /// [`Code::SandboxNotRunning`], for a fork of a workspace whose files can't be searched.
    pub fn fork_not_searchable(address: &Address) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!(
                "The workspace {:?} is not running, so its files can't be searched for secrets.",
                address.name.as_str()
            ),
            format!("Start the workspace {:?} first, or omit `secrets` to fork it with all files.", address.short()),
        )
    }

    /// [`Code::SecretsFound`], for the files in a snapshot that are named like ones with secrets.
    pub fn secrets_in_export(id: &SnapshotId, count: u64, paths: &[String]) -> Self {
        let like = if count == 1 { "is named like a file" } else { "are named like files" };
        Self::new(
            Code::SecretsFound,
            format!("{} in the snapshot {id} {like} with secrets: {}", counted(count, "file"), list(paths, count)),
            "Omit `secrets` to leave them out, or pass `secrets: \"keep\"` to export them.",
        )
    }

    /// [`Code::ExcludeUnsupported`], for files with secrets that can't be left out without others.
    pub fn secrets_not_excludable(why: &str, paths: &[String]) -> Self {
        let list = if paths.is_empty() { ".".to_owned() } else { format!(": {}", list(paths, 0)) };
        Self::new(
            Code::ExcludeUnsupported,
            format!("Files with secrets can't be left out, because {why}{list}"),
            "Move or remove the files with secrets, or pass `secrets: \"refuse\"` to see their paths, or `secrets: \"keep\"` to store \
             them.",
        )
    }
}

/// Quotes the first paths of `count`.
fn list(paths: &[String], count: u64) -> String {
    let first: Vec<String> = paths.iter().take(MAX_QUOTED).map(|path| quoted(path)).collect();
    let more =
        if paths.len().max(usize::try_from(count).unwrap_or(usize::MAX)) > first.len() { ", and more." } else { "." };
    format!("{}{more}", first.join(", "))
}
