//! The bucket: answers that are misread.

use sandbox_snapshotter::model::archive::{Outcome, Request};
use sandbox_snapshotter::model::{ArchiveInfo, BackupId, BackupMetadata, BackupObjectPage, Failure};
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
}

impl BackupStore for PlantedPorts {
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

    async fn head_archive(&self, id: &BackupId) -> Result<Option<ArchiveInfo>, Failure> {
        self.misread_failure(id, self.bucket().head_archive(id).await)
    }

    async fn read_archive(&self, id: &BackupId, request: &Request) -> Result<Option<(Outcome, Vec<u8>)>, Failure> {
        self.bucket().read_archive(id, request).await
    }

    async fn read_archive_prefix(&self, id: &BackupId, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        self.bucket().read_archive_prefix(id, length).await
    }

    fn object_keys(&self, id: &BackupId) -> Vec<String> {
        self.bucket().object_keys(id)
    }

    #[track_caller]
    fn list(&self, cursor: Option<&str>) -> impl Future<Output = Result<BackupObjectPage, Failure>> {
        let place = Place::here();
        async move {
            let page = self.bucket().list(cursor).await?;
            if self.is_planted(Bug::BackupOwnerNotChecked) && place.is_in("snapshot/reconcile.rs") {
                self.notes.listed.borrow_mut().extend(page.objects.iter().map(|object| object.id.clone()));
            }
            Ok(page)
        }
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        self.bucket().delete(id).await
    }
}
