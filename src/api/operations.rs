//! Runs the operations: from a request to the JSON of the answer.

use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

pub use crate::model::operation::{Operation, Target};
pub use crate::model::operation_request::{Request, requests};
use crate::model::{Error, Result, json};
use crate::ports::Ports;
use crate::service::access::{self, Access};
use crate::service::exec::background;
use crate::service::files::{diff_sandbox, in_sandbox};
use crate::service::lineage;
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
    use requests::Sandbox as Call;
    let Request::Sandbox(request) = request else { return Err(Error::internal()) };
    // A workspace is started, where another sandbox is revived or its container adopted.
    let of_workspace = |error| snapshotter.of_own_workspace(error);
    match request {
        Call::Snapshot(request) => to_json(&snapshotter.snapshot(request, abort).await.map_err(of_workspace)?),
        Call::Restore(request) => to_json(&snapshotter.restore(request, abort).await?),
        Call::Branch(request) => to_json(&snapshotter.branch(request, abort).await?),
        Call::Revive(request) => to_json(&snapshotter.revive(request, abort).await?),
        Call::List(request) => to_json(&snapshotter.list(request).await?),
        Call::Get(selection) => to_json(&snapshotter.get(selection).await?),
        Call::Manifest(selection) => to_json(&snapshotter.manifest(selection).await?),
        Call::Verify(selection) => to_json(&snapshotter.verify(selection).await?),
        Call::Diff(request) => to_json(&snapshotter.diff(request).await?),
        Call::Label(request) => to_json(&snapshotter.label(request).await?),
        Call::Pin(selection) => to_json(&snapshotter.pin(selection, true).await?),
        Call::Unpin(selection) => to_json(&snapshotter.pin(selection, false).await?),
        Call::Delete(request) => to_json(&snapshotter.delete(request).await?),
        Call::Import(request) => to_json(&snapshotter.import(request).await?),
        Call::Lineage(request) => to_json(&snapshotter.lineage(request).await?),
        Call::Retention(request) => to_json(&snapshotter.retention(request).await?),
        Call::SetRetention(request) => to_json(&snapshotter.set_retention(request).await?),
        Call::ApplyRetention(request) => to_json(&snapshotter.apply_retention(request).await?),
        Call::RotateKey(request) => to_json(&snapshotter.rotate_key(request).await?),
        Call::ListFiles(request) => to_json(&snapshotter.list_files(request).await?),
        Call::StatFile(request) => to_json(&snapshotter.stat_file(request).await?),
        Call::ReadFile(request) => to_json(&snapshotter.read_file(request).await?),
        Call::SummarizeFiles(request) => to_json(&snapshotter.summarize_files(request).await?),
        Call::RestoreFiles(request) => {
            to_json(&snapshotter.restore_selected_files(request, abort).await.map_err(of_workspace)?)
        }
        Call::CreateCheckpoint(request) => {
            to_json(&snapshotter.create_checkpoint(request, abort).await.map_err(of_workspace)?)
        }
        Call::ListCheckpoints(request) => {
            to_json(&snapshotter.list_checkpoints(request, abort).await.map_err(of_workspace)?)
        }
        Call::RestoreCheckpoint(request) => {
            to_json(&snapshotter.restore_checkpoint(request, abort).await.map_err(of_workspace)?)
        }
        Call::DeleteCheckpoint(request) => {
            to_json(&snapshotter.delete_checkpoint(request, abort).await.map_err(of_workspace)?)
        }
        Call::DiffCheckpoint(request) => {
            to_json(&snapshotter.diff_checkpoint(request, abort).await.map_err(of_workspace)?)
        }
    }
}

