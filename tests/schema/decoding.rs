//! Decodes options as the Worker does: it first finds the sandbox and the snapshot that are selected by a workspace.

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::named::messages::SnapshotKey;
use sandbox_snapshotter::model::request::InWorkspace;
use sandbox_snapshotter::model::{Result, SandboxId, SnapshotId};
use sandbox_snapshotter::service::lineage::selection::{select_sandbox, selections, take_sandbox_owner};
use serde_json::Value;

/// Decodes the options of an operation.
pub fn decode(operation: Operation, options: &Value) -> Result<Request> {
    Request::decode(operation, &resolved(operation, options)?)
}

/// Returns options with the sandbox of a workspace, and with that of a snapshot that is selected in one.
pub fn resolved(operation: Operation, options: &Value) -> Result<Value> {
    let mut options = options.clone();
    if take_sandbox_owner(operation, &mut options)?.is_some() {
        select_sandbox(&SandboxId::parse("agent-42")?, &mut options);
    }
    for selection in selections(operation, &mut options) {
        if InWorkspace::take(selection)?.is_some() {
            let (origin_id, snapshot_id) = (SandboxId::parse("agent-42")?, SnapshotId::parse("snap-abcdefghij012345")?);
            SnapshotKey { origin_id, snapshot_id }.select_in(selection);
        }
    }
    Ok(options)
}
