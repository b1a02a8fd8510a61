//! The fixture: the snapshotters over an in-memory world, and common calls.

use std::fmt::Debug;
use std::rc::Rc;

use futures_executor::block_on;
use sandbox_snapshotter::api::operations::{Operation, Request, Target, run_entrypoint, run_named, run_sandbox};
use sandbox_snapshotter::model::{
    BackupOwner, Code, Directory, Error, RestoreRequest, Result, Runtime, SandboxId, SigningKey, SnapshotRef,
    SnapshotRequest, TakenSnapshot, WorkspaceRef, mint_snapshot_id,
};
use sandbox_snapshotter::ports::{Ledger, Ports};
use sandbox_snapshotter::service::access::Access;
use sandbox_snapshotter::service::access::similar::{WorkspaceNames, suggest_similar};
use sandbox_snapshotter::service::lineage::selection::{correct_origin, resolve_workspaces};
use sandbox_snapshotter::service::{CancellationToken, Config};
use serde_json::{Value, json};

use super::memory::ObjectPorts;
use super::planned::Planned;
use super::{MemoryLedger, PendingOperation, SandboxService, World};

/// The file of the default sandbox.
pub const FILE: &str = "/workspace/notes.txt";

/// A world and its running snapshotters.
pub struct Fixture {
    pub world: Rc<World>,
}

impl Drop for Fixture {
    /// Drops the objects, whose ports refer to the world.
    fn drop(&mut self) {
        self.world.objects.take();
    }
}

impl Fixture {
    /// Creates an empty world.
    pub fn empty() -> Self {
        Self::with_local_bucket(true)
    }

    /// Creates an empty world with sandboxes of a runtime.
    #[allow(dead_code)] // Some suites do not use it.
    pub fn of_runtime(runtime: Runtime) -> Self {
        let fixture = Self::empty();
        fixture.world.runtime.set(runtime);
        fixture
    }

    /// Creates an empty world with a value of `local_bucket`.
    pub fn with_local_bucket(local_bucket: bool) -> Self {
        Self::with_config(local_bucket, false)
    }

    /// Creates an empty world with sandboxes of a runtime, whose snapshots are incremental.
    #[allow(dead_code)] // Some suites do not use it.
    pub fn incremental(runtime: Runtime) -> Self {
        let fixture = Self::with_config(true, true);
        fixture.world.runtime.set(runtime);
        fixture
    }

    /// Creates an empty world whose sandboxes mount archives, and whose snapshots are incremental.
    #[allow(dead_code)] // Some suites do not use it.
    pub fn incremental_in_production() -> Self {
        Self::with_config(false, true)
    }

    fn with_config(local_bucket: bool, incremental: bool) -> Self {
        let default_dir = Directory::parse("/workspace").unwrap();
        let config = Config { default_dir, local_bucket, incremental, min_base_bytes: 0 };
        Self { world: World::new(Planned::default(), config) }
    }

    /// Creates the sandbox `agent-42`, which has been running for 1 minute and has a file.
    pub fn with_sandbox() -> Self {
        let fixture = Self::empty();
        fixture.start_sandbox("agent-42");
        fixture
    }

    /// Creates the sandbox `agent-42` with a snapshot that is 1 minute old. Calls are counted from here.
    pub fn with_snapshot() -> (Self, SnapshotRef) {
        let fixture = Self::with_sandbox();
        let snapshot = fixture.snapshot().unwrap();
        fixture.world.advance_clock(60_000);
        fixture.world.reset_calls();
        (fixture, snapshot)
    }

    /// Creates the sandbox `agent-42` with a snapshot, whose container was replaced since, and has a file of its own.
    pub fn with_diverged_sandbox() -> (Self, SnapshotRef) {
        let (fixture, snapshot) = Self::with_snapshot();
        fixture.world.replace_container("agent-42");
        fixture.world.write_file("agent-42", FILE, "second");
        fixture.world.advance_clock(60_000);
        fixture.world.reset_calls();
        (fixture, snapshot)
    }

    /// Starts a sandbox with a file, and advances the clock by 1 minute.
    pub fn start_sandbox(&self, id: &str) {
        self.world.write_file(id, FILE, "first");
        self.world.advance_clock(60_000);
    }

    /// Returns the snapshotter of a sandbox.
    pub fn snapshotter(&self, id: &str) -> SandboxService {
        self.world.snapshotter(&sandbox(id)).unwrap()
    }