/// Runs an operation on one named workspace.
pub async fn run_named<P: Ports>(
    named: &NamedWorkspace<P>,
    request: Request,
    abort: CancellationToken,
) -> Result<Value> {
    use requests::Named as Call;
    let Request::Named(request) = request else { return Err(Error::internal()) };
    match request {
        Call::CreateWorkspace(request) => to_json(&named.create(request, abort).await?),
        Call::GetOrCreateWorkspace(request) => to_json(&named.get_or_create(request, abort).await?),
        Call::GetWorkspaceByName(_) => to_json(&named.describe().await?),
        Call::StartWorkspace(request) => to_json(&named.start(request, abort).await?),
        Call::StopWorkspace(request) => to_json(&named.stop(request, abort).await?),
        Call::ForkWorkspace(request) => to_json(&named.fork(request, abort).await?),
        Call::UpdateWorkspace(request) => to_json(&named.update(request, abort).await?),
        Call::TurnEnded(_) => to_json(&named.turn_ended().await?),
        Call::PromoteWorkspace(request) => to_json(&named.promote(request, abort).await?),
        Call::MigrateWorkspace(request) => to_json(&named.migrate(request, abort).await?),
        Call::DeleteWorkspace(_) => to_json(&named.delete(abort).await?),
    }
}

/// Runs an operation of the entrypoint itself: on the bucket, on a Directory, or a command or files in a sandbox. The caller
/// was authorized for the request.
pub async fn run_entrypoint<P: Ports>(
    ports: &Rc<P>,
    access: &Access,
    request: Request,
    abort: CancellationToken,
) -> Result<Value> {
    use requests::Entrypoint as Call;
    let request = match request {
        Request::Entrypoint(request) => request,
        Request::Sandbox(request) => return Box::pin(run_without_object(ports, request)).await,
        _ => return Err(Error::internal()),
    };
    match request {
        Call::WriteFile(request) => to_json(&in_sandbox::write(ports, request, None).await?),
        Call::MakeDirectory(request) => to_json(&in_sandbox::make_directory(ports, request).await?),
        Call::MoveFile(request) => to_json(&in_sandbox::move_file(ports, request).await?),
        Call::RemoveFile(request) => to_json(&in_sandbox::remove(ports, request).await?),
        Call::StartCommand(request) => to_json(&Box::pin(background::start(ports, request)).await?),
        Call::ListCommands(request) => to_json(&background::list(ports, request).await?),
        Call::ReadCommandOutput(request) => to_json(&background::output(ports, request).await?),
        Call::EndCommand(request) => to_json(&background::end(ports, request).await?),
        Call::Exec(request) => to_json(&Box::pin(service::exec::exec(Rc::clone(ports), request, abort)).await?),
        Call::Usage(request) => to_json(&service::usage(&**ports, access, request).await?),
        Call::Sweep(request) => to_json(&service::sweep(&**ports, request).await?),
        Call::CreateToken(request) => to_json(&access::tokens::create(&**ports, request).await?),
        Call::ListTokens(request) => to_json(&access::tokens::list(&**ports, &request).await?),
        Call::RevokeToken(request) => to_json(&access::tokens::revoke(&**ports, request).await?),
        Call::CurrentToken(_) => to_json(&access.describe()),
        Call::ListWorkspaces(request) => access::list::list_workspaces(&**ports, access, request).await,
    }
}

/// Reads or compares the files of a running sandbox, or lists the snapshots of all sandboxes of a workspace.
async fn run_without_object<P: Ports>(ports: &Rc<P>, request: requests::Sandbox) -> Result<Value> {
    use requests::Sandbox as Call;
    match request {
        Call::ListFiles(request) => to_json(&in_sandbox::list(ports, request).await?),
        Call::StatFile(request) => to_json(&in_sandbox::stat(ports, request).await?),
        Call::ReadFile(request) => to_json(&in_sandbox::read(ports, request).await?),
        Call::Diff(request) => to_json(&Box::pin(diff_sandbox::diff(ports, request)).await?),
        Call::List(request) => to_json(&lineage::list::list_workspace(&**ports, &request).await?),
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
