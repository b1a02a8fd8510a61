//! `files/restore`: files and directories of a snapshot, written to a running sandbox.

use std::collections::BTreeSet;

use super::{error_of, missing_archive, other_answer};
use crate::model::archive::{Answer, Attributes, EntryKind, LocatedSnapshot, Name, NamedAttributes, Outcome, Request};
use crate::model::file_part::{FileEnd, FilePart, PartOutcome, PartRefusal};
use crate::model::files::{FilePath, RestoredFiles};
use crate::model::request::{ListFilesRequest, RestoreFilesRequest};
use crate::model::required_container::RequiredContainer;
use crate::model::{Directory, Error, Result};
use crate::ports::{CallerCommands, Ports, SandboxLedgerClient};
use crate::service::calls::failures::During;
use crate::service::container::identity;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Writes files of a snapshot to the directory of this sandbox. Replaces existing files only on request.
    pub async fn restore_selected_files(
        &self,
        request: RestoreFilesRequest,
        abort: CancellationToken,
    ) -> Result<RestoredFiles> {
        self.prepare_call().await?;
        self.ensure_not_decommissioned()?;
        let scope = &request.selection.lineage_scope;
        self.check_lineage_scope(scope).await?;
        let source = if *request.selection.selector.origin_id() == *self.id {
            self.locate_snapshot(&request.selection).await?
        } else {
            self.sandbox_ledgers()?.locate_snapshot(&request.selection).await?
        };
        let root_id = self.sandbox_record()?.root_id;
        if source.root_id != root_id && !scope.allow_cross_lineage {
            return Err(Error::files_of_other_lineage(&source.root_id, &root_id));
        }
        self.running_status().await?;
        let SelectedFiles { files, left_out, .. } = self.select_files(&source, &request.paths, &abort).await?;
        let total = total_bytes(files.iter().map(|(_, attributes)| attributes.size));
        if total > RestoreFilesRequest::MAX_BYTES {
            return Err(Error::restored_files_too_large(total, RestoreFilesRequest::MAX_BYTES));
        }
        abort.check()?;
        let dir = self.directory(request.dir)?;
        let what = format!("calls that write files in the sandbox {:?}", self.id.as_str());
        let permit = self.in_process.checkpoint_queue.acquire(None, &what)?;
        let overwrite = request.overwrite;
        let work = async move |snapshotter: Self| {
            let mut answer = RestoredFiles {
                snapshot_id: source.snapshot_id.clone(),
                sandbox_id: (*snapshotter.id).clone(),
                dir: dir.clone(),
                restored: Vec::new(),
                skipped: Vec::new(),
                left_out,
            };
            for (path, attributes) in files {
                let placed = snapshotter.restore_file(&source, &dir, &path, &attributes, overwrite).await?;
                let list = if placed == PartOutcome::Placed { &mut answer.restored } else { &mut answer.skipped };
                list.push(path.into());
            }
            Ok(answer)
        };
        self.in_runtime(request.runtime)?.run_exclusively(permit, true, work, abort).await
    }

    /// Returns the regular files at paths of a snapshot, and those below the directories at these paths.
    async fn select_files(
        &self,
        source: &LocatedSnapshot,
        paths: &[FilePath],
        abort: &CancellationToken,
    ) -> Result<SelectedFiles> {
        let mut selected = SelectedFiles::default();
        let mut directories = Vec::new();
        for path in paths {
            let attributes = self.stat(source, path).await?;
            match attributes.kind {
                EntryKind::File => selected.add(path.normalized(), attributes),
                EntryKind::Directory => directories.push(path.normalized()),
                _ => return Err(Error::file_not_regular(&source.snapshot_id, path)),
            }
        }
        while let Some(directory) = directories.pop() {
            let mut after = None;
            loop {
                abort.check()?;
                let path = directory.as_str().to_owned();
                let request = Request::List { path, after, limit: ListFilesRequest::MAX_LIMIT as usize };
                let (answer, _) = self.ask_located(source, &directory, &request).await?;
                let Answer::Page { entries, next } = answer else { return Err(other_answer()) };
                if entries.is_empty() {
                    selected.left_out.push(directory.clone().into());
                }
                for NamedAttributes { name, attributes } in entries {
                    let place = directory.child(&String::from_utf8_lossy(name.as_bytes()));
                    match (attributes.kind, name) {
                        (EntryKind::Directory, Name::Text(_)) => directories.push(place),
                        (EntryKind::File, Name::Text(_)) => selected.add(place, attributes),
                        _ => selected.left_out.push(place.into()),
                    }
                }
                let found = selected.files.len() + selected.left_out.len() + directories.len();
                if found > RestoreFilesRequest::MAX_FILES {
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

    async fn ask_located(
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

    /// Writes a file part by part. It appears when it is complete.
    async fn restore_file(
        &self,
        source: &LocatedSnapshot,
        dir: &Directory,
        path: &FilePath,
        attributes: &Attributes,
        overwrite: bool,
    ) -> Result<PartOutcome> {
        let token = self.random_short_id()?.as_str().to_owned();
        let mut offset = 0;
        loop {
            let request = Request::Read { path: path.as_str().to_owned(), offset, length: FilePart::MAX_BYTES.into() };
            let (_, bytes) = self.ask_located(source, path, &request).await?;
            let next = offset + bytes.len() as u64;
            let Attributes { size, mode, uid, gid, mtime, .. } = *attributes;
            let end = (next >= size).then_some(FileEnd { size, mode, uid, gid, mtime, overwrite });
            let part = FilePart { path: path.clone(), token: token.clone(), offset, bytes, end };
            let outcome = self.send_part(dir, &part).await?;
            if outcome != PartOutcome::Stored || next >= size {
                return Ok(outcome);
            }
            offset = next;
        }
    }

    async fn send_part(&self, dir: &Directory, part: &FilePart) -> Result<PartOutcome> {
        let send = async |required: &RequiredContainer| {
            let sent = self.sandboxes()?.write_file_part(&self.id, dir, required, part).await;
            sent.map_err(self.failed(During::Files))
        };
        self.run_in_container(send).await?.map_err(|refusal| match refusal {
            PartRefusal::NotADirectory(content) => {
                identity::check_directory(dir, content).err().unwrap_or_else(Error::internal)
            }
            PartRefusal::Blocked => Error::file_place_blocked(&self.id, dir, &part.path),
            PartRefusal::Failed(output) => Error::file_not_written(&self.id, dir, &part.path, &output),
        })
    }
}

/// The files of a snapshot that a call selects.
#[derive(Default)]
struct SelectedFiles {
    /// The regular files, each once.
    files: Vec<(FilePath, Attributes)>,
    /// The paths of `files`.
    paths: BTreeSet<FilePath>,
    /// The paths of what lies in a selected directory, but is neither a regular file nor a directory with a name in UTF-8; and the
    /// paths of empty directories.
    left_out: Vec<String>,
}

impl SelectedFiles {
    fn add(&mut self, path: FilePath, attributes: Attributes) {
        if self.paths.insert(path.clone()) {
            self.files.push((path, attributes));
        }
    }
}

/// Returns the sum of sizes. An archive may claim any size of a file, so the sum is limited to the largest number.
fn total_bytes(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_claimed_sizes_is_not_small_again() {
        assert_eq!(total_bytes([1 << 63, 1 << 63, 5]), u64::MAX);
        assert_eq!(total_bytes([1, 2]), 3);
    }
}
