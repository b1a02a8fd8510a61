//! The text output of a workspace that continues in another sandbox.

use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::{SnapshotId, Timestamp};
use serde::Deserialize;

use super::Show;
use super::table::details;
use super::workspaces::{address, loss_of};

/// A workspace after a rollback or a promotion.
#[derive(Debug, Deserialize)]
pub struct SwitchedWorkspace {
    /// The workspace.
    #[serde(flatten)]
    pub description: WorkspaceDescription,
    /// What happened to its files.
    #[serde(skip)]
    pub files: String,
}

impl Show for SwitchedWorkspace {
    fn ids(&self) -> Vec<String> {
        self.description.ids()
    }

    fn text(&self, _: Timestamp) -> String {
        let described = &self.description;
        details([
            ("workspace", address(described)),
            ("state", described.state.to_string()),
            ("sandbox", described.sandbox_id.to_string()),
            ("files", self.files.clone()),
            ("may be lost", loss_of(described)),
            ("saved before", described.former_snapshot_id.as_ref().map_or_else(String::new, SnapshotId::to_string)),
        ])
    }
}
