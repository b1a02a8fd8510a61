//! Retention, for people.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::answer::{KeyRotation, Retention, Sweep};
use sandbox_snapshotter::model::policy::Decision;

use super::Show;
use super::table::table;
use super::words::{count, when};
use super::workspaces::policy;

impl Show for Retention {
    /// Those that go, or went.
    fn ids(&self) -> Vec<String> {
        self.decisions
            .iter()
            .filter(|decision| !decision.keep)
            .map(|decision| decision.snapshot_id.to_string())
            .collect()
    }

    fn text(&self, now: Timestamp) -> String {
        let row = |decision: &Decision| {
            [
                decision.snapshot_id.to_string(),
                decision.label.to_string(),
                when(decision.created_at, now),
                if decision.keep { "stays" } else { "goes" }.to_owned(),
                decision.reasons.join("; "),
            ]
        };
        let mut text = format!("policy: {}\n", policy(&self.policy));
        if !self.decisions.is_empty() {
            text += &table(["ID", "TAG", "TAKEN", "", "BECAUSE"], self.decisions.iter().map(row));
        }
        let goes = match (self.let_go, self.dry_run) {
            (0, _) => "None goes.".to_owned(),
            (number, true) => format!("{} would go.", count(number, "snapshot", "snapshots")),
            (number, false) => format!("{} let go.", count(number, "snapshot", "snapshots")),
        };
        format!("{text}{goes}\n")
    }
}

impl Show for KeyRotation {
    fn ids(&self) -> Vec<String> {
        vec![self.key.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let previous = self.previous.map(|previous| format!(" Refs of the key {previous} are still accepted."));
        format!("New refs are signed with the key {}.{}\n", self.key, previous.unwrap_or_default())
    }
}

impl Show for Sweep {
    fn ids(&self) -> Vec<String> {
        vec![self.swept.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let swept = if self.dry_run { "would be deleted" } else { "deleted" };
        let rows = [
            (self.swept, swept),
            (self.owned, "belong to a sandbox's snapshots"),
            (self.young, "too young"),
            (self.unmarked, "an application's own"),
            (self.failed, "could not be looked at or deleted"),
            (self.seen, "in the bucket"),
        ];
        super::table::table_with_numbers(
            0,
            ["BACKUPS", ""],
            rows.map(|(number, what)| [number.to_string(), what.to_owned()]),
        )
    }
}
