//! The sandboxes and workspaces that a token permits.
//!
//! A token permits a named workspace if it has the workspace's name, or if the workspace was created from a sandbox that the
//! token permits. It permits a sandbox that belongs to such a workspace, or belonged to it; and one that was restored or
//! branched from such a sandbox and belongs to no named workspace. A workspace that only got files later, by a promotion,
//! is not permitted: it was there before.
//!
//! A sandbox that belongs to no named workspace, nor was made from one, counts as one of the default tenant.

use crate::model::answer::SandboxParent;
use crate::model::named::{Address, Tenant, WorkspaceName};
use crate::model::token::Token;
use crate::model::{Result, SandboxId};
use crate::ports::{NamedWorkspaceClient, Ports, SandboxLedgerClient};

/// The maximum number of steps from an object to the workspace that it was made from.
const MAX_STEPS: usize = 64;

/// Returns whether a token permits a sandbox.
pub(super) async fn permits_sandbox<P: Ports>(ports: &P, token: &Token, id: &SandboxId) -> Result<bool> {
    let mut id = id.clone();
    for _ in 0..MAX_STEPS {
        match ports.sandbox_ledgers()?.parent_of(&id).await? {
            SandboxParent { workspace: Some(address), .. } => match permits_by_name(token, &address) {
                Some(decision) => return Ok(decision),
                None => match ports.named_workspaces()?.source_of(&address, Some(&id)).await? {
                    Some(source) => id = source,
                    None => return Ok(false),
                },
            },
            // An object of an earlier release does not say which workspace it is.
            SandboxParent { has_binding: true, .. } => return Ok(false),
            SandboxParent { parent: Some(parent), .. } => id = parent,
            SandboxParent { parent: None, .. } => return Ok(permits_unnamed(token)),
        }
    }
    Ok(false)
}

/// Returns whether a token permits a named workspace.
pub(super) async fn permits_workspace<P: Ports>(ports: &P, token: &Token, address: &Address) -> Result<bool> {
    if let Some(decision) = permits_by_name(token, address) {
        return Ok(decision);
    }
    match ports.named_workspaces()?.source_of(address, None).await? {
        Some(source) => permits_sandbox(ports, token, &source).await,
        None => Ok(false),
    }
}

/// Returns whether a token permits to create a workspace with a name from a workspace that the token permits. The token
/// permits the new workspace, so the name must not be one that another caller is about to use: it begins with the name of a
/// workspace of the token and a hyphen, or is that of a permitted workspace.
pub(super) async fn permits_new_name<P: Ports>(ports: &P, token: &Token, address: &Address) -> Result<bool> {
    let begins_with = |own: &WorkspaceName| {
        address.name.as_str().strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('-'))
    };
    let is_own = address.tenant == token.tenant && token.workspaces.iter().flatten().any(begins_with);
    Ok(is_own || permits_workspace(ports, token, address).await?)
}

/// Returns whether a token permits the sandboxes that belong to no named workspace, nor were made from one.
pub(super) fn permits_unnamed(token: &Token) -> bool {
    token.workspaces.is_none() && token.tenant.as_str() == Tenant::DEFAULT
}

/// Decides by the name of a workspace; `None` if it depends on what the workspace was created from.
fn permits_by_name(token: &Token, address: &Address) -> Option<bool> {
    if address.tenant != token.tenant {
        return Some(false);
    }
    match &token.workspaces {
        None => Some(true),
        Some(names) => names.contains(&address.name).then_some(true),
    }
}
