//! The text output of a workspace that continues in another sandbox.

use sandbox_snapshotter_client::model::named::answer::{StartedWorkspace, WorkspaceDescription};
use sandbox_snapshotter_client::model::{SnapshotId, Timestamp};
use serde::Deserialize;

use super::Show;
use super::hooks::hooks;
use super::loss::loss_of;
use super::table::details;
use super::workspaces::{address, started_rows};

/// A workspace that was started from a snapshot, in a new sandbox.
#[derive(Debug, Deserialize)]
pub struct StartedFrom {
    /// The workspace.
    #[serde(flatten)]
    pub started: StartedWorkspace,
}

impl Show for StartedFrom {
    fn ids(&self) -> Vec<String> {
        self.started.ids()
    }

    fn text(&self, now: Timestamp) -> String {
        let rows = started_rows(&self.started, now).into_iter().chain([saved_before(&self.started.description)]);
        details(rows) + &hooks(&self.started.hook_runs)
    }
}

/// Returns which snapshot has the files that the workspace had before.
fn saved_before(described: &WorkspaceDescription) -> (&'static str, String) {
    ("saved before", described.former_snapshot_id.as_ref().map_or_else(String::new, SnapshotId::to_string))
}

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
            saved_before(described),
        ])
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::{SandboxId, WorkspaceRef, json};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_start_from_a_snapshot_says_where_the_former_files_are() {
        let id = |id| SandboxId::parse(id).unwrap();
        let time = "2026-11-20T05:00:00.000Z";
        let answer = json!({
            "name": "w", "tenant": "default", "state": "active", "sandboxId": "s2", "formerSandboxIds": ["s"],
            "dir": "/workspace", "persistent": true, "retention": { "expirationSeconds": 0 }, "hooks": {}, "expiry": {},
            "dependsOn": {}, "envNames": [], "createdAt": time, "activeAt": time, "history": [], "how": "restored", "stale": [],
            "hookRuns": [], "formerSnapshotId": "snap-aaaaaaaaaaaaaaaa",
            "workspace": WorkspaceRef::new(id("s2"), id("s")),
        });
        let started = json::from_value::<StartedFrom>(&answer).unwrap();
        let text = started.text(Timestamp::from_millis(0));
        assert!(text.contains("\nsaved before  snap-aaaaaaaaaaaaaaaa\n"), "{text}");
    }
}
