//! The text output of deleted workspaces.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::named::answer::DeletedWorkspace;
use serde::Deserialize;

use super::Show;
use super::render::{count, exact_time, lines};
use super::sanitize::sanitize_for_terminal;
use super::snapshots::names;
use super::table::table;

/// A deleted workspace, with the tenant in its name.
#[derive(Debug, Deserialize)]
pub struct Deleted {
    /// The result.
    #[serde(flatten)]
    pub workspace: DeletedWorkspace,
    /// The name, with the tenant unless it is the default one.
    #[serde(skip)]
    pub name: String,
}

impl Show for Deleted {
    fn ids(&self) -> Vec<String> {
        vec![self.workspace.name.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let DeletedWorkspace { removed, deleted_at, removed_snapshots, kept, platform_data_until, pending, .. } =
            &self.workspace;
        let snapshots = count(*removed_snapshots, "snapshot", "snapshots");
        let with = if *removed || *removed_snapshots > 0 { format!(", with {snapshots}") } else { String::new() };
        let mut text = if *removed {
            format!("Deleted {}{with}.\n", self.name)
        } else {
            let earlier = deleted_at.map_or_else(String::new, |at| format!(" at {}", exact_time(at, now)));
            format!("{} was deleted before{earlier}{with}.\n", self.name)
        };
        if !kept.is_empty() {
            let rows = kept.iter().map(|kept| {
                let pinned = if kept.pinned { "pinned" } else { "" };
                [kept.snapshot_id.to_string(), kept.origin_id.to_string(), names(&kept.dependents), pinned.to_owned()]
            });
            text += &table(["KEPT SNAPSHOT", "SANDBOX", "NEEDED BY", ""], rows);
        }
        if let Some(until) = platform_data_until {
            let until = exact_time(*until, now);
            text += &lines([format!("The platform may keep snapshots of its disk until {until}.")]);
        }
        if !pending.is_empty() {
            text += &lines([format!("The snapshots of {} are deleted later.", sanitize_for_terminal(&names(pending)))]);
        }
        text
    }
}
