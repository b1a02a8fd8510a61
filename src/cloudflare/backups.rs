//! The backups in the R2 bucket, in the layout of the SDK (0.12): `backups/<id>/data.sqsh` and
//! `backups/<id>/meta.json`.

use worker::{Bucket, Range};

use super::archive_reader::read_archive;
use crate::model::archive::{Outcome, Request};
use crate::model::{
    ArchiveInfo, BackupId, BackupMetadata, BackupObject, BackupObjectKind, BackupObjectPage, Failure, Timestamp, json,
};
use crate::ports::BackupStore;

/// The prefix of the keys of backups.
const KEY_PREFIX: &str = "backups/";

/// The suffix of the key of an archive, after the id of the backup.
const ARCHIVE_SUFFIX: &str = "/data.sqsh";

/// The suffix of the key of the metadata, after the id of the backup.
const METADATA_SUFFIX: &str = "/meta.json";

/// The largest `meta.json` that the Worker reads, in bytes; those of the SDK are under 1 kB.
const MAX_METADATA_BYTES: u64 = 16 * 1024;

/// Backups in an R2 bucket.
pub struct R2Backups {
    bucket: Bucket,
}

impl R2Backups {
    /// Returns the backups in `bucket`.
    pub fn new(bucket: Bucket) -> Self {
        Self { bucket }
    }
}

impl BackupStore for R2Backups {
    async fn get_metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let Some(object) =
            self.bucket.get(object_key(id, BackupObjectKind::Metadata)).execute().await.map_err(r2_failure)?
        else {
            return Ok(None);
        };
        if object.size() > MAX_METADATA_BYTES {
            return Err(Failure::protocol("R2", format!("meta.json of {id} has {} bytes", object.size())));
        }
        let body = object.body().ok_or_else(|| Failure::protocol("R2", format!("meta.json of {id} has no body")))?;
        let bytes = body.bytes().await.map_err(r2_failure)?;
        parse_metadata(id, &bytes).map(Some)
    }

    async fn head_archive(&self, id: &BackupId) -> Result<Option<ArchiveInfo>, Failure> {
        let object = self.bucket.head(object_key(id, BackupObjectKind::Archive)).await.map_err(r2_failure)?;
        Ok(object.map(|object| ArchiveInfo {
            size_bytes: object.size(),
            checksum: object.checksum().md5.map(|md5| format!("md5:{}", to_hex(&md5))),
        }))
    }

    async fn read_archive_prefix(&self, id: &BackupId, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let range = Range::Prefix { length: length.into() };
        let object = match self.bucket.get(object_key(id, BackupObjectKind::Archive)).range(range).execute().await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(None),
            // R2 fails for a range of an empty object.
            Err(error) => match self.head_archive(id).await? {
                Some(ArchiveInfo { size_bytes: 0, .. }) => return Ok(Some(Vec::new())),
                _ => return Err(r2_failure(error)),
            },
        };
        let body = object.body().ok_or_else(|| Failure::protocol("R2", format!("the archive of {id} has no body")))?;
        body.bytes().await.map(Some).map_err(r2_failure)
    }

    async fn read_archive(&self, id: &BackupId, request: &Request) -> Result<Option<(Outcome, Vec<u8>)>, Failure> {
        read_archive(&self.bucket, &object_key(id, BackupObjectKind::Archive), request).await
    }

    fn object_keys(&self, id: &BackupId) -> Vec<String> {
        vec![object_key(id, BackupObjectKind::Archive), object_key(id, BackupObjectKind::Metadata)]
    }

    async fn list(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        let request = self.bucket.list().prefix(KEY_PREFIX);
        let request = match cursor {
            Some(cursor) => request.cursor(cursor),
            None => request,
        };
        let page = request.execute().await.map_err(r2_failure)?;
        let objects = page.objects();
        let objects = objects.iter().filter_map(|object| {
            let (id, kind) = parse_key(&object.key())?;
            #[allow(clippy::cast_possible_wrap)] // Milliseconds far below 2^63.
            let uploaded_at = Timestamp::from_millis(object.uploaded().as_millis() as i64);
            Some(BackupObject { id, kind, size_bytes: object.size(), uploaded_at })
        });
        Ok(BackupObjectPage { objects: objects.collect(), cursor: page.cursor().filter(|_| page.truncated()) })
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        // The metadata goes last: it contains the mark that identifies the archive as the snapshotter's.
        self.bucket.delete(object_key(id, BackupObjectKind::Archive)).await.map_err(r2_failure)?;
        self.bucket.delete(object_key(id, BackupObjectKind::Metadata)).await.map_err(r2_failure)
    }
}

/// Returns the id of the backup that an object belongs to, and the kind of the object.
pub(crate) fn parse_key(key: &str) -> Option<(BackupId, BackupObjectKind)> {
    let key = key.strip_prefix(KEY_PREFIX)?;
    let metadata = key.strip_suffix(METADATA_SUFFIX).map(|id| (id, BackupObjectKind::Metadata));
    let (id, kind) = metadata.or_else(|| key.strip_suffix(ARCHIVE_SUFFIX).map(|id| (id, BackupObjectKind::Archive)))?;
    Some((BackupId::parse(id).ok()?, kind))
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

/// Returns the key of an object of a backup.
pub(crate) fn object_key(id: &BackupId, kind: BackupObjectKind) -> String {
    let name = match kind {
        BackupObjectKind::Archive => ARCHIVE_SUFFIX,
        BackupObjectKind::Metadata => METADATA_SUFFIX,
    };
    format!("{KEY_PREFIX}{id}{name}")
}

#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
fn r2_failure(error: worker::Error) -> Failure {
    Failure::new("R2Error", &error.to_string())
}
