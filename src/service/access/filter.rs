//! Removes what a token does not permit from answers that list objects.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Access;
use super::scope::{permits_sandbox, permits_unnamed, permits_workspace};
use crate::model::answer::{Tree, TreeSandbox};
use crate::model::health::Health;
use crate::model::named::Address;
use crate::model::operation_request::{Request, requests};
use crate::model::token::Token;
use crate::model::{Error, Result, SandboxId, json};
use crate::ports::Ports;

/// The number of workspaces that are asked at the same time.
const CONCURRENCY: usize = 6;

impl Access {
    /// Returns whether an answer to the caller must be filtered.
    pub fn filters(&self, request: &Request) -> bool {
        matches!(self, Self::Token(_)) && matches!(request, Request::Sandbox(requests::Sandbox::Lineage(_)))
    }

    /// Returns the answer to a request without what the caller's token does not permit.
    ///
    /// # Errors
    /// Those of the objects that are asked. Nothing is returned that was not verified.
    pub async fn filter<P: Ports>(&self, ports: &P, request: &Request, answer: Value) -> Result<Value> {
        let Self::Token(token) = self else { return Ok(answer) };
        match request {
            Request::Sandbox(requests::Sandbox::Lineage(request)) => {
                encode(&prune_tree(ports, token, &request.sandbox_id, decode(&answer)?).await?)
            }
            _ => Ok(answer),
        }
    }

    /// Returns the health without the checks that name workspaces of the default tenant, unless the caller may list them.
    pub fn filter_health(&self, health: Health) -> Health {
        match self {
            Self::Token(token) if !permits_unnamed(token) => {
                let checks = health.checks.into_iter().filter(|check| !check.name.names_workspaces()).collect();
                Health::new(&health.version, health.time, checks)
            }
            _ => health,
        }
    }
}

/// Returns which workspaces a token permits.
async fn permitted_workspaces<P: Ports>(
    ports: &P,
    token: &Token,
    addresses: impl IntoIterator<Item = Address>,
) -> Result<BTreeMap<Address, bool>> {
    let decide = async |address: Address| permits_workspace(ports, token, &address).await.map(|it| (address, it));
    let decisions: Vec<_> = stream::iter(addresses).map(decide).buffered(CONCURRENCY).collect().await;
    decisions.into_iter().collect()
}

/// Reduces a tree to the part around the sandbox `id` that a token permits.
async fn prune_tree<P: Ports>(ports: &P, token: &Token, id: &SandboxId, tree: Tree) -> Result<Tree> {
    let mut addresses = Vec::new();
    collect_addresses(&tree.root, &mut addresses);
    addresses.sort();
    addresses.dedup();
    let permitted = permitted_workspaces(ports, token, addresses).await?;
    let is_permitted = |sandbox: &TreeSandbox, of_parent: bool| match &sandbox.workspace {
        Some(address) => permitted.get(address) == Some(&true),
        // An unknown sandbox may belong to a workspace.
        None => of_parent && sandbox.problem.is_none(),
    };
    let first = tree.root.sandbox_id.clone();
    let of_parent = match &tree.parent {
        Some(parent) => permits_sandbox(ports, token, &parent.origin_id).await?,
        None => permits_unnamed(token),
    };
    let mut root = top_of(tree.root, id, of_parent, &is_permitted)
        .ok_or_else(|| Error::not_permitted(&format!("the sandbox {:?}", id.as_str())))?;
    let sandboxes = prune(&mut root, &is_permitted);
    let parent = tree.parent.filter(|_| of_parent && root.sandbox_id == first);
    Ok(Tree { root, parent, sandboxes, truncated: tree.truncated })
}

fn collect_addresses(sandbox: &TreeSandbox, addresses: &mut Vec<Address>) {
    addresses.extend(sandbox.workspace.clone());
    for child in sandbox.snapshots.iter().flat_map(|snapshot| &snapshot.derived) {
        collect_addresses(child, addresses);
    }
}

/// Returns the first permitted sandbox from the root to the sandbox `id`, from which on all are permitted.
fn top_of(
    sandbox: TreeSandbox,
    id: &SandboxId,
    of_parent: bool,
    is_permitted: &impl Fn(&TreeSandbox, bool) -> bool,
) -> Option<TreeSandbox> {
    let own = is_permitted(&sandbox, of_parent);
    if own && permits_path(&sandbox, id, of_parent, is_permitted) {
        return Some(sandbox);
    }
    let children = sandbox.snapshots.into_iter().flat_map(|snapshot| snapshot.derived);
    children.into_iter().find_map(|child| top_of(child, id, own, is_permitted))
}

/// Returns whether all sandboxes from this one to the sandbox `id` are permitted.
fn permits_path(
    sandbox: &TreeSandbox,
    id: &SandboxId,
    of_parent: bool,
    is_permitted: &impl Fn(&TreeSandbox, bool) -> bool,
) -> bool {
    let mut children = sandbox.snapshots.iter().flat_map(|snapshot| &snapshot.derived);
    is_permitted(sandbox, of_parent)
        && (sandbox.sandbox_id == *id || children.any(|child| permits_path(child, id, true, is_permitted)))
}

/// Removes the sandboxes that are not permitted, and returns the number of the others.
fn prune(sandbox: &mut TreeSandbox, is_permitted: &impl Fn(&TreeSandbox, bool) -> bool) -> usize {
    let mut count = 1;
    for snapshot in &mut sandbox.snapshots {
        snapshot.derived.retain(|child| is_permitted(child, true));
        for child in &mut snapshot.derived {
            count += prune(child, is_permitted);
        }
    }
    count
}

fn decode<T: DeserializeOwned>(answer: &Value) -> Result<T> {
    json::from_value(answer).map_err(|_| Error::internal())
}

fn encode(answer: &impl Serialize) -> Result<Value> {
    json::to_value(answer).map_err(Error::answer_unwritable)
}
