//! Lists the snapshots of all sandboxes of a named workspace, which has a new one after each rollback or promotion.

use std::cmp::Reverse;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::CONCURRENCY;
use crate::model::answer::{Page, Summary};
use crate::model::request::{ListRequest, SandboxTarget, SnapshotCursor};
use crate::model::{Error, Result};
use crate::ports::{NamedWorkspaceClient, Ports, SandboxLedgerClient};

/// Returns a page of the snapshots of the present and the former sandboxes of a workspace, the newest first.
///
/// # Errors
/// Those of [`sandbox_ids`](NamedWorkspaceClient::sandbox_ids), and those of a sandbox that does not answer.
pub async fn list_workspace<P: Ports>(ports: &P, request: &ListRequest) -> Result<Page> {
    let SandboxTarget::Named(address) = &request.target else { return Err(Error::internal()) };
    let ids = ports.named_workspaces()?.sandbox_ids(address).await?;
    let ledgers = &ports.sandbox_ledgers()?;
    let fetch = |id| async move { ledgers.list(&id, request).await };
    let pages: Vec<Page> = stream::iter(ids).map(fetch).buffered(CONCURRENCY).try_collect().await?;
    let is_continued = pages.iter().any(|page| page.cursor.is_some());
    let mut snapshots: Vec<Summary> = pages.into_iter().flat_map(|page| page.snapshots).collect();
    snapshots.sort_by_key(|snapshot| Reverse((snapshot.created_at, snapshot.snapshot_id.clone())));
    let limit = request.limit as usize;
    let has_more = is_continued || snapshots.len() > limit;
    snapshots.truncate(limit);
    let last = snapshots.last().filter(|_| has_more);
    let cursor = last
        .map(|last| SnapshotCursor { created_at: last.created_at, snapshot_id: last.snapshot_id.clone() }.to_string());
    Ok(Page { snapshots, cursor, note: None })
}
