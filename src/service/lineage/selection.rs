//! The selection by the name of a workspace: of its present sandbox, or of a snapshot by its id or its label. And the selection of a
//! snapshot by its id alone in a sandbox of its lineage.

use serde_json::{Map, Value};

use super::locate::find_origin;
use crate::model::named::Address;
use crate::model::named::messages::SnapshotKey;
use crate::model::operation::Operation;
use crate::model::operation_request::{Request, requests};
use crate::model::request::{CheckpointLocation, ForkFrom, InWorkspace, InWorkspaceBy, SandboxTarget};
use crate::model::{Code, Error, Label, Result, SandboxId, Selector};
use crate::ports::{NamedWorkspaceClient, Ports, SandboxLedgerClient};
use crate::service::access::Access;

/// The options that contain the selection of a snapshot.
const NESTED: [&str; 3] = ["from", "to", "sourceSnapshot"];

/// The options that select a snapshot.
const SNAPSHOT: [&str; 3] = ["ref", "snapshotId", "label"];

/// Returns the options of a call with the sandbox of each snapshot that is selected in a named workspace:
/// `{name, tenant?, snapshotId}` and `{name, tenant?, label}` become `{sandboxId, snapshotId}`. Of an operation on a sandbox,
/// `{name, tenant?}` becomes the `sandboxId` of the present one, which is also where files are restored to if no other sandbox is
/// named. The caller must have access to the workspace.
pub async fn resolve_workspaces<P: Ports>(
    ports: &P,
    access: &Access,
    operation: Operation,
    mut options: Value,
) -> Result<Value> {
    if let Some(address) = take_sandbox_owner(operation, &mut options)? {
        // An invalid call reaches no object: the decoder of the caller refuses it, whatever the sandbox is.
        select_sandbox(&SandboxId::parse("unknown")?, &mut options);
        if Request::decode(operation, &options).is_err() {
            return Ok(options);
        }
        access.check_workspace(ports, &address).await?;
        select_sandbox(&present_sandbox(ports, &address).await?, &mut options);
        return Ok(options);
    }
    if is_about_retention(operation) && options.get("name").is_some_and(Value::is_string) {
        return Err(Error::retention_of_workspace(operation.name()));
    }
    let may_be_present = may_read_present_files(operation);
    for selection in selections(operation, &mut options) {
        let key = selection.get("idempotencyKey").and_then(Value::as_str).map(str::to_owned);
        if let Some(selected) = InWorkspace::take(selection)? {
            access.check_workspace(ports, &selected.address).await?;
            let workspaces = ports.named_workspaces()?;
            let found = match selected.by {
                InWorkspaceBy::Id(snapshot_id) => {
                    SnapshotKey { origin_id: workspaces.origin_of(&selected.address, &snapshot_id).await?, snapshot_id }
                }
                InWorkspaceBy::Label(label) => {
                    let found = workspaces.find_label(&selected.address, &label, key.as_deref()).await?;
                    if operation == Operation::Delete && label.as_str() == ForkFrom::LATEST {
                        check_has_label(ports, &found, &label).await?;
                    }
                    found
                }
            };
            found.select_in(selection);
            if operation == Operation::RestoreFiles && selection.get("to").is_none_or(Value::is_null) {
                let present = present_sandbox(ports, &selected.address).await?;
                selection.insert("to".to_owned(), present.as_str().into());
            }
        } else if selection.get("name").is_some_and(Value::is_string) {
            let is_given = |name: &&str| selection.get(*name).is_some_and(|value| !value.is_null());
            if SNAPSHOT.iter().any(is_given) || is_given(&"sandboxId") {
                return Err(Error::not_one_snapshot());
            }
            if !may_be_present {
                // The decoder of the caller finds a misspelled option, or that no snapshot is selected.
                selection.remove("name");
                selection.remove("tenant");
            }
        }
    }
    Ok(options)
}

async fn present_sandbox<P: Ports>(ports: &P, address: &Address) -> Result<SandboxId> {
    let ids = ports.named_workspaces()?.sandbox_ids(address).await?;
    ids.into_iter().next().ok_or_else(Error::internal)
}

/// Verifies that a snapshot that was selected as `latest` has this label, and is not only the newest one: a repeated deletion would
/// delete another one each time.
async fn check_has_label<P: Ports>(ports: &P, found: &SnapshotKey, label: &Label) -> Result<()> {
    match ports.sandbox_ledgers()?.search_label(&found.origin_id, label, None).await?.found {
        Some(labelled) if labelled.snapshot_id == found.snapshot_id => Ok(()),
        _ => Err(Error::deletion_of_latest(&found.snapshot_id)),
    }
}

