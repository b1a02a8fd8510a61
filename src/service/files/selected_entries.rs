//! What paths select in a snapshot: files, links and directories, with everything below these.

use std::collections::BTreeSet;

use super::{error_of, missing_archive, other_answer};
use crate::model::archive::{Answer, Attributes, EntryKind, LocatedSnapshot, Name, NamedAttributes, Outcome, Request};
use crate::model::files::FilePath;
use crate::model::request::{ListFilesRequest, RestoreFilesRequest};
use crate::model::{Error, Result};
use crate::ports::Ports;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// What a call selects in a snapshot.
#[derive(Default)]
pub(super) struct SelectedEntries {
    /// The files, links and directories, each once, and after the directory in which it is.
    pub entries: Vec<SelectedEntry>,
    /// The paths of `entries`.
    paths: BTreeSet<FilePath>,
    /// The paths of what can't be written: devices, pipes, and names and targets of links that are not UTF-8.
    pub left_out: Vec<String>,
}

/// A file, a link or a directory of a snapshot.
pub(super) struct SelectedEntry {
    /// Its path, without empty names and `.`.
    pub path: FilePath,
    /// Its attributes.
    pub attributes: Attributes,
    /// Whether it is a directory that contains other entries, or may.
    pub is_parent: bool,
}

impl SelectedEntries {
    fn add(&mut self, path: FilePath, attributes: Attributes, is_parent: bool) {
        if self.paths.insert(path.clone()) {
            self.entries.push(SelectedEntry { path, attributes, is_parent });
        }
    }

    /// Returns the sum of the sizes. An archive may claim any size of a file, so the sum is limited to the largest number.
    pub fn total_bytes(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.attributes.size))
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the files and links at paths of a snapshot, the directories at these paths with everything below them, and the
    /// directories above.
    pub(super) async fn select_entries(
        &self,
        source: &LocatedSnapshot,
        paths: &[FilePath],
        abort: &CancellationToken,
    ) -> Result<SelectedEntries> {
        let mut selected = SelectedEntries::default();
        let mut directories = Vec::new();
        for path in paths {
            let path = path.normalized();
            let attributes = self.stat(source, &path).await?;
            for parent in path.parents() {
                if !selected.paths.contains(&parent) {
                    let attributes = self.stat(source, &parent).await?;
                    selected.add(parent, attributes, true);
                }
            }
            match attributes.kind {
                EntryKind::Directory => directories.push((path, attributes)),
                EntryKind::Special => return Err(Error::file_not_regular(&source.snapshot_id, &path)),
                EntryKind::File | EntryKind::Symlink => selected.add(path, attributes, false),
            }
        }
        while let Some((directory, attributes)) = directories.pop() {
            let mut after = None;
            let mut found = Some(attributes);
            loop {
                abort.check()?;
                let path = directory.as_str().to_owned();
                let request = Request::List { path, after, limit: ListFilesRequest::MAX_LIMIT as usize };
                let (answer, _) = self.ask_located(source, &directory, &request).await?;
                let Answer::Page { entries, next } = answer else { return Err(other_answer()) };
                if let Some(attributes) = found.take().filter(|_| !directory.as_str().is_empty()) {
                    selected.add(directory.clone(), attributes, !entries.is_empty());
                }
                for NamedAttributes { name, attributes } in entries {
                    let place = directory.child(&String::from_utf8_lossy(name.as_bytes()));
                    let is_text = matches!(name, Name::Text(_)) && !matches!(attributes.target, Some(Name::Bytes(_)));
                    match attributes.kind {
                        EntryKind::Directory if is_text => directories.push((place, attributes)),
                        EntryKind::File | EntryKind::Symlink if is_text => selected.add(place, attributes, false),
                        _ => selected.left_out.push(place.into()),
                    }
                }
                if selected.entries.len() + selected.left_out.len() + directories.len() > RestoreFilesRequest::MAX_FILES
                {
                    return Err(Error::too_many_restored_files(RestoreFilesRequest::MAX_FILES));
                }
                after = next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(selected)
    }

    async fn stat(&self, source: &LocatedSnapshot, path: &FilePath) -> Result<Attributes> {
        let request = Request::Stat { path: path.as_str().to_owned() };
        let (answer, _) = self.ask_located(source, path, &request).await?;
        let Answer::Entry(attributes) = answer else { return Err(other_answer()) };
        Ok(attributes)
    }

    /// Asks the archive of a snapshot about a path.
    pub(super) async fn ask_located(
        &self,
        source: &LocatedSnapshot,
        path: &FilePath,
        request: &Request,
    ) -> Result<(Answer, Vec<u8>)> {
        match self.ask_archive(&source.location, request).await?.map_err(missing_archive)? {
            (Outcome::Answer(answer), bytes) => Ok((answer, bytes)),
            (other, _) => Err(error_of(other, &source.snapshot_id, source.location.id(), path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_claimed_sizes_is_not_small_again() {
        let total = |sizes: &[u64]| {
            let mut selected = SelectedEntries::default();
            for (index, size) in sizes.iter().enumerate() {
                let attributes = Attributes {
                    kind: EntryKind::File,
                    size: *size,
                    mode: 0o644,
                    uid: 0,
                    gid: 0,
                    mtime: 0,
                    target: None,
                };
                selected.add(FilePath::parse(&index.to_string()).unwrap(), attributes, false);
            }
            selected.total_bytes()
        };
        assert_eq!(total(&[1 << 63, 1 << 63, 5]), u64::MAX);
        assert_eq!(total(&[1, 2]), 3);
    }
}
