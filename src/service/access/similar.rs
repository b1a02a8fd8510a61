//! The suggestion of a workspace, after a name that no workspace has.

use serde_json::Value;

use super::Access;
use super::list::list_workspaces;
use crate::model::named::Tenant;
use crate::model::named::answer::WorkspacePage;
use crate::model::request::ListWorkspacesRequest;
use crate::model::similar::most_similar;
use crate::model::{Code, Error, json};
use crate::ports::Ports;

/// The options that name a workspace that must exist. `name` comes last: with another one, it may be that of a new workspace.
const NAMES: [&str; 4] = ["from", "sourceWorkspace", "workspace", "name"];

/// The options that may contain the selection of a snapshot in a workspace.
const NESTED: [&str; 3] = ["from", "to", "sourceSnapshot"];

/// The workspaces that the options of a call name.
pub struct WorkspaceNames {
    tenant: Option<Tenant>,
    names: Vec<String>,
}

impl WorkspaceNames {
    /// Returns the workspaces that options name, as far as they can be read.
    pub fn of(options: &Value) -> Self {
        let parts = || NESTED.iter().filter_map(|name| options.get(*name)).chain([options]);
        let text = |part: &Value, name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
        let names = parts().flat_map(|part| NAMES.iter().filter_map(move |name| text(part, name))).collect();
        let tenant = parts().find_map(|part| text(part, "tenant"));
        let tenant = tenant.map_or_else(|| Some(Tenant::default_tenant()), |tenant| Tenant::parse(&tenant).ok());
        Self { tenant, names }
    }
}

/// Returns the error of a call about a workspace that does not exist with the one that is most similar to the first unknown name,
/// among those that the caller may see. Returns any other error as it is.
pub async fn suggest_similar<P: Ports>(ports: &P, access: &Access, named: &WorkspaceNames, error: Error) -> Error {
    let (Code::WorkspaceNotFound, Some(tenant)) = (error.code(), &named.tenant) else { return error };
    let request =
        ListWorkspacesRequest { limit: ListWorkspacesRequest::MAX_LIMIT, ..ListWorkspacesRequest::of(tenant.clone()) };
    // Where the list fails, the error says enough.
    let Ok(page) = list_workspaces(ports, access, request).await else { return error };
    let Ok(WorkspacePage { workspaces, .. }) = json::from_value::<WorkspacePage>(&page) else { return error };
    let existing: Vec<_> = workspaces.iter().map(|entry| entry.name.as_str()).collect();
    let unknown = named.names.iter().find(|name| !existing.contains(&name.as_str()));
    match unknown.and_then(|unknown| most_similar(unknown, existing.iter().copied())) {
        Some(similar) => {
            let remediation = format!("Did you mean the workspace {similar:?}? {}", error.remediation());
            error.with_remediation(&remediation)
        }
        None => error,
    }
}
