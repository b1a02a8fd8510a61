//! What the ledger of a workspace keeps: its rows.
//!
//! They are stored as JSON, so a field is only ever added, and with a default for rows that were written before it.

mod snapshot;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::snapshot::{End, Look, Making, Marker, Sighting, SnapshotRecord, SnapshotState, Stage, Stored};
use super::named::standing::{Dependencies, Standing};
use super::policy::{Candidate, Policy};
use super::{Lineage, SandboxId, SigningKey, SnapshotId, Timestamp};

/// The workspace itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceRecord {
    /// The sandbox that it is about.
    pub sandbox_id: SandboxId,
    /// The first sandbox of the lineage.
    pub root_id: SandboxId,
    /// Where its sandbox came from; absent for one that an application started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// How long its snapshots are kept.
    #[serde(default)]
    pub policy: Policy,
    /// The keys that sign its refs, the newest first; at most two.
    #[serde(default)]
    pub keys: Vec<SigningKey>,
    /// What the ids of its snapshots are minted with; for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<SigningKey>,
    /// Doubt about the container, until it is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// The marker that the container carries which was captured or restored: another container is not the sandbox's own. Absent
    /// before that, and for a sandbox that stands for a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// When the capture began that the marker is of. One that began before and ends later was of an earlier container, if of
    /// another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_at: Option<Timestamp>,
    /// A snapshot that retention spares for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spared: Option<Spared>,
    /// What is to be known of a sandbox that stands for a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Since when its snapshots are kept for others only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<Timestamp>,
}

impl WorkspaceRecord {
    /// What retention looks at of one of its snapshots.
    pub fn candidate(&self, snapshot: &SnapshotRecord, holders: Vec<SandboxId>, now: Timestamp) -> Candidate {
        let spared = self.spared.as_ref().filter(|spared| spared.snapshot_id == snapshot.snapshot_id);
        let spared_until = spared.map(|spared| spared.until).filter(|until| *until > now);
        Candidate { spared_until, ..snapshot.candidate(self.standing.as_ref(), holders, now) }
    }
}

/// The snapshot before one that is so much smaller that files may be missing from it by mistake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spared {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Until when it is spared.
    pub until: Timestamp,
}

/// Something was done that may have started a container in the place of one that had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// A container counts only if it was there before this.
    pub since: Timestamp,
    /// When it can be settled: nothing comes of what was done last any more.
    pub due: Timestamp,
}

/// The snapshot that a sandbox was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether it was restored or branched.
    pub lineage: Lineage,
    /// Whether the snapshot is still needed here: until there is one of this workspace itself.
    pub needed: bool,
}

/// Something that has to be looked after when nobody works on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LooseEnd {
    /// When to look after it next.
    pub due: Timestamp,
    /// How often that was done.
    pub tries: u32,
}

/// A sandbox that was made from a snapshot of this workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Derivation {
    /// The minted id.
    pub sandbox_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether it is restored or branched.
    pub lineage: Lineage,
    /// When it was begun.
    pub began_at: Timestamp,
    /// How far it is.
    pub state: DerivationState,
}

/// How far a derivation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DerivationState {
    /// The sandbox is being made.
    Pending(LooseEnd),
    /// Somebody has it.
    Ready {
        /// Whether it needs the snapshot.
        holds: bool,
    },
    /// Nobody gets it: it is being destroyed.
    Ending(LooseEnd),
}

impl Derivation {
    /// Whether the sandbox needs the snapshot.
    pub const fn holds(&self) -> bool {
        matches!(self.state, DerivationState::Pending(_) | DerivationState::Ready { holds: true })
    }

    /// When somebody has to look after it, if it is in a passing state.
    pub const fn loose(&self) -> Option<LooseEnd> {
        match self.state {
            DerivationState::Pending(loose) | DerivationState::Ending(loose) => Some(loose),
            DerivationState::Ready { .. } => None,
        }
    }
}

/// A call with an idempotency key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    /// The key.
    pub key: String,
    /// A hash of the operation and its arguments, base64url.
    pub payload: String,
    /// When it was first asked.
    pub at: Timestamp,
    /// The answer, once there is one. No operation with a key answers null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// Word that a snapshot is not needed here any more, for the workspace that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The workspace that the snapshot belongs to.
    pub origin_id: SandboxId,
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// When to send it, again if need be.
    pub loose: LooseEnd,
}

/// A snapshot that another workspace may restore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Loan {
    /// What is in R2.
    pub stored: Stored,
    /// What it depends on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
}
