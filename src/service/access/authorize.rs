//! Verifies the permissions of a call, and the objects that it reaches.

use super::Access;
use super::reach::{Reached, reach};
use super::scope::{permits_new_name, permits_sandbox, permits_workspace};
use crate::model::named::Address;
use crate::model::operation::Operation;
use crate::model::operation_request::{Request, requests};
use crate::model::request::{CreateRequest, FileSource, GrantRequest, SettingsUpdate, Toolset};
use crate::model::token::{Permission, Token};
use crate::model::{Code, Error, Result};
use crate::ports::{NamedWorkspaceClient, Ports};

impl Access {
    /// Verifies that the caller may call an operation at all.
    ///
    /// # Errors
    /// [`Code::PermissionMissing`]
    pub fn check_operation(&self, operation: Operation) -> Result<()> {
        match self {
            Self::Everything => Ok(()),
            Self::Token(token) => match operation.permission() {
                Some(needed) => check(token, operation, needed),
                None => Err(Error::needs_api_token(operation)),
            },
        }
    }

    /// Verifies that the caller may send a request.
    ///
    /// # Errors
    /// [`Code::PermissionMissing`] where the operation or its options need another permission. [`Code::NotPermitted`] for an
    /// object that the token does not permit, whether or not it exists.
    pub async fn authorize<P: Ports>(&self, ports: &P, request: &Request) -> Result<()> {
        let Self::Token(token) = self else { return Ok(()) };
        self.check_operation(request.operation())?;
        check_options(token, request)?;
        for reached in reach(request)? {
            check_reached(ports, token, request.operation(), reached).await?;
        }
        Ok(())
    }
}

impl Access {
    /// Verifies that the caller may use a named workspace.
    ///
    /// # Errors
    /// [`Code::NotPermitted`], whether or not the workspace exists.
    pub async fn check_workspace<P: Ports>(&self, ports: &P, address: &Address) -> Result<()> {
        match self {
            Self::Everything => Ok(()),
            Self::Token(token) if permits_workspace(ports, token, address).await? => Ok(()),
            Self::Token(_) => Err(Error::not_permitted(&describe_workspace(address))),
        }
    }
}

fn describe_workspace(address: &Address) -> String {
    format!("the workspace {:?} of the tenant {:?}", address.name.as_str(), address.tenant.as_str())
}

fn check(token: &Token, operation: Operation, needed: Permission) -> Result<()> {
    if token.permits(needed) {
        return Ok(());
    }
    Err(Error::permission_missing(operation.name(), needed, &token.permissions))
}

/// Verifies the permissions that depend on options.
fn check_options(token: &Token, request: &Request) -> Result<()> {
    let operation = request.operation();
    match request {
        Request::Named(request) if sets_commands(request) && !token.permits(Permission::Work) => {
            Err(Error::work_missing(operation, "`hooks` or `env`"))
        }
        Request::Sandbox(requests::Sandbox::Snapshot(it))
            if it.freeze.is_some() && !token.permits(Permission::Work) =>
        {
            Err(Error::work_missing(operation, "`freeze`"))
        }
        Request::Sandbox(request) if reads_running_sandbox(request) => check(token, operation, Permission::Work),
        Request::Tools(requests::Tools::GrantTools(GrantRequest { toolset, .. }))
            if toolset.workspaces.iter().any(|declared| declared.allow_cross_lineage) =>
        {
            Err(Error::cross_lineage_not_permitted())
        }
        Request::Tools(requests::Tools::ListTools(toolset)) => check_toolset(token, operation, toolset),
        Request::Tools(requests::Tools::CallTool(call)) => check_toolset(token, operation, &call.toolset),
        _ => Ok(()),
    }
}

/// Returns whether a request reads the files of a running sandbox, which starts a stopped workspace.
fn reads_running_sandbox(request: &requests::Sandbox) -> bool {
    use requests::Sandbox as Call;
    let source = match request {
        Call::ListFiles(it) => &it.source,
        Call::StatFile(it) => &it.source,
        Call::ReadFile(it) => &it.source,
        _ => return false,
    };
    matches!(source, FileSource::Sandbox(_))
}

/// Verifies that the token permits the tools of a toolset.
fn check_toolset(token: &Token, operation: Operation, toolset: &Toolset) -> Result<()> {
    if toolset.read_only {
        return Ok(());
    }
    for declared in &toolset.workspaces {
        if declared.snapshot || declared.has_checkpoints() {
            check(token, operation, Permission::Snapshot)?;
        }
        if declared.work {
            check(token, operation, Permission::Work)?;
        }
    }
    Ok(())
}

/// Returns whether a request sets commands that run in the sandbox of a workspace, or variables that these commands and the
/// programs of the sandbox read.
fn sets_commands(request: &requests::Named) -> bool {
    use requests::Named as Call;
    let sets = |settings: &SettingsUpdate| settings.hooks.is_some() || settings.env.is_some();
    match request {
        Call::CreateWorkspace(CreateRequest { settings, .. }) => sets(settings),
        Call::GetOrCreateWorkspace(it) => sets(&it.create.settings),
        Call::UpdateWorkspace(it) => sets(&it.settings),
        Call::GetWorkspaceByName(_)
        | Call::StartWorkspace(_)
        | Call::StopWorkspace(_)
        | Call::ForkWorkspace(_)
        | Call::PromoteWorkspace(_)
        | Call::TurnEnded(_)
        | Call::MigrateWorkspace(_)
        | Call::DeleteWorkspace(_) => false,
    }
}

async fn check_reached<P: Ports>(ports: &P, token: &Token, operation: Operation, reached: Reached) -> Result<()> {
    let (is_permitted, what) = match reached {
        Reached::Sandbox(id) => {
            (permits_sandbox(ports, token, &id).await?, format!("the sandbox {:?} or its snapshots", id.as_str()))
        }
        Reached::Workspace(address) => {
            let (is_permitted, what) = (permits_workspace(ports, token, &address).await?, describe_workspace(&address));
            if !is_permitted && operation == Operation::CreateWorkspace {
                return Err(Error::not_permitted(&what).of_creation(token.workspaces.as_deref().unwrap_or_default()));
            }
            (is_permitted, what)
        }
        Reached::Derived(address) => {
            let is_own_tenant = address.tenant == token.tenant;
            if is_own_tenant && !permits_new_name(ports, token, &address).await? {
                return Err(Error::name_not_permitted(&address.name, token.workspaces.as_deref().unwrap_or_default()));
            }
            (is_own_tenant, format!("the tenant {:?}", address.tenant.as_str()))
        }
        Reached::SnapshotOf(address, id) => {
            let is_permitted = match ports.named_workspaces()?.origin_of(&address, &id).await {
                Ok(origin) => permits_sandbox(ports, token, &origin).await?,
                Err(error) if matches!(error.code(), Code::SnapshotNotFound | Code::OtherTenant) => false,
                Err(error) => return Err(error),
            };
            (is_permitted, format!("the snapshot {:?}", id.as_str()))
        }
        Reached::Tenant(tenant) => (tenant == token.tenant, format!("the tenant {:?}", tenant.as_str())),
        Reached::Deployment => return Err(Error::needs_api_token(operation)),
    };
    if is_permitted { Ok(()) } else { Err(Error::not_permitted(&what)) }
}
