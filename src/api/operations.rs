//! Runs the operations: from a request to the JSON of the answer.

use serde::Serialize;
use serde_json::Value;

pub use crate::model::operation::{Operation, Request, Target};
use crate::model::{Error, Result, json};
use crate::ports::Ports;
use crate::service::workspace::NamedWorkspace;
use crate::service::{self, CancellationToken, CloudflareSandboxSnapshotter};

/// The largest arguments of an operation, in bytes of JSON. A ref is under 1 kB.
pub(super) const MAX_ARGUMENTS: usize = 64 * 1024;

/// Runs an operation on one sandbox.
pub async fn run_sandbox<P: Ports>(
    snapshotter: &CloudflareSandboxSnapshotter<P>,
    request: Request,
    abort: CancellationToken,
) -> Result<Value> {
    match request {
        Request::Snapshot(request) => to_json(&snapshotter.snapshot(request, abort).await?),
        Request::Restore(request) => to_json(&snapshotter.restore(request, abort).await?),
        Request::Branch(request) => to_json(&snapshotter.branch(request, abort).await?),
        Request::List(request) => to_json(&snapshotter.list(request).await?),
        Request::Get(selection) => to_json(&snapshotter.get(selection).await?),
        Request::Manifest(selection) => to_json(&snapshotter.manifest(selection).await?),
        Request::Verify(selection) => to_json(&snapshotter.verify(selection).await?),
        Request::Label(request) => to_json(&snapshotter.label(request).await?),
        Request::Pin(selection) => to_json(&snapshotter.pin(selection, true).await?),
        Request::Unpin(selection) => to_json(&snapshotter.pin(selection, false).await?),
        Request::Delete(request) => to_json(&snapshotter.delete(request).await?),
        Request::Import(request) => to_json(&snapshotter.import(request).await?),
        Request::Lineage(request) => to_json(&snapshotter.lineage(request).await?),
        Request::Retention(request) => to_json(&snapshotter.retention(request).await?),
        Request::SetRetention(request) => to_json(&snapshotter.set_retention(request).await?),
        Request::ApplyRetention(request) => to_json(&snapshotter.apply_retention(request).await?),
        Request::RotateKey(request) => to_json(&snapshotter.rotate_key(request).await?),
        Request::CreateCheckpoint(request) => to_json(&snapshotter.create_checkpoint(request, abort).await?),
        Request::ListCheckpoints(request) => to_json(&snapshotter.list_checkpoints(request, abort).await?),
        Request::RestoreCheckpoint(request) => to_json(&snapshotter.restore_checkpoint(request, abort).await?),
        Request::DiffCheckpoint(request) => to_json(&snapshotter.diff_checkpoint(request, abort).await?),
        _ => Err(Error::internal()),
    }
}

/// Runs an operation on one named workspace.
pub async fn run_named<P: Ports>(
    named: &NamedWorkspace<P>,
    request: Request,
    abort: CancellationToken,
) -> Result<Value> {
    match request {
        Request::CreateWorkspace(request) => to_json(&named.create(request, abort).await?),
        Request::GetOrCreateWorkspace(request) => to_json(&named.get_or_create(request, abort).await?),
        Request::GetWorkspaceByName(_) => to_json(&named.describe()?),
        Request::StartWorkspace(request) => to_json(&named.start(request, abort).await?),
        Request::StopWorkspace(_) => to_json(&named.stop(abort).await?),
        Request::ForkWorkspace(request) => to_json(&named.fork(request, abort).await?),
        Request::UpdateWorkspace(request) => to_json(&named.update(request, abort).await?),
        Request::MigrateWorkspace(request) => to_json(&named.migrate(request, abort).await?),
        Request::DeleteWorkspace(_) => to_json(&named.delete(abort).await?),
        _ => Err(Error::internal()),
    }
}

/// Runs an operation for which the entrypoint needs no object of its own: on the bucket, or on a Directory.
pub async fn run_entrypoint<P: Ports>(ports: &P, request: Request) -> Result<Value> {
    match request {
        Request::Sweep(request) => to_json(&service::sweep(ports, request).await?),
        Request::ListWorkspaces(request) => service::workspace::directory::list_workspaces(ports, &request).await,
        _ => Err(Error::internal()),
    }
}

/// Returns the operation of the cron trigger, and its arguments.
pub(super) fn cron_operation() -> (Operation, Value) {
    (Operation::Sweep, Value::Object(serde_json::Map::new()))
}

/// Converts an answer to JSON.
pub(super) fn to_json(answer: &impl Serialize) -> Result<Value> {
    json::to_value(answer).map_err(Error::answer_unwritable)
}
