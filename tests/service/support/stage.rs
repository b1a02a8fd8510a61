//! A snapshotter over a world, and the usual calls.

use std::fmt::Debug;
use std::rc::Rc;

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::{Operation, run};
use sandbox_snapshotter::model::{
    Code, Directory, Error, RestoreRequest, Result, SandboxId, SnapshotRef, SnapshotRequest, WorkspaceRef,
};
use sandbox_snapshotter::service::{Abort, CloudflareSandboxSnapshotter, Config, Snapshotter};
use serde_json::Value;

use super::World;

/// The file that the usual sandbox has.
pub const FILE: &str = "/workspace/notes.txt";

/// A snapshotter over a world.
pub struct Stage {
    pub world: Rc<World>,
    pub snapshotter: CloudflareSandboxSnapshotter<World>,
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
        Self { snapshotter: CloudflareSandboxSnapshotter::new(Rc::clone(&world), config), world }
    }

    /// The sandbox `agent-42` has been running for a minute and has a file.
    pub fn with_sandbox() -> Self {
        let stage = Self::empty();
        stage.world.writes("agent-42", FILE, "first");
        stage.world.pass(60_000);
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

    /// Takes a snapshot of `agent-42`.
    pub fn snapshot(&self) -> Result<SnapshotRef> {
        self.snapshot_as_asked(SnapshotRequest::of(sandbox("agent-42")))
    }

    /// Takes a snapshot.
    pub fn snapshot_as_asked(&self, request: SnapshotRequest) -> Result<SnapshotRef> {
        block_on(self.snapshotter.snapshot(request, Abort::never())).map(|taken| taken.snapshot)
    }

    /// Restores a snapshot.
    pub fn restore(&self, snapshot: &SnapshotRef) -> Result<WorkspaceRef> {
        block_on(self.snapshotter.restore(RestoreRequest { snapshot: snapshot.clone() }, Abort::never()))
    }

    /// Branches from a snapshot.
    pub fn branch(&self, snapshot: &SnapshotRef) -> Result<WorkspaceRef> {
        block_on(self.snapshotter.branch(RestoreRequest { snapshot: snapshot.clone() }, Abort::never()))
    }

    /// Carries out an operation from JSON to JSON.
    pub fn run(&self, operation: Operation, arguments: &Value) -> Result<Value> {
        block_on(run(&self.snapshotter, operation, arguments, Abort::never()))
    }

    /// The one sandbox beside `agent-42` that any call was about.
    pub fn minted(&self) -> String {
        let mut ids: Vec<_> = self.world.calls().into_iter().map(|(_, id)| id).collect();
        ids.retain(|id| id.starts_with("agent-42-"));
        ids.dedup();
        assert_eq!(ids.len(), 1, "one sandbox is minted: {ids:?}");
        ids.remove(0)
    }

    /// Makes sure that no sandbox runs that nobody got.
    pub fn assert_no_minted_sandbox_runs(&self) {
        let minted: Vec<_> = self.world.running().into_iter().filter(|id| id != "agent-42").collect();
        assert!(minted.is_empty(), "still running: {minted:?}");
    }

    /// Makes sure that nothing is stored.
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
