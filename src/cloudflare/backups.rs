//! The R2 bucket, as the SDK (0.12) lays backups out in it: `backups/<id>/data.sqsh` and `backups/<id>/meta.json`.

use worker::{Bucket, Range};

use crate::model::{Archive, BackupId, BackupMetadata, Failure, Listed, Listing, Part, Timestamp, json};
use crate::ports::BackupStore;

/// Where the SDK keeps backups.
const FOLDER: &str = "backups/";

/// What follows a backup's id in the key of its archive.
const ARCHIVE: &str = "/data.sqsh";

/// What follows a backup's id in the key of its metadata.
const METADATA: &str = "/meta.json";

/// The largest `meta.json` that is read, in bytes; the SDK's are under 1 kB.
const MAX_METADATA: u64 = 16 * 1024;

/// Backups in an R2 bucket.
pub struct R2Backups {
    bucket: Bucket,
}

impl R2Backups {
    /// The backups in `bucket`.
    pub fn new(bucket: Bucket) -> Self {
        Self { bucket }
    }
}

impl BackupStore for R2Backups {
    async fn metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let Some(object) = self.bucket.get(key_of(id, Part::Metadata)).execute().await.map_err(failed)? else {
            return Ok(None);
        };
        if object.size() > MAX_METADATA {
            return Err(Failure::unexpected("R2", format!("meta.json of {id} has {} bytes", object.size())));
        }
        let body = object.body().ok_or_else(|| Failure::unexpected("R2", format!("meta.json of {id} has no body")))?;
        let bytes = body.bytes().await.map_err(failed)?;
        metadata_of(id, &bytes).map(Some)
    }

    async fn archive(&self, id: &BackupId) -> Result<Option<Archive>, Failure> {
        let object = self.bucket.head(key_of(id, Part::Archive)).await.map_err(failed)?;
        Ok(object.map(|object| Archive {
            size_bytes: object.size(),
            checksum: object.checksum().md5.map(|md5| format!("md5:{}", hexadecimal(&md5))),
        }))
    }

    async fn archive_head(&self, id: &BackupId, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let range = Range::Prefix { length: length.into() };
        let object = match self.bucket.get(key_of(id, Part::Archive)).range(range).execute().await {
            Ok(Some(object)) => object,
            Ok(None) => return Ok(None),
            // R2 gives no range of an empty object.
            Err(error) => match self.archive(id).await? {
                Some(Archive { size_bytes: 0, .. }) => return Ok(Some(Vec::new())),
                _ => return Err(failed(error)),
            },
        };
        let body =
            object.body().ok_or_else(|| Failure::unexpected("R2", format!("the archive of {id} has no body")))?;
        body.bytes().await.map(Some).map_err(failed)
    }

    fn objects(&self, id: &BackupId) -> Vec<String> {
        vec![key_of(id, Part::Archive), key_of(id, Part::Metadata)]
    }

    async fn list(&self, cursor: Option<&str>) -> Result<Listing, Failure> {
        let request = self.bucket.list().prefix(FOLDER);
        let request = match cursor {
            Some(cursor) => request.cursor(cursor),
            None => request,
        };
        let page = request.execute().await.map_err(failed)?;
        let objects = page.objects();
        let objects = objects.iter().filter_map(|object| {
            let (id, part) = part_of(&object.key())?;
            #[allow(clippy::cast_possible_wrap)] // Milliseconds of our age.
            let uploaded_at = Timestamp::from_millis(object.uploaded().as_millis() as i64);
            Some(Listed { id, part, size_bytes: object.size(), uploaded_at })
        });
        Ok(Listing { objects: objects.collect(), cursor: page.cursor().filter(|_| page.truncated()) })
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        // In this order: as long as there is anything, it carries its mark.
        self.bucket.delete(key_of(id, Part::Archive)).await.map_err(failed)?;
        self.bucket.delete(key_of(id, Part::Metadata)).await.map_err(failed)
    }
}

/// The backup that the object of that key belongs to, and which of its objects it is.
pub(crate) fn part_of(key: &str) -> Option<(BackupId, Part)> {
    let key = key.strip_prefix(FOLDER)?;
    let metadata = key.strip_suffix(METADATA).map(|id| (id, Part::Metadata));
    let (id, part) = metadata.or_else(|| key.strip_suffix(ARCHIVE).map(|id| (id, Part::Archive)))?;
    Some((BackupId::parse(id).ok()?, part))
}

/// What is in a `meta.json`. One that can't be read is no answer that was expected.
pub(crate) fn metadata_of(id: &BackupId, bytes: &[u8]) -> Result<BackupMetadata, Failure> {
    json::parse(&String::from_utf8_lossy(bytes))
        .map_err(|error| Failure::unexpected("R2", format!("meta.json of {id}: {error}")))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// The key of an object of a backup.
pub(crate) fn key_of(id: &BackupId, part: Part) -> String {
    let name = match part {
        Part::Archive => ARCHIVE,
        Part::Metadata => METADATA,
    };
    format!("{FOLDER}{id}{name}")
}

#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn failed(error: worker::Error) -> Failure {
    Failure::new("R2Error", &error.to_string())
}
