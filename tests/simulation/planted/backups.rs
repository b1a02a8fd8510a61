//! The bucket: answers that are misread.

use sandbox_snapshotter::model::archive::{
    ArchiveLocation, DiffOutcome, DiffRequest, MissingArchive, Outcome, Request,
};
use sandbox_snapshotter::model::{
    ArchiveInfo, BackupHandle, BackupId, BackupLocation, BackupMetadata, BackupObjectPage, Failure, LocatedBackup,
};
use sandbox_snapshotter::ports::{BackupStore, Ports};

use super::ports::Place;
use super::{Bug, PlantedPorts};
use crate::memory::MemoryLedger;
use crate::world::World;

impl PlantedPorts {
    fn bucket(&self) -> &World {
        self.ports.backups().unwrap()
    }

    /// Returns the answer as it is read: the failure of R2 as the answer that the object of a snapshot is gone.
    fn misread_failure<T>(&self, id: &BackupId, answer: Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
        let is_of_snapshot = || {
            let rows = self.memory_ledger().map(MemoryLedger::live_snapshots).unwrap_or_default();
            rows.iter().any(|row| row.stored().is_some_and(|stored| stored.backup.id() == id))
        };
        if answer.is_err() && self.is_planted(Bug::FailureRecordedAsDamage) && is_of_snapshot() {
            return Ok(None);
        }
        answer
    }

    /// Returns what the ledger has about the archive of a base, while a capture looks for it.
    fn base_in_use(&self, id: &BackupId) -> Option<ArchiveInfo> {
        if !self.is_planted(Bug::BaseNotInspected) {
            return None;
        }
        self.find_capture(|progress| progress.backup.is_none())?;
        let rows = self.memory_ledger()?.live_snapshots();
        let stored = rows.iter().filter_map(|row| row.stored()).find(|stored| stored.backup.id() == id)?;
        let (size_bytes, checksum, uploaded_at) = (stored.size_bytes, stored.checksum.clone(), stored.created_at);
        Some(ArchiveInfo { size_bytes, checksum, uploaded_at, mark: None })
    }
}

impl BackupStore for PlantedPorts {
    fn locate(&self, handle: BackupHandle) -> LocatedBackup {
        self.bucket().locate(handle)
    }

    async fn get_metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let mut metadata = self.misread_failure(id, self.bucket().get_metadata(id).await)?;
        if let Some(metadata) = &mut metadata
            && self.notes.listed.borrow_mut().remove(id)
            && let Some((capture, _)) = self.find_capture(|progress| progress.backup.is_none())
        {
            metadata.name = Some(capture.backup_owner(self.own()).to_string());
        }
        Ok(metadata)
    }

    async fn head_archive(&self, backup: &BackupLocation) -> Result<Option<ArchiveInfo>, Failure> {
        let found = self.misread_failure(backup.id(), self.bucket().head_archive(backup).await)?;
        Ok(found.or_else(|| self.base_in_use(backup.id())))
    }

    async fn hash_archive(&self, backup: &BackupLocation) -> Result<Option<String>, Failure> {
        self.bucket().hash_archive(backup).await
    }

    async fn read_archive(
        &self,
        archive: &ArchiveLocation,
        request: &Request,
    ) -> Result<Result<(Outcome, Vec<u8>), MissingArchive>, Failure> {
        self.bucket().read_archive(archive, request).await
    }

    async fn diff_archives(
        &self,
        from: &ArchiveLocation,
        to: &ArchiveLocation,
        request: &DiffRequest,
    ) -> Result<Result<DiffOutcome, MissingArchive>, Failure> {
        self.bucket().diff_archives(from, to, request).await
    }

    async fn diff_listing(
        &self,
        snapshot: &ArchiveLocation,
        listing: &[u8],
        request: &DiffRequest,
    ) -> Result<Result<DiffOutcome, MissingArchive>, Failure> {
        self.bucket().diff_listing(snapshot, listing, request).await
    }

    async fn read_archive_prefix(&self, backup: &BackupLocation, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        self.bucket().read_archive_prefix(backup, length).await
    }

    fn object_keys(&self, backup: &BackupLocation) -> Vec<String> {
        self.bucket().object_keys(backup)
    }

    #[track_caller]
    fn list(&self, cursor: Option<&str>) -> impl Future<Output = Result<BackupObjectPage, Failure>> {
        let place = Place::here();
        async move {
            let page = self.bucket().list(cursor).await?;
            if self.is_planted(Bug::BackupOwnerNotChecked) && place.is_in("snapshot/reconcile.rs") {
                self.notes.listed.borrow_mut().extend(page.objects.iter().map(|object| object.location.id().clone()));
            }
            Ok(page)
        }
    }

    async fn delete(&self, backup: &BackupLocation) -> Result<(), Failure> {
        self.bucket().delete(backup).await
    }
}
