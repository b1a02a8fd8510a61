//! `files/stat`: the attributes of a file of a snapshot.

use super::{other_answer, to_attributes};
use crate::model::Result;
use crate::model::archive::{Answer, Request};
use crate::model::files::FileDescription;
use crate::model::request::FileRequest;
use crate::ports::Ports;
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns the attributes of a file of a snapshot. Does not follow symbolic links.
    pub async fn stat_file(&self, request: FileRequest) -> Result<FileDescription> {
        let FileRequest { selection, path } = request;
        let request = Request::Stat { path: path.as_str().to_owned() };
        let read = self.read_archive(&selection, &path, &request).await?;
        let Answer::Entry(attributes) = read.answer else { return Err(other_answer()) };
        Ok(FileDescription { snapshot_id: read.snapshot_id, path: path.into(), attributes: to_attributes(&attributes) })
    }
}
