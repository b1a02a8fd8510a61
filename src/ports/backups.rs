//! The R2 bucket in which the SDK stores backups.
//!
//! A backup is a pair of objects, an archive and its metadata, or the one object of a `DirectoryBackup` of the SDK 1.0.

use std::future::Future;

use crate::model::archive::{ArchiveLocation, DiffOutcome, DiffRequest, MissingArchive, Outcome, Request};
use crate::model::{
    ArchiveInfo, BackupHandle, BackupId, BackupLocation, BackupMetadata, BackupObjectPage, Failure, LocatedBackup,
};

/// The R2 bucket in which the SDK stores backups.
pub trait BackupStore {
    /// Returns a backup with the location of its objects. This deployment configures that of a `DirectoryBackup`.
    fn locate(&self, handle: BackupHandle) -> LocatedBackup;

    /// Returns the metadata of a pair of objects; `None` only when R2 confirms that it does not exist.
    fn get_metadata(&self, id: &BackupId) -> impl Future<Output = Result<Option<BackupMetadata>, Failure>>;

    /// Returns what R2 reports about a backup's archive; `None` only when R2 confirms that it does not exist.
    fn head_archive(&self, backup: &BackupLocation) -> impl Future<Output = Result<Option<ArchiveInfo>, Failure>>;

    /// Returns the first `length` bytes of a backup's archive, or all of it if it is shorter; `None` only when R2
    /// confirms that it does not exist.
    fn read_archive_prefix(
        &self,
        backup: &BackupLocation,
        length: u32,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>>;

    /// Returns the SHA-256 of a backup's archive, in hexadecimal; `None` only when R2 confirms that it does not exist.
    /// Reads all of the archive, in constant memory.
    fn hash_archive(&self, backup: &BackupLocation) -> impl Future<Output = Result<Option<String>, Failure>>;

    /// Answers a request about the content of a snapshot, with the bytes of a file. Reads only the ranges of the archives
    /// that it needs, where their formats permit.
    fn read_archive(
        &self,
        archive: &ArchiveLocation,
        request: &Request,
    ) -> impl Future<Output = Result<Result<(Outcome, Vec<u8>), MissingArchive>, Failure>>;

    /// Answers a request for the differences between two snapshots.
    fn diff_archives(
        &self,
        from: &ArchiveLocation,
        to: &ArchiveLocation,
        request: &DiffRequest,
    ) -> impl Future<Output = Result<Result<DiffOutcome, MissingArchive>, Failure>>;

    /// Answers a request for the differences between a snapshot and a part of the files of a container, of which the request
    /// says which one it is.
    fn diff_listing(
        &self,
        snapshot: &ArchiveLocation,
        listing: &[u8],
        request: &DiffRequest,
    ) -> impl Future<Output = Result<Result<DiffOutcome, MissingArchive>, Failure>>;

    /// Returns the keys of a backup's objects: the archive, and the metadata of a pair.
    fn object_keys(&self, backup: &BackupLocation) -> Vec<String>;

    /// Returns a page of backup objects, starting at `cursor`, which the previous page returned. The pairs come first.
    fn list(&self, cursor: Option<&str>) -> impl Future<Output = Result<BackupObjectPage, Failure>>;

    /// Deletes the objects of a backup. Succeeds when they do not exist.
    fn delete(&self, backup: &BackupLocation) -> impl Future<Output = Result<(), Failure>>;
}
