//! The files of a snapshot, read from its archives in R2 without a container; and those of a running sandbox.

mod diff;
pub mod diff_sandbox;
pub mod in_sandbox;
mod list;
mod read;
mod restore;
mod selected_entries;
mod stat;
mod summary;

use crate::model::archive::{
    Answer, ArchiveLocation, Attributes, EntryKind, MissingArchive, Name, NamedAttributes, Outcome, Request,
};
use crate::model::files::{FileAttributes, FileCursor, FileEntry, FileLocation, FilePage, FilePath, FileType};
use crate::model::request::FileSource;
use crate::model::{BackupId, Error, Result, SnapshotId, Timestamp};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;
use crate::service::snapshot::select::Selected;

/// An answer about the archive of a snapshot.
struct Read {
    snapshot_id: SnapshotId,
    answer: Answer,
    /// The bytes of a file.
    bytes: Vec<u8>,
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Answers a request about `path` in the archive of a snapshot.
    async fn read_archive(&self, source: &FileSource, path: &FilePath, request: &Request) -> Result<Read> {
        self.prepare_call().await?;
        // The entrypoint reads the files of a sandbox.
        let FileSource::Snapshot(selection) = source else { return Err(Error::internal()) };
        let Selected { snapshot, .. } = self.select(selection).await?;
        let location = ArchiveLocation::of(&self.require_ready(&snapshot)?.backup);
        let snapshot_id = snapshot.snapshot_id.clone();
        let (outcome, bytes) = self.ask_archive(&location, request).await?.map_err(missing_archive)?;
        match outcome {
            Outcome::Answer(answer) => Ok(Read { snapshot_id, answer, bytes }),
            other => Err(error_of(other, &snapshot_id, location.id(), path)),
        }
    }
}

/// Returns the error of a request about an archive that does not exist.
#[allow(clippy::needless_pass_by_value)] // `map_err` passes it by value.
pub(crate) fn missing_archive(MissingArchive(id): MissingArchive) -> Error {
    Error::backup_damaged(&id, "its archive is missing")
}

/// Returns the error of a request about `path` in the archive of a snapshot.
pub(crate) fn error_of(outcome: Outcome, snapshot_id: &SnapshotId, id: &BackupId, path: &FilePath) -> Error {
    match outcome {
        Outcome::Answer(_) => other_answer(),
        Outcome::NotFound => Error::file_not_found(snapshot_id, path),
        Outcome::NotADirectory => Error::file_not_a_directory(snapshot_id, path),
        Outcome::NotAFile => Error::file_not_regular(snapshot_id, path),
        Outcome::InvalidPath(why) => Error::invalid_path(path, &why),
        Outcome::Damaged(how) => Error::backup_damaged(id, &how),
        Outcome::Unsupported(why) => Error::archive_unreadable(snapshot_id, &why),
        Outcome::SourceFailed(message) => Error::archive_source_failed(id, &message),
    }
}

/// Returns the attributes of an entry of an archive, as callers get them.
pub(crate) fn to_attributes(attributes: &Attributes) -> FileAttributes {
    FileAttributes {
        r#type: to_type(attributes.kind),
        size_bytes: attributes.size,
        mode: format!("{:04o}", attributes.mode),
        uid: attributes.uid,
        gid: attributes.gid,
        modified_at: Timestamp::from_millis(attributes.mtime.saturating_mul(1000)),
        target: attributes.target.as_ref().map(|target| String::from_utf8_lossy(target.as_bytes()).into_owned()),
    }
}

const fn to_type(kind: EntryKind) -> FileType {
    match kind {
        EntryKind::File => FileType::File,
        EntryKind::Directory => FileType::Directory,
        EntryKind::Symlink => FileType::Symlink,
        EntryKind::Special => FileType::Special,
    }
}

/// Returns a page of files, as callers get it.
fn to_page(location: FileLocation, path: FilePath, entries: &[NamedAttributes], next: Option<&Name>) -> FilePage {
    let to_entry = |entry: &NamedAttributes| FileEntry::of(entry.name.as_bytes(), to_attributes(&entry.attributes));
    let (path, files) = (path.into(), entries.iter().map(to_entry).collect());
    FilePage { location, path, files, cursor: next.map(|next| FileCursor(next.as_bytes().to_vec()).to_string()) }
}

/// Returns the error for an answer to another request.
fn other_answer() -> Error {
    Error::protocol("an answer about an archive to another request")
}
