//! The durable storage of this Worker's objects, and their alarms.

use crate::model::named::answer::WorkspaceEntry;
use crate::model::named::{Address, NamedRecord, Transition, WorkspaceName};
use crate::model::record::{Derivation, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord};
use crate::model::request::SnapshotCursor;
use crate::model::token::TokenId;
use crate::model::token_record::TokenRecord;
use crate::model::{Label, Result, SandboxId, SnapshotId, Timestamp};

/// The ledger: the durable storage of one sandbox, and its alarm.
///
/// It is synchronous. When two calls have no `await` between them, no other request can change a row between them, and
/// their writes are committed together or not at all.
///
/// Every method can fail with [`Code::LedgerUnavailable`](crate::model::Code::LedgerUnavailable), and one that reads
/// rows with [`Code::LedgerCorrupt`](crate::model::Code::LedgerCorrupt).
pub trait Ledger {
    /// Returns the row of the sandbox itself; `None` before the first write.
    fn sandbox(&self) -> Result<Option<SandboxRecord>>;
    /// Stores the row of the sandbox itself.
    fn put_sandbox(&self, sandbox: &SandboxRecord) -> Result<()>;

    /// Returns a snapshot.
    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>>;
    /// Returns the snapshot with a label. Deleted snapshots have no label.
    fn snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>>;
    /// Returns the newest deleted snapshot that had a label.
    fn deleted_snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>>;
    /// Stores a snapshot, and replaces the row with the same id. Fails when another snapshot that is not deleted has
    /// the same label.
    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()>;
    /// Deletes the row of a snapshot. Succeeds when it does not exist.
    fn delete_snapshot(&self, id: &SnapshotId) -> Result<()>;
    /// Returns snapshots that are not deleted, newest first: at most `limit`, those after the cursor `after`, with
    /// labels that start with `prefix`.
    fn snapshot_page(
        &self,
        after: Option<&SnapshotCursor>,
        prefix: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SnapshotRecord>>;
    /// Returns the snapshots that are being created or deleted.
    fn unfinished_snapshots(&self) -> Result<Vec<SnapshotRecord>>;
    /// Returns the ready snapshots that expire at or before `until`, the earliest first, at most `limit` of them.
    fn expiring_snapshots(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>>;
    /// Deletes the rows of snapshots that were deleted before `before`. Returns whether rows of other deleted snapshots
    /// remain.
    fn delete_tombstones(&self, before: Timestamp) -> Result<bool>;

    /// Returns a sandbox that was made from a snapshot of this sandbox.
    fn derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>>;
    /// Returns the sandboxes that were made from these snapshots, in the order of their ids.
    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>>;
    /// Returns the derived sandboxes that are being made or destroyed.
    fn unfinished_sandboxes(&self) -> Result<Vec<Derivation>>;
    /// Returns all derived sandboxes, in the order of their ids.
    fn derived_sandboxes(&self) -> Result<Vec<Derivation>>;
    /// Stores a derived sandbox, and replaces the row with the same id.
    fn put_derived_sandbox(&self, derivation: &Derivation) -> Result<()>;
    /// Deletes the row of a derived sandbox. Succeeds when it does not exist.
    fn delete_derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<()>;

    /// Returns the call with an idempotency key.
    fn idempotency_record(&self, key: &str) -> Result<Option<IdempotencyRecord>>;
    /// Stores a call, and replaces the row with the same key.
    fn put_idempotency_record(&self, request: &IdempotencyRecord) -> Result<()>;
    /// Deletes the row of a call. Succeeds when it does not exist.
    fn delete_idempotency_record(&self, key: &str) -> Result<()>;
    /// Returns the calls that have no result yet.
    fn unanswered_calls(&self) -> Result<Vec<IdempotencyRecord>>;
    /// Deletes the calls that began before `before` and have a result. Returns whether other calls with a result
    /// remain.
    fn delete_answered_calls(&self, before: Timestamp) -> Result<bool>;

    /// Returns the releases that were not sent to other ledgers yet.
    fn releases(&self) -> Result<Vec<Release>>;
    /// Stores a release, and replaces the row for the same snapshot.
    fn put_release(&self, release: &Release) -> Result<()>;
    /// Deletes a release. Succeeds when it does not exist.
    fn delete_release(&self, id: &SnapshotId) -> Result<()>;

    /// Returns the time of the alarm. After the alarm has fired, this stays its time until it is set again.
    fn alarm(&self) -> Result<Option<Timestamp>>;
    /// Sets the alarm; `None` deletes it.
    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()>;
}

/// The durable storage of one named workspace, and its alarm. As [`Ledger`], it is synchronous.
pub trait WorkspaceStore {
    /// Returns the record of the workspace; `None` when a workspace with this name never existed.
    fn record(&self) -> Result<Option<NamedRecord>>;
    /// Stores the record.
    fn put_record(&self, record: &NamedRecord) -> Result<()>;
    /// Writes a transition to the Worker's log.
    fn log_transition(&self, address: &Address, transition: &Transition);
    /// Returns the time of the alarm. After the alarm has fired, this stays its time until it is set again.
    fn alarm(&self) -> Result<Option<Timestamp>>;
    /// Sets the alarm; `None` deletes it.
    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()>;
}

/// The durable storage of the tokens of one tenant, which is a part of its Directory. As [`Ledger`], it is synchronous.
pub trait TokenStore {
    /// Returns a token.
    fn token(&self, id: &TokenId) -> Result<Option<TokenRecord>>;
    /// Returns all tokens, in the order of their ids.
    fn tokens(&self) -> Result<Vec<TokenRecord>>;
    /// Stores a token, and replaces the row with the same id.
    fn put_token(&self, record: &TokenRecord) -> Result<()>;
    /// Deletes a token. Returns whether it existed.
    fn delete_token(&self, id: &TokenId) -> Result<bool>;
}

/// The durable storage of one Directory. As [`Ledger`], it is synchronous.
pub trait DirectoryStore {
    /// Returns the entry of a workspace. The entry of a deleted workspace stays for a while.
    fn entry(&self, name: &WorkspaceName) -> Result<Option<WorkspaceEntry>>;
    /// Stores an entry.
    fn put_entry(&self, entry: &WorkspaceEntry) -> Result<()>;
    /// Deletes the entries of deleted workspaces that were last updated before `before`.
    fn delete_tombstones(&self, before: Timestamp) -> Result<()>;
    /// Returns the entries of workspaces that are not deleted, in the order of their names: at most `limit`, those
    /// after `after`, with names that start with `prefix`.
    fn entries(&self, after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> Result<Vec<WorkspaceEntry>>;
}
