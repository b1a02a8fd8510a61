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
        let header =
            ["NAME", "OWN", "SHARED", "CAPTURES", "RESTORES", "RAN", "STORAGE/MONTH", "OPERATIONS", "RUNNING", "TOTAL"];
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
) -> [String; 10] {
    [
        name,
        size(own),
        size(shared),
        captures.to_string(),
        restores.to_string(),
        rounded_duration(seconds),
        dollars(cost.storage_per_month),
        dollars(cost.operations),
        dollars(cost.running),
        dollars(cost.total),
    ]
}

/// Formats an amount, such as `$0.0005`.
fn dollars(amount: f64) -> String {
    match amount {
        0.0 => "$0".to_owned(),
        small if small < 0.0001 => "<$0.0001".to_owned(),
        amount => format!("${amount:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_differ_from_none() {
        for (amount, text) in
            [(0.0, "$0"), (0.000_014_535, "<$0.0001"), (0.0001, "$0.0001"), (0.000_53, "$0.0005"), (12.5, "$12.5000")]
        {
            assert_eq!(dollars(amount), text);
        }
    }
}
