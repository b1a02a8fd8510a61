//! R2, with the backups of the product and those of applications.

use std::rc::Rc;

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::{
    ArchiveInfo, BackupHandle, BackupId, BackupMetadata, BackupObject, BackupObjectKind, BackupObjectPage, BackupOwner,
    Failure, SandboxId, Timestamp,
};
use sandbox_snapshotter::ports::{BackupStore, Ledger};
use serde_json::json;

use super::ports::SharedPorts;
use super::sandboxes::Files;
use super::{Service, World};

/// The two objects of a backup.
#[derive(Clone)]
pub struct Backup {
    /// `meta.json`
    pub metadata: Option<BackupMetadata>,
    /// `data.sqsh`
    pub archive: Option<ArchiveInfo>,
}

impl Backup {
    /// Returns the owner that its name states.
    pub fn owner(&self) -> Option<BackupOwner> {
        BackupOwner::parse(self.metadata.as_ref()?.name.as_deref()?)
    }

    /// Returns whether both objects exist.
    pub fn is_complete(&self) -> bool {
        self.metadata.is_some() && self.archive.is_some()
    }
}

/// The container state from which a backup was made.
#[derive(Clone)]
pub struct GroundTruth {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The files of its container.
    pub files: Files,
    /// The time at which the container was started.
    pub started_at: i64,
    /// Whether only the service used the container before the capture.
    pub is_untouched: bool,
    /// The marker of the container.
    pub marker: Option<ContainerMarker>,
    /// The time of the capture.
    pub captured_at: i64,
}

impl World {
    /// Stores a backup, and returns its handle.
    #[allow(clippy::cast_precision_loss)] // The SDK stores the time to live as a JavaScript number.
    pub fn store_backup(&self, truth: GroundTruth, name: Option<&str>, dir: &str, ttl: u64) -> BackupHandle {
        let id = format!("{:016x}-{:04}", self.rng.next_u64(), self.ground_truths.borrow().len());
        let id = BackupId::parse(&id).unwrap();
        // The size is rounded up, as that of an archive.
        let size_bytes = 4096 * (1 + truth.files.len() as u64 / 4);
        let checksum = (!self.rng.one_in(4)).then(|| format!("md5:{:?}", truth.files));
        let metadata = BackupMetadata {
            id: id.clone(),
            dir: dir.to_owned(),
            name: name.map(ToOwned::to_owned),
            size_bytes,
            ttl: ttl as f64,
            created_at: Timestamp::from_millis(self.now()),
        };
        let backup = Backup { metadata: Some(metadata), archive: Some(ArchiveInfo { size_bytes, checksum }) };
        self.trace(&format_args!("stored {id} {name:?} {:?}", truth.files));
        self.bucket.borrow_mut().insert(id.clone(), backup);
        self.ground_truths.borrow_mut().insert(id.clone(), truth);
        serde_json::from_value(json!({ "id": id, "dir": dir })).unwrap()
    }

    /// Returns the files that the SDK restores from a backup, or the SDK's failure.
    pub(super) fn read_backup(&self, id: &BackupId) -> Result<Files, Failure> {
        let missing = || Failure::new("BackupNotFoundError", "Backup not found").with_code("BACKUP_NOT_FOUND");
        let bucket = self.bucket.borrow();
        let metadata = bucket.get(id).and_then(|backup| backup.metadata.as_ref()).ok_or_else(missing)?;
        if metadata.is_expired(Timestamp::from_millis(self.now())) {
            return Err(Failure::new("BackupExpiredError", "Backup has expired").with_code("BACKUP_EXPIRED"));
        }
        bucket.get(id).and_then(|backup| backup.archive.as_ref()).ok_or_else(missing)?;
        Ok(self.ground_truths.borrow()[id].files.clone())
    }

    /// Deletes a backup, and checks that the service may delete it.
    fn delete_backup(&self, id: &BackupId) {
        let Some(backup) = self.bucket.borrow_mut().remove(id) else { return };
        self.trace(&format_args!("deleted {id}"));
        self.count("backups deleted");
        if backup.metadata.is_none() {
            return;
        }
        let Some(owner) = backup.owner() else {
            return self.report_violation(
                "rule 9, a backup without an owner is not deleted",
                &format_args!("{id} was deleted"),
            );
        };
        let ledger = self.ledgers.borrow().get(&owner.origin_id).cloned();
        let row = ledger.and_then(|ledger| ledger.snapshot(&owner.snapshot_id).unwrap());
        if row.is_some_and(|row| {
            row.state() == SnapshotState::Ready && row.stored().is_some_and(|stored| stored.backup.id() == id)
        }) {
            let what = format_args!("the backup of {} was deleted", owner.snapshot_id);
            self.report_violation("rule 1, a snapshot can be restored", &what);
        }
    }
}

impl BackupStore for SharedPorts {
    async fn get_metadata(&self, id: &BackupId) -> Result<Option<BackupMetadata>, Failure> {
        let get = || Ok(self.bucket.borrow().get(id).and_then(|backup| backup.metadata.clone()));
        self.read(Service::Bucket, get).await
    }

    async fn head_archive(&self, id: &BackupId) -> Result<Option<ArchiveInfo>, Failure> {
        let get = || Ok(self.bucket.borrow().get(id).and_then(|backup| backup.archive.clone()));
        self.read(Service::Bucket, get).await
    }

    async fn read_archive_prefix(&self, id: &BackupId, length: u32) -> Result<Option<Vec<u8>>, Failure> {
        let get = || {
            let bucket = self.bucket.borrow();
            let archive = bucket.get(id).and_then(|backup| backup.archive.as_ref());
            Ok(archive.map(|archive| {
                let mut prefix = vec![0; length as usize];
                prefix[..4].copy_from_slice(b"hsqs");
                let inodes = 1 + u32::try_from(self.ground_truths.borrow()[id].files.len()).unwrap();
                prefix[4..8].copy_from_slice(&inodes.to_le_bytes());
                if let Some(length) = prefix.get_mut(40..48) {
                    length.copy_from_slice(&archive.size_bytes.to_le_bytes());
                }
                prefix
            }))
        };
        self.read(Service::Bucket, get).await
    }

    fn object_keys(&self, id: &BackupId) -> Vec<String> {
        vec![format!("{id}/archive"), format!("{id}/metadata")]
    }

    async fn list(&self, cursor: Option<&str>) -> Result<BackupObjectPage, Failure> {
        let get = || {
            let bucket = self.bucket.borrow();
            let listed = bucket.iter().filter_map(|(id, backup)| {
                let metadata = backup.metadata.as_ref()?;
                let (size_bytes, uploaded_at) = (metadata.size_bytes, metadata.created_at);
                Some(BackupObject { id: id.clone(), kind: BackupObjectKind::Metadata, size_bytes, uploaded_at })
            });
            let mut remaining = listed.filter(|listed| cursor.is_none_or(|cursor| listed.id.as_str() > cursor));
            let objects: Vec<_> = remaining.by_ref().take(self.profile.page_size).collect();
            let cursor = remaining.next().and(objects.last()).map(|last| last.id.to_string());
            Ok(BackupObjectPage { objects, cursor })
        };
        self.read(Service::Bucket, get).await
    }

    async fn delete(&self, id: &BackupId) -> Result<(), Failure> {
        let id = id.clone();
        let delete = async move |world: Rc<World>| {
            world.pass_step().await;
            world.delete_backup(&id);
            Ok(())
        };
        self.write(Service::Bucket, delete).await
    }
}
