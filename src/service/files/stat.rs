//! `files/stat`: the attributes of a file of a snapshot.

use super::{other_answer, to_attributes};
use crate::model::Result;
use crate::model::archive::{Answer, Request};
use crate::model::files::FileDescription;
use crate::model::request::StatFileRequest;
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the attributes of a file of a snapshot. Does not follow symbolic links.
    pub async fn stat_file(&self, request: StatFileRequest) -> Result<FileDescription> {
        let StatFileRequest { source, path } = request;
        let request = Request::Stat { path: path.as_str().to_owned() };
        let read = self.read_archive(&source, &path, &request).await?;
        let Answer::Entry(attributes) = read.answer else { return Err(other_answer()) };
        let attributes = to_attributes(&attributes);
        Ok(FileDescription { location: read.snapshot_id.into(), path: path.into(), etag: None, attributes })
    }
}
