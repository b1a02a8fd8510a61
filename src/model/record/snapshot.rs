//! What is kept of a snapshot.

use serde::{Deserialize, Serialize};

use super::{LooseEnd, WorkspaceRecord};
use crate::model::named::Stamp;
use crate::model::named::standing::{Dependencies, Standing};
use crate::model::policy::Candidate;
use crate::model::refs::Suspect;
use crate::model::{
    BackupHandle, BackupId, Compression, Directory, Label, Mark, SandboxId, SandboxState, SnapshotId, SnapshotRef,
    Timestamp,
};

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRecord {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// A person's name for it, unique in the workspace as long as it is not deleted.
    pub label: Label,
    /// The directory that was captured.
    pub dir: Directory,
    /// Patterns of paths that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// Whether what git ignores was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gitignore: Option<bool>,
    /// How the archive is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// When its capture began.
    pub began_at: Timestamp,
    /// When it was taken or last restored.
    pub last_used_at: Timestamp,
    /// Its own expiration, in seconds after its last use; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<u64>,
    /// When it expires, as the policy was when that was last worked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it stays whatever the policy says.
    #[serde(default)]
    pub pinned: bool,
    /// Whether its files are not the workspace's own: it is never started from them unasked.
    #[serde(default)]
    pub aside: bool,
    /// Whether it is a rescue snapshot: of a container that was not the sandbox's own. It is never the newest, and counts for
    /// nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
    /// Whether it is much smaller than the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<Suspect>,
    /// What it depends on, as it was when it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// How far it is.
    pub stage: Stage,
}

/// How far a snapshot is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// It was asked for, and is not there yet.
    Making(Making),
    /// It can be restored, as far as is known.
    Ready {
        /// What is in R2.
        stored: Stored,
    },
    /// It is being deleted.
    Deleting {
        /// What was in R2.
        stored: Stored,
        /// Why it goes.
        end: End,
        /// How it is followed up.
        loose: LooseEnd,
    },
    /// It is gone. The row is kept for a while, to say so.
    Deleted {
        /// What was in R2.
        stored: Stored,
        /// Why it went.
        end: End,
    },
}

/// A capture that was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Making {
    /// The container that was seen.
    pub sighting: Sighting,
    /// Whether it was looked into.
    #[serde(default)]
    pub look: Look,
    /// What the container has to carry; absent in rows of earlier versions, and of a sandbox that stands for a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<Marker>,
    /// Whether the container is the sandbox's own from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopts: bool,
    /// The label that it takes from another snapshot when it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_label: Option<Label>,
    /// What the sandbox answered, when it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<BackupHandle>,
    /// Whether it is not wanted any more, and its backup has to go.
    #[serde(default)]
    pub discarded: bool,
    /// The idempotency key of the call that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How it is followed up when nobody works on it.
    pub loose: LooseEnd,
}

/// What a container carries that is captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Marker {
    /// The marker of the sandbox's own container: see [`WorkspaceRecord::marker`].
    Own(String),
    /// The stamp of a container that is not the sandbox's own.
    Foreign(String),
}

impl Marker {
    /// Whether it is on a container that carries this stamp.
    pub fn is_on(&self, stamp: Option<&Stamp>) -> bool {
        match (self, stamp) {
            (Self::Own(marker), Some(stamp)) => stamp.is_of(marker),
            (Self::Foreign(text), Some(stamp)) => stamp.to_string() == *text,
            (_, None) => false,
        }
    }
}

/// Whether a container that is captured was looked into, so that its files are known to be the workspace's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Look {
    /// It was, before the capture began: now it has only to be the same.
    #[default]
    Done,
    /// It is looked into after the capture.
    Due,
    /// The same; and until then it is in doubt, which this row alone says: see [`super::Doubt`].
    DueInDoubt,
}

/// A container that was up, by which it can be told from another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sighting {
    /// When it was looked at.
    pub since: Timestamp,
    /// See [`SandboxState::last_change`].
    pub last_change: f64,
}

impl Sighting {
    /// That a container was up at `since`.
    pub const fn of(state: SandboxState, since: Timestamp) -> Self {
        Self { since, last_change: state.last_change }
    }
}

/// A backup in R2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// The SDK's handle.
    pub backup: BackupHandle,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// R2's checksum of the archive, where it has one: `md5:<hexadecimal>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Until when the SDK restores it.
    pub usable_until: Timestamp,
    /// Whether it came in by `import`, and may not carry the product's mark.
    #[serde(default)]
    pub imported: bool,
    /// When it was last looked at in R2.
    pub checked_at: Timestamp,
    /// What was found to be wrong with its objects there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// What was found to be wrong in the archive, which only `verify` looks into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage_within: Option<String>,
}

