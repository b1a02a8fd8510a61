//! Imports a backup that the ledger does not list: one that the SDK made directly, or an earlier version of this
//! product.
//!
//! A backup that this sandbox did not make does not become its own: when its snapshot is deleted, its objects in R2
//! stay.

use sha2::{Digest, Sha256};

use crate::model::answer::SnapshotState;
use crate::model::delta::is_carrier;
use crate::model::record::{SnapshotRecord, Stage, StoredBackup};
use crate::model::request::ImportRequest;
use crate::model::{
    BackupHandle, BackupOwner, Capture, Error, Result, SnapshotCause, SnapshotId, TakenSnapshot, is_minted_with,
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
        backup.dir().check_restorable()?;
        if is_carrier(backup.dir()) {
            return Err(Error::import_mismatch(backup.id(), "contains only the changes since another snapshot"));
        }
        let found = self.head_backup(&backup).await?;
        let now = self.now();
        if found.metadata.is_expired(now) {
            return Err(Error::import_expired(backup.id()));
        }
        if found.metadata.dir != backup.dir().as_str() {
            return Err(Error::import_mismatch(backup.id(), "is of another directory"));
        }
        let owner = match &found.mark {
            Some(mark) if mark.origin_id != *self.id => {
                return Err(Error::import_mismatch(backup.id(), "is of another sandbox"));
            }
            mark => mark.clone(),
        };
        let snapshot_id = match &owner {
            Some(BackupOwner { snapshot_id, .. }) => snapshot_id.clone(),
            None => id_from_backup(&backup)?,
        };
        if let Some(directory_backup) = backup.directory_backup() {
            let is_intact = self.check_sha256(&backup, directory_backup).await?;
            is_intact.map_err(|damage| Error::backup_damaged(backup.id(), &damage))?;
        }
        if let Some(label) = &request.label {
            self.check_label(label, request.replace).await?;
        }
        // Not before: the policy may have changed while the archive was read.
        let (sandbox, key) = self.ensure_initialized()?;
        // A backup that was made elsewhere belongs to the application, or to another deployment.
        let is_same_origin = owner.is_some() && is_minted_with(&snapshot_id, &key);
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
                let (label, label_to_take) = self.choose_label(request.label.as_ref(), request.replace, now)?;
                let stored = found.into_stored(backup.clone(), !is_same_origin, now);
                let mut snapshot = SnapshotRecord {
                    snapshot_id,
                    label,
                    dir: backup.dir().clone(),
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
                let snapshot = self.save_snapshot(&sandbox, snapshot)?;
                self.schedule_retention(&sandbox)?;
                snapshot
            }
        };
        let size_bytes = snapshot.stored().map_or(0, |stored| stored.size_bytes);
        let capture = Capture {
            changed_during_capture: None,
            freeze: None,
            secrets: None,
            label: snapshot.label.clone(),
            size_bytes,
            began_at: snapshot.began_at,
            shared: false,
            rescue: snapshot.rescue,
            suspect: None,
            form: snapshot.stored().map(StoredBackup::form).unwrap_or_default(),
            base: snapshot.base_id().cloned(),
            stored_bytes: size_bytes,
            total_bytes: snapshot.stored().map_or(size_bytes, StoredBackup::total_bytes),
            reason: None,
        };
        let short_ref = snapshot.to_short_ref(&sandbox);
        let snapshot = snapshot.to_ref(&sandbox).ok_or_else(Error::internal)?;
        Ok(TakenSnapshot::new(snapshot, short_ref, capture))
    }
}

/// Derives the snapshot id for a backup that carries none. The id is always the same, so that a second import finds the
/// first.
fn id_from_backup(backup: &BackupHandle) -> Result<SnapshotId> {
    SnapshotId::draw(&Sha256::digest(backup.id().as_str())).ok_or_else(Error::internal)
}
