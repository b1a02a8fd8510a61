//! `files/restore`: files, links and directories of a snapshot, written to a running sandbox.

use super::other_answer;
use super::selected_entries::{SelectedEntries, SelectedEntry};
use crate::model::archive::{Answer, Attributes, EntryKind, LocatedSnapshot, MAX_READ, Name, Request};
use crate::model::file_part::{
    FileEnd, FileOwner, FilePart, FileParts, PartContent, PartOutcome, PartRefusal, PartsRefusal,
};
use crate::model::files::RestoredFiles;
use crate::model::request::RestoreFilesRequest;
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
        let selected = self.select_entries(&source, &request.paths, &abort).await?;
        let total = selected.total_bytes();
        if total > RestoreFilesRequest::MAX_BYTES {
            return Err(Error::restored_files_too_large(total, RestoreFilesRequest::MAX_BYTES));
        }
        abort.check()?;
        let dir = self.directory(request.dir)?;
        let what = format!("calls that write files in the sandbox {:?}", self.id.as_str());
        let permit = self.in_process.checkpoint_queue.acquire(None, &what)?;
        let writer = Writer {
            source,
            parts: FileParts {
                token: self.random_short_id()?.as_str().to_owned(),
                overwrite: request.overwrite,
                parts: Vec::new(),
            },
            are_parents: Vec::new(),
            dir,
            restored: Vec::new(),
            skipped: Vec::new(),
        };
        let work = async move |snapshotter: Self| writer.write(&snapshotter, selected).await;
        self.in_runtime(request.runtime)?.run_exclusively(permit, true, work, abort).await
    }
}

/// Writes entries of a snapshot, with as many of them in a command as fit.
struct Writer {
    source: LocatedSnapshot,
    dir: Directory,
    /// The parts of the next command.
    parts: FileParts,
    /// Of each of them, whether it is a directory that contains other entries.
    are_parents: Vec<bool>,
    restored: Vec<String>,
    skipped: Vec<String>,
}

impl Writer {
    async fn write<P: Ports>(
        mut self,
        snapshotter: &CloudflareSandboxSnapshotter<P>,
        SelectedEntries { entries, left_out, .. }: SelectedEntries,
    ) -> Result<RestoredFiles> {
        let mut rest = entries.as_slice();
        while let Some((group, others)) =
            rest.split_at_checked(group_length(rest)).filter(|(group, _)| !group.is_empty())
        {
            let mut starts = read_starts(snapshotter, &self.source, group).await?.into_iter();
            for entry in group {
                if entry.attributes.kind == EntryKind::File {
                    self.push_file(snapshotter, entry, starts.next().ok_or_else(other_answer)?).await?;
                } else {
                    self.push(snapshotter, other_part(entry)?, entry.is_parent).await?;
                }
            }
            rest = others;
        }
        self.flush(snapshotter).await?;
        Ok(RestoredFiles {
            snapshot_id: self.source.snapshot_id,
            sandbox_id: (*snapshotter.id).clone(),
            dir: self.dir,
            restored: self.restored,
            skipped: self.skipped,
            left_out,
        })
    }

    /// Adds a file, whose first bytes are read already.
    async fn push_file<P: Ports>(
        &mut self,
        snapshotter: &CloudflareSandboxSnapshotter<P>,
        entry: &SelectedEntry,
        start: Vec<u8>,
    ) -> Result<()> {
        let mut offset = start.len() as u64;
        let mut is_complete = self.push_bytes(snapshotter, entry, 0, start).await?;
        while !is_complete {
            let request = Request::Read { path: entry.path.as_str().to_owned(), offset, length: MAX_READ };
            let (_, bytes) = snapshotter.ask_located(&self.source, &entry.path, &request).await?;
            if bytes.is_empty() {
                is_complete = self.push_bytes(snapshotter, entry, offset, bytes).await?;
                continue;
            }
            for part in bytes.chunks(FilePart::MAX_BYTES as usize) {
                is_complete = self.push_bytes(snapshotter, entry, offset, part.to_vec()).await?;
                offset += part.len() as u64;
            }
        }
        Ok(())
    }

    /// Adds bytes of a file. Returns whether they are the last ones. An archive may claim any size: a file that ends before has no
    /// further part, and is refused by its size.
    async fn push_bytes<P: Ports>(
        &mut self,
        snapshotter: &CloudflareSandboxSnapshotter<P>,
        entry: &SelectedEntry,
        offset: u64,
        bytes: Vec<u8>,
    ) -> Result<bool> {
        let Attributes { size, mode, uid, gid, mtime, .. } = entry.attributes;
        let is_last = offset + bytes.len() as u64 >= size || bytes.is_empty();
        let end = is_last.then_some(FileEnd { size, mode, owner: FileOwner { uid, gid }, mtime });
        let part = FilePart { path: entry.path.clone(), content: PartContent::Bytes { offset, bytes, end } };
        self.push(snapshotter, part, false).await?;
        Ok(is_last)
    }

