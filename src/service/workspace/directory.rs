//! The list of a tenant's named workspaces. The workspaces report their changes to it; it may lag, and no operation
//! waits for it.

use serde_json::Value;

use crate::model::Result;
use crate::model::named::State;
use crate::model::named::answer::{WorkspaceEntry, WorkspacePage};
use crate::model::request::ListWorkspacesRequest;
use crate::ports::{DirectoryStore, NamedWorkspaceClient, Ports};

/// How long the directory keeps the entry of a deleted workspace, in milliseconds: one day. Reports of an older version
/// arrive before that.
const ENTRY_TOMBSTONE_MILLIS: i64 = 24 * 3600 * 1000;

/// Records the entry of a workspace. Ignores an entry whose version is not newer than the recorded one.
pub fn record_entry(store: &impl DirectoryStore, entry: &WorkspaceEntry) -> Result<()> {
    let known = store.entry(&entry.name)?;
    if known.is_some_and(|known| known.version >= entry.version) {
        return Ok(());
    }
    store.put_entry(entry)?;
    if entry.state == State::Deleted {
        store.delete_tombstones(entry.updated_at.plus_millis(-ENTRY_TOMBSTONE_MILLIS))?;
    }
    Ok(())
}

/// Returns a page of a tenant's workspaces as JSON, with the runtime that the deployment names for workspaces of earlier
/// releases.
pub async fn list_workspaces<P: Ports>(ports: &P, request: &ListWorkspacesRequest) -> Result<Value> {
    let mut page = ports.named_workspaces()?.list_workspaces(request).await?;
    let entries = page.get_mut("workspaces").and_then(Value::as_array_mut).into_iter().flatten();
    if let Some(runtime) = ports.sandbox_bindings().of_row(None) {
        for entry in entries.filter_map(Value::as_object_mut) {
            entry.entry("runtime").or_insert_with(|| runtime.as_str().into());
        }
    }
    Ok(page)
}

/// Returns a page of the workspaces, in the order of their names.
pub fn list(store: &impl DirectoryStore, request: &ListWorkspacesRequest) -> Result<WorkspacePage> {
    let mut workspaces = store.entries(request.cursor.as_ref(), request.prefix.as_deref(), request.limit + 1)?;
    let has_more = workspaces.len() > request.limit as usize;
    workspaces.truncate(request.limit as usize);
    let cursor = workspaces.last().filter(|_| has_more).map(|entry| entry.name.to_string());
    Ok(WorkspacePage { workspaces, cursor })
}
