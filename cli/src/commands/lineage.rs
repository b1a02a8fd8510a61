//! `lineage`: the tree of a sandbox, with the named workspaces that its sandboxes belong to now.

use std::collections::{HashMap, HashSet};

use sandbox_snapshotter_client::model::answer::{Tree, TreeSandbox};
use sandbox_snapshotter_client::model::named::Address;
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::request::LineageRequest;
use sandbox_snapshotter_client::model::{Code, SandboxId};

use super::context::Context;
use crate::args::maintenance::Lineage as Command;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::answer::Answer;
use crate::output::tree::Lineage;

/// The maximum number of workspaces that are looked up.
const MAX_LOOKUPS: usize = 20;

/// The sandboxes of a workspace; `None` if the workspace does not exist.
type Sandboxes = Option<(SandboxId, Vec<SandboxId>)>;

/// Runs the command.
pub fn run(context: &Context, command: &Command) -> Result<Exit> {
    let lineage_scope = context.lineage_scope(&command.scope)?;
    let request =
        LineageRequest { sandbox_id: context.sandbox(&command.target)?, check: !command.no_check, lineage_scope };
    let Answer { raw, value: mut tree, key } = context.lineage_of_known(&request)?;
    let is_text = !context.output.json && !context.output.quiet;
    let former = if is_text { update_workspaces(context, &mut tree) } else { HashSet::new() };
    context.show(&Answer { raw, value: Lineage { tree, former }, key })
}

/// Removes the workspaces to which sandboxes do not belong any more: the server returns the names of deleted workspaces too.
/// Returns the former sandboxes of workspaces.
fn update_workspaces(context: &Context, tree: &mut Tree) -> HashSet<SandboxId> {
    let (mut found, mut former) = (HashMap::<Address, Option<Sandboxes>>::new(), HashSet::new());
    for_each_sandbox(&mut tree.root, &mut |sandbox| {
        let Some(address) = sandbox.workspace.clone() else { return };
        if found.len() == MAX_LOOKUPS && !found.contains_key(&address) {
            return;
        }
        let id = &sandbox.sandbox_id;
        match found.entry(address.clone()).or_insert_with(|| sandboxes_of(context, &address)) {
            Some(Some((present, _))) if present == id => {}
            Some(Some((_, others))) if others.contains(id) => drop(former.insert(id.clone())),
            Some(_) => sandbox.workspace = None,
            None => {}
        }
    });
    former
}

/// Returns the sandboxes of a workspace; `None` if the server does not tell.
fn sandboxes_of(context: &Context, address: &Address) -> Option<Sandboxes> {
    match context.call_without_suggestions::<WorkspaceDescription>("workspaces/getByName", address) {
        Ok(Answer { value, .. }) => Some(Some((value.sandbox_id, value.former_sandbox_ids))),
        Err(failure) if failure.code() == Some(Code::WorkspaceNotFound.as_str()) => Some(None),
        Err(_) => None,
    }
}

/// Calls `visit` with each sandbox of a tree.
pub(super) fn for_each_sandbox(sandbox: &mut TreeSandbox, visit: &mut impl FnMut(&mut TreeSandbox)) {
    visit(sandbox);
    for derived in sandbox.snapshots.iter_mut().flat_map(|node| &mut node.derived) {
        for_each_sandbox(derived, visit);
    }
}
