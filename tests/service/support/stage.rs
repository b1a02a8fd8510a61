//! The snapshotters over a world, and the usual calls.

use std::fmt::Debug;
use std::rc::Rc;

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::{Operation, Target, list, run, run_named, sweep, target_of};
use sandbox_snapshotter::model::{
    Code, Directory, Error, Mark, RestoreRequest, Result, SandboxId, SigningKey, SnapshotId, SnapshotRef,
    SnapshotRequest, Taken, WorkspaceRef,
};
use sandbox_snapshotter::ports::{Ledger, Ports};
use sandbox_snapshotter::service::{Abort, Config, Snapshotter};
use serde_json::{Value, json};

use super::workers::Workers;
use super::{MemoryLedger, Running, Snapshots, World};

/// The file that the usual sandbox has.
pub const FILE: &str = "/workspace/notes.txt";

/// A world, and the snapshotters in it that are alive.
pub struct Stage {
    pub world: Rc<World>,
    pub(super) workers: Rc<Workers>,
}

impl Stage {
    /// Nothing exists yet.
    pub fn empty() -> Self {
        Self::configured(true)
    }

    /// Nothing exists yet, and `local_bucket` is as given.
    pub fn configured(local_bucket: bool) -> Self {
        let world = Rc::new(World::default());
        let config = Config { default_dir: Directory::parse("/workspace").unwrap(), local_bucket };
        Self { workers: Workers::new(Rc::clone(&world), config), world }
    }

    /// The sandbox `agent-42` has been running for a minute and has a file.
    pub fn with_sandbox() -> Self {
        let stage = Self::empty();
        stage.runs("agent-42");
        stage
    }

    /// A snapshot of `agent-42` was taken a minute ago; calls are counted from here.
    pub fn with_snapshot() -> (Self, SnapshotRef) {
        let stage = Self::with_sandbox();
        let snapshot = stage.snapshot().unwrap();
        stage.world.pass(60_000);
        stage.world.forget_calls();
        (stage, snapshot)
    }

    /// A sandbox has been running for a minute and has a file.
    pub fn runs(&self, id: &str) {
        self.world.writes(id, FILE, "first");
        self.world.pass(60_000);
    }

    /// The snapshotter of a sandbox.
    pub fn of(&self, id: &str) -> Snapshots {
        self.workers.of(&sandbox(id))
    }

    /// The ledger of a sandbox's workspace.
    pub fn ledger(&self, id: &str) -> Rc<MemoryLedger> {
        self.world.ledger(&sandbox(id))
    }

    /// The Worker dies, and the world stays.
    pub fn restart(&self) {
        self.workers.forget();
        self.world.forget_background();
    }

    /// Takes a snapshot of `agent-42`.
    pub fn snapshot(&self) -> Result<SnapshotRef> {
        self.snapshot_as_asked(SnapshotRequest::of(sandbox("agent-42")))
    }

    /// Takes a snapshot.
    pub fn snapshot_as_asked(&self, request: SnapshotRequest) -> Result<SnapshotRef> {
        self.take(request).map(|taken| taken.snapshot)
    }

    /// Takes a snapshot, and answers what is told of its capture beside.
    pub fn take(&self, request: SnapshotRequest) -> Result<Taken> {
        let snapshotter = self.workers.of(&request.sandbox_id);
        block_on(snapshotter.snapshot(request, Abort::never()))
    }

    /// Takes a snapshot of a sandbox, under a label.
    pub fn captures(&self, id: &str, label: &str) -> SnapshotRef {
        let label = Some(label.to_owned().try_into().unwrap());
        self.snapshot_as_asked(SnapshotRequest { label, ..SnapshotRequest::of(sandbox(id)) }).unwrap()
    }

    /// Takes a snapshot of a sandbox, of which its workspace then forgets everything: its backup is nobody's.
    pub fn orphans(&self, id: &str) -> SnapshotRef {
        let snapshot = self.snapshot_as_asked(SnapshotRequest::of(sandbox(id))).unwrap();
        self.ledger(id).forget_snapshot(snapshot.snapshot_id()).unwrap();
        snapshot
    }

    /// Restores a snapshot.
    pub fn restore(&self, snapshot: &SnapshotRef) -> Result<WorkspaceRef> {
        let snapshotter = self.workers.of(snapshot.origin_id());
        block_on(snapshotter.restore(RestoreRequest::of(snapshot.clone()), Abort::never()))
    }

    /// Branches from a snapshot.
    pub fn branch(&self, snapshot: &SnapshotRef) -> Result<WorkspaceRef> {
        let snapshotter = self.workers.of(snapshot.origin_id());
        block_on(snapshotter.branch(RestoreRequest::of(snapshot.clone()), Abort::never()))
    }

