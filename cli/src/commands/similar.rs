//! Suggestions of a named workspace, after a name or an id that the server does not know.

use sandbox_snapshotter_client::model::answer::{Tree, TreeSandbox};
use sandbox_snapshotter_client::model::named::answer::WorkspacePage;
use sandbox_snapshotter_client::model::named::{Address, Tenant};
use sandbox_snapshotter_client::model::request::{LineageRequest, ListWorkspacesRequest};
use sandbox_snapshotter_client::model::similar::most_similar;
use sandbox_snapshotter_client::model::{Code, SandboxId};
use serde_json::Value;

use super::context::Context;
use super::target::{UNKNOWN_REMEDIATION, is_unknown, parse_address, to_target, unknown_message};
use crate::failure::Failure;

/// The options that name a workspace that must exist. The `name` comes last, because `create` names a new workspace.
const NAMES: [&str; 3] = ["from", "sourceWorkspace", "name"];

impl Context {
    /// Suggests the tenant's workspace that is most similar to the first of `names` that does not exist, instead of the
    /// remediation of `failure`.
    pub fn suggest_similar<'a>(
        &self,
        failure: Failure,
        tenant: &Tenant,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Failure {
        let request = ListWorkspacesRequest {
            limit: ListWorkspacesRequest::MAX_LIMIT,
            ..ListWorkspacesRequest::of(tenant.clone())
        };
        let Ok(page) = self.call_without_suggestions::<WorkspacePage>("workspaces/list", &request) else {
            return failure;
        };
        let names: Vec<_> = names.into_iter().collect();
        // An existing workspace that the command names is not another one that the user may mean.
        let (given, others): (Vec<_>, Vec<_>) = page
            .value
            .workspaces
            .iter()
            .map(|workspace| workspace.name.as_str())
            .partition(|name| names.contains(name));
        let unknown = names.into_iter().find(|name| !given.contains(name));
        match unknown.and_then(|unknown| most_similar(unknown, others)) {
            Some(similar) if *tenant == Tenant::default_tenant() => {
                failure.with_remediation(format!("Did you mean the workspace @{similar}?"))
            }
            Some(similar) => {
                failure.with_remediation(format!("Did you mean the workspace @{}/{similar}?", tenant.as_str()))
            }
            None => failure,
        }
    }

    /// Suggests the named workspace that the user may mean with the id of an unknown sandbox: the one of this name, or else
    /// the most similar one.
    pub fn suggest_for_unknown_id(&self, failure: Failure, id: &SandboxId) -> Failure {
        match self.workspace_without_at(id.as_str()) {
            Some(remediation) => failure.with_remediation(remediation),
            None => self.suggest_similar(failure, &Tenant::default_tenant(), [id.as_str()]),
        }
    }

    /// Suggests a named workspace for the failure of a call with `options`: a similar one if a workspace does not exist, or
    /// the one whose name was passed as the id of a sandbox.
    pub fn suggest_workspace(&self, failure: Failure, options: &Value) -> Failure {
        let option = |name: &str| options.get(name).and_then(Value::as_str);
        let is = |code: Code| failure.code() == Some(code.as_str());
        if is(Code::WorkspaceNotFound) {
            let tenant = option("tenant").map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse);
            let failure = match option("name").map(SandboxId::parse) {
                Some(Ok(id)) => self.explain_id(failure, &id),
                _ => failure,
            };
            return match tenant {
                Ok(tenant) if tenant != Tenant::default_tenant() && self.is_workspace(tenant.as_str()) => {
                    let workspace = tenant.as_str();
                    failure.with_remediation(format!("{workspace:?} is a workspace, not a tenant: write @{workspace}."))
                }
                Ok(tenant) => self.suggest_similar(failure, &tenant, NAMES.into_iter().filter_map(option)),
                Err(_) => failure,
            };
        }
        if !is(Code::SandboxNotRunning) {
            return failure;
        }
        match option("sandboxId").map(SandboxId::parse) {
            Some(Ok(id)) => self.explain_not_running(failure, &id),
            _ => failure,
        }
    }

    /// Explains the failure of a workspace whose name is the id of a sandbox.
    fn explain_id(&self, failure: Failure, id: &SandboxId) -> Failure {
        let Some(sandbox) = self.describe_sandbox(id) else { return failure };
        match &sandbox.workspace {
            Some(address) => {
                failure.with_remediation(format!("It is the id of a sandbox of the workspace {}.", to_target(address)))
            }
            None if is_unknown(&sandbox) => failure,
            None => failure.with_remediation(
                "It is the id of a sandbox without a named workspace, which ends by itself when it is not used."
                    .to_owned(),
            ),
        }
    }

    /// Returns what the server knows of a sandbox; `None` if the server does not tell.
    fn describe_sandbox(&self, id: &SandboxId) -> Option<TreeSandbox> {
        let request = LineageRequest { check: false, ..LineageRequest::of(id.clone()) };
        self.call_without_suggestions::<Tree>("lineage", &request).ok().map(|tree| tree.value.root)
    }

    /// Explains the failure of a sandbox that is not running: its id may be the name of a workspace, or misspelled.
    fn explain_not_running(&self, failure: Failure, id: &SandboxId) -> Failure {
        if let Some(remediation) = self.workspace_without_at(id.as_str()) {
            return failure.with_remediation(remediation);
        }
        if !self.describe_sandbox(id).is_some_and(|sandbox| is_unknown(&sandbox)) {
            return failure;
        }
        let failure = failure.with_message(unknown_message(id)).with_remediation(UNKNOWN_REMEDIATION.to_owned());
        self.suggest_similar(failure, &Tenant::default_tenant(), [id.as_str()])
    }

    /// Returns the remediation for an id of a sandbox that is the name of a workspace, if its `@` is missing.
    pub(super) fn workspace_without_at(&self, id: &str) -> Option<String> {
        (!id.starts_with('@') && self.is_workspace(id)).then(|| format!("It is the name of a workspace: write @{id}."))
    }

    /// Returns whether there is a workspace `name` of the default tenant, or `tenant/name`, as far as the server tells.
    pub(super) fn is_workspace(&self, text: &str) -> bool {
        let Ok(Address { tenant, name }) = parse_address(text) else { return false };
        let request =
            ListWorkspacesRequest { prefix: Some(name.to_string()), limit: 1, ..ListWorkspacesRequest::of(tenant) };
        let page = self.call_without_suggestions::<WorkspacePage>("workspaces/list", &request);
        page.is_ok_and(|page| page.value.workspaces.iter().any(|workspace| workspace.name == name))
    }
}
