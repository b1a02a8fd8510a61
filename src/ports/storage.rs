//! What the objects of this Worker keep, and their alarms.

use crate::model::named::answer::Entry;
use crate::model::named::{Address, NamedRecord, Transition, WorkspaceName};
use crate::model::record::{Derivation, Release, RequestRecord, SnapshotRecord, WorkspaceRecord};
use crate::model::request::Cursor;
use crate::model::{Label, Result, SandboxId, SnapshotId, Timestamp};

/// The durable storage of one workspace, and its alarm.
///
/// It answers at once, and what is written without waiting for anything in between is kept together or not at all. So
/// there is no call in which another one could have changed what was just read.
///
/// Every method can fail with [`Code::LedgerUnavailable`](crate::model::Code::LedgerUnavailable), and one that reads rows
/// with [`Code::LedgerCorrupt`](crate::model::Code::LedgerCorrupt).
pub trait Ledger {
    /// The workspace itself; `None` before anything was kept of it.
    fn workspace(&self) -> Result<Option<WorkspaceRecord>>;
    /// Keeps the workspace itself.
    fn put_workspace(&self, workspace: &WorkspaceRecord) -> Result<()>;

    /// A snapshot.
    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>>;
    /// The snapshot of a label. Those that are deleted have none.
    fn labelled(&self, label: &Label) -> Result<Option<SnapshotRecord>>;
    /// Keeps a snapshot, in the place of the one of its id. Two that are not deleted never have the same label: the
    /// second is refused.
    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()>;
    /// Removes a snapshot. One that isn't there is fine.
    fn forget_snapshot(&self, id: &SnapshotId) -> Result<()>;
    /// Snapshots that are not deleted, the newest first, from behind `after` on, at most `limit` of them, with labels
    /// that begin with `prefix`.
    fn page(&self, after: Option<&Cursor>, prefix: Option<&str>, limit: u32) -> Result<Vec<SnapshotRecord>>;
    /// Snapshots that are being made or deleted.
    fn unfinished(&self) -> Result<Vec<SnapshotRecord>>;
    /// Those ready snapshots that expire until then, the first to expire first, at most `limit` of them.
    fn expiring(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>>;
    /// Removes the snapshots that were deleted before then; says whether other deleted ones are left.
    fn forget_deleted(&self, before: Timestamp) -> Result<bool>;

    /// A sandbox that was made from a snapshot of this workspace.
    fn derivation(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>>;
    /// Those made from these snapshots, in the order of their ids.
    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>>;
    /// Those that are neither made nor gone.
    fn unsettled(&self) -> Result<Vec<Derivation>>;
    /// All of them, in the order of their ids.
    fn derivations(&self) -> Result<Vec<Derivation>>;
    /// Keeps one, in the place of the one of its id.
    fn put_derivation(&self, derivation: &Derivation) -> Result<()>;
    /// Removes one. One that isn't there is fine.
    fn forget_derivation(&self, sandbox_id: &SandboxId) -> Result<()>;

    /// The call with an idempotency key.
    fn request(&self, key: &str) -> Result<Option<RequestRecord>>;
    /// Keeps a call, in the place of the one of its key.
    fn put_request(&self, request: &RequestRecord) -> Result<()>;
    /// Removes a call. One that isn't there is fine.
    fn forget_request(&self, key: &str) -> Result<()>;
    /// Calls that have no answer.
    fn unanswered(&self) -> Result<Vec<RequestRecord>>;
    /// Removes the calls that were asked before then and have an answer; says whether other answered ones are left.
    fn forget_answered(&self, before: Timestamp) -> Result<bool>;

    /// Word for other workspaces that was not passed on yet.
    fn releases(&self) -> Result<Vec<Release>>;
    /// Keeps word, in the place of that about the same snapshot.
    fn put_release(&self, release: &Release) -> Result<()>;
    /// Removes word. What isn't there is fine.
    fn forget_release(&self, id: &SnapshotId) -> Result<()>;

    /// When the workspace is called by its alarm; the time at which it went off, until it is set again.
    fn alarm(&self) -> Result<Option<Timestamp>>;
    /// Sets the alarm, or takes it away.
    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()>;
}

/// The durable storage of one named workspace, and its alarm. As [`Ledger`], it answers at once.
pub trait Home {
    /// What is kept; `None` where there never was a workspace of the name.
    fn named(&self) -> Result<Option<NamedRecord>>;
    /// Keeps it.
    fn put_named(&self, record: &NamedRecord) -> Result<()>;
    /// Writes a line about a transition where operators look.
    fn log(&self, address: &Address, transition: &Transition);
    /// When the workspace is called by its alarm; the time at which it went off, until it is set again.
    fn alarm(&self) -> Result<Option<Timestamp>>;
    /// Sets the alarm, or takes it away.
    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()>;
}

/// The durable storage of one Directory. As [`Ledger`], it answers at once.
pub trait Index {
    /// What is known of a workspace; also of one that is gone, for a while.
    fn entry(&self, name: &WorkspaceName) -> Result<Option<Entry>>;
    /// Keeps it.
    fn put_entry(&self, entry: &Entry) -> Result<()>;
    /// Removes those that are gone and were last heard of before then.
    fn forget_gone(&self, before: Timestamp) -> Result<()>;
    /// Those that are not gone, in the order of their names, from behind `after` on, at most `limit` of them, with names that
    /// begin with `prefix`.
    fn entries(&self, after: Option<&WorkspaceName>, prefix: Option<&str>, limit: u32) -> Result<Vec<Entry>>;
}
