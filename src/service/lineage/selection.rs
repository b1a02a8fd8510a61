//! The selection of a snapshot by its id alone, in the workspace or the sandbox that the caller works in.

use serde_json::{Map, Value};

use super::locate::find_origin;
use crate::model::named::{Address, Tenant, WorkspaceName};
use crate::model::operation::Operation;
use crate::model::operation_request::{Request, requests};
use crate::model::{Code, Error, Result, Selector, ShortRef, SnapshotId};
use crate::ports::{NamedWorkspaceClient, Ports};
use crate::service::access::Access;

/// The options that contain the selection of a snapshot.
const NESTED: [&str; 3] = ["from", "to", "sourceSnapshot"];

/// Returns the options of a call with the sandbox of each snapshot that is selected in a named workspace:
/// `{name, tenant?, snapshotId}` becomes `{sandboxId, snapshotId}`. The caller must have access to the workspace.
pub async fn resolve_workspaces<P: Ports>(
    ports: &P,
    access: &Access,
    operation: Operation,
    mut options: Value,
) -> Result<Value> {
    let Value::Object(members) = &mut options else { return Ok(options) };
    match operation {
        Operation::Diff | Operation::CreateWorkspace | Operation::GetOrCreateWorkspace => {
            for nested in NESTED {
                if let Some(Value::Object(selection)) = members.get_mut(nested) {
                    resolve_workspace(ports, access, selection).await?;
                }
            }
        }
        operation if selects_snapshot(operation) => resolve_workspace(ports, access, members).await?,
        _ => {}
    }
    Ok(options)
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

async fn resolve_workspace<P: Ports>(ports: &P, access: &Access, selection: &mut Map<String, Value>) -> Result<()> {
    let text = |name: &str| selection.get(name).and_then(Value::as_str);
    let is_given = |name: &&str| selection.get(*name).is_some_and(|value| !value.is_null());
    // Decoding reports what does not fit.
    let (Some(name), Some(snapshot)) = (text("name"), text("snapshotId")) else { return Ok(()) };
    if ["sandboxId", "ref", "label"].iter().any(is_given) || (is_given(&"tenant") && text("tenant").is_none()) {
        return Ok(());
    }
    let tenant = text("tenant").map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse)?;
    let address = Address { tenant, name: WorkspaceName::parse(name)? };
    // A short ref contains the sandbox.
    let origin = if snapshot.starts_with(ShortRef::PREFIX) {
        None
    } else {
        let id = SnapshotId::parse(snapshot)?;
        access.check_workspace(ports, &address).await?;
        Some(ports.named_workspaces()?.origin_of(&address, &id).await?)
    };
    selection.remove("name");
    selection.remove("tenant");
    if let Some(origin) = origin {
        selection.insert("sandboxId".to_owned(), origin.as_str().into());
    }
    Ok(())
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
