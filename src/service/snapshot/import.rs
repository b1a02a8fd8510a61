//! Imports a backup that the ledger does not list: one that the SDK made directly, or an earlier version of this
//! product.
//!
//! A backup that this sandbox did not make does not become its own: when its snapshot is deleted, its objects in R2
//! stay.

use sha2::{Digest, Sha256};

use super::stored_backup::BackupHead;
use crate::model::answer::SnapshotState;
use crate::model::delta::is_carrier;
use crate::model::record::{SandboxRecord, SnapshotRecord, Stage, StoredBackup};
use crate::model::request::ImportRequest;
use crate::model::{
    BackupHandle, Error, LocatedBackup, Result, SnapshotCause, SnapshotId, TakenSnapshot, is_minted_with,
};
use crate::ports::{BackupStore, Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Imports the backup. If the ledger already lists it, returns the existing snapshot.
    pub async fn import(&self, request: ImportRequest) -> Result<TakenSnapshot> {
        self.prepare_call().await?;
        self.in_runtime(request.runtime)?.import_in_runtime(request).await
    }

    async fn import_in_runtime(&self, request: ImportRequest) -> Result<TakenSnapshot> {
        let backup = self.backups()?.locate(request.backup.clone());
        let found = self.inspect_import(&backup).await?;
        let snapshot_id = match &found.mark {
            Some(owner) => owner.snapshot_id.clone(),
            None => id_from_backup(&backup)?,
        };
        if let Some(label) = &request.label {
            self.check_label(label, request.replace).await?;
        }
        // Not before: the policy may have changed while the archive was read.
        let (sandbox, key) = self.ensure_initialized()?;
        // A backup that was made elsewhere belongs to the application, or to another deployment.
        let is_same_origin = found.mark.is_some() && is_minted_with(&snapshot_id, &key);
        let snapshot = match self.ledger.snapshot(&snapshot_id)? {
            Some(known) if known.stored().is_some_and(|stored| stored.backup.id() != backup.id()) => {
                return Err(Error::import_mismatch(backup.id(), "is a copy of another backup"));
            }
            Some(known @ SnapshotRecord { stage: Stage::Ready { .. }, .. }) => known,
            // A backup of this sandbox is deleted with its snapshot, even if its objects existed a moment ago.
            Some(other) if other.state() != SnapshotState::Deleted || is_same_origin => {
                return Err(Error::import_mismatch(
                    backup.id(),
                    &format!("belongs to a snapshot in the state {:?}", other.state().as_str()),
                ));
            }
            // If the backup was made elsewhere, its objects may still exist after its snapshot was deleted here.
            _ => {
                let stored = found.into_stored(backup, !is_same_origin, self.now());
                self.record_import(&request, &sandbox, snapshot_id, stored)?
            }
        };
        snapshot.to_taken(&sandbox).ok_or_else(Error::internal)
    }

    /// Verifies in R2 that a backup can be imported.
    async fn inspect_import(&self, backup: &LocatedBackup) -> Result<BackupHead> {
        backup.dir().check_restorable()?;
        if is_carrier(backup.dir()) {
            return Err(Error::import_mismatch(backup.id(), "contains only the changes since another snapshot"));
        }
        let found = self.head_backup(backup).await?;
        if found.metadata.is_expired(self.now()) {
            return Err(Error::import_expired(backup.id()));
        }
        if found.metadata.dir != backup.dir().as_str() {
            return Err(Error::import_mismatch(backup.id(), "is of another directory"));
        }
        if found.mark.as_ref().is_some_and(|mark| mark.origin_id != *self.id) {
            return Err(Error::import_mismatch(backup.id(), "is of another sandbox"));
        }
        if let Some(directory_backup) = backup.directory_backup() {
            let is_intact = self.check_sha256(backup, directory_backup).await?;
            is_intact.map_err(|damage| Error::backup_damaged(backup.id(), &damage))?;
        }
        Ok(found)
    }

    /// Writes the row of an imported snapshot.
    fn record_import(
        &self,
        request: &ImportRequest,
        sandbox: &SandboxRecord,
        snapshot_id: SnapshotId,
        stored: StoredBackup,
    ) -> Result<SnapshotRecord> {
        let now = self.now();
        let (label, label_to_take) = self.choose_label(request.label.as_ref(), request.replace, now)?;
        let mut snapshot = SnapshotRecord {
            snapshot_id,
            label,
            dir: stored.backup.dir().clone(),
            excludes: Vec::new(),
            gitignore: None,
            compression: None,
            began_at: stored.created_at,
            last_used_at: now,
            expiration_seconds: request.expiration_seconds,
            expires_at: None,
            pinned: false,
            // Its files are not the sandbox's own until a caller reverts to this snapshot.
            foreign: true,
            provenance: None,
            rescue: false,
            cause: Some(SnapshotCause::Import),
            autosave: false,
            saved_state: None,
            changed_during_capture: None,
            freeze: None,
            secrets: None,
            suspect: None,
            dependencies: None,
            stage: Stage::Ready { stored },
        };
        if let Some(label) = label_to_take {
            self.assign_label(&mut snapshot, label)?;
        }
        let snapshot = self.save_snapshot(sandbox, snapshot)?;
        self.schedule_retention(sandbox)?;
        Ok(snapshot)
    }
}

/// Derives the snapshot id for a backup that carries none. The id is always the same, so that a second import finds the
/// first.
fn id_from_backup(backup: &BackupHandle) -> Result<SnapshotId> {
    SnapshotId::draw(&Sha256::digest(backup.id().as_str())).ok_or_else(Error::internal)
}
