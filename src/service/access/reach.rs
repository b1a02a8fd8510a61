//! The objects that a request reaches. The `match` of each kind of request is total, so a new operation must say it.

use crate::model::named::{Address, Tenant};
use crate::model::operation_request::{Request, requests};
use crate::model::request::{
    CallToolRequest, CreateRequest, FileSource, ForkFrom, ForkRequest, GrantRequest, LineageScope, PromoteFrom,
    SandboxSelection, SandboxTarget, Selection, SnapshotText, Source, ToolTarget, Toolset,
};
use crate::model::{Result, SandboxId, SnapshotId};

/// Something that a request reaches.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reached {
    /// A sandbox, with its snapshots.
    Sandbox(SandboxId),
    /// A named workspace.
    Workspace(Address),
    /// A named workspace that the request creates from another object that it reaches. The caller chooses its name.
    Derived(Address),
    /// A snapshot of the lineage of a named workspace, which only the workspace can find.
    SnapshotOf(Address, SnapshotId),
    /// A list of the objects of a tenant.
    Tenant(Tenant),
    /// The whole deployment.
    Deployment,
}

/// Returns what a request reaches.
pub(super) fn reach(request: &Request) -> Result<Vec<Reached>> {
    Ok(match request {
        Request::Sandbox(request) => sandbox(request)?,
        Request::Named(request) => named(request)?,
        Request::Entrypoint(request) => entrypoint(request)?,
        Request::Tools(request) => tools(request)?,
        // The answer is about the configuration.
        Request::Deployment(requests::Deployment::Health(_)) => Vec::new(),
    })
}

fn sandbox(request: &requests::Sandbox) -> Result<Vec<Reached>> {
    use requests::Sandbox as Call;
    Ok(match request {
        Call::Snapshot(it) => in_sandbox(&it.sandbox_id, &it.lineage_scope),
        Call::Restore(it) | Call::Branch(it) => selected(&it.selection),
        Call::Revive(it) => in_sandbox(&it.sandbox_id, &it.lineage_scope),
        Call::List(it) => [target(&it.target)].into_iter().chain(scope(&it.lineage_scope)).collect(),
        Call::Get(it) | Call::Manifest(it) | Call::Verify(it) | Call::Pin(it) | Call::Unpin(it) => selected(it),
        Call::Diff(it) => [selected(&it.from.0), files(&it.to.0)?].concat(),
        Call::Label(it) => selected(&it.selection),
        Call::Delete(it) => selected(&it.selection),
        // The backup may be of any sandbox.
        Call::Import(_) => vec![Reached::Deployment],
        Call::Lineage(it) => in_sandbox(&it.sandbox_id, &it.lineage_scope),
        Call::Retention(it) | Call::RotateKey(it) => in_sandbox(&it.sandbox_id, &it.lineage_scope),
        Call::SetRetention(it) => vec![Reached::Sandbox(it.sandbox_id.clone())],
        Call::ApplyRetention(it) => vec![Reached::Sandbox(it.sandbox_id.clone())],
        Call::CreateCheckpoint(it) => in_sandbox(&it.location.sandbox_id, &it.location.lineage_scope),
        Call::ListCheckpoints(it) => in_sandbox(&it.location.sandbox_id, &it.location.lineage_scope),
        Call::RestoreCheckpoint(it) => in_sandbox(&it.location.sandbox_id, &it.location.lineage_scope),
        Call::DeleteCheckpoint(it) => in_sandbox(&it.location.sandbox_id, &it.location.lineage_scope),
        Call::DiffCheckpoint(it) => in_sandbox(&it.location.sandbox_id, &it.location.lineage_scope),
        Call::ListFiles(it) => files(&it.source)?,
        Call::StatFile(it) => files(&it.source)?,
        Call::ReadFile(it) => files(&it.source)?,
        Call::SummarizeFiles(it) => selected(&it.selection),
        Call::RestoreFiles(it) => [selected(&it.selection), vec![Reached::Sandbox(it.target().clone())]].concat(),
    })
}