    /// Returns the ledger of a sandbox.
    pub fn ledger(&self, id: &str) -> Rc<MemoryLedger> {
        self.world.ledger(&sandbox(id))
    }

    /// Crashes the Worker. The world keeps its state.
    pub fn crash_worker(&self) {
        self.world.crash();
    }

    /// Takes a snapshot of `agent-42`.
    pub fn snapshot(&self) -> Result<SnapshotRef> {
        self.snapshot_with(SnapshotRequest::of(sandbox("agent-42")))
    }

    /// Takes a snapshot.
    pub fn snapshot_with(&self, request: SnapshotRequest) -> Result<SnapshotRef> {
        self.capture(request).map(|taken| taken.snapshot)
    }

    /// Takes a snapshot, and returns it with the details of its capture.
    pub fn capture(&self, request: SnapshotRequest) -> Result<TakenSnapshot> {
        let snapshotter = self.world.snapshotter(&request.sandbox_id)?;
        block_on(snapshotter.snapshot(request, CancellationToken::never()))
    }

    /// Takes a snapshot of a sandbox with a label.
    pub fn snapshot_labelled(&self, id: &str, label: &str) -> SnapshotRef {
        let label = Some(label.to_owned().try_into().unwrap());
        self.snapshot_with(SnapshotRequest { label, ..SnapshotRequest::of(sandbox(id)) }).unwrap()
    }

    /// Takes a snapshot of a sandbox and deletes its row, so that its backup is orphaned.
    pub fn create_orphan(&self, id: &str) -> SnapshotRef {
        let snapshot = self.snapshot_with(SnapshotRequest::of(sandbox(id))).unwrap();
        self.ledger(id).delete_snapshot(snapshot.snapshot_id()).unwrap();
        snapshot
    }

    /// Restores a snapshot.
    pub fn restore(&self, snapshot: &SnapshotRef) -> Result<WorkspaceRef> {
        let snapshotter = self.world.snapshotter(snapshot.origin_id())?;
        block_on(snapshotter.restore(RestoreRequest::of(snapshot.clone()), CancellationToken::never()))
    }

    /// Branches from a snapshot.
    pub fn branch(&self, snapshot: &SnapshotRef) -> Result<WorkspaceRef> {
        let snapshotter = self.world.snapshotter(snapshot.origin_id())?;
        block_on(snapshotter.branch(RestoreRequest::of(snapshot.clone()), CancellationToken::never()))
    }

    /// Returns the ports of the entrypoint.
    #[allow(dead_code)] // Some suites do not use it.
    pub fn entrypoint(&self) -> ObjectPorts<Planned> {
        self.world.entrypoint()
    }

    /// Runs an operation with JSON arguments in the `Workspace` object of its target, and returns the JSON answer.
    pub fn run(&self, operation: Operation, arguments: &Value) -> Result<Value> {
        self.begin(operation, arguments).answer()
    }

    /// Begins an operation, and runs it until it waits.
    pub fn begin(&self, operation: Operation, arguments: &Value) -> PendingOperation<Result<Value>> {
        self.begin_cancellable(operation, arguments, CancellationToken::never())
    }

    /// As [`run`](Self::run), for a caller with this access.
    #[allow(dead_code)] // Some suites do not use it.
    pub fn run_as(&self, access: &Access, operation: Operation, arguments: &Value) -> Result<Value> {
        self.begin_as(access, operation, arguments, CancellationToken::never()).answer()
    }

    /// As [`begin`](Self::begin), with a cancellation token.
    pub fn begin_cancellable(
        &self,
        operation: Operation,
        arguments: &Value,
        abort: CancellationToken,
    ) -> PendingOperation<Result<Value>> {
        self.begin_as(&Access::Everything, operation, arguments, abort)
    }

