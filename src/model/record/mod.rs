//! The rows of the ledger of one sandbox.
//!
//! The ledger stores rows as JSON. Therefore fields are only added, never removed, and each new field has a default for
//! rows that were written before it.

mod capture;
mod snapshot;
mod start_state;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::capture::{CaptureInProgress, ContainerObservation, ExpectedMarker, Verification};
pub use self::snapshot::{SnapshotRecord, Stage, StoredBackup};
pub use self::start_state::StartState;
use super::delta::TracedBase;
use super::named::PlatformSnapshot;
use super::named::binding::{Dependencies, WorkspaceBinding};
use super::policy::Policy;
use super::retention::{RetentionCandidate, RetentionScope};
use super::usage::OperationCounts;
use super::{
    ArchiveFormat, ContainerIdentity, DerivationKind, PendingTask, Runtime, SandboxId, SigningKey, SnapshotId,
    Timestamp,
};

/// The row of the sandbox itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxRecord {
    /// The id of the sandbox.
    pub sandbox_id: SandboxId,
    /// The first sandbox of the sandbox's lineage.
    pub root_id: SandboxId,
    /// The runtime of the sandbox. Absent in rows of earlier releases, and where the deployment names no runtimes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// The snapshot that the sandbox was created from; absent for a sandbox that an application started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentLink>,
    /// The retention policy of the snapshots.
    #[serde(default)]
    pub policy: Policy,
    /// The keys that sign the sandbox's refs, newest first; at most two.
    #[serde(default)]
    pub keys: Vec<SigningKey>,
    /// The key that snapshot ids are minted with. It never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "seal")]
    pub id_key: Option<SigningKey>,
    /// Set while the container is unverified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "doubt")]
    pub unverified: Option<UnverifiedContainer>,
    /// The marker of the container that was captured or restored. A container without this marker is not the sandbox's
    /// own. Absent before the first capture or restore, and for a sandbox that belongs to a named workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// When the capture that set the marker began. A capture that began before this time and ends later does not
    /// replace the marker: if it read another container, that container was an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked_at: Option<Timestamp>,
    /// The container of the last capture that counts, if its runtime proves which container it captured. Another container
    /// is not the sandbox's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerIdentity>,
    /// The base whose inventory the last capture or start wrote into the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced_base: Option<TracedBase>,
    /// A snapshot that retention protects for a limited time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "spared")]
    pub protected: Option<ProtectedSnapshot>,
    /// The binding of a sandbox that belongs to a named workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "standing")]
    pub binding: Option<WorkspaceBinding>,
    /// The numbers of operations so far.
    #[serde(default, skip_serializing_if = "is_uncounted")]
    pub counts: OperationCounts,
    /// The starts of a sandbox that belongs to no named workspace, from its first `revive` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartState>,
    /// When the sandbox was decommissioned. Since then it keeps only snapshots that have dependents or are pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "retiredAt")]
    pub decommissioned_at: Option<Timestamp>,
}

fn is_uncounted(counts: &OperationCounts) -> bool {
    *counts == OperationCounts::default()
}

impl SandboxRecord {
    /// Returns the state of the starts of the sandbox, whether it belongs to a named workspace or not.
    pub fn start_state(&self) -> Option<&StartState> {
        self.binding.as_ref().map(|binding| &binding.start).or(self.start.as_ref())
    }

    /// As [`start_state`](Self::start_state), to change it.
    pub fn start_state_mut(&mut self) -> Option<&mut StartState> {
        self.binding.as_mut().map(|binding| &mut binding.start).or(self.start.as_mut())
    }

    /// Returns whether a start or stop works on the container, or was interrupted.
    pub fn is_restoring(&self) -> bool {
        self.start_state().is_some_and(|start| start.reconcile_task.is_some())
    }

    /// Returns the number of newest automatic snapshots that stay, if there may be automatic snapshots.
    pub fn autosave_keep(&self) -> Option<NonZeroU32> {
        self.binding.as_ref().and_then(|binding| binding.autosave_keep)
    }

    /// Returns the properties of the sandbox on which retention decides.
    pub fn retention_scope(&self) -> RetentionScope {
        let superseded = self.binding.as_ref().is_some_and(|binding| binding.superseded);
        RetentionScope { keep_autosaves: self.autosave_keep(), superseded }
    }

    /// Returns whether retention decides about each snapshot alone: it counts none.
    pub fn is_retention_time_only(&self) -> bool {
        self.policy.is_time_only() && self.autosave_keep().is_none()
    }