fn named(request: &requests::Named) -> Result<Vec<Reached>> {
    use requests::Named as Call;
    Ok(match request {
        Call::CreateWorkspace(it) => match &it.source {
            Some(source) => [in_source(it, source)?, vec![Reached::Derived(it.address.clone())]].concat(),
            None => vec![Reached::Workspace(it.address.clone())],
        },
        Call::GetOrCreateWorkspace(it) => {
            let source = it.create.source.as_ref().map(|source| in_source(&it.create, source)).transpose()?;
            // The workspace may exist, and then it is not made from the source.
            let address = &it.create.address;
            let from = it.from.as_ref().and_then(|from| match from {
                // The workspace may not exist, and then it is made from the snapshot.
                SnapshotText::Short(short) => Some(Reached::Sandbox(short.origin_id().clone())),
                text => snapshot_of(address, text),
            });
            source.unwrap_or_default().into_iter().chain(from).chain([Reached::Workspace(address.clone())]).collect()
        }
        Call::GetWorkspaceByName(address) | Call::TurnEnded(address) | Call::DeleteWorkspace(address) => {
            vec![Reached::Workspace(address.clone())]
        }
        Call::StartWorkspace(it) => with_snapshot(&it.address, it.from.as_ref()),
        Call::StopWorkspace(it) => vec![Reached::Workspace(it.address.clone())],
        Call::ForkWorkspace(it) => {
            let snapshot = match &it.from {
                Some(ForkFrom::Snapshot(snapshot)) => Some(snapshot),
                Some(ForkFrom::Latest) | None => None,
            };
            [with_snapshot(&it.address, snapshot), named_forks(it)?].concat()
        }
        Call::MigrateWorkspace(it) => vec![Reached::Workspace(it.address.clone())],
        Call::UpdateWorkspace(it) => with_snapshot(&it.address, it.current_snapshot_id.as_ref()),
        Call::PromoteWorkspace(it) => {
            let from = match &it.from {
                PromoteFrom::Workspace(name) => {
                    Some(Reached::Workspace(Address { tenant: it.address.tenant.clone(), name: name.clone() }))
                }
                PromoteFrom::Snapshot(snapshot) => snapshot_of(&it.address, snapshot),
            };
            [Reached::Workspace(it.address.clone())].into_iter().chain(from).collect()
        }
    })
}

/// Returns the forks whose names the caller chooses. The others have the name of their workspace, and a random end.
fn named_forks(request: &ForkRequest) -> Result<Vec<Reached>> {
    let ForkRequest { address: Address { tenant, .. }, new_name: Some(new_name), count, .. } = request else {
        return Ok(Vec::new());
    };
    let fork = |number| {
        let name = new_name.fork_name(number, *count)?;
        Ok(Reached::Derived(Address { tenant: tenant.clone(), name }))
    };
    (1..=*count).map(fork).collect()
}

/// Returns what a request on a workspace and a snapshot of its lineage reaches.
fn with_snapshot(address: &Address, snapshot: Option<&SnapshotText>) -> Vec<Reached> {
    let snapshot = snapshot.and_then(|snapshot| snapshot_of(address, snapshot));
    [Reached::Workspace(address.clone())].into_iter().chain(snapshot).collect()
}

/// Returns the snapshot that a text selects in a workspace. A label selects one of the workspace's own, which the workspace
/// reaches.
fn snapshot_of(address: &Address, snapshot: &SnapshotText) -> Option<Reached> {
    snapshot.snapshot_id().map(|id| Reached::SnapshotOf(address.clone(), id.clone()))
}

