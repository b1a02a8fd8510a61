//! The list of the workspaces that a token permits.
//!
//! A cursor is the name of a workspace. So that no cursor names a workspace that the token does not permit, the entrypoint
//! reads the whole list of the tenant until a page of permitted workspaces is complete.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Access;
use super::scope::permits_sandbox;
use crate::model::named::WorkspaceName;
use crate::model::named::answer::{WorkspaceEntry, WorkspacePage};
use crate::model::request::ListWorkspacesRequest;
use crate::model::token::Token;
use crate::model::{Error, Result, SandboxId, json};
use crate::ports::Ports;
use crate::service::workspace::directory;

/// Returns a page of the workspaces of a tenant that the caller may see, as JSON.
pub async fn list_workspaces<P: Ports>(ports: &P, access: &Access, request: ListWorkspacesRequest) -> Result<Value> {
    match access {
        Access::Token(token) if token.workspaces.is_some() => {
            let page = permitted_page(ports, token, request).await?;
            json::to_value(&page).map_err(Error::answer_unwritable)
        }
        _ => directory::list_workspaces(ports, &request).await,
    }
}

async fn permitted_page<P: Ports>(ports: &P, token: &Token, request: ListWorkspacesRequest) -> Result<WorkspacePage> {
    let limit = request.limit as usize;
    let mut sources = BTreeMap::new();
    let mut workspaces = Vec::new();
    let mut next = ListWorkspacesRequest { limit: ListWorkspacesRequest::MAX_LIMIT, ..request };
    loop {
        let page = directory::list_workspaces(ports, &next).await?;
        let page: WorkspacePage = json::from_value(&page).map_err(|_| Error::internal())?;
        for entry in page.workspaces {
            if !is_permitted(ports, token, &entry, &mut sources).await? {
                continue;
            }
            if workspaces.len() == limit {
                let cursor = workspaces.last().map(|last: &WorkspaceEntry| last.name.to_string());
                return Ok(WorkspacePage { workspaces, cursor });
            }
            workspaces.push(entry);
        }
        match page.cursor {
            Some(cursor) => next.cursor = Some(WorkspaceName::parse(&cursor)?),
            None => return Ok(WorkspacePage { workspaces, cursor: None }),
        }
    }
}

/// Returns whether a token permits a workspace. `sources` has the decisions about the sandboxes that workspaces were created
/// from.
async fn is_permitted<P: Ports>(
    ports: &P,
    token: &Token,
    entry: &WorkspaceEntry,
    sources: &mut BTreeMap<SandboxId, bool>,
) -> Result<bool> {
    if token.workspaces.as_ref().is_some_and(|names| names.contains(&entry.name)) {
        return Ok(true);
    }
    let Some(source) = &entry.source_sandbox_id else { return Ok(false) };
    if let Some(known) = sources.get(source) {
        return Ok(*known);
    }
    let decision = permits_sandbox(ports, token, source).await?;
    sources.insert(source.clone(), decision);
    Ok(decision)
}
