//! The stored record of a named workspace. It is stored as JSON: fields are only added, never removed, and each new
//! field has a default.

use serde::{Deserialize, Serialize};

use super::answer::{LastSnapshot, RestoredFrom, StartOutcome, WorkspaceDescription, WorkspaceEntry, WorkspaceProblem};
use super::binding::LastRestore;
pub use super::loss::RestoreReport;
use super::messages::{EnsuredRunning, ForkSource, SnapshotKey};
use super::{Address, FormerFiles, PlatformSnapshot, Settings, State, StoragePolicy, Task, Transition};
use crate::model::{Runtime, SandboxId, Timestamp};

/// The number of transitions that a record keeps.
const MAX_HISTORY: usize = 20;

/// The record of a named workspace.
#[allow(clippy::struct_excessive_bools)] // The flags are independent of each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedRecord {
    /// The tenant and the name of the workspace.
    pub address: Address,
    /// The number of changes so far, counted over all workspaces that ever had this name. A receiver that gets changes
    /// out of order uses it to find the latest one.
    pub version: u64,
    /// The last version that was reported to the Directory.
    #[serde(default)]
    #[serde(alias = "listed")]
    pub directory_version: u64,
    /// The state of the workspace.
    pub state: State,
    /// The latest transitions, newest first.
    pub history: Vec<Transition>,
    /// The settings of the workspace.
    pub settings: Settings,
    /// When the workspace was created.
    pub created_at: Timestamp,
    /// The id of the workspace's sandbox.
    pub sandbox_id: SandboxId,
    /// The runtime of the sandbox, as its ledger last reported it. Absent in records of earlier releases, and where the
    /// deployment does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// Whether the id of the sandbox is claimed: no other workspace uses it.
    #[serde(default)]
    pub claimed: bool,
    /// The sandboxes that the workspace had before, newest first. They are the origins of its earlier snapshots.
    ///
    /// The list has no limit: the deletion of the workspace decommissions each of them, and no other record has them all. A
    /// sandbox whose id was removed would keep its snapshots in R2 forever. An id has up to 63 bytes, and a row 2 MB.
    #[serde(default)]
    #[serde(alias = "former")]
    pub former_sandbox_ids: Vec<SandboxId>,
    /// The first sandbox of the lineage of the workspace's sandboxes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_id: Option<SandboxId>,
    /// The snapshot that the first sandbox was created from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SnapshotKey>,
    /// When the workspace was last started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How long the workspace was active before the last start, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero_millis")]
    pub running_millis: i64,
    /// When activity in the workspace was last observed.
    pub active_at: Timestamp,
    /// When the newest snapshot of the workspace's files was taken, as far as this object knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<Timestamp>,
    /// When an agent's turn ended whose files are not saved yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_ended_at: Option<Timestamp>,
    /// Since when automatic saves fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved_since: Option<Timestamp>,
    /// The snapshot of the last stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_snapshot: Option<LastSnapshot>,
    /// The size of the newest archive up to [`last_saved_at`](Self::last_saved_at), in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_bytes: Option<u64>,
    /// The restore of the last start; absent while a start is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_restore: Option<LastRestore>,
    /// How often callers received a report of the last restore.
    #[serde(default, skip_serializing_if = "RestoreReport::is_first")]
    pub restore_report: RestoreReport,
    /// Whether a call that may restore the files of an active workspace has not been answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restore_unconfirmed: bool,
    /// Whether the last stop found that the container had ended, and a snapshot may not have all its files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub container_ended: bool,
    /// Whether the workspace was never persistent, so that it has no files to keep; false in a record of an earlier release.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_persistent: bool,
    /// Whether files may be lost of which the ledger of the present sandbox does not know. It stays until the next start; the loss
    /// counts as reported once `restore_report` is [`RestoreReport::Again`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreported_loss: bool,
    /// Since when the files of `unreported_loss` may be lost, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreported_since: Option<Timestamp>,
    /// The last problem; absent once the operation succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<WorkspaceProblem>,
    /// The platform snapshot of the sandbox, as of the last start or stop. The ledger of the sandbox has the present one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_snapshot: Option<PlatformSnapshot>,
    /// The call that created the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation: Option<KeyedCall>,
    /// The calls with an idempotency key that used the workspace as the source of other workspaces, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "forks")]
    pub fork_calls: Vec<ForkCall>,
    /// The files that the workspace had before its last rollback, promotion or start from a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_files: Option<FormerFiles>,
    /// The promotions with an idempotency key, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promotions: Vec<KeyedCall>,
    /// The durable tasks that are still to be done for the workspace.
    #[serde(default)]
    #[serde(alias = "chores")]
    pub tasks: Vec<Task>,
    /// When the tasks run next and the time limits are checked next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "againAt")]
    pub next_check_at: Option<Timestamp>,
}

