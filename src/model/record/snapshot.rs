//! The ledger row of a snapshot.

use serde::{Deserialize, Serialize};

use super::{CaptureInProgress, SandboxRecord};
use crate::model::answer::{Removal, SnapshotState};
use crate::model::delta::Delta;
use crate::model::freeze::FreezeReport;
use crate::model::named::binding::{Dependencies, WorkspaceBinding};
use crate::model::refs::SizeDrop;
use crate::model::retention::RetentionCandidate;
use crate::model::{
    ArchiveFormat, BackupLocation, BackupOwner, Capture, Compression, Directory, FullReason, Label, LocatedBackup,
    PendingTask, Provenance, SandboxId, SecretsReport, ShortRef, SnapshotCause, SnapshotForm, SnapshotId, SnapshotRef,
    TakenSnapshot, Timestamp,
};

/// The row of a snapshot.
#[allow(clippy::struct_excessive_bools)] // The flags are independent of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRecord {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The label: a name for people. It is unique in the sandbox until the snapshot is deleted.
    pub label: Label,
    /// The directory that was captured.
    pub dir: Directory,
    /// The patterns of paths that the capture excluded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// Whether the capture excluded the files that git ignores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitignore: Option<bool>,
    /// How the archive is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// When the capture began.
    pub began_at: Timestamp,
    /// When the snapshot was taken or last restored.
    pub last_used_at: Timestamp,
    /// The snapshot's own expiration, in seconds after its last use. 0 means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<u64>,
    /// When the snapshot expires, according to the policy at the last calculation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether the snapshot is pinned: the policy does not remove it.
    #[serde(default)]
    pub pinned: bool,
    /// Whether the files are not the sandbox's own. The sandbox starts from such a snapshot only on explicit
    /// request.
    #[serde(default)]
    #[serde(alias = "aside")]
    pub foreign: bool,
    /// Whether it is a rescue snapshot: its container was not the sandbox's own. A rescue snapshot is never the newest
    /// one, and no rule counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
    /// Why it was taken. Absent in rows of earlier releases: see [`Self::known_cause`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<SnapshotCause>,
    /// Whether an automatic save took it: retention counts it in a class of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub autosave: bool,
    /// The state of the files that the snapshot has, as the check before its capture named it. No other state has this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_state: Option<String>,
    /// Whether files changed during the capture; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_during_capture: Option<bool>,
    /// How the freeze of the files ended; absent where none was requested. Until the thaw, it did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<FreezeReport>,
    /// Set where the snapshot is much smaller than its predecessor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<SizeDrop>,
    /// What the snapshot depends on, as observed when it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// What the container that was captured ran on, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The files that seemed to contain secrets, if the capture searched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsReport>,
    /// The stage of the snapshot.
    pub stage: Stage,
}

/// The stage of a snapshot's life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// The capture was requested and has not completed.
    #[serde(alias = "making")]
    Creating(CaptureInProgress),
    /// The snapshot can be restored, unless its backup is known to be damaged or has expired.
    Ready {
        /// The backup in R2.
        stored: StoredBackup,
    },
    /// The snapshot is being deleted.
    Deleting {
        /// The backup that is being deleted from R2.
        stored: StoredBackup,
        /// When and why the snapshot is deleted.
        #[serde(alias = "end")]
        removal: Removal,
        /// The task that completes the deletion.
        #[serde(alias = "loose")]
        task: PendingTask,
    },
    /// The snapshot is deleted. The ledger keeps the row for a limited time, so that calls can report the deletion.
    Deleted {
        /// The backup that was in R2.
        stored: StoredBackup,
        /// When and why the snapshot was deleted.
        #[serde(alias = "end")]
        removal: Removal,
    },
}

/// A backup in R2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredBackup {
    /// The SDK's handle, and where the objects are.
    pub backup: LocatedBackup,
    /// When the backup was stored.
    pub created_at: Timestamp,
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// The checksum of the archive from R2, where R2 has one: `md5:<hexadecimal>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// The format of the archive. Absent in rows of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ArchiveFormat>,
    /// The SHA-256 of the listing of the captured directory, in hexadecimal, if deltas can be based on the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<String>,
    /// Why the snapshot is full although incremental snapshots were on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_reason: Option<FullReason>,
    /// The time until which the SDK restores the backup.
    pub usable_until: Timestamp,
    /// Whether `import` added the backup. An imported backup may lack the product's mark.
    #[serde(default)]
    pub imported: bool,
    /// When the backup was last checked in R2.
    pub checked_at: Timestamp,
    /// The damage that a check of the R2 objects found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// The damage that was found inside the archive. Only `verify` reads the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "damageWithin")]
    pub archive_damage: Option<String>,
}

