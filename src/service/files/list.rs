//! `files/list`: a page of the files in a directory of a snapshot.

use super::{other_answer, to_page};
use crate::model::Result;
use crate::model::archive::{Answer, Name, Request};
use crate::model::files::{FileCursor, FilePage, FilePath};
use crate::model::request::ListFilesRequest;
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns a page of the files in a directory of a snapshot.
    pub async fn list_files(&self, request: ListFilesRequest) -> Result<FilePage> {
        let ListFilesRequest { source, path, cursor, limit } = request;
        let path = path.unwrap_or_else(FilePath::root);
        let request = Request::List {
            path: path.as_str().to_owned(),
            after: cursor.map(|FileCursor(name)| Name::from(&name[..])),
            limit: limit as usize,
        };
        let read = self.read_archive(&source, &path, &request).await?;
        let Answer::Page { entries, next } = read.answer else { return Err(other_answer()) };
        Ok(to_page(read.snapshot_id.into(), path, &entries, next.as_ref()))
    }
}
