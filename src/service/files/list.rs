//! `files/list`: a page of the files in a directory of a snapshot.

use super::{other_answer, to_attributes};
use crate::model::Result;
use crate::model::archive::{Answer, Name, Request};
use crate::model::files::{FileCursor, FileEntry, FilePage, FilePath};
use crate::model::request::ListFilesRequest;
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns a page of the files in a directory of a snapshot.
    pub async fn list_files(&self, request: ListFilesRequest) -> Result<FilePage> {
        let ListFilesRequest { selection, path, cursor, limit } = request;
        let path = path.unwrap_or_else(FilePath::root);
        let request = Request::List {
            path: path.as_str().to_owned(),
            after: cursor.map(|FileCursor(name)| Name::from(&name[..])),
            limit: limit as usize,
        };
        let read = self.read_archive(&selection, &path, &request).await?;
        let Answer::Page { entries, next } = read.answer else { return Err(other_answer()) };
        let files = entries.iter().map(|entry| FileEntry::of(entry.name.as_bytes(), to_attributes(&entry.attributes)));
        Ok(FilePage {
            snapshot_id: read.snapshot_id,
            path: path.into(),
            files: files.collect(),
            cursor: next.map(|next| FileCursor(next.as_bytes().to_vec()).to_string()),
        })
    }
}
