//! The R2 bucket of the backups.

use std::rc::Rc;

use bytes::Bytes;
use sandbox_snapshotter::model::archive::{
    ArchiveLocation, DiffOutcome, DiffRequest, MissingArchive, Outcome, Request,
};
use sandbox_snapshotter::model::delta::is_carrier;
use sandbox_snapshotter::model::{
    ArchiveFormat, ArchiveInfo, BackupHandle, BackupId, BackupLocation, BackupMetadata, BackupObject, BackupObjectPage,
    BackupOptions, Failure, LocatedBackup, SandboxId,
};
use sandbox_snapshotter::ports::BackupStore;
use serde_json::json;
use snapshot_archive::protocol::{answer, answer_diff, answer_listing_diff};
use snapshot_archive::{Archives, Source};

use super::backups::{build_archive_of, directory_backup_key};
use super::containers::{Files, sha256};
use super::{Backup, Capture, Event, Method, Scheduler, World};

/// The archive of a backup, as the reader of archives gets it.
struct InMemory(Bytes);

impl Source for InMemory {
    async fn read(&mut self, offset: u64, length: usize) -> snapshot_archive::Result<Bytes> {
        let offset = usize::try_from(offset).unwrap();
        Ok(self.0.slice(offset..offset + length))
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

impl<S: Scheduler> World<S> {
    /// Captures the files of the container in the directory of a backup.
    pub fn capture(&self, id: &SandboxId, options: &BackupOptions) -> Capture<S::ContainerNotes> {
        S::observe(&self.this(), Event::Capture(id, options));
        let identity = self.identity(id);
        self.with_container(id, |container, captured_at| Capture {
            sandbox: id.clone(),
            identity,
            files: container.files_in(options.dir.as_str()),
            started_at: container.started_at,
            image: container.image.clone(),
            format: container.archive_format,
            marker: container.marker.clone(),
            notes: container.notes.clone(),
            captured_at,
            tree: container.deltas.tree.clone().filter(|_| is_carrier(&options.dir)),
        })
    }

    /// Stores a backup, and returns its handle.
    #[allow(clippy::cast_precision_loss)] // The SDK stores the time to live as a JavaScript number.
    pub fn store_backup(&self, capture: Capture<S::ContainerNotes>, options: &BackupOptions) -> BackupHandle {
        self.backup_count.set(self.backup_count.get() + 1);
        let (id, now) = (self.backup_id(self.backup_count.get()), self.current_time());
        let (format, entries) = (capture.format, capture.files.len() as u64);
        let archive = build_archive_of(format, &capture.files);
        let metadata = BackupMetadata {
            id: id.clone(),
            dir: options.dir.to_string(),
            name: Some(options.name.clone()).filter(|name| !name.is_empty()),
            size_bytes: archive.len() as u64,
            ttl: options.ttl as f64,
            created_at: now,
            format,
            entries: Some(entries).filter(|_| format != ArchiveFormat::Squashfs),
        };
        let mut handle = json!({ "id": id, "dir": options.dir });
        if format != ArchiveFormat::Squashfs {
            handle["format"] = json!(format);
        }
        if format == ArchiveFormat::DirectoryBackup {
            handle["size"] = json!(archive.len());
            handle["sha256"] = json!(sha256(&archive));
            handle["name"] = json!(options.name);
        } else if options.local_bucket || self.owns_containers() {
            handle["localBucket"] = json!(true);
        }
        handle.as_object_mut().unwrap().extend(self.handle_fields.borrow().clone());
        let (metadata, archive) = (Some(metadata), Some(archive));
        let mut backup = Backup { metadata, archive, has_checksum: true, uploaded_at: now, capture, id };
        S::observe(&self.this(), Event::Stored(&mut backup));
        self.bucket.borrow_mut().insert(backup.id.clone(), backup);
        serde_json::from_value(handle).unwrap()
    }

    /// Returns the files that a sandbox restores from a backup, and their format; or the error that it returns.
    pub(super) fn read_backup(&self, id: &BackupId) -> Result<(Files, ArchiveFormat), Failure> {
        let missing = || Failure::new("BackupNotFoundError", "Backup not found").with_code("BACKUP_NOT_FOUND");
        let bucket = self.bucket.borrow();
        let backup = bucket.get(id).ok_or_else(missing)?;
        let is_expired = backup.metadata.as_ref().ok_or_else(missing)?.is_expired(self.current_time());
        if is_expired && backup.capture.format != ArchiveFormat::DirectoryBackup {
            return Err(Failure::new("BackupExpiredError", "Backup has expired").with_code("BACKUP_EXPIRED"));
        }
        backup.archive.as_ref().ok_or_else(missing)?;
        Ok((backup.capture.files.clone(), backup.capture.format))
    }

    /// Reads the archives of a snapshot, as the reader of archives gets them.
    async fn read_readable(
        &self,
        method: Method,
        archive: &ArchiveLocation,
    ) -> Result<Result<Archives<InMemory>, MissingArchive>, Failure> {
        let mut last = Vec::new();
        for backup in archive.backups() {
            let Some(found) = self.read_object(method, backup, Backup::readable_archive).await? else {
                return Ok(Err(MissingArchive(backup.id().clone())));
            };
            last = found;
        }
        Ok(Ok(Archives::Full(InMemory(last.into()))))
    }

    /// Calls the bucket about a backup, and reads one of its objects.
    async fn read_object<T: 'static>(
        &self,
        method: Method,
        location: &BackupLocation,
        read: impl FnOnce(&Backup<S>) -> Option<T> + 'static,
    ) -> Result<Option<T>, Failure> {
        let location = location.clone();
        let target = location.to_string();
        let read = move |world: Rc<Self>| async move {
            let bucket = world.bucket.borrow();
            Ok(bucket.get(location.id()).filter(|backup| backup.location() == location).and_then(read))
        };
        S::call(&self.this(), method, &target, read).await
    }
}

impl<S: Scheduler> BackupStore for World<S> {
    fn locate(&self, handle: BackupHandle) -> LocatedBackup {
        LocatedBackup::new(handle, directory_backup_key)
    }