impl StoredBackup {
    /// Returns the known damage of the backup: that of its R2 objects first, then that inside the archive.
    pub fn known_damage(&self) -> Option<&str> {
        self.damage.as_deref().or(self.archive_damage.as_deref())
    }

    /// Returns the number of bytes that a restore reads.
    pub fn total_bytes(&self) -> u64 {
        self.size_bytes.saturating_add(self.backup.delta().map_or(0, |delta| delta.base.size_bytes))
    }

    /// Returns the number of bytes that a restore of a delta reads; `None` for a full snapshot.
    pub fn restored_bytes(&self) -> Option<u64> {
        self.backup.delta().map(|_| self.total_bytes())
    }

    /// Returns the number of bytes in R2 that no other snapshot uses.
    pub fn own_bytes(&self) -> u64 {
        if self.backup.deltas().is_empty() { self.size_bytes } else { 0 }
    }

    /// Returns the number of bytes in R2 that other snapshots use, too.
    pub fn shared_bytes(&self) -> u64 {
        self.total_bytes().saturating_sub(self.own_bytes())
    }

    /// Returns the size that an archive of all files has, or that of a delta would have, in bytes.
    pub fn estimated_full_bytes(&self) -> u64 {
        self.backup.delta().map_or(self.size_bytes, Delta::estimated_full_bytes)
    }

    /// Returns whether the archive has all files, or the changes since another snapshot.
    pub fn form(&self) -> SnapshotForm {
        if self.backup.delta().is_some() { SnapshotForm::Delta } else { SnapshotForm::Full }
    }
}

impl SnapshotRecord {
    /// Returns whether the snapshot is still being created although it was discarded.
    pub fn is_discarded(&self) -> bool {
        matches!(self.stage, Stage::Creating(CaptureInProgress { discarded: true, .. }))
    }

    /// Returns the state.
    pub const fn state(&self) -> SnapshotState {
        match self.stage {
            Stage::Creating(_) => SnapshotState::Creating,
            Stage::Ready { .. } => SnapshotState::Ready,
            Stage::Deleting { .. } => SnapshotState::Deleting,
            Stage::Deleted { .. } => SnapshotState::Deleted,
        }
    }

    /// Returns the backup that is, or was, in R2; `None` while the snapshot is being created.
    pub const fn stored(&self) -> Option<&StoredBackup> {
        match &self.stage {
            Stage::Creating(_) => None,
            Stage::Ready { stored } | Stage::Deleting { stored, .. } | Stage::Deleted { stored, .. } => Some(stored),
        }
    }

    /// Returns when the backup was stored, or when the capture began if no backup is stored yet.
    pub fn created_at(&self) -> Timestamp {
        self.stored().map_or(self.began_at, |stored| stored.created_at)
    }

    /// Returns whether a backup may belong to this snapshot. Any backup may, while the snapshot is being created.
    pub fn may_own(&self, backup: &BackupLocation) -> bool {
        match &self.stage {
            Stage::Creating(_) => true,
            Stage::Ready { stored } | Stage::Deleting { stored, .. } => stored.backup.location() == backup,
            Stage::Deleted { stored, .. } => !stored.backup.deltas().is_empty() && stored.backup.location() == backup,
        }
    }

    /// Returns the full snapshot that the snapshot is based on, if it is a delta.
    pub fn base_id(&self) -> Option<&SnapshotId> {
        match &self.stage {
            Stage::Creating(progress) => progress.base.as_ref(),
            Stage::Ready { stored } | Stage::Deleting { stored, .. } | Stage::Deleted { stored, .. } => {
                stored.backup.delta().map(|delta| &delta.base_id)
            }
        }
    }

