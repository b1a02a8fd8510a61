//! The backups in the R2 bucket: pairs of objects in the layout of the SDK (0.12), `backups/<id>/data.sqsh` and
//! `backups/<id>/meta.json`; and the objects of the class `DirectoryBackup` of the SDK 1.0, `<prefix><id>.tar.zst`, with the
//! name of the backup in their custom metadata.

use worker::{Bucket, Object, Range};

use super::archive_reader::read_archives;
use super::backup_keys::{KEY_PREFIX, archive_key, metadata_key, parse_key};
use super::digest::sha256;
use crate::model::archive::{ArchiveLocation, DiffOutcome, DiffRequest, MissingArchive, Outcome, Request};
use crate::model::{
    ArchiveInfo, BackupHandle, BackupId, BackupLocation, BackupMetadata, BackupObject, BackupObjectKind,
    BackupObjectPage, BackupOwner, Failure, LocatedBackup, Timestamp, json,
};
use crate::ports::BackupStore;

/// The suffix of the key of a `DirectoryBackup`, after the id of the backup.
const DIRECTORY_BACKUP_SUFFIX: &str = ".tar.zst";

/// The begin of a cursor of the listing that has reached the objects of `DirectoryBackup`. The rest is that of R2.
const DIRECTORY_BACKUPS_CURSOR: &str = "directory-backups ";

/// The largest `meta.json` that the Worker reads, in bytes; those of the SDK are under 1 kB.
const MAX_METADATA_BYTES: u64 = 16 * 1024;

/// Backups in an R2 bucket.
pub struct R2Backups {
    bucket: Bucket,
    directory_backup_prefix: String,
}

impl R2Backups {
    /// Returns the backups in `bucket`. The keys of `DirectoryBackup` have the prefix `directory_backup_prefix`.
    pub fn new(bucket: Bucket, directory_backup_prefix: String) -> Self {
        Self { bucket, directory_backup_prefix }
    }

    /// Returns the bucket, for JavaScript.
    pub(super) fn bucket(&self) -> &wasm_bindgen::JsValue {
        self.bucket.as_ref()
    }

    /// Returns a page of the pairs of objects.
    async fn list_pairs(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        let page = self.list_objects(KEY_PREFIX, None, cursor, parse_key).await?;
        // The objects of `DirectoryBackup` follow.
        let cursor = page.cursor.or_else(|| Some(DIRECTORY_BACKUPS_CURSOR.to_owned()));
        Ok(BackupObjectPage { cursor, ..page })
    }

    /// Returns a page of the objects of `DirectoryBackup`. Passes over what applications store in folders below the prefix.
    async fn list_directory_backups(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        let prefix = &self.directory_backup_prefix;
        let parse = |key: &str| {
            let id = key.strip_prefix(prefix)?.strip_suffix(DIRECTORY_BACKUP_SUFFIX)?;
            let id = BackupId::parse(id).ok()?;
            Some((BackupLocation::DirectoryBackup { id, key: key.to_owned() }, BackupObjectKind::DirectoryBackup))
        };
        let page = self.list_objects(prefix, Some("/"), cursor, parse).await?;
        let cursor = page.cursor.map(|cursor| format!("{DIRECTORY_BACKUPS_CURSOR}{cursor}"));
        Ok(BackupObjectPage { cursor, ..page })
    }

    async fn list_objects(
        &self,
        prefix: &str,
        delimiter: Option<&str>,
        cursor: Option<&str>,
        parse: impl Fn(&str) -> Option<(BackupLocation, BackupObjectKind)>,
    ) -> Result<BackupObjectPage, Failure> {
        let mut request = self.bucket.list().prefix(prefix);
        if let Some(delimiter) = delimiter {
            request = request.delimiter(delimiter);
        }
        if let Some(cursor) = cursor {
            request = request.cursor(cursor);
        }
        let page = request.execute().await.map_err(r2_failure)?;
        let objects = page.objects();
        let objects = objects.iter().filter_map(|object| {
            let (location, kind) = parse(&object.key())?;
            Some(BackupObject { location, kind, size_bytes: object.size(), uploaded_at: uploaded_at(object) })
        });
        Ok(BackupObjectPage { objects: objects.collect(), cursor: page.cursor().filter(|_| page.truncated()) })
    }
}

impl BackupStore for R2Backups {
    fn locate(&self, handle: BackupHandle) -> LocatedBackup {
        LocatedBackup::new(handle, |id| format!("{}{id}{DIRECTORY_BACKUP_SUFFIX}", self.directory_backup_prefix))
    }