    fn begin_as(
        &self,
        access: &Access,
        operation: Operation,
        arguments: &Value,
        abort: CancellationToken,
    ) -> PendingOperation<Result<Value>> {
        let (world, access) = (Rc::clone(&self.world), access.clone());
        let options = arguments.clone();
        let in_background = ["workspaces/", "checkpoints/", "files/", "commands/", "exec", "revive", "diff"]
            .iter()
            .any(|area| operation.name().starts_with(area));
        let named = WorkspaceNames::of(arguments);
        let ports = Rc::new(world.entrypoint());
        let (suggesting, caller) = (Rc::clone(&ports), access.clone());
        let call = async move {
            // The entrypoint checks the permission and the deployment before the arguments.
            access.check_operation(operation)?;
            ports.check_bindings(operation.needs_bucket())?;
            let options = resolve_workspaces(&*ports, &access, operation, options).await?;
            let request = Request::decode(operation, &options)?;
            access.authorize(&*ports, &request).await?;
            let mut authorized = request.clone();
            let dispatch = async |request: Request, abort| match request.target() {
                Target::Sandbox(id) => run_sandbox(&world.snapshotter(&id)?, request, abort).await,
                Target::Named(address) => run_named(&world.named_workspace(&address)?, request, abort).await,
                _ => run_entrypoint(&ports, &access, request, abort).await,
            };
            let mut answer = dispatch(request, abort).await;
            if let Err(error) = &answer
                && let Some(corrected) = correct_origin(&*ports, &authorized, &options, error).await
            {
                authorized = Request::decode(operation, &corrected)?;
                access.authorize(&*ports, &authorized).await?;
                answer = dispatch(authorized.clone(), CancellationToken::never()).await;
            }
            access.filter(&*ports, &authorized, answer?).await
        };
        let work = async move {
            match call.await {
                Err(error) => Err(suggest_similar(&*suggesting, &caller, &named, error).await),
                answer => answer,
            }
        };
        if in_background {
            PendingOperation::start_with_background(&self.world, work)
        } else {
            PendingOperation::start_with_clock(&self.world, work)
        }
    }

    /// Returns the only minted sandbox that a call was made to.
    pub fn minted_sandbox(&self) -> String {
        let mut ids = self.minted_sandboxes();
        assert_eq!(ids.len(), 1, "expected one minted sandbox: {ids:?}");
        ids.remove(0)
    }

    /// Returns the minted sandboxes that calls were made to, in the order of their first calls.
    pub fn minted_sandboxes(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for (_, id) in self.world.calls() {
            if id.starts_with("agent-42-") && !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Verifies that no sandbox runs except `agent-42`.
    #[track_caller]
    pub fn assert_no_minted_sandbox_runs(&self) {
        let minted: Vec<_> = self.world.running_sandboxes().into_iter().filter(|id| id != "agent-42").collect();
        assert!(minted.is_empty(), "still running: {minted:?}");
    }

    /// Verifies that the bucket is empty.
    #[track_caller]
    pub fn assert_nothing_stored(&self) {
        assert!(self.world.backup_ids().is_empty(), "still stored: {:?}", self.world.backup_ids());
    }
}

/// Parses a sandbox id.
pub fn sandbox(id: &str) -> SandboxId {
    SandboxId::parse(id).unwrap()
}

/// Returns the id of the `number`th backup.
pub fn backup_id(number: usize) -> String {
    format!("6b1f0c1e-0000-4000-8000-{number:012}")
}

/// Returns the mark of a snapshot of `origin` that another deployment took, or an earlier version of this one.
pub fn foreign_mark(number: u8, origin: &str) -> String {
    let snapshot_id = mint_snapshot_id(&[number; 32], &SigningKey::new(0, [9; 32])).unwrap();
    BackupOwner { snapshot_id, origin_id: sandbox(origin) }.to_string()
}

/// Returns arguments that select a snapshot by its ref.
pub fn by_ref(snapshot: &SnapshotRef) -> Value {
    json!({ "ref": snapshot })
}

/// Returns arguments that select a snapshot by its id.
pub fn by_id(snapshot: &SnapshotRef) -> Value {
    json!({ "sandboxId": snapshot.origin_id(), "snapshotId": snapshot.snapshot_id() })
}

/// Returns arguments that select a snapshot of `agent-42` by its label.
pub fn by_label(label: &str) -> Value {
    json!({ "sandboxId": "agent-42", "label": label })
}

/// Expectations on an outcome.
pub trait ExpectError {
    /// Verifies that the outcome is an error with `code`, and returns the error.
    fn expect_code(self, code: Code) -> Error;
}

impl<T: Debug> ExpectError for Result<T> {
    #[track_caller]
    fn expect_code(self, code: Code) -> Error {
        let error = self.expect_err("expected an error");
        assert_eq!(error.code(), code, "{error}");
        error
    }
}
