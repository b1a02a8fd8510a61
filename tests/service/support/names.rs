//! Named workspaces: the usual calls, and what a test reads of them.

use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Result;
use sandbox_snapshotter::model::named::{Address, NamedRecord, Tenant, WorkspaceName};
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::ports::{Home, Ledger};
use serde_json::{Value, json};

use super::workers::Named;
use super::{FILE, HOUR, MINUTE, MemoryHome, Method, Running, Stage};

/// The workspace that most tests are about.
pub const WORK: &str = "work";

/// The workspace of a name, of the usual tenant.
pub fn address(name: &str) -> Address {
    Address { tenant: Tenant::fallback(), name: WorkspaceName::parse(name).unwrap() }
}

/// The arguments of an operation on a workspace, with further ones.
pub fn on(name: &str, further: &Value) -> Value {
    let mut arguments = json!({ "name": name });
    arguments.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    arguments
}

/// Arguments by which a workspace is made that is never stopped by time.
pub fn for_ever() -> Value {
    json!({ "expiry": { "idleSeconds": 0, "maxSeconds": 0 } })
}

impl Stage {
    /// The workspace `work` was made a minute ago and has a file; calls are counted from here.
    pub fn with_work() -> Self {
        Self::with_work_as(&for_ever())
    }

    /// As [`with_work`](Self::with_work), made with these arguments.
    pub fn with_work_as(further: &Value) -> Self {
        let stage = Self::empty();
        stage.creates(WORK, further).unwrap();
        stage.world.pass(MINUTE);
        stage.writes(WORK, "first");
        stage.world.forget_calls();
        stage
    }

    /// The workspace `work` was stopped with a file in it a minute ago; calls are counted from here.
    pub fn with_stopped_work() -> Self {
        Self::with_stopped_work_as(&for_ever())
    }

    /// As [`with_stopped_work`](Self::with_stopped_work), made with these arguments.
    pub fn with_stopped_work_as(further: &Value) -> Self {
        let stage = Self::with_work_as(further);
        stage.stops(WORK).unwrap();
        stage.world.pass(MINUTE);
        stage.world.forget_calls();
        stage
    }

    /// The sandbox of the active workspace `work`, of which there is a snapshot with `first`, slept and woke by itself, and
    /// somebody wrote `second` into it.
    pub fn with_diverged_work() -> Self {
        let stage = Self::with_stopped_work();
        stage.starts(WORK, &json!({})).unwrap();
        let id = stage.sandbox_of(WORK);
        stage.world.stops(&id);
        stage.world.pass(MINUTE);
        stage.world.writes(&id, FILE, "second");
        stage.world.pass(MINUTE);
        stage.world.forget_calls();
        stage
    }

    /// A start of the workspace `work` was given up, and its call that stamps a container may still come. The application wrote
    /// `second` into a container that was started since.
    pub fn with_late_stamp() -> Self {
        let stage = Self::with_stopped_work();
        let id = stage.sandbox_of(WORK);
        stage.world.before(Method::Begin).nth(1).is_never_answered();
        assert!(stage.starts(WORK, &json!({})).is_err(), "the start is given up");
        stage.passes(3 * HOUR);
        stage.world.is_replaced(&id);
        stage.world.writes(&id, FILE, "second");
        stage
    }

    /// Makes a workspace.
    pub fn creates(&self, name: &str, further: &Value) -> Result<Value> {
        self.run(Operation::CreateWorkspace, &on(name, further))
    }

    /// Starts a workspace.
    pub fn starts(&self, name: &str, further: &Value) -> Result<Value> {
        self.run(Operation::StartWorkspace, &on(name, further))
    }

    /// Stops a workspace.
    pub fn stops(&self, name: &str) -> Result<Value> {
        self.run(Operation::StopWorkspace, &on(name, &json!({})))
    }

    /// Forks a workspace.
    pub fn forks(&self, name: &str, further: &Value) -> Result<Value> {
        self.run(Operation::ForkWorkspace, &on(name, further))
    }

    /// Changes a workspace.
    pub fn updates(&self, name: &str, further: &Value) -> Result<Value> {
        self.run(Operation::UpdateWorkspace, &on(name, further))
    }

    /// Goes back to a snapshot.
    pub fn goes_back(&self, name: &str, snapshot_id: &Value) -> Result<Value> {
        self.updates(name, &json!({ "currentSnapshotId": snapshot_id }))
    }

    /// Deletes a workspace.
    pub fn deletes(&self, name: &str) -> Result<Value> {
        self.run(Operation::DeleteWorkspace, &on(name, &json!({})))
    }

    /// What is told of a workspace.
    pub fn described(&self, name: &str) -> Result<Value> {
        self.run(Operation::GetWorkspaceByName, &on(name, &json!({})))
    }

    /// Begins an operation on a workspace, which goes on as far as it can.
    pub fn begins(&self, operation: Operation, name: &str, further: &Value) -> Running<Result<Value>> {
        self.begin(operation, &on(name, further))
    }

    /// The object of a workspace.
    pub fn named(&self, name: &str) -> Named {
        self.workers.named(&address(name))
    }

    /// What is kept of a workspace.
    pub fn home(&self, name: &str) -> Rc<MemoryHome> {
        self.world.home(&address(name))
    }

    /// The record of a workspace.
    pub fn record(&self, name: &str) -> NamedRecord {
        self.home(name).named().unwrap().expect("there is a record")
    }

    /// The state of a workspace.
    pub fn state(&self, name: &str) -> &'static str {
        self.record(name).state.as_str()
    }

    /// The present sandbox of a workspace.
    pub fn sandbox_of(&self, name: &str) -> String {
        self.record(name).sandbox_id.to_string()
    }

    /// Whether the sandbox of a workspace has a container.
    pub fn is_up(&self, name: &str) -> bool {
        self.world.running().contains(&self.sandbox_of(name))
    }

    /// Somebody who works in a workspace writes the usual file.
    pub fn writes(&self, name: &str, content: &str) {
        self.world.writes(&self.sandbox_of(name), FILE, content);
    }

    /// The usual file in the sandbox of a workspace; `None` where there is none.
    pub fn file(&self, name: &str) -> Option<String> {
        self.world.files(&self.sandbox_of(name))?.get(FILE).cloned()
    }

    /// The snapshots of a sandbox's workspace, the newest first.
    pub fn snapshots_of(&self, id: &str) -> Vec<String> {
        let rows = self.ledger(id).page(None, None, u32::MAX).unwrap();
        let ready = rows.into_iter().filter(|row| row.state() == SnapshotState::Ready);
        ready.map(|row| row.snapshot_id.to_string()).collect()
    }

    /// Writes `content` into a workspace and stops it; answers the snapshot's id.
    pub fn saves(&self, name: &str, content: &str) -> Value {
        self.writes(name, content);
        self.world.pass(MINUTE);
        let stopped = self.stops(name).unwrap();
        self.world.pass(MINUTE);
        stopped["lastSnapshot"]["id"].clone()
    }
}