fn entrypoint(request: &requests::Entrypoint) -> Result<Vec<Reached>> {
    use requests::Entrypoint as Call;
    Ok(match request {
        Call::Exec(it) => in_selected(&it.selection)?,
        Call::StartCommand(it) => in_selected(&it.selection)?,
        Call::ListCommands(it) => in_selected(it)?,
        Call::ReadCommandOutput(it) => in_selected(&it.selection)?,
        Call::EndCommand(it) => in_selected(&it.selection)?,
        Call::WriteFile(it) => in_selected(&it.sandbox.selection)?,
        Call::MakeDirectory(it) => in_selected(&it.sandbox.selection)?,
        Call::MoveFile(it) => in_selected(&it.sandbox.selection)?,
        Call::RemoveFile(it) => in_selected(&it.sandbox.selection)?,
        Call::Usage(it) => vec![match &it.name {
            Some(name) => Reached::Workspace(Address { tenant: it.tenant.clone(), name: name.clone() }),
            None => Reached::Tenant(it.tenant.clone()),
        }],
        Call::Sweep(_) => vec![Reached::Deployment],
        Call::ListWorkspaces(it) => vec![Reached::Tenant(it.tenant.clone())],
        Call::CreateToken(it) => vec![Reached::Tenant(it.tenant.clone())],
        Call::ListTokens(it) => vec![Reached::Tenant(it.tenant.clone())],
        Call::RevokeToken(it) => vec![Reached::Tenant(it.tenant.clone())],
        Call::CurrentToken(_) => Vec::new(),
    })
}

fn tools(request: &requests::Tools) -> Result<Vec<Reached>> {
    use requests::Tools as Call;
    match request {
        // The operations that a tool calls are verified too.
        Call::ListTools(toolset)
        | Call::CallTool(CallToolRequest { toolset, .. })
        | Call::GrantTools(GrantRequest { toolset, .. }) => declared(toolset),
    }
}

fn declared(toolset: &Toolset) -> Result<Vec<Reached>> {
    let target = |target| match target {
        ToolTarget::Sandbox(id, _) => Reached::Sandbox(id),
        ToolTarget::Named(address) => Reached::Workspace(address),
    };
    toolset.workspaces.iter().map(|workspace| workspace.target().map(target)).collect()
}

/// Returns what the source of a new workspace reaches.
fn in_source(request: &CreateRequest, source: &Source) -> Result<Vec<Reached>> {
    Ok(match source {
        Source::Workspace(name) => {
            vec![Reached::Workspace(Address { tenant: request.address.tenant.clone(), name: name.clone() })]
        }
        Source::Snapshot(selection) => selected(&Selection::decode(selection)?),
    })
}

/// Returns what a request reaches that reads files.
fn files(source: &FileSource) -> Result<Vec<Reached>> {
    match source {
        FileSource::Snapshot(selection) => Ok(selected(selection)),
        FileSource::Sandbox(files) => in_selected(&files.selection),
    }
}

/// Returns what a request reaches that selects a sandbox or a workspace.
fn in_selected(selection: &SandboxSelection) -> Result<Vec<Reached>> {
    Ok([target(&selection.target()?)].into_iter().chain(scope(&selection.lineage_scope)).collect())
}

fn target(target: &SandboxTarget) -> Reached {
    match target {
        SandboxTarget::Named(address) => Reached::Workspace(address.clone()),
        SandboxTarget::Sandbox(id) => Reached::Sandbox(id.clone()),
    }
}

/// A ref is signed by the sandbox that it names, so the sandbox decides.
fn selected(selection: &Selection) -> Vec<Reached> {
    in_sandbox(selection.selector.origin_id(), &selection.lineage_scope)
}

fn in_sandbox(id: &SandboxId, lineage_scope: &LineageScope) -> Vec<Reached> {
    [Reached::Sandbox(id.clone())].into_iter().chain(scope(lineage_scope)).collect()
}

/// An error about a lineage scope names the lineage of its sandbox.
fn scope(scope: &LineageScope) -> Option<Reached> {
    scope.sandbox_id.clone().map(Reached::Sandbox)
}
