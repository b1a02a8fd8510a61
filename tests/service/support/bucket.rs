//! The bucket that backups are in.

use std::hash::{DefaultHasher, Hash, Hasher};

use sandbox_snapshotter::model::{
    Archive, BackupId, BackupMetadata, BackupOptions, Failure, Listed, Listing, Part, Timestamp,
};
use sandbox_snapshotter::ports::BackupStore;

use super::containers::Files;
use super::{Method, World, backup_id};

/// The size of the archive of an empty directory.
const EMPTY: usize = 4096;

/// The two objects of a backup.
#[derive(Clone)]
pub struct Backup {
    pub metadata: Option<BackupMetadata>,
    pub archive: Option<Vec<u8>>,
    /// Whether R2 knows a checksum of the archive.
    pub has_checksum: bool,
    pub uploaded_at: Timestamp,
    files: Files,
    id: BackupId,
}

impl Backup {
    /// A backup of `files`, the `number`th ever.
    #[allow(clippy::cast_precision_loss)] // A time to live of the SDK is a number of JavaScript.
    pub(super) fn of(files: Files, options: &BackupOptions, number: usize, now: i64) -> Self {
        let id = BackupId::parse(&backup_id(number)).unwrap();
        let archive = archive_of(&files);
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

    /// Gives the archive another size, and the metadata what fits to it.
    pub fn resize(&mut self, size: usize) {
        self.archive.as_mut().unwrap().resize(size, 0);
        self.metadata.as_mut().unwrap().size_bytes = size as u64;
    }

    /// The objects that are there, in the order of their keys.
    fn listed(&self) -> Vec<Listed> {
        let listed = |part, size_bytes| Listed { id: self.id.clone(), part, size_bytes, uploaded_at: self.uploaded_at };
        let archive = self.archive.as_ref().map(|archive| listed(Part::Archive, archive.len() as u64));
        archive.into_iter().chain(self.metadata.as_ref().map(|_| listed(Part::Metadata, 200))).collect()
    }

    fn seen(&self) -> Option<Archive> {
        let archive = self.archive.as_ref()?;
        let checksum = || {
            let mut hasher = DefaultHasher::new();
            archive.hash(&mut hasher);
            format!("md5:{:032x}", hasher.finish())
        };
        Some(Archive { size_bytes: archive.len() as u64, checksum: self.has_checksum.then(checksum) })
    }
}

/// The archive of `files`: the beginning of a squashfs, which says at byte 4 how many files and directories are in it, and at
/// byte 40 how long it is; and then what they say.
pub fn archive_of(files: &Files) -> Vec<u8> {
    let content: String = files.iter().map(|(path, content)| path.clone() + content).collect();
    let length = EMPTY + content.len();
    let mut archive = b"hsqs".to_vec();
    archive.extend((1 + u32::try_from(files.len()).unwrap()).to_le_bytes());
    archive.resize(40, 0);
    archive.extend((length as u64).to_le_bytes());
    archive.extend(content.bytes());
    archive.resize(length, 0);
    archive
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

    /// The name of a backup, if it has one.
    pub fn name_of(&self, id: &str) -> Option<String> {
        self.bucket.borrow()[id].metadata.as_ref().and_then(|metadata| metadata.name.clone())
    }

    /// Changes what is stored of every backup.
    pub fn spoil(&self, change: impl Fn(&mut Backup)) {
        self.bucket.borrow_mut().values_mut().for_each(change);
    }

    /// Changes the archive of every backup.
    pub fn spoil_archive(&self, change: impl Fn(&mut Vec<u8>)) {
        self.spoil(|backup| change(backup.archive.as_mut().unwrap()));
    }

    /// Changes the metadata of every backup.
    pub fn spoil_metadata(&self, change: impl Fn(&mut BackupMetadata)) {
        self.spoil(|backup| change(backup.metadata.as_mut().unwrap()));
    }

    /// Deletes every backup.
    pub fn empty_bucket(&self) {
        self.bucket.borrow_mut().clear();
    }

    /// From now on a listing of the bucket has so many objects on a page.
    pub fn lists_at_once(&self, count: usize) {
        self.listed_at_once.set(count);
    }

    pub(super) fn millis(&self) -> i64 {
        self.moment().as_millis()
    }

    /// What the SDK restores of a backup, or its reason not to.
    pub(super) fn unpack(&self, id: &BackupId) -> Result<Files, Failure> {
        let bucket = self.bucket.borrow();
        let missing = || Failure::new("BackupNotFoundError", "Backup not found").with_code("BACKUP_NOT_FOUND");
        let backup = bucket.get(id.as_str()).ok_or_else(missing)?;
        let metadata = backup.metadata.as_ref().ok_or_else(missing)?;
        backup.archive.as_ref().ok_or_else(missing)?;
        if metadata.is_expired(self.moment()) {
            return Err(Failure::new("BackupExpiredError", "Backup has expired").with_code("BACKUP_EXPIRED"));
        }
        Ok(backup.files.clone())
    }

    fn stored_as<T>(&self, id: &BackupId, see: impl FnOnce(&Backup) -> Option<T>) -> Option<T> {
        self.bucket.borrow().get(id.as_str()).and_then(see)
    }
}

impl BackupStore for World {
    async fn metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let get = || Ok(self.stored_as(id, |backup| backup.metadata.clone()));
        self.call(Method::Metadata, id.as_str(), get).await
    }

    async fn archive(&self, id: &BackupId) -> Result<Option<Archive>, Failure> {
        self.call(Method::Archive, id.as_str(), || Ok(self.stored_as(id, Backup::seen))).await
    }

    async fn archive_head(&self, id: &BackupId, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let head = |archive: &Vec<u8>| archive.iter().take(length as usize).copied().collect();
        let get = || Ok(self.stored_as(id, |backup| backup.archive.as_ref().map(head)));
        self.call(Method::ArchiveHead, id.as_str(), get).await
    }

    fn objects(&self, id: &BackupId) -> Vec<String> {
        vec![format!("backups/{id}/data.sqsh"), format!("backups/{id}/meta.json")]
    }

    async fn list(&self, cursor: Option<&str>) -> Result<Listing, Failure> {
        let list = || {
            let bucket = self.bucket.borrow();
            let key = |listed: &Listed| format!("{} {:?}", listed.id, listed.part);
            let objects = bucket.values().flat_map(Backup::listed);
            let mut behind = objects.filter(|listed| cursor.is_none_or(|cursor| key(listed).as_str() > cursor));
            let objects: Vec<Listed> = behind.by_ref().take(self.listed_at_once.get()).collect();
            let cursor = objects.last().map(key).filter(|_| behind.next().is_some());
            Ok(Listing { objects, cursor })
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