/// A call with an idempotency key that created or promoted a workspace. A repeated call with the same key gets the same
/// answer and is not refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyedCall {
    /// The idempotency key.
    pub key: String,
    /// A hash of the arguments, base64url.
    #[serde(alias = "payload")]
    pub payload_hash: String,
}

/// A call that used a workspace as the source of other workspaces. A repeated call with the same key uses the same
/// snapshot and the same settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkCall {
    /// The call.
    pub call: KeyedCall,
    /// The snapshot that the other workspaces are created from.
    #[serde(alias = "origin")]
    pub snapshot: ForkSource,
    /// The settings of the workspace at the time of the call.
    pub settings: Settings,
    /// When the call was made.
    pub at: Timestamp,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The signature that serde requires.
const fn is_zero_millis(millis: &i64) -> bool {
    *millis == 0
}

impl NamedRecord {
    /// Returns whether the workspace exists, that is, is not deleted.
    pub fn exists(&self) -> bool {
        self.state != State::Deleted
    }

    /// Returns the last deletion of the workspace, if it is known.
    pub fn deletion(&self) -> Option<&Transition> {
        self.history.iter().find(|change| change.to == State::Deleted)
    }

    /// Changes to the state `to` and records the transition. Returns `None`, and changes nothing, if the transition is
    /// not allowed.
    #[must_use]
    pub fn transition(&mut self, to: State, at: Timestamp, cause: &str) -> Option<Transition> {
        if !self.state.can_become(to) {
            return None;
        }
        let transition = Transition { from: Some(self.state), to, at, cause: cause.to_owned() };
        let ran =
            matches!(self.state, State::Active | State::Stopping) && !matches!(to, State::Active | State::Stopping);
        if let Some(started_at) = self.started_at.filter(|_| ran) {
            self.running_millis = self.running_millis.saturating_add(at.millis_since(started_at).max(0));
        }
        // A start handles the files itself, and so does a stop that is complete.
        if to != State::Stopping && (self.state, to) != (State::Stopping, State::Active) {
            (self.turn_ended_at, self.unsaved_since) = (None, None);
        }
        self.state = to;
        // The restore of a start reports a loss.
        self.container_ended &= to != State::Active;
        if matches!(to, State::Provisioning | State::Restoring) {
            self.record_restore(None);
        }
        self.record_transition(transition.clone());
        Some(transition)
    }

    /// Adds a transition to the history, and increments the version.
    pub fn record_transition(&mut self, transition: Transition) {
        self.version += 1;
        self.history.insert(0, transition);
        self.history.truncate(MAX_HISTORY);
    }

    /// Returns the present and the former sandboxes of the workspace, newest first.
    pub fn sandboxes(&self) -> impl Iterator<Item = &SandboxId> {
        std::iter::once(&self.sandbox_id).chain(&self.former_sandbox_ids)
    }

    /// Returns where a stop stores the files; the platform also while the files are only in a platform snapshot.
    pub fn stored_in(&self) -> StoragePolicy {
        let is_only_copy = |snapshot: &PlatformSnapshot| snapshot.same_archive().is_none();
        let only_in_platform = self.platform_snapshot.as_ref().is_some_and(is_only_copy);
        if only_in_platform { StoragePolicy::Platform } else { self.settings.storage }
    }

    /// Records what a stop of the sandbox found. Only a persistent workspace has files to lose.
    pub fn note_container_ended(&mut self, ended_unsaved: bool) {
        self.container_ended = ended_unsaved && self.settings.persistent && self.state != State::Active;
    }

    /// Records what a stop of the sandbox stored, if it stored anything.
    pub fn note_snapshots(&mut self, archive: Option<LastSnapshot>, platform: Option<PlatformSnapshot>) {
        if let Some(archive) = &archive {
            self.note_saved(archive.created_at, Some(archive.size_bytes));
        }
        if let Some(platform) = &platform {
            self.note_saved(platform.created_at, None);
        }
        if archive.is_some() || platform.is_some() {
            self.platform_snapshot = platform;
        }
        self.last_snapshot = archive.or_else(|| self.last_snapshot.take());
    }

    /// Records what the stop of a former sandbox stored, if it stored anything.
    pub fn note_former_snapshot(&mut self, id: &SandboxId, archive: Option<LastSnapshot>) {
        if let (Some(former), Some(archive)) = (&mut self.former_files, archive)
            && former.sandbox_id == *id
        {
            former.snapshot_id = Some(archive.id);
        }
    }