    /// Returns the input of a retention decision about one of the sandbox's snapshots.
    pub fn candidate(
        &self,
        snapshot: &SnapshotRecord,
        dependents: Vec<SandboxId>,
        now: Timestamp,
    ) -> RetentionCandidate {
        let protected = self.protected.as_ref().filter(|protected| protected.snapshot_id == snapshot.snapshot_id);
        let protected_until = protected.map(|protected| protected.until).filter(|until| *until > now);
        RetentionCandidate { protected_until, ..snapshot.candidate(self.binding.as_ref(), dependents, now) }
    }
}

/// A snapshot whose successor is much smaller. Files may be missing from the successor by mistake, so retention keeps
/// this snapshot for a limited time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProtectedSnapshot {
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// When the protection ends.
    pub until: Timestamp,
}

/// An unverified container: an operation may have started it in place of one that had ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnverifiedContainer {
    /// The container is the sandbox's own only if it was running before this time.
    pub since: Timestamp,
    /// When the container can be verified: from then on the last operation has no late effects.
    #[serde(rename = "dueAt", alias = "due")]
    pub due_at: Timestamp,
    /// The container that was observed before, if its runtime proves an identity: only this one is the sandbox's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerIdentity>,
}

/// The snapshot that a sandbox was created from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentLink {
    /// The sandbox that the snapshot was taken of.
    pub origin_id: SandboxId,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether the sandbox was restored or branched.
    #[serde(alias = "lineage")]
    pub kind: DerivationKind,
    /// Whether this sandbox still needs the snapshot: true until the sandbox has a snapshot of its own.
    #[serde(alias = "needed")]
    pub needs_snapshot: bool,
}

/// A sandbox that was created from a snapshot of this sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Derivation {
    /// The minted id.
    pub sandbox_id: SandboxId,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// Whether the sandbox is restored or branched.
    #[serde(alias = "lineage")]
    pub kind: DerivationKind,
    /// The runtime in which a restore made the sandbox. Absent as in [`SandboxRecord::runtime`], and for a sandbox of a
    /// named workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// When the restore or branch began.
    pub began_at: Timestamp,
    /// The state of the derivation.
    pub state: DerivedState,
}

/// The state of a derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DerivedState {
    /// The sandbox is being created.
    Pending(PendingTask),
    /// The sandbox was returned to its caller.
    Ready {
        /// Whether the sandbox needs the snapshot.
        #[serde(rename = "needsSnapshot", alias = "holds")]
        needs_snapshot: bool,
    },
    /// The sandbox is being destroyed. No caller received it.
    Ending(PendingTask),
}

impl Derivation {
    /// Returns whether the sandbox needs the snapshot.
    pub const fn needs_snapshot(&self) -> bool {
        matches!(self.state, DerivedState::Pending(_) | DerivedState::Ready { needs_snapshot: true })
    }

    /// Returns the task that completes the derivation, if its state is transient.
    pub const fn task(&self) -> Option<PendingTask> {
        match self.state {
            DerivedState::Pending(task) | DerivedState::Ending(task) => Some(task),
            DerivedState::Ready { .. } => None,
        }
    }
}

/// A call with an idempotency key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdempotencyRecord {
    /// The key.
    pub key: String,
    /// A hash of the operation and its arguments, base64url.
    #[serde(alias = "payload")]
    pub payload_hash: String,
    /// When the first call with the key was made.
    pub at: Timestamp,
    /// The answer, once the operation has completed. No operation with a key answers `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// How many captures may follow, of a call that captures until no file changes. While some may, the answer is that of a
    /// capture during which files changed, and a repeated call continues with the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captures_left: Option<u32>,
}

impl IdempotencyRecord {
    /// Returns the answer of the call; `None` until the call is complete.
    #[must_use]
    pub fn final_answer(&self) -> Option<&Value> {
        self.answer.as_ref().filter(|_| self.captures_left.is_none())
    }

    /// Returns the answer of the last capture, and how many may follow, if the call is to capture again.
    #[must_use]
    pub fn interim_answer(&self) -> Option<(&Value, u32)> {
        self.answer.as_ref().zip(self.captures_left)
    }
}

/// A pending message to the sandbox that owns a snapshot: this sandbox no longer needs the snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The sandbox that owns the snapshot.
    pub origin_id: SandboxId,
    /// The id of the snapshot.
    pub snapshot_id: SnapshotId,
    /// The task that sends the message, and repeats it until it succeeds.
    #[serde(alias = "loose")]
    pub task: PendingTask,
}

/// A snapshot that another sandbox restores from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreSource {
    /// The backup in R2.
    pub stored: StoredBackup,
    /// What the snapshot depends on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// The platform snapshot with the same files, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_snapshot: Option<PlatformSnapshot>,
    /// The format of the archive.
    #[serde(default, skip_serializing_if = "ArchiveFormat::is_default")]
    pub format: ArchiveFormat,
}
