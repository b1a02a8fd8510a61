//! `files/read`: the content of a file of a snapshot, or a range of it.

use super::{other_answer, to_attributes};
use crate::model::archive::{Answer, Request};
use crate::model::files::{FileContent, FileDescription};
use crate::model::request::ReadFileRequest;
use crate::model::{Error, Result};
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns a range of a file of a snapshot, which is cut at the end of the file.
    pub async fn read_file(&self, request: ReadFileRequest) -> Result<FileContent> {
        let is_of_whole = request.is_of_whole();
        let ReadFileRequest { source, path, offset, length } = request;
        let length = length.unwrap_or(ReadFileRequest::MAX_LENGTH).into();
        let request = Request::Read { path: path.as_str().to_owned(), offset, length };
        let read = self.read_archive(&source, &path, &request).await?;
        let Answer::Entry(attributes) = read.answer else { return Err(other_answer()) };
        let attributes = to_attributes(&attributes);
        let file = FileDescription { location: read.snapshot_id.into(), path: path.into(), etag: None, attributes };
        checked(FileContent::of(file, offset, read.bytes), is_of_whole)
    }
}

/// Refuses a part of a file as the answer to a request for the whole one: a caller who writes it back would lose the rest.
pub(super) fn checked(content: FileContent, is_of_whole: bool) -> Result<FileContent> {
    let size = content.file.attributes.size_bytes;
    if is_of_whole && content.length < size {
        return Err(Error::file_too_long(&content.file.path, size, ReadFileRequest::MAX_LENGTH));
    }
    Ok(content)
}