    /// Returns when the snapshot was deleted, if its row is not needed any more. Deltas need the row of their base.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match &self.stage {
            Stage::Deleted { stored, removal } if stored.backup.deltas().is_empty() => Some(removal.at),
            _ => None,
        }
    }

    /// Returns the task that completes the current stage, if the stage is transient.
    pub const fn task(&self) -> Option<PendingTask> {
        match &self.stage {
            Stage::Creating(CaptureInProgress { task, .. }) | Stage::Deleting { task, .. } => Some(*task),
            Stage::Ready { .. } | Stage::Deleted { .. } => None,
        }
    }

    /// Returns whether a workspace whose files are in `dir` can be started from the snapshot.
    pub fn is_whole(&self, dir: &Directory) -> bool {
        self.dir == *dir && !self.is_partial() && !self.foreign
    }

    /// Returns whether the snapshot leaves out files, by the options of its capture.
    pub fn is_partial(&self) -> bool {
        !self.excludes.is_empty() || self.gitignore == Some(true)
    }

    /// Returns why the snapshot was taken; `None` if that is not known.
    pub fn known_cause(&self) -> Option<SnapshotCause> {
        let autosave = self.autosave.then_some(SnapshotCause::Autosave);
        let rescue = self.rescue.then_some(SnapshotCause::Rescue);
        self.cause.or(rescue).or(autosave)
    }

    /// Returns when the snapshot expires; `None` if it has no expiration time, or stays beyond it, as the newest one does.
    pub fn expires_after(&self, now: Timestamp) -> Option<Timestamp> {
        self.expires_at.filter(|end| *end > now)
    }

    /// Returns what the snapshot depends on. One of a sandbox without a named workspace depends only on its image.
    pub fn known_dependencies(&self) -> Dependencies {
        let image = || self.provenance.as_ref().map(Provenance::to_string);
        let known = self.dependencies.clone().unwrap_or_default();
        Dependencies { image: known.image.clone().or_else(image), ..known }
    }

    /// Returns the mark that the snapshot's backup carries in R2.
    pub fn backup_owner(&self, origin_id: &SandboxId) -> BackupOwner {
        BackupOwner { snapshot_id: self.snapshot_id.clone(), origin_id: origin_id.clone() }
    }

    /// Returns the snapshot's ref, signed by the sandbox that owns it; `None` while the snapshot is being created, or
    /// where the sandbox has no key.
    pub fn to_ref(&self, sandbox: &SandboxRecord) -> Option<SnapshotRef> {
        let (stored, key) = (self.stored()?, sandbox.keys.first()?);
        Some(SnapshotRef::new(
            self.snapshot_id.clone(),
            sandbox.sandbox_id.clone(),
            sandbox.root_id.clone(),
            stored.backup.public_handle().ok()?,
            stored.created_at,
            |message| key.sign(message),
        ))
    }

    /// Returns the snapshot's ref as one text, as [`to_ref`](Self::to_ref) does.
    pub fn to_short_ref(&self, sandbox: &SandboxRecord) -> Option<ShortRef> {
        let (_, key) = (self.stored()?, sandbox.keys.first()?);
        let (origin, id) = (sandbox.sandbox_id.clone(), self.snapshot_id.clone());
        Some(ShortRef::new(origin, id, |message| key.sign_short(message)))
    }

    /// Returns the answer of the call that took or imported the snapshot; `None` where it has no
    /// [`to_ref`](Self::to_ref).
    pub fn to_taken(&self, sandbox: &SandboxRecord) -> Option<TakenSnapshot> {
        Some(TakenSnapshot::new(self.to_ref(sandbox)?, self.to_short_ref(sandbox), self.to_capture()?))
    }

    fn to_capture(&self) -> Option<Capture> {
        let stored = self.stored()?;
        Some(Capture {
            label: self.label.clone(),
            size_bytes: stored.size_bytes,
            began_at: self.began_at,
            shared: false,
            changed_during_capture: self.changed_during_capture,
            freeze: self.freeze,
            rescue: self.rescue,
            suspect: self.suspect,
            form: stored.form(),
            base: self.base_id().cloned(),
            stored_bytes: stored.size_bytes,
            total_bytes: stored.total_bytes(),
            reason: stored.full_reason,
            secrets: self.secrets.clone(),
        })
    }

    /// Returns the input of a retention decision about the snapshot. A rescue snapshot is not restorable. For a sandbox
    /// that belongs to a named workspace, only a snapshot that the workspace can be started from is restorable.
    pub fn candidate(
        &self,
        binding: Option<&WorkspaceBinding>,
        dependents: Vec<SandboxId>,
        now: Timestamp,
    ) -> RetentionCandidate {
        let is_whole = !self.rescue && binding.is_none_or(|binding| self.is_whole(&binding.start.dir));
        let usable = |stored: &StoredBackup| is_whole && stored.known_damage().is_none() && stored.usable_until > now;
        RetentionCandidate {
            snapshot_id: self.snapshot_id.clone(),
            label: self.label.clone(),
            created_at: self.created_at(),
            last_used_at: self.last_used_at,
            expiration_seconds: self.expiration_seconds,
            pinned: self.pinned,
            protected_until: None,
            autosave: self.autosave,
            restorable: matches!(&self.stage, Stage::Ready { stored } if usable(stored)),
            dependents,
        }
    }
}
