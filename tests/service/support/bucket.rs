//! The fake R2 bucket of the backups.

use std::hash::{DefaultHasher, Hash, Hasher};

use sandbox_snapshotter::model::{
    ArchiveInfo, BackupId, BackupMetadata, BackupObject, BackupObjectKind, BackupObjectPage, BackupOptions, Failure,
    Timestamp,
};
use sandbox_snapshotter::ports::BackupStore;

use super::containers::Files;
use super::{Method, World, backup_id};

/// The size of the archive of an empty directory, in bytes.
const EMPTY_ARCHIVE_SIZE: usize = 4096;

/// The two objects of a backup.
#[derive(Clone)]
pub struct Backup {
    pub metadata: Option<BackupMetadata>,
    pub archive: Option<Vec<u8>>,
    /// Whether R2 has a checksum of the archive.
    pub has_checksum: bool,
    pub uploaded_at: Timestamp,
    files: Files,
    id: BackupId,
}

impl Backup {
    /// Creates a backup of `files`, the `number`th of all.
    #[allow(clippy::cast_precision_loss)] // The SDK stores the time to live as a JavaScript number.
    pub(super) fn new(files: Files, options: &BackupOptions, number: usize, now: i64) -> Self {
        let id = BackupId::parse(&backup_id(number)).unwrap();
        let archive = build_archive(&files);
        let now = Timestamp::from_millis(now);
        let metadata = BackupMetadata {
            id: id.clone(),
            dir: options.dir.to_string(),
            name: Some(options.name.clone()).filter(|name| !name.is_empty()),
            size_bytes: archive.len() as u64,
            ttl: options.ttl as f64,
            created_at: now,
        };
        Self { metadata: Some(metadata), archive: Some(archive), has_checksum: true, uploaded_at: now, files, id }
    }

    pub fn id(&self) -> &BackupId {
        &self.id
    }

    /// Resizes the archive to `size` bytes, and updates the metadata.
    pub fn resize(&mut self, size: usize) {
        self.archive.as_mut().unwrap().resize(size, 0);
        self.metadata.as_mut().unwrap().size_bytes = size as u64;
    }

    /// Returns the existing objects, in the order of their keys.
    fn list_objects(&self) -> Vec<BackupObject> {
        let object =
            |kind, size_bytes| BackupObject { id: self.id.clone(), kind, size_bytes, uploaded_at: self.uploaded_at };
        let archive = self.archive.as_ref().map(|archive| object(BackupObjectKind::Archive, archive.len() as u64));
        archive.into_iter().chain(self.metadata.as_ref().map(|_| object(BackupObjectKind::Metadata, 200))).collect()
    }

    fn archive_info(&self) -> Option<ArchiveInfo> {
        let archive = self.archive.as_ref()?;
        let checksum = || {
            let mut hasher = DefaultHasher::new();
            archive.hash(&mut hasher);
            format!("md5:{:032x}", hasher.finish())
        };
        Some(ArchiveInfo { size_bytes: archive.len() as u64, checksum: self.has_checksum.then(checksum) })
    }
}

/// Builds the archive of `files`: a squashfs header with the number of files and directories at byte 4 and the length
/// of the archive at byte 40, then the contents.
pub fn build_archive(files: &Files) -> Vec<u8> {
    let content: String = files.iter().map(|(path, content)| path.clone() + content).collect();
    let length = EMPTY_ARCHIVE_SIZE + content.len();
    let mut archive = b"hsqs".to_vec();
    archive.extend((1 + u32::try_from(files.len()).unwrap()).to_le_bytes());
    archive.resize(40, 0);
    archive.extend((length as u64).to_le_bytes());
    archive.extend(content.bytes());
    archive.resize(length, 0);
    archive
}

/// Direct access to the bucket, without the snapshotter.
impl World {
    /// Returns the ids of all backups that have an object.
    pub fn backup_ids(&self) -> Vec<String> {
        self.bucket.borrow().keys().cloned().collect()
    }

    /// Returns the metadata of a backup, which must exist.
    pub fn metadata_of(&self, id: &str) -> BackupMetadata {
        self.bucket.borrow()[id].metadata.clone().unwrap()
    }