    /// Adds a part to the next command. Runs the command first if the part does not fit into it.
    async fn push<P: Ports>(
        &mut self,
        snapshotter: &CloudflareSandboxSnapshotter<P>,
        part: FilePart,
        is_parent: bool,
    ) -> Result<()> {
        let length: usize = self.parts.parts.iter().map(FilePart::length).sum();
        if self.parts.parts.len() == FileParts::MAX || length + part.length() > FileParts::MAX_LENGTH {
            self.flush(snapshotter).await?;
        }
        self.parts.parts.push(part);
        self.are_parents.push(is_parent);
        Ok(())
    }

    async fn flush<P: Ports>(&mut self, snapshotter: &CloudflareSandboxSnapshotter<P>) -> Result<()> {
        if self.parts.parts.is_empty() {
            return Ok(());
        }
        let outcomes = snapshotter.send_parts(&self.dir, &self.parts).await?;
        let parts = self.parts.parts.drain(..).zip(self.are_parents.drain(..));
        for ((part, is_parent), outcome) in parts.zip(outcomes) {
            let is_directory = matches!(part.content, PartContent::Directory { .. });
            match outcome {
                PartOutcome::Placed if !is_parent => self.restored.push(part.path.into()),
                PartOutcome::Exists if !is_directory => self.skipped.push(part.path.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns how many of the first entries are read at once.
fn group_length(entries: &[SelectedEntry]) -> usize {
    let mut bytes = 0;
    let fits = entries.iter().take(FileParts::MAX).take_while(|entry| {
        bytes += entry.attributes.size.min(FilePart::MAX_BYTES.into());
        bytes <= MAX_READ
    });
    fits.count()
}

/// Returns the first bytes of each file among the entries.
async fn read_starts<P: Ports>(
    snapshotter: &CloudflareSandboxSnapshotter<P>,
    source: &LocatedSnapshot,
    entries: &[SelectedEntry],
) -> Result<Vec<Vec<u8>>> {
    let files = || entries.iter().filter(|entry| entry.attributes.kind == EntryKind::File);
    let Some(first) = files().next() else { return Ok(Vec::new()) };
    let paths = files().map(|entry| entry.path.as_str().to_owned()).collect();
    let request = Request::ReadStarts { paths, length: FilePart::MAX_BYTES.into() };
    let (answer, bytes) = snapshotter.ask_located(source, &first.path, &request).await?;
    let Answer::Starts { lengths } = answer else { return Err(other_answer()) };
    let mut rest = bytes.as_slice();
    let mut take = |length: usize| {
        let (start, others) = rest.split_at_checked(length).ok_or_else(other_answer)?;
        rest = others;
        Ok(start.to_vec())
    };
    lengths.into_iter().map(&mut take).collect()
}

/// Returns the part of a link or a directory.
fn other_part(entry: &SelectedEntry) -> Result<FilePart> {
    let &Attributes { kind, mode, uid, gid, mtime, ref target, .. } = &entry.attributes;
    let owner = FileOwner { uid, gid };
    let content = match (kind, target) {
        (EntryKind::Directory, _) => PartContent::Directory { mode, owner },
        (EntryKind::Symlink, Some(Name::Text(target))) => PartContent::Link { target: target.clone(), owner, mtime },
        _ => return Err(other_answer()),
    };
    Ok(FilePart { path: entry.path.clone(), content })
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    async fn send_parts(&self, dir: &Directory, parts: &FileParts) -> Result<Vec<PartOutcome>> {
        let send = async |required: &RequiredContainer| {
            let sent = self.sandboxes()?.write_file_parts(&self.id, dir, required, parts).await;
            sent.map_err(self.failed(During::Files))
        };
        self.run_in_container(send).await?.map_err(|refusal| match refusal {
            PartsRefusal::NotADirectory(content) => {
                identity::check_directory(dir, content).err().unwrap_or_else(Error::internal)
            }
            PartsRefusal::Part { before, why } => match (parts.parts.get(before.len()), why) {
                (Some(part), PartRefusal::Blocked) => Error::file_place_blocked(&self.id, dir, &part.path),
                (Some(part), PartRefusal::Failed(output)) => {
                    Error::file_not_written(&self.id, dir, &part.path, &output)
                }
                (None, _) => Error::internal(),
            },
        })
    }
}
