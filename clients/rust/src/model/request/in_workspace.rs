//! The selection of a snapshot in a named workspace.

use serde::Serialize;
use serde_json::{Map, Value};

use super::selection::parse_selected;
use crate::model::named::{Address, Tenant, WorkspaceName};
use crate::model::{Label, Result, ShortRef, SnapshotId};

/// The options that select a workspace.
const WORKSPACE: [&str; 2] = ["name", "tenant"];

/// The selection of a snapshot in a named workspace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InWorkspace {
    /// The workspace.
    #[serde(flatten)]
    pub address: Address,
    /// The snapshot.
    #[serde(flatten)]
    pub by: InWorkspaceBy,
}

/// How a snapshot is selected in a named workspace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum InWorkspaceBy {
    /// By its id. The snapshot is one of the lineage of the workspace.
    #[serde(rename = "snapshotId")]
    Id(SnapshotId),
    /// By its label. The snapshot is one of the present or a former sandbox of the workspace; with the label `latest`, if none has
    /// it, the newest one of the present files.
    Label(Label),
}

impl InWorkspace {
    /// Removes the workspace from a selection. Returns `None`, and leaves it to the decoder to report what does not fit, if the
    /// selection is none in a workspace, or contains a short ref, which names the sandbox.
    ///
    /// # Errors
    /// Those of [`Tenant::parse`], [`WorkspaceName::parse`], [`SnapshotId::parse`] and [`Label::parse`].
    pub fn take(selection: &mut Map<String, Value>) -> Result<Option<Self>> {
        let is_given = |name: &str| selection.get(name).is_some_and(|value| !value.is_null());
        let text = |name: &str| selection.get(name).and_then(Value::as_str);
        if !WORKSPACE.into_iter().any(is_given) {
            selection.retain(|name, _| !WORKSPACE.contains(&name.as_str()));
            return Ok(None);
        }
        let Some(name) = text("name") else { return Ok(None) };
        let is_exclusive = !is_given("sandboxId") && !is_given("ref");
        let (is_by_id, is_by_label) = (is_given("snapshotId"), is_given("label"));
        if !is_exclusive || is_by_id == is_by_label || (is_given("tenant") && text("tenant").is_none()) {
            return Ok(None);
        }
        let tenant = text("tenant").map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse)?;
        let address = Address { tenant, name: WorkspaceName::parse(name)? };
        let by = match (text("snapshotId"), text("label")) {
            (Some(id), _) if id.starts_with(ShortRef::PREFIX) => None,
            (Some(id), _) => Some(InWorkspaceBy::Id(parse_selected(id)?)),
            (None, Some(label)) => Some(InWorkspaceBy::Label(Label::parse(label)?)),
            (None, None) => return Ok(None),
        };
        selection.retain(|name, _| !WORKSPACE.contains(&name.as_str()));
        Ok(by.map(|by| Self { address, by }))
    }
}