    async fn get_metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let location = BackupLocation::Pair(id.clone());
        self.read_object(Method::GetMetadata, &location, |backup| backup.metadata.clone()).await
    }

    async fn head_archive(&self, backup: &BackupLocation) -> Result<Option<ArchiveInfo>, Failure> {
        self.read_object(Method::HeadArchive, backup, Backup::archive_info).await
    }

    async fn hash_archive(&self, backup: &BackupLocation) -> Result<Option<String>, Failure> {
        let hash = |backup: &Backup<S>| backup.archive.as_ref().map(sha256);
        self.read_object(Method::HashArchive, backup, hash).await
    }

    async fn read_archive_prefix(&self, backup: &BackupLocation, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let prefix = move |archive: &Vec<u8>| archive.iter().take(length as usize).copied().collect();
        self.read_object(Method::ReadArchivePrefix, backup, move |backup| backup.archive.as_ref().map(prefix)).await
    }

    async fn read_archive(
        &self,
        archive: &ArchiveLocation,
        request: &Request,
    ) -> Result<Result<(Outcome, Vec<u8>), MissingArchive>, Failure> {
        let archives = match self.read_readable(Method::ReadArchive, archive).await? {
            Ok(archives) => archives,
            Err(missing) => return Ok(Err(missing)),
        };
        Ok(Ok(match answer(archives, request.clone()).await {
            Ok((answer, bytes)) => (Outcome::Answer(answer), bytes),
            Err(error) => (error.into(), Vec::new()),
        }))
    }

    async fn diff_archives(
        &self,
        from: &ArchiveLocation,
        to: &ArchiveLocation,
        request: &DiffRequest,
    ) -> Result<Result<DiffOutcome, MissingArchive>, Failure> {
        let from = self.read_readable(Method::DiffArchives, from).await?;
        let to = self.read_readable(Method::ReadArchive, to).await?;
        Ok(match (from, to) {
            (Ok(from), Ok(to)) => Ok(answer_diff(from, to, request.clone()).await),
            (Err(missing), _) | (_, Err(missing)) => Err(missing),
        })
    }

    async fn diff_listing(
        &self,
        snapshot: &ArchiveLocation,
        listing: &[u8],
        request: &DiffRequest,
    ) -> Result<Result<DiffOutcome, MissingArchive>, Failure> {
        let part = request.listing.unwrap();
        let snapshot = self.read_readable(Method::DiffArchives, snapshot).await?;
        Ok(match snapshot {
            Ok(snapshot) => Ok(answer_listing_diff(snapshot, listing.to_vec(), part, request.clone()).await),
            Err(missing) => Err(missing),
        })
    }

    fn object_keys(&self, backup: &BackupLocation) -> Vec<String> {
        match backup {
            BackupLocation::Pair(id) => vec![format!("backups/{id}/data.sqsh"), format!("backups/{id}/meta.json")],
            BackupLocation::DirectoryBackup { key, .. } => vec![key.clone()],
        }
    }

    async fn list(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        let cursor = cursor.map(str::to_owned);
        let list = |world: Rc<Self>| async move {
            let bucket = world.bucket.borrow();
            let key = |object: &BackupObject| format!("{} {:?}", object.location, object.kind);
            let objects = bucket.values().flat_map(Backup::list_objects);
            let mut remaining = objects.filter(|object| cursor.as_ref().is_none_or(|cursor| key(object) > *cursor));
            let objects: Vec<BackupObject> = remaining.by_ref().take(world.list_page_size()).collect();
            let cursor = objects.last().map(key).filter(|_| remaining.next().is_some());
            Ok(BackupObjectPage { objects, cursor })
        };
        S::call(&self.this(), Method::List, "", list).await
    }

    async fn delete(&self, backup: &BackupLocation) -> Result<(), Failure> {
        let location = backup.clone();
        let target = location.to_string();
        let delete = |world: Rc<Self>| async move {
            let has_object = |backup: &Backup<S>| backup.location() == location && !backup.list_objects().is_empty();
            let is_stored = world.bucket.borrow().get(location.id()).is_some_and(has_object);
            let deleted = if is_stored { world.bucket.borrow_mut().remove(location.id()) } else { None };
            if let Some(backup) = deleted {
                S::observe(&world, Event::Deleted(&backup));
            }
            Ok(())
        };
        S::call(&self.this(), Method::Delete, &target, delete).await
    }
}
