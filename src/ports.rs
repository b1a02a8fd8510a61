//! What the service needs of the world.
//!
//! Each trait has one implementation over Cloudflare (`cloudflare`) and one in memory (`tests/service/support`).
//! None of the futures need to be `Send`: a Worker is one thread.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use serde_json::Value;

use crate::model::answer::Description;
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal, Meant};
use crate::model::named::answer::{Entry, HookRun};
use crate::model::named::record::Origin;
use crate::model::named::settings::Hook;
use crate::model::named::standing::{
    Begun, Condition, HaltRequest, Halted, LastSnapshot, ReserveRequest, ResumeRequest, Resumed, Retired, Standing,
    Survey,
};
use crate::model::named::{Address, NamedRecord, Stamp, Tenant, Transition, WorkspaceName};
use crate::model::record::{Derivation, Parent, Release, RequestRecord, SnapshotRecord, WorkspaceRecord};
use crate::model::request::{CreateRequest, Cursor, NamesRequest};
use crate::model::{
    Archive, Arrival, BackupHandle, BackupId, BackupMetadata, BackupOptions, Directory, Failure, Label, Listing,
    Policy, Probe, Result, SandboxId, SandboxState, Selection, SnapshotId, SnapshotRequest, Stamping, Taken, Timestamp,
};

pub use crate::model::record::Loan;

/// All that the service needs, in one place.
pub trait Ports: 'static {
    /// The sandboxes.
    type Sandboxes: Sandboxes;
    /// The bucket that backups are in.
    type Backups: BackupStore;
    /// The ledger of the workspace.
    type Ledger: Ledger;
    /// The other workspaces.
    type Workspaces: Workspaces;
    /// What is kept of a named workspace.
    type Home: Home;
    /// The other named workspaces.
    type Names: Names;
    /// The clock.
    type Clock: Clock;
    /// The randomness.
    type Entropy: Entropy;
    /// Where work goes on after the answer was given.
    type Background: Background;

    /// The sandboxes, or [`Code::SandboxBindingMissing`](crate::model::Code::SandboxBindingMissing).
    fn sandboxes(&self) -> Result<&Self::Sandboxes>;
    /// The bucket that backups are in, or [`Code::R2BindingMissing`](crate::model::Code::R2BindingMissing).
    fn backups(&self) -> Result<&Self::Backups>;
    /// The ledger of the workspace, or [`Code::LedgerTooNew`](crate::model::Code::LedgerTooNew).
    fn ledger(&self) -> Result<&Self::Ledger>;
    /// The other workspaces, or [`Code::WorkspaceBindingMissing`](crate::model::Code::WorkspaceBindingMissing).
    fn workspaces(&self) -> Result<&Self::Workspaces>;
    /// What is kept of a named workspace, in whose object this is.
    fn home(&self) -> Result<&Self::Home>;
    /// The other named workspaces, or [`Code::WorkspaceBindingMissing`](crate::model::Code::WorkspaceBindingMissing).
    fn names(&self) -> Result<&Self::Names>;
    /// The clock.
    fn clock(&self) -> &Self::Clock;
    /// The randomness.
    fn entropy(&self) -> &Self::Entropy;
    /// Where work goes on after the answer was given.
    fn background(&self) -> &Self::Background;
}

/// A visit to a sandbox of the ports `P`.
pub type VisitOf<'a, P> = <<P as Ports>::Sandboxes as Sandboxes>::Visit<'a>;

/// Calls on one sandbox that the platform counts as one request. When it breaks off, so do all further calls of it.
pub trait Visit {
    /// Tells the sandbox its name, as `getSandbox` would: the first name stays. What is called after it arrives after it.
    fn name(&self) -> impl Future<Output = Result<(), Failure>>;