/// Returns those of the options of a call that select a snapshot.
pub fn selections(operation: Operation, options: &mut Value) -> Vec<&mut Map<String, Value>> {
    let Value::Object(members) = options else { return Vec::new() };
    match operation {
        Operation::Diff | Operation::CreateWorkspace | Operation::GetOrCreateWorkspace => members
            .iter_mut()
            .filter(|(name, _)| NESTED.contains(&name.as_str()))
            .filter_map(|(_, selection)| selection.as_object_mut())
            .collect(),
        operation if selects_snapshot(operation) => vec![members],
        _ => Vec::new(),
    }
}

/// Removes the workspace from the options of an operation on a sandbox, whose present sandbox is meant.
///
/// # Errors
/// Those of [`SandboxTarget::take_workspace`].
pub fn take_sandbox_owner(operation: Operation, options: &mut Value) -> Result<Option<Address>> {
    match (workspace_option(operation), options) {
        (Some(name), Value::Object(members)) => SandboxTarget::take_workspace(members, name),
        _ => Ok(None),
    }
}

/// Selects a sandbox in the options of an operation on one.
pub fn select_sandbox(id: &SandboxId, options: &mut Value) {
    if let Value::Object(members) = options {
        members.insert("sandboxId".to_owned(), id.as_str().into());
    }
}

/// Returns the option with the name of a workspace, of an operation on a sandbox that takes a workspace in its place.
const fn workspace_option(operation: Operation) -> Option<&'static str> {
    use Operation as Call;
    match operation {
        Call::Snapshot | Call::Lineage => Some("name"),
        Call::CreateCheckpoint
        | Call::ListCheckpoints
        | Call::RestoreCheckpoint
        | Call::DiffCheckpoint
        | Call::DeleteCheckpoint => Some(CheckpointLocation::WORKSPACE),
        _ => None,
    }
}

/// Returns whether the options of an operation select a snapshot.
const fn selects_snapshot(operation: Operation) -> bool {
    use Operation as Call;
    matches!(
        operation,
        Call::Restore
            | Call::Branch
            | Call::Get
            | Call::Manifest
            | Call::Verify
            | Call::Label
            | Call::Pin
            | Call::Unpin
            | Call::Delete
            | Call::ListFiles
            | Call::StatFile
            | Call::ReadFile
            | Call::SummarizeFiles
            | Call::RestoreFiles
    )
}

/// Returns whether an operation is about the retention policy of one sandbox.
const fn is_about_retention(operation: Operation) -> bool {
    matches!(operation, Operation::Retention | Operation::SetRetention | Operation::ApplyRetention)
}

/// Returns whether the options of an operation may name a workspace for its present files.
const fn may_read_present_files(operation: Operation) -> bool {
    use Operation as Call;
    matches!(operation, Call::ListFiles | Call::StatFile | Call::ReadFile | Call::Diff)
}

impl SnapshotKey {
    /// Selects this snapshot.
    pub fn select_in(self, selection: &mut Map<String, Value>) {
        selection.remove("label");
        selection.insert("sandboxId".to_owned(), self.origin_id.as_str().into());
        selection.insert("snapshotId".to_owned(), self.snapshot_id.as_str().into());
    }
}

/// Returns the options of a call with the sandbox that the snapshot was taken of, if the call failed because the sandbox
/// that it names does not have the snapshot, and another one of its lineage does.
pub async fn correct_origin<P: Ports>(ports: &P, request: &Request, options: &Value, error: &Error) -> Option<Value> {
    let Some(Selector::Id { sandbox_id, snapshot_id }) = selector(request) else { return None };
    if error.code() != Code::SnapshotNotFound {
        return None;
    }
    // Where the search fails, the first error stays: it is about the named sandbox, and true.
    let Ok(Some(origin)) = find_origin(ports, sandbox_id, snapshot_id).await else { return None };
    if origin.sandbox_id == *sandbox_id {
        return None;
    }
    let mut options = options.clone();
    let selection = if request.operation() == Operation::Diff { options.get_mut("from") } else { Some(&mut options) };
    if let Some(Value::Object(members)) = selection {
        members.insert("sandboxId".to_owned(), origin.sandbox_id.as_str().into());
    }
    Some(options)
}

/// Returns the snapshot that a request selects, unless a second snapshot is selected beside it.
fn selector(request: &Request) -> Option<&Selector> {
    use requests::Sandbox as Call;
    let Request::Sandbox(request) = request else { return None };
    Some(match request {
        Call::Get(it) | Call::Manifest(it) | Call::Verify(it) | Call::Pin(it) | Call::Unpin(it) => &it.selector,
        Call::Restore(it) | Call::Branch(it) => &it.selection.selector,
        Call::Label(it) => &it.selection.selector,
        Call::RestoreFiles(it) => &it.selection.selector,
        Call::SummarizeFiles(it) => &it.selection.selector,
        Call::ListFiles(it) => return it.source.selector(),
        Call::StatFile(it) => return it.source.selector(),
        Call::ReadFile(it) => return it.source.selector(),
        Call::Diff(it) if it.to.0.selector().is_none() => &it.from.0.selector,
        _ => return None,
    })
}
