//! Fixtures and common calls for named workspaces.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Result;
use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::{Address, NamedRecord, Tenant, WorkspaceName};
use sandbox_snapshotter::ports::{Ledger, WorkspaceStore};
use serde_json::{Value, json};

use super::memory::NamedService;
use super::planned::Planned;
use super::{FILE, Fixture, HOUR, MINUTE, MemoryWorkspaceStore, Method, PendingOperation};

/// The name of the default workspace.
pub const WORKSPACE: &str = "work";

/// Returns the address of a workspace of the default tenant.
pub fn address(name: &str) -> Address {
    Address { tenant: Tenant::default_tenant(), name: WorkspaceName::parse(name).unwrap() }
}

/// Returns the arguments of an operation on a workspace: its name and `options`.
pub fn workspace_args(name: &str, options: &Value) -> Value {
    let mut arguments = json!({ "name": name });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    arguments
}

/// Returns options of a workspace that no time limit stops.
pub fn no_expiry() -> Value {
    json!({ "expiry": { "idleSeconds": 0, "maxSeconds": 0 } })
}

impl Fixture {
    /// The active workspace `work`, 1 minute old, with a file. Calls are counted from here.
    pub fn with_workspace() -> Self {
        Self::with_workspace_options(&no_expiry())
    }

    /// As [`with_workspace`](Self::with_workspace), created with `options`.
    pub fn with_workspace_options(options: &Value) -> Self {
        let fixture = Self::empty();
        fixture.create_workspace(WORKSPACE, options).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "first");
        fixture.world.reset_calls();
        fixture
    }

    /// The workspace `work`, stopped 1 minute ago with a file. Calls are counted from here.
    pub fn with_stopped_workspace() -> Self {
        Self::with_stopped_workspace_options(&no_expiry())
    }

    /// As [`with_stopped_workspace`](Self::with_stopped_workspace), created with `options`.
    pub fn with_stopped_workspace_options(options: &Value) -> Self {
        let fixture = Self::with_workspace_options(options);
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.world.reset_calls();
        fixture
    }

    /// The active workspace `work`, which has a snapshot with `first`. Its container ended and cold-started, and the
    /// application wrote `second` after that.
    pub fn with_diverged_workspace() -> Self {
        let fixture = Self::with_stopped_workspace();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.end_container(&id);
        fixture.world.advance_clock(MINUTE);
        fixture.world.write_file(&id, FILE, "second");
        fixture.world.advance_clock(MINUTE);
        fixture.world.reset_calls();
        fixture
    }

    /// The workspace `work`, after a start that timed out and whose marker update may still arrive. The application
    /// wrote `second` into a container that started after that.
    pub fn with_late_marker() -> Self {
        let fixture = Self::with_stopped_workspace();
        let id = fixture.sandbox_of(WORKSPACE);
        fixture.world.before(Method::BeginRestore).nth(1).hang();
        assert!(fixture.start_workspace(WORKSPACE, &json!({})).is_err(), "the start times out");
        fixture.advance_with_alarms(3 * HOUR);
        fixture.world.replace_container(&id);
        fixture.world.write_file(&id, FILE, "second");
        fixture
    }

    /// Creates a workspace.
    pub fn create_workspace(&self, name: &str, options: &Value) -> Result<Value> {
        self.run(Operation::CreateWorkspace, &workspace_args(name, options))
    }

    /// Starts a workspace.
    pub fn start_workspace(&self, name: &str, options: &Value) -> Result<Value> {
        self.run(Operation::StartWorkspace, &workspace_args(name, options))
    }

    /// Stops a workspace.
    pub fn stop_workspace(&self, name: &str) -> Result<Value> {
        self.run(Operation::StopWorkspace, &workspace_args(name, &json!({})))
    }

    /// Migrates a workspace.
    pub fn migrate_workspace(&self, name: &str, runtime: &str) -> Result<Value> {
        self.run(Operation::MigrateWorkspace, &workspace_args(name, &json!({ "runtime": runtime })))
    }

    /// Forks a workspace.
    pub fn fork_workspace(&self, name: &str, options: &Value) -> Result<Value> {
        self.run(Operation::ForkWorkspace, &workspace_args(name, options))
    }

    /// Updates a workspace.
    pub fn update_workspace(&self, name: &str, options: &Value) -> Result<Value> {
        self.run(Operation::UpdateWorkspace, &workspace_args(name, options))
    }

    /// Reverts a workspace to a snapshot.
    pub fn revert_workspace(&self, name: &str, snapshot_id: &Value) -> Result<Value> {
        self.update_workspace(name, &json!({ "currentSnapshotId": snapshot_id }))
    }

    /// Promotes another workspace or a snapshot to a workspace.
    pub fn promote_workspace(&self, name: &str, options: &Value) -> Result<Value> {
        self.run(Operation::PromoteWorkspace, &workspace_args(name, options))
    }

    /// Deletes a workspace.
    pub fn delete_workspace(&self, name: &str) -> Result<Value> {
        self.run(Operation::DeleteWorkspace, &workspace_args(name, &json!({})))
    }

    /// Returns the description of a workspace.
    pub fn get_workspace(&self, name: &str) -> Result<Value> {
        self.run(Operation::GetWorkspaceByName, &workspace_args(name, &json!({})))
    }

    /// Begins an operation on a workspace, and runs it until it waits.
    pub fn begin_in_workspace(
        &self,
        operation: Operation,
        name: &str,
        options: &Value,
    ) -> PendingOperation<Result<Value>> {
        self.begin(operation, &workspace_args(name, options))
    }

    /// Returns the object of a workspace.
    pub fn named_workspace(&self, name: &str) -> NamedService<Planned> {
        self.world.named_workspace(&address(name)).unwrap()
    }

    /// Returns the store of a workspace.
    pub fn workspace_store(&self, name: &str) -> Rc<MemoryWorkspaceStore> {
        self.world.workspace_store(&address(name))
    }

    /// Returns the record of a workspace.
    pub fn record(&self, name: &str) -> NamedRecord {
        self.workspace_store(name).record().unwrap().expect("there is a record")
    }

    /// Returns the state of a workspace.
    pub fn state(&self, name: &str) -> &'static str {
        self.record(name).state.as_str()
    }

    /// Returns the id of the current sandbox of a workspace.
    pub fn sandbox_of(&self, name: &str) -> String {
        self.record(name).sandbox_id.to_string()
    }

    /// Returns whether the sandbox of a workspace has a container.
    pub fn has_container(&self, name: &str) -> bool {
        self.world.running_sandboxes().contains(&self.world_id(&self.sandbox_of(name)))
    }

    /// Writes [`FILE`] in a workspace, as its application does.
    pub fn write_workspace_file(&self, name: &str, content: &str) {
        self.world.write_file(&self.world_id(&self.sandbox_of(name)), FILE, content);
    }

    /// Returns the content of [`FILE`] in a workspace; `None` if it does not exist.
    pub fn read_workspace_file(&self, name: &str) -> Option<String> {
        self.world.files(&self.world_id(&self.sandbox_of(name)))?.get(FILE).cloned()
    }

    /// Returns the ids of the ready snapshots of a sandbox, newest first.
    pub fn snapshots_of(&self, id: &str) -> Vec<String> {
        let rows = self.ledger(id).snapshot_page(None, None, u32::MAX).unwrap();
        let ready = rows.into_iter().filter(|row| row.state() == SnapshotState::Ready);
        ready.map(|row| row.snapshot_id.to_string()).collect()
    }

    /// Writes `content` into a workspace and stops it. Returns the id of the snapshot.
    pub fn stop_with_content(&self, name: &str, content: &str) -> Value {
        self.write_workspace_file(name, content);
        self.world.advance_clock(MINUTE);
        let stopped = self.stop_workspace(name).unwrap();
        self.world.advance_clock(MINUTE);
        stopped["lastSnapshot"]["id"].clone()
    }
}