    /// The ports of the entrypoint.
    #[allow(dead_code)] // Not every suite is about it.
    pub fn entrypoint(&self) -> impl Ports {
        self.workers.entrypoint()
    }

    /// Carries out an operation from JSON to JSON, in the workspace that it is about. The deployment is asked first.
    pub fn run(&self, operation: Operation, arguments: &Value) -> Result<Value> {
        self.begin(operation, arguments).answer()
    }

    /// Begins an operation, which goes on as far as it can.
    pub fn begin(&self, operation: Operation, arguments: &Value) -> Running<Result<Value>> {
        self.begin_until(operation, arguments, Abort::never())
    }

    /// As [`begin`](Self::begin), for a caller who may wish to stop.
    pub fn begin_until(&self, operation: Operation, arguments: &Value, abort: Abort) -> Running<Result<Value>> {
        let (workers, arguments) = (Rc::clone(&self.workers), arguments.clone());
        let target = target_of(operation, &arguments);
        if operation.name().starts_with("workspaces/") {
            return Running::start_in(&self.world, async move {
                // As the entrypoint does.
                workers.entrypoint().backups()?;
                workers.entrypoint().sandboxes()?;
                match target? {
                    Target::Named(address) => run_named(&workers.named(&address), operation, &arguments, abort).await,
                    Target::Directory(request) => list(&workers.entrypoint(), &request).await,
                    target => panic!("{target:?}"),
                }
            });
        }
        let in_background = operation.name().starts_with("checkpoints/");
        let work = async move {
            match target {
                Ok(Target::Bucket(request)) => sweep(&workers.entrypoint(), request).await,
                Ok(Target::Sandbox(id)) => run(&workers.of(&id), operation, &arguments, abort).await,
                // The deployment is asked first, and then the arguments.
                _ => run(&workers.of(&sandbox("agent-42")), operation, &arguments, abort).await,
            }
        };
        if in_background { Running::start_in(&self.world, work) } else { Running::start_by(&self.world, work) }
    }

    /// The one sandbox beside `agent-42` that any call was about.
    pub fn minted(&self) -> String {
        let mut ids = self.all_minted();
        assert_eq!(ids.len(), 1, "one sandbox is minted: {ids:?}");
        ids.remove(0)
    }

    /// The sandboxes beside `agent-42` that any call was about, in the order of the first calls.
    pub fn all_minted(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for (_, id) in self.world.calls() {
            if id.starts_with("agent-42-") && !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Makes sure that no sandbox runs that nobody got.
    #[track_caller]
    pub fn assert_no_minted_sandbox_runs(&self) {
        let minted: Vec<_> = self.world.running().into_iter().filter(|id| id != "agent-42").collect();
        assert!(minted.is_empty(), "still running: {minted:?}");
    }

    /// Makes sure that nothing is stored.
    #[track_caller]
    pub fn assert_nothing_stored(&self) {
        assert!(self.world.stored().is_empty(), "still stored: {:?}", self.world.stored());
    }
}

/// A sandbox's id.
pub fn sandbox(id: &str) -> SandboxId {
    SandboxId::parse(id).unwrap()
}

/// The id of the backup that was made as the `number`th.
pub fn backup_id(number: usize) -> String {
    format!("6b1f0c1e-0000-4000-8000-{number:012}")
}

/// The mark of a snapshot of a sandbox with that id that another deployment took, or an earlier version of this one.
pub fn foreign_mark(number: u8, origin: &str) -> String {
    let snapshot_id = SnapshotId::mint(&[number; 32], &SigningKey::new(0, [9; 32])).unwrap();
    Mark { snapshot_id, origin_id: sandbox(origin) }.to_string()
}

/// The arguments of an operation that name a snapshot by its ref.
pub fn by_ref(snapshot: &SnapshotRef) -> Value {
    json!({ "ref": snapshot })
}

/// The arguments of an operation that name a snapshot by its id.
pub fn by_id(snapshot: &SnapshotRef) -> Value {
    json!({ "sandboxId": snapshot.origin_id(), "snapshotId": snapshot.snapshot_id() })
}

/// The arguments of an operation that name a snapshot of `agent-42` by its label.
pub fn by_label(label: &str) -> Value {
    json!({ "sandboxId": "agent-42", "label": label })
}

/// What a test says of an outcome.
pub trait Checked {
    /// Makes sure that it failed with `code`, and answers the error.
    fn fails_as(self, code: Code) -> Error;
}

impl<T: Debug> Checked for Result<T> {
    #[track_caller]
    fn fails_as(self, code: Code) -> Error {
        let error = self.expect_err("it should have failed");
        assert_eq!(error.code(), code, "{error}");
        error
    }
}