    /// Returns the name of a backup, if it has one.
    pub fn name_of(&self, id: &str) -> Option<String> {
        self.bucket.borrow()[id].metadata.as_ref().and_then(|metadata| metadata.name.clone())
    }

    /// Changes every backup.
    pub fn edit_backups(&self, change: impl Fn(&mut Backup)) {
        self.bucket.borrow_mut().values_mut().for_each(change);
    }

    /// Changes the archive of every backup.
    pub fn edit_archives(&self, change: impl Fn(&mut Vec<u8>)) {
        self.edit_backups(|backup| change(backup.archive.as_mut().unwrap()));
    }

    /// Changes the metadata of every backup.
    pub fn edit_metadata(&self, change: impl Fn(&mut BackupMetadata)) {
        self.edit_backups(|backup| change(backup.metadata.as_mut().unwrap()));
    }

    /// Deletes every backup.
    pub fn clear_bucket(&self) {
        self.bucket.borrow_mut().clear();
    }

    /// Sets the number of objects on each page of a listing.
    pub fn set_list_page_size(&self, count: usize) {
        self.list_page_size.set(count);
    }

    pub(super) fn now_millis(&self) -> i64 {
        self.current_time().as_millis()
    }

    /// Returns the files that the SDK restores from a backup, or the error that it returns.
    pub(super) fn extract_files(&self, id: &BackupId) -> Result<Files, Failure> {
        let bucket = self.bucket.borrow();
        let missing = || Failure::new("BackupNotFoundError", "Backup not found").with_code("BACKUP_NOT_FOUND");
        let backup = bucket.get(id.as_str()).ok_or_else(missing)?;
        let metadata = backup.metadata.as_ref().ok_or_else(missing)?;
        backup.archive.as_ref().ok_or_else(missing)?;
        if metadata.is_expired(self.current_time()) {
            return Err(Failure::new("BackupExpiredError", "Backup has expired").with_code("BACKUP_EXPIRED"));
        }
        Ok(backup.files.clone())
    }

    fn read_backup<T>(&self, id: &BackupId, read: impl FnOnce(&Backup) -> Option<T>) -> Option<T> {
        self.bucket.borrow().get(id.as_str()).and_then(read)
    }
}

impl BackupStore for World {
    async fn get_metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let get = || Ok(self.read_backup(id, |backup| backup.metadata.clone()));
        self.call(Method::GetMetadata, id.as_str(), get).await
    }

    async fn head_archive(&self, id: &BackupId) -> Result<Option<ArchiveInfo>, Failure> {
        self.call(Method::HeadArchive, id.as_str(), || Ok(self.read_backup(id, Backup::archive_info))).await
    }

    async fn read_archive_prefix(&self, id: &BackupId, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let head = |archive: &Vec<u8>| archive.iter().take(length as usize).copied().collect();
        let get = || Ok(self.read_backup(id, |backup| backup.archive.as_ref().map(head)));
        self.call(Method::ReadArchivePrefix, id.as_str(), get).await
    }

    fn object_keys(&self, id: &BackupId) -> Vec<String> {
        vec![format!("backups/{id}/data.sqsh"), format!("backups/{id}/meta.json")]
    }

    async fn list(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        let list = || {
            let bucket = self.bucket.borrow();
            let key = |object: &BackupObject| format!("{} {:?}", object.id, object.kind);
            let objects = bucket.values().flat_map(Backup::list_objects);
            let mut remaining = objects.filter(|object| cursor.is_none_or(|cursor| key(object).as_str() > cursor));
            let objects: Vec<BackupObject> = remaining.by_ref().take(self.list_page_size.get()).collect();
            let cursor = objects.last().map(key).filter(|_| remaining.next().is_some());
            Ok(BackupObjectPage { objects, cursor })
        };
        self.call(Method::List, "", list).await
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        let delete = || {
            self.bucket.borrow_mut().remove(id.as_str());
            Ok(())
        };
        self.call(Method::Delete, id.as_str(), delete).await
    }
}