impl Stored {
    /// What is known to be wrong with it.
    pub fn known_damage(&self) -> Option<&str> {
        self.damage.as_deref().or(self.damage_within.as_deref())
    }
}

/// Why a snapshot is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// When it was let go.
    pub at: Timestamp,
    /// Why, for people.
    pub reason: String,
}

/// The state of a snapshot, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SnapshotState {
    /// It is being made.
    Making,
    /// It was made, and was not let go.
    Ready,
    /// It is being deleted.
    Deleting,
    /// It is gone.
    Deleted,
}

impl SnapshotState {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Making => "making",
            Self::Ready => "ready",
            Self::Deleting => "deleting",
            Self::Deleted => "deleted",
        }
    }
}

impl SnapshotRecord {
    /// Whether it is being made although nobody wants it any more.
    pub fn is_unwanted(&self) -> bool {
        matches!(self.stage, Stage::Making(Making { discarded: true, .. }))
    }

    /// The state.
    pub const fn state(&self) -> SnapshotState {
        match self.stage {
            Stage::Making(_) => SnapshotState::Making,
            Stage::Ready { .. } => SnapshotState::Ready,
            Stage::Deleting { .. } => SnapshotState::Deleting,
            Stage::Deleted { .. } => SnapshotState::Deleted,
        }
    }

    /// What is, or was, in R2; `None` while it is being made.
    pub const fn stored(&self) -> Option<&Stored> {
        match &self.stage {
            Stage::Making(_) => None,
            Stage::Ready { stored } | Stage::Deleting { stored, .. } | Stage::Deleted { stored, .. } => Some(stored),
        }
    }

    /// When it was stored; when its capture began, while it is not yet.
    pub fn created_at(&self) -> Timestamp {
        self.stored().map_or(self.began_at, |stored| stored.created_at)
    }

    /// Whether the backup of that id is this snapshot's, as far as is known: any may be, while it is being made.
    pub fn may_own(&self, backup: &BackupId) -> bool {
        match &self.stage {
            Stage::Making(_) => true,
            Stage::Ready { stored } | Stage::Deleting { stored, .. } => stored.backup.id() == backup,
            Stage::Deleted { .. } => false,
        }
    }

    /// When somebody has to look after it, if it is in a passing state.
    pub const fn loose(&self) -> Option<LooseEnd> {
        match &self.stage {
            Stage::Making(Making { loose, .. }) | Stage::Deleting { loose, .. } => Some(*loose),
            Stage::Ready { .. } | Stage::Deleted { .. } => None,
        }
    }

    /// Whether a workspace whose files are in `dir` can be started from it.
    pub fn is_whole(&self, dir: &Directory) -> bool {
        let is_all = self.excludes.is_empty() && self.gitignore != Some(true);
        self.dir == *dir && is_all && !self.aside
    }

    /// The mark that its backup carries in R2.
    pub fn mark(&self, origin_id: &SandboxId) -> Mark {
        Mark { snapshot_id: self.snapshot_id.clone(), origin_id: origin_id.clone() }
    }

    /// Its ref, in the workspace that it belongs to; `None` while it is being made.
    pub fn to_ref(&self, workspace: &WorkspaceRecord) -> Option<SnapshotRef> {
        let stored = self.stored()?;
        Some(SnapshotRef::sign(
            self.snapshot_id.clone(),
            workspace.sandbox_id.clone(),
            workspace.root_id.clone(),
            stored.backup.clone(),
            stored.created_at,
            workspace.keys.first()?,
        ))
    }

    /// What retention looks at. Rescue snapshots are not good; of a sandbox that stands for a name, only those are that it can
    /// be started from.
    pub fn candidate(&self, standing: Option<&Standing>, holders: Vec<SandboxId>, now: Timestamp) -> Candidate {
        let is_whole = !self.rescue && standing.is_none_or(|standing| self.is_whole(&standing.dir));
        let usable = |stored: &Stored| is_whole && stored.known_damage().is_none() && stored.usable_until > now;
        Candidate {
            snapshot_id: self.snapshot_id.clone(),
            label: self.label.clone(),
            created_at: self.created_at(),
            last_used_at: self.last_used_at,
            expiration_seconds: self.expiration_seconds,
            pinned: self.pinned,
            spared_until: None,
            good: matches!(&self.stage, Stage::Ready { stored } if usable(stored)),
            holders,
        }
    }
}