    async fn get_metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let Some(object) = self.bucket.get(metadata_key(id)).execute().await.map_err(r2_failure)? else {
            return Ok(None);
        };
        if object.size() > MAX_METADATA_BYTES {
            return Err(Failure::protocol("R2", format!("meta.json of {id} has {} bytes", object.size())));
        }
        let body = object.body().ok_or_else(|| Failure::protocol("R2", format!("meta.json of {id} has no body")))?;
        let bytes = body.bytes().await.map_err(r2_failure)?;
        parse_metadata(id, &bytes).map(Some)
    }

    async fn head_archive(&self, backup: &BackupLocation) -> Result<Option<ArchiveInfo>, Failure> {
        let object = self.bucket.head(archive_key(backup)).await.map_err(r2_failure)?;
        object.as_ref().map(archive_info).transpose()
    }

    async fn read_archive_prefix(&self, backup: &BackupLocation, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let range = Range::Prefix { length: length.into() };
        let object = match self.bucket.get(archive_key(backup)).range(range).execute().await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(None),
            // R2 fails for a range of an empty object.
            Err(error) => match self.head_archive(backup).await? {
                Some(ArchiveInfo { size_bytes: 0, .. }) => return Ok(Some(Vec::new())),
                _ => return Err(r2_failure(error)),
            },
        };
        let body = object.body().ok_or_else(|| no_body(backup))?;
        body.bytes().await.map(Some).map_err(r2_failure)
    }

    async fn hash_archive(&self, backup: &BackupLocation) -> Result<Option<String>, Failure> {
        let Some(object) = self.bucket.get(archive_key(backup)).execute().await.map_err(r2_failure)? else {
            return Ok(None);
        };
        let body = object.body().ok_or_else(|| no_body(backup))?;
        let digest = sha256(body.response_body().map_err(r2_failure)?).await?;
        Ok(Some(to_hex(&digest)))
    }

    async fn read_archive(
        &self,
        archive: &ArchiveLocation,
        request: &Request,
    ) -> Result<Result<(Outcome, Vec<u8>), MissingArchive>, Failure> {
        read_archives(&self.bucket, &[archive], request, None).await
    }

    async fn diff_archives(
        &self,
        from: &ArchiveLocation,
        to: &ArchiveLocation,
        request: &DiffRequest,
    ) -> Result<Result<DiffOutcome, MissingArchive>, Failure> {
        let read = read_archives(&self.bucket, &[from, to], request, None).await?;
        Ok(read.map(|(outcome, _)| outcome))
    }

    async fn diff_listing(
        &self,
        snapshot: &ArchiveLocation,
        listing: &[u8],
        request: &DiffRequest,
    ) -> Result<Result<DiffOutcome, MissingArchive>, Failure> {
        let read = read_archives(&self.bucket, &[snapshot], request, Some(listing)).await?;
        Ok(read.map(|(outcome, _)| outcome))
    }

    fn object_keys(&self, backup: &BackupLocation) -> Vec<String> {
        let metadata = match backup {
            BackupLocation::Pair(id) => Some(metadata_key(id)),
            BackupLocation::DirectoryBackup { .. } => None,
        };
        std::iter::once(archive_key(backup)).chain(metadata).collect()
    }

    async fn list(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        match cursor.map(|cursor| cursor.strip_prefix(DIRECTORY_BACKUPS_CURSOR).ok_or(cursor)) {
            None => self.list_pairs(None).await,
            Some(Err(cursor)) => self.list_pairs(Some(cursor)).await,
            Some(Ok(cursor)) => self.list_directory_backups(Some(cursor).filter(|cursor| !cursor.is_empty())).await,
        }
    }

    async fn delete(&self, backup: &BackupLocation) -> Result<(), Failure> {
        // The metadata goes last: it contains the mark that identifies the archive as the snapshotter's.
        for key in self.object_keys(backup) {
            self.bucket.delete(key).await.map_err(r2_failure)?;
        }
        Ok(())
    }
}

/// Returns what R2 reports about an archive.
fn archive_info(object: &Object) -> Result<ArchiveInfo, Failure> {
    let metadata = object.custom_metadata().map_err(r2_failure)?;
    Ok(ArchiveInfo {
        size_bytes: object.size(),
        checksum: object.checksum().md5.map(|md5| format!("md5:{}", to_hex(&md5))),
        uploaded_at: uploaded_at(object),
        mark: metadata.values().find_map(|name| BackupOwner::parse(name)),
    })
}

/// Returns when an object was written.
fn uploaded_at(object: &Object) -> Timestamp {
    #[allow(clippy::cast_possible_wrap)] // Milliseconds far below 2^63.
    Timestamp::from_millis(object.uploaded().as_millis() as i64)
}

fn no_body(backup: &BackupLocation) -> Failure {
    Failure::protocol("R2", format!("the archive of {backup} has no body"))
}

/// Parses a `meta.json`. Returns a protocol failure when it is malformed.
pub(crate) fn parse_metadata(id: &BackupId, bytes: &[u8]) -> Result<BackupMetadata, Failure> {
    json::from_str(&String::from_utf8_lossy(bytes))
        .map_err(|error| Failure::protocol("R2", format!("meta.json of {id}: {error}")))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
fn r2_failure(error: worker::Error) -> Failure {
    Failure::new("R2Error", &error.to_string())
}
