//! The text output of what workspaces use.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::usage::{Cost, Usage, WorkspaceUsage};

use super::Show;
use super::render::{lines, rounded_duration, size};
use super::table::table;

impl Show for Usage {
    fn ids(&self) -> Vec<String> {
        self.workspaces.iter().map(|workspace| workspace.name.to_string()).collect()
    }

    fn text(&self, _: Timestamp) -> String {
        let row = |workspace: &WorkspaceUsage| {
            let WorkspaceUsage { name, stored, operations, running_seconds, cost } = workspace;
            cells(
                name.to_string(),
                (stored.own_bytes, stored.shared_bytes),
                (operations.captures, operations.restores),
                *running_seconds,
                cost,
            )
        };
        let total = cells(
            "total".to_owned(),
            (self.stored.own_bytes, self.stored.shared_bytes),
            (self.operations.captures, self.operations.restores),
            self.running_seconds,
            &self.cost,
        );
        let header = ["NAME", "OWN", "SHARED", "CAPTURES", "RESTORES", "RAN", "STORAGE/MONTH", "OPERATIONS", "RUNNING"];
        let table = table(header, self.workspaces.iter().map(row).chain([total]));
        let note = format!("US dollars, by Cloudflare's list prices of {}. Left out:", self.prices_of);
        let more = self.cursor.as_ref().map(|cursor| format!("More workspaces follow: pass --cursor {cursor}"));
        table + &lines([note].into_iter().chain(self.leaves_out.iter().map(|text| format!("- {text}"))).chain(more))
    }
}

fn cells(
    name: String,
    (own, shared): (u64, u64),
    (captures, restores): (u64, u64),
    seconds: u64,
    cost: &Cost,
) -> [String; 9] {
    [
        name,
        size(own),
        size(shared),
        captures.to_string(),
        restores.to_string(),
        rounded_duration(seconds),
        format!("{:.4}", cost.storage_per_month),
        format!("{:.4}", cost.operations),
        format!("{:.4}", cost.running),
    ]
}
