//! The R2 bucket in which the SDK stores backups.

use std::future::Future;

use crate::model::archive::{Outcome, Request};
use crate::model::{ArchiveInfo, BackupId, BackupMetadata, BackupObjectPage, Failure};

/// The R2 bucket in which the SDK stores backups.
pub trait BackupStore {
    /// Returns the metadata that the SDK stored with a backup; `None` only when R2 confirms that it does not exist.
    fn get_metadata(&self, id: &BackupId) -> impl Future<Output = Result<Option<BackupMetadata>, Failure>>;

    /// Returns what R2 reports about a backup's archive; `None` only when R2 confirms that it does not exist.
    fn head_archive(&self, id: &BackupId) -> impl Future<Output = Result<Option<ArchiveInfo>, Failure>>;

    /// Returns the first `length` bytes of a backup's archive, or all of it if it is shorter; `None` only when R2
    /// confirms that it does not exist.
    fn read_archive_prefix(&self, id: &BackupId, length: u32)
    -> impl Future<Output = Result<Option<Vec<u8>>, Failure>>;

    /// Answers a request about the content of a backup's archive, with the bytes of a file; `None` only when R2 confirms
    /// that the archive does not exist. Reads only the ranges of the archive that it needs, where its format permits.
    fn read_archive(
        &self,
        id: &BackupId,
        request: &Request,
    ) -> impl Future<Output = Result<Option<(Outcome, Vec<u8>)>, Failure>>;

    /// Returns the keys of a backup's two objects: the archive and the metadata.
    fn object_keys(&self, id: &BackupId) -> Vec<String>;

    /// Returns a page of backup objects, starting at `cursor`, which the previous page returned.
    fn list(&self, cursor: Option<&str>) -> impl Future<Output = Result<BackupObjectPage, Failure>>;

    /// Deletes both objects of a backup. Succeeds when they do not exist.
    fn delete(&self, id: &BackupId) -> impl Future<Output = Result<(), Failure>>;
}
