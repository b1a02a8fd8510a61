//! The bucket that backups are in.

use sandbox_snapshotter::model::{BackupId, BackupMetadata, BackupOptions, Failure, Timestamp};
use sandbox_snapshotter::ports::{BackupStore, Clock};

use super::sandboxes::Files;
use super::{Method, World, backup_id};

/// The size of the archive of an empty directory.
const EMPTY: u64 = 4096;

/// The two objects of a backup.
#[derive(Clone)]
pub struct Backup {
    pub metadata: Option<BackupMetadata>,
    pub archive_size: Option<u64>,
    files: Files,
    id: BackupId,
}

impl Backup {
    /// A backup of `files`, the `number`th ever.
    #[allow(clippy::cast_precision_loss)] // A time to live of the SDK is a number of JavaScript.
    pub(super) fn of(files: Files, options: &BackupOptions, number: usize, now: i64) -> Self {
        let id = BackupId::parse(&backup_id(number)).unwrap();
        let size = archive_size_of(&files);
        let metadata = BackupMetadata {
            id: id.clone(),
            dir: options.dir.to_string(),
            name: Some(options.name.clone()),
            size_bytes: size,
            ttl: options.ttl as f64,
            created_at: Timestamp::from_millis(now),
        };
        Self { metadata: Some(metadata), archive_size: Some(size), files, id }
    }

    pub(super) fn id(&self) -> &BackupId {
        &self.id
    }
}

/// The size of the archive of `files`.
pub fn archive_size_of(files: &Files) -> u64 {
    EMPTY + files.iter().map(|(path, content)| (path.len() + content.len()) as u64).sum::<u64>()
}

/// What happens in the bucket without the snapshotter.
impl World {
    /// The ids of the backups of which anything is there.
    pub fn stored(&self) -> Vec<String> {
        self.bucket.borrow().keys().cloned().collect()
    }

    /// The metadata of a backup, which is there.
    pub fn metadata_of(&self, id: &str) -> BackupMetadata {
        self.bucket.borrow()[id].metadata.clone().unwrap()
    }

    /// Changes what is stored of every backup.
    pub fn spoil(&self, change: impl Fn(&mut Backup)) {
        self.bucket.borrow_mut().values_mut().for_each(change);
    }

    /// Changes the metadata of every backup.
    pub fn spoil_metadata(&self, change: impl Fn(&mut BackupMetadata)) {
        self.spoil(|backup| change(backup.metadata.as_mut().unwrap()));
    }

    /// Deletes every backup.
    pub fn empty_bucket(&self) {
        self.bucket.borrow_mut().clear();
    }

    pub(super) fn millis(&self) -> i64 {
        self.now().as_millis()
    }

    /// What the SDK restores of a backup, or its reason not to.
    pub(super) fn archive(&self, id: &BackupId) -> Result<Files, Failure> {
        let bucket = self.bucket.borrow();
        let missing = || Failure::new("BackupNotFoundError", "Backup not found").with_code("BACKUP_NOT_FOUND");
        let backup = bucket.get(id.as_str()).ok_or_else(missing)?;
        let metadata = backup.metadata.as_ref().ok_or_else(missing)?;
        backup.archive_size.ok_or_else(missing)?;
        #[allow(clippy::cast_possible_truncation)]
        let end = metadata.created_at.plus_millis((metadata.ttl * 1000.0) as i64);
        if self.now().plus_millis(60_000) > end {
            return Err(Failure::new("BackupExpiredError", "Backup has expired").with_code("BACKUP_EXPIRED"));
        }
        Ok(backup.files.clone())
    }
}

impl BackupStore for World {
    async fn metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let get = || Ok(self.bucket.borrow().get(id.as_str()).and_then(|backup| backup.metadata.clone()));
        self.call(Method::Metadata, id.as_str(), get).await
    }

    async fn archive_size(&self, id: &BackupId) -> Result<Option<u64>, Failure> {
        let head = || Ok(self.bucket.borrow().get(id.as_str()).and_then(|backup| backup.archive_size));
        self.call(Method::ArchiveSize, id.as_str(), head).await
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        let delete = || {
            self.bucket.borrow_mut().remove(id.as_str());
            Ok(())
        };
        self.call(Method::Delete, id.as_str(), delete).await
    }
}