    /// Records the restore of a start, unless the container was running with its files and is recorded already.
    pub fn record_start(&mut self, ensured: &EnsuredRunning) {
        self.restore_unconfirmed = false;
        let is_recorded = ensured
            .restore
            .as_ref()
            .is_none_or(|ensured| self.last_restore.as_ref().is_some_and(|recorded| recorded.nonce == ensured.nonce));
        if ensured.how != StartOutcome::Running || !is_recorded {
            self.record_restore(ensured.restore.as_ref());
        }
        if ensured.has_lost_files {
            self.note_loss(None);
            self.restore_report = RestoreReport::Due;
        }
    }

    /// Records that a snapshot was taken from which the workspace can start: an archive with its size in bytes, or a platform snapshot.
    pub fn note_saved(&mut self, at: Timestamp, archive_bytes: Option<u64>) {
        if self.last_saved_at <= Some(at) {
            (self.last_saved_at, self.saved_bytes) = (Some(at), archive_bytes.or(self.saved_bytes));
        }
        self.end_unsaved();
    }

    /// Records that automatic saves do not fail any more.
    pub fn end_unsaved(&mut self) {
        if self.unsaved_since.take().is_some() {
            self.problem = None;
        }
    }

    /// Adds a task. It replaces another task for the same sandbox.
    pub fn add_task(&mut self, task: Task) {
        self.tasks.retain(|other| other.sandbox_id() != task.sandbox_id());
        self.tasks.push(task);
    }

    /// Returns when the workspace stops automatically if there is no further activity: because it is idle, and because
    /// it has run for `maxSeconds`.
    pub fn deadlines(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let after = |from: Timestamp, seconds: u64| {
            let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
            (seconds > 0).then(|| from.plus_millis(millis))
        };
        let expiry = &self.settings.expiry;
        let started_at = self.started_at.unwrap_or(self.created_at);
        (after(self.active_at, expiry.idle_seconds), after(started_at, expiry.max_seconds))
    }
}

impl From<&NamedRecord> for WorkspaceDescription {
    fn from(record: &NamedRecord) -> Self {
        let settings = record.settings.clone();
        let (idle_at, old_at) = record.deadlines();
        let is_active = record.state == State::Active;
        Self {
            name: record.address.name.clone(),
            tenant: record.address.tenant.clone(),
            state: record.state,
            container_ended: record.container_ended,
            sandbox_id: record.sandbox_id.clone(),
            runtime: record.runtime,
            former_sandbox_ids: record.former_sandbox_ids.clone(),
            dir: settings.dir,
            persistent: settings.persistent,
            storage: settings.storage,
            incremental: settings.incremental,
            image: settings.image,
            retention: settings.retention,
            hooks: settings.hooks,
            expiry: settings.expiry,
            autosave: settings.autosave,
            depends_on: settings.depends_on,
            env_names: settings.env.into_keys().collect(),
            created_at: record.created_at,
            started_at: record.started_at,
            active_at: record.active_at,
            ends_at: [idle_at, old_at].into_iter().flatten().min().filter(|_| is_active),
            last_saved_at: record.last_saved_at,
            unsaved_since: record.unsaved_since,
            last_snapshot: record.last_snapshot.clone(),
            former_snapshot_id: record.former_files.as_ref().and_then(|former| former.snapshot_id.clone()),
            platform_snapshot: record.platform_snapshot.as_ref().map(Into::into),
            restored_from: record.last_restore.as_ref().map(RestoredFrom::from),
            may_have_lost: if record.container_ended { Some(true) } else { record.may_have_lost() },
            lost_since: record.lost_since(),
            problem: record.problem.clone(),
            history: record.history.clone(),
        }
    }
}

impl From<&NamedRecord> for WorkspaceEntry {
    fn from(record: &NamedRecord) -> Self {
        Self {
            name: record.address.name.clone(),
            state: record.state,
            sandbox_id: record.sandbox_id.clone(),
            runtime: record.runtime,
            storage: record.stored_in(),
            size_bytes: record.saved_bytes.or(record.last_snapshot.as_ref().map(|snapshot| snapshot.size_bytes)),
            autosave: record.settings.autosave.is_on(),
            last_saved_at: record.last_saved_at,
            unsaved_since: record.unsaved_since,
            container_ended: record.container_ended,
            problem_code: record.problem.as_ref().map(|problem| problem.code),
            created_at: record.created_at,
            source_sandbox_id: record.source.as_ref().map(|source| source.origin_id.clone()),
            updated_at: record.history.first().map_or(record.created_at, |transition| transition.at),
            version: record.version,
        }
    }
}