    /// As [`Sandboxes::probe`].
    fn probe(&self, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Makes a directory, and those above it, in the container, which is started where it isn't running. Opens no session.
    fn make_directory(&self, dir: &Directory) -> impl Future<Output = Result<(), Failure>>;

    /// Stores a backup in R2, of about so many bytes, as far as that can be told: it may take the longer for that. **A sandbox
    /// that isn't running is started, and an empty backup stored.**
    fn create_backup(
        &self,
        options: &BackupOptions,
        bytes: Option<u64>,
    ) -> impl Future<Output = Result<BackupHandle, Failure>>;

    /// As [`Sandboxes::stamp`], of a container of any age.
    fn stamp(&self, from: Option<&Stamp>, to: &Stamp) -> impl Future<Output = Result<Stamping, Failure>>;

    /// Applies a backup of so many bytes to the sandbox, which is started.
    fn restore_backup(&self, backup: &BackupHandle, bytes: u64) -> impl Future<Output = Result<(), Failure>>;

    /// As [`Sandboxes::arrive`].
    fn arrive(
        &self,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> impl Future<Output = Result<Arrival, Failure>>;
}

/// The sandboxes of an application, by id. Every call takes a fresh stub, and is a request of its own.
pub trait Sandboxes {
    /// See [`Self::visit`].
    type Visit<'a>: Visit
    where
        Self: 'a;

    /// Begins a visit to a sandbox. Nothing is asked yet.
    fn visit<'a>(&'a self, id: &'a SandboxId) -> Self::Visit<'a>;

    /// The state of the sandbox's container. Starts nothing.
    fn state(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxState, Failure>>;

    /// Tells a sandbox its name, as `getSandbox` would: the first name stays; and how long its container may be idle before it
    /// goes to sleep, in seconds; `None` is for ever. Starts nothing.
    fn configure(&self, id: &SandboxId, idle_seconds: Option<u64>) -> impl Future<Output = Result<(), Failure>>;

    /// Looks inside of the container, which is started where it isn't running.
    fn probe(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Probe, Failure>>;

    /// Leaves, or takes away, the note that this container took the place of another one unasked.
    fn note_took_place(&self, id: &SandboxId, note: bool) -> impl Future<Output = Result<(), Failure>>;

    /// Ends the container and everything in it. A sandbox without one is left as it is.
    fn destroy(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;

    /// Says how long the container may be idle before it goes to sleep, in seconds; `None` is for ever. Starts nothing.
    fn keep_awake(&self, id: &SandboxId, seconds: Option<u64>) -> impl Future<Output = Result<(), Failure>>;

    /// Sets environment variables of everything that runs in the container from now on, or takes them away. Where the sandbox
    /// remembers a session, the SDK does it there, and starts the container for that.
    fn set_env(
        &self,
        id: &SandboxId,
        env: &BTreeMap<String, Option<String>>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Puts a stamp on the container that carries the stamp `from`, or none; where an age is given, in milliseconds, on one that is
    /// at least so old, and carries no note that it took the place of another one. Nothing is done in another one: it is not the
    /// container that is meant. One that isn't running is started.
    fn stamp(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        older_than_millis: Option<i64>,
    ) -> impl Future<Output = Result<Stamping, Failure>>;

    /// Puts a stamp on the container that is going to be filled, and answers what is in it: as [`survey`](Self::survey) and
    /// [`hashes`](Self::hashes) do. `None`, and nothing is done, where it does not carry the stamp `from`. One that isn't running
    /// is started. No session is opened.
    fn begin(
        &self,
        id: &SandboxId,
        from: Option<&Stamp>,
        to: &Stamp,
        dir: &Directory,
        files: &[String],
    ) -> impl Future<Output = Result<Option<Begun>, Failure>>;

    /// Makes sure that a backup has arrived in the container with the stamp `from`, and that every process works in its files; then
    /// puts the stamp `to` on it. It is fine where that is there already. The cost does not grow with the number of files.
    fn arrive(
        &self,
        id: &SandboxId,
        backup: &BackupHandle,
        from: &Stamp,
        to: &Stamp,
        may_be_empty: bool,
    ) -> impl Future<Output = Result<Arrival, Failure>>;

    /// What is in the container: its image, and the names, sizes and times of the files in the directory. A container that isn't
    /// running is started, and a directory that isn't there is made.
    fn survey(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Survey, Failure>>;

    /// SHA-256 of files, in hexadecimal, by their paths as given: absolute, or in the directory. Empty where there is none.
    fn hashes(
        &self,
        id: &SandboxId,
        dir: &Directory,
        files: &[String],
    ) -> impl Future<Output = Result<BTreeMap<String, String>, Failure>>;

    /// Paths in the directory, relative to it, that git ignores and that contain a slash: the first of them, and one more than
    /// [`MAX_NAMED`](crate::model::exclude::MAX_NAMED) at most. None where there is no git, or the directory is in no repository.
    /// A container that isn't running is started.
    fn ignored_below(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<Vec<String>, Failure>>;

    /// Changes count from now on.
    fn watch(&self, id: &SandboxId) -> impl Future<Output = Result<(), Failure>>;

    /// Whether anything in the directory was changed since this or [`watch`](Self::watch) was asked last, or since the stamp was
    /// put on the container. What can't be told in time counts as changed.
    fn stirred(&self, id: &SandboxId, dir: &Directory) -> impl Future<Output = Result<bool, Failure>>;

    /// Runs a command in the directory with variables that hold for it alone, in the container that carries the stamp; `None` when
    /// another one runs.
    fn run_hook(
        &self,
        id: &SandboxId,
        stamp: &Stamp,
        dir: &Directory,
        name: &str,
        hook: &Hook,
        env: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Option<HookRun>, Failure>>;

    /// Makes, lists, restores or compares checkpoints of the directory, or says why that was refused. A container that isn't
    /// running is started, and nothing is done in one that is not meant.
    fn checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        meant: Meant,
        call: &CheckpointCall,
    ) -> impl Future<Output = Result<Result<CheckpointDone, CheckpointRefusal>, Failure>>;
}

/// The bucket that the SDK keeps backups in.
pub trait BackupStore {
    /// What the SDK recorded about a backup; `None` only when it is definitely not there.
    fn metadata(&self, id: &BackupId) -> impl Future<Output = Result<Option<BackupMetadata>, Failure>>;

    /// What R2 says of a backup's archive; `None` only when it is definitely not there.
    fn archive(&self, id: &BackupId) -> impl Future<Output = Result<Option<Archive>, Failure>>;

    /// The first `length` bytes of a backup's archive, or as many as it has; `None` only when it is definitely not there.
    fn archive_head(&self, id: &BackupId, length: u32) -> impl Future<Output = Result<Option<Vec<u8>>, Failure>>;

    /// The keys of a backup's objects: of its archive, and of its metadata.
    fn objects(&self, id: &BackupId) -> Vec<String>;

    /// A page of the objects of backups, from a cursor of the page before on.
    fn list(&self, cursor: Option<&str>) -> impl Future<Output = Result<Listing, Failure>>;

    /// Deletes both objects of a backup. One that isn't there is fine.
    fn delete(&self, id: &BackupId) -> impl Future<Output = Result<(), Failure>>;
}

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

/// The workspaces of other sandboxes.
pub trait Workspaces {
    /// Tells the workspace of a minted id where its sandbox comes from, what it stands for, and the marker that its container is
    /// going to carry; `false` when that id is somebody else's already.
    fn claim(
        &self,
        id: &SandboxId,
        root_id: &SandboxId,
        parent: Option<&Parent>,
        standing: Option<&Standing>,
        marker: Option<&str>,
    ) -> impl Future<Output = Result<bool, Failure>>;

    /// Tells the workspace of `id` that `holder` does not need a snapshot of it any more.
    fn release(
        &self,
        id: &SandboxId,
        snapshot_id: &SnapshotId,
        holder: &SandboxId,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// The first sandbox of the lineage of `id`.
    fn root(&self, id: &SandboxId) -> impl Future<Output = Result<SandboxId, Failure>>;

    /// What the workspace of `id` knows of its lineage.
    fn describe(&self, id: &SandboxId) -> impl Future<Output = Result<Description, Failure>>;

    /// Has the workspace of `id` delete those backups with its mark that it does not own; answers how many. With
    /// `dry_run` they are only counted.
    fn sweep(
        &self,
        id: &SandboxId,
        backups: &[(BackupId, SnapshotId)],
        dry_run: bool,
    ) -> impl Future<Output = Result<usize, Failure>>;

    /// What is in R2 of a snapshot of `id` that `holder` was made from, which counts as a use of it.
    fn lend(&self, id: &SandboxId, snapshot_id: &SnapshotId, holder: &SandboxId) -> impl Future<Output = Result<Loan>>;

    /// The snapshot that is meant, if it is there to be used, and not another tenant's.
    fn find(&self, selection: &Selection, tenant: &Tenant) -> impl Future<Output = Result<LastSnapshot>>;

    /// The newest snapshot that the sandbox `id` could be started from.
    fn newest(&self, id: &SandboxId) -> impl Future<Output = Result<Option<LastSnapshot>>>;

    /// Has a snapshot taken.
    fn capture(&self, request: &SnapshotRequest) -> impl Future<Output = Result<Taken>>;

    /// Gives the workspace of `id` another policy.
    fn set_policy(&self, id: &SandboxId, policy: &Policy) -> impl Future<Output = Result<()>>;

    /// Notes that a sandbox is going to be made from a snapshot of `id`, and needs it from now on. `false` when the id of the
    /// new sandbox is somebody's already. Asked again with the same id, it is the same answer.
    fn reserve(&self, id: &SandboxId, request: &ReserveRequest) -> impl Future<Output = Result<bool>>;

    /// What has become of the sandbox `id`, which stands for a name. Nothing is started, unless its container ended unnoticed.
    fn look(&self, id: &SandboxId) -> impl Future<Output = Result<Condition>>;

    /// Whether anything has changed in the files of the sandbox `id` since this was asked last.
    fn stirred(&self, id: &SandboxId) -> impl Future<Output = Result<bool>>;

    /// Gives the sandbox `id` its files, where they are not in place.
    fn resume(&self, id: &SandboxId, request: &ResumeRequest) -> impl Future<Output = Result<Resumed>>;

    /// Ends the sandbox `id`.
    fn halt(&self, id: &SandboxId, request: &HaltRequest) -> impl Future<Output = Result<Halted>>;

    /// Notes that the sandbox `id` is nobody's any more: it is ended, and its snapshots go as soon as nobody needs them. One
    /// that does not stand for `address` is left as it is.
    fn retire(&self, id: &SandboxId, address: &Address) -> impl Future<Output = Result<Retired>>;
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

/// The other named workspaces of this Worker, and the Directory that lists them.
pub trait Names {
    /// Tells the tenant's Directory what has become of a workspace.
    fn note(&self, tenant: &Tenant, entry: &Entry) -> impl Future<Output = Result<(), Failure>>;

    /// A page of what the Directory knows, as JSON: [`Entries`](crate::model::named::answer::Entries).
    fn list(&self, request: &NamesRequest) -> impl Future<Output = Result<Value>>;

    /// The snapshot with which another workspace begins where this one is now; it is taken, where the workspace is active.
    /// With a key the same call gets the same answer.
    fn source(&self, address: &Address, key: Option<&str>) -> impl Future<Output = Result<Origin>>;

    /// Makes another workspace; answers JSON: [`Started`](crate::model::named::answer::Started).
    fn create(&self, request: &CreateRequest) -> impl Future<Output = Result<Value>>;
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

/// The time.
pub trait Clock {
    /// Now. In a Worker it stands still between two answers of the world.
    fn now(&self) -> Timestamp;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;

    /// Waits until a time limit has passed, beside what the limit is for.
    fn deadline(&self, limit: Duration) -> impl Future<Output = ()> {
        self.sleep(limit)
    }
}

/// Random bytes that nobody can guess.
pub trait Entropy {
    /// 32 of them, or the platform's failure to give any.
    fn bytes(&self) -> Result<[u8; 32]>;
}

/// Where work goes on after the caller has been answered.
pub trait Background {
    /// Runs `work` to its end.
    fn run(&self, work: LocalBoxFuture<'static, ()>);
}
