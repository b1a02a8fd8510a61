//! Suggestions of a named workspace, after a name that the server does not know.

use sandbox_snapshotter_client::model::Code;
use sandbox_snapshotter_client::model::named::Tenant;
use sandbox_snapshotter_client::model::named::answer::WorkspacePage;
use sandbox_snapshotter_client::model::request::ListWorkspacesRequest;
use sandbox_snapshotter_client::model::similar::most_similar;
use serde_json::Value;

use super::context::Context;
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
        let Ok(page) = self.call_read_only::<WorkspacePage>("workspaces/list", &request) else { return failure };
        let existing = || page.value.workspaces.iter().map(|workspace| workspace.name.as_str());
        let unknown = names.into_iter().find(|name| existing().all(|existing| existing != *name));
        match unknown.and_then(|unknown| most_similar(unknown, existing())) {
            Some(similar) if *tenant == Tenant::default_tenant() => {
                failure.with_remediation(format!("Did you mean the workspace @{similar}?"))
            }
            Some(similar) => {
                failure.with_remediation(format!("Did you mean the workspace @{}/{similar}?", tenant.as_str()))
            }
            None => failure,
        }
    }

    /// As [`suggest_similar`](Self::suggest_similar), for the failure of a call with `options`. Changes only the failure of
    /// a workspace that does not exist.
    pub fn suggest_similar_workspace(&self, failure: Failure, options: &Value) -> Failure {
        if failure.code() != Some(Code::WorkspaceNotFound.as_str()) {
            return failure;
        }
        let option = |name: &str| options.get(name).and_then(Value::as_str);
        let Ok(tenant) = option("tenant").map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse) else {
            return failure;
        };
        self.suggest_similar(failure, &tenant, NAMES.into_iter().filter_map(option))
    }
}
