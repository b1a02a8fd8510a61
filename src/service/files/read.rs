//! `files/read`: the content of a file of a snapshot, or a range of it.

use super::{other_answer, to_attributes};
use crate::model::Result;
use crate::model::archive::{Answer, Request};
use crate::model::files::{FileContent, FileDescription};
use crate::model::request::ReadFileRequest;
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns a range of a file of a snapshot, which is cut at the end of the file.
    pub async fn read_file(&self, request: ReadFileRequest) -> Result<FileContent> {
        let ReadFileRequest { source, path, offset, length } = request;
        let request = Request::Read { path: path.as_str().to_owned(), offset, length: length.into() };
        let read = self.read_archive(&source, &path, &request).await?;
        let Answer::Entry(attributes) = read.answer else { return Err(other_answer()) };
        let attributes = to_attributes(&attributes);
        let file = FileDescription { location: read.snapshot_id.into(), path: path.into(), etag: None, attributes };
        Ok(FileContent::of(file, offset, read.bytes))
    }
}
