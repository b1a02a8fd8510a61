//! The R2 bucket, as the SDK (0.12) lays backups out in it: `backups/<id>/data.sqsh` and `backups/<id>/meta.json`.

use worker::Bucket;

use crate::model::{BackupId, BackupMetadata, Failure};
use crate::ports::BackupStore;

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
        let Some(object) = self.bucket.get(metadata_key(id)).execute().await.map_err(failed)? else {
            return Ok(None);
        };
        if object.size() > MAX_METADATA {
            return Err(Failure::unexpected("R2", format!("meta.json of {id} has {} bytes", object.size())));
        }
        let body = object.body().ok_or_else(|| Failure::unexpected("R2", format!("meta.json of {id} has no body")))?;
        let bytes = body.bytes().await.map_err(failed)?;
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Failure::unexpected("R2", format!("meta.json of {id}: {error}")))
    }

    async fn archive_size(&self, id: &BackupId) -> Result<Option<u64>, Failure> {
        let object = self.bucket.head(archive_key(id)).await.map_err(failed)?;
        Ok(object.map(|object| object.size()))
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        self.bucket.delete_multiple(vec![archive_key(id), metadata_key(id)]).await.map_err(failed)
    }
}

fn archive_key(id: &BackupId) -> String {
    format!("backups/{id}/data.sqsh")
}

fn metadata_key(id: &BackupId) -> String {
    format!("backups/{id}/meta.json")
}

#[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
fn failed(error: worker::Error) -> Failure {
    Failure::new("R2Error", &error.to_string())
}
