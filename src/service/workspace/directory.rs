//! The list of a tenant's named workspaces. The workspaces report their changes to it; it may lag, and no operation
//! waits for it.

use crate::model::Result;
use crate::model::named::State;
use crate::model::named::answer::{WorkspaceEntry, WorkspacePage};
use crate::model::request::ListWorkspacesRequest;
use crate::ports::DirectoryStore;

/// How long the directory keeps the entry of a deleted workspace, in milliseconds: one day. Reports of an older version
/// arrive before that.
const TOMBSTONE_MILLIS: i64 = 24 * 3600 * 1000;

/// Records the entry of a workspace. Ignores an entry whose version is not newer than the recorded one.
pub fn record_entry(store: &impl DirectoryStore, entry: &WorkspaceEntry) -> Result<()> {
    let known = store.entry(&entry.name)?;
    if known.is_some_and(|known| known.version >= entry.version) {
        return Ok(());
    }
    store.put_entry(entry)?;
    if entry.state == State::Deleted {
        store.delete_tombstones(entry.updated_at.plus_millis(-TOMBSTONE_MILLIS))?;
    }
    Ok(())
}

/// Returns a page of the workspaces, in the order of their names.
pub fn list(store: &impl DirectoryStore, request: &ListWorkspacesRequest) -> Result<WorkspacePage> {
    let mut workspaces = store.entries(request.cursor.as_ref(), request.prefix.as_deref(), request.limit + 1)?;
    let has_more = workspaces.len() > request.limit as usize;
    workspaces.truncate(request.limit as usize);
    let cursor = workspaces.last().filter(|_| has_more).map(|entry| entry.name.to_string());
    Ok(WorkspacePage { workspaces, cursor })
}
