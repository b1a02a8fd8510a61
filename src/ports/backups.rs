//! The bucket that the SDK keeps backups in.

use std::future::Future;

use crate::model::{Archive, BackupId, BackupMetadata, Failure, Listing};

/// The bucket that the SDK keeps backups in.
pub trait BackupStore {
    /// What the SDK recorded about a backup; `None` only when it is definitely not there.
    fn metadata(&self, id: &BackupId) -> impl Future<Output = Result<Option<BackupMetadata>, Failure>>;

    /// What R2 says of a backup's archive; `None` only when it is definitely not there.
    fn archive(&self, id: &BackupId) -> impl Future<Output = Result<Option<Archive>, Failure>>;

    /// The first `length` bytes of a backup's archive, or as many as it has; `None` only when it is definitely not there.
    fn archive_head(&self, id: &BackupId, length: u32) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>>;

    /// The keys of a backup's objects: of its archive, and of its metadata.
    fn objects(&self, id: &BackupId) -> Vec<String>;

    /// A page of the objects of backups, from a cursor of the page before on.
    fn list(&self, cursor: Option<&str>) -> impl Future<Output = Result<Listing, Failure>>;

    /// Deletes both objects of a backup. One that isn't there is fine.
    fn delete(&self, id: &BackupId) -> impl Future<Output = Result<(), Failure>>;
}
