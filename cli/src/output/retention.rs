//! The text output of retention, key rotation and sweeps.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::answer::{KeyRotation, Retention, Sweep};
use sandbox_snapshotter_client::model::policy::Decision;
use serde::Deserialize;

use super::Show;
use super::render::{count, duration, relative_time, rounded_duration, size};
use super::table::{table, table_with_numbers};
use super::workspaces::policy;

/// The retention policy of a sandbox, and the snapshots that it keeps.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct KeptSnapshots(Retention);

impl Show for KeptSnapshots {
    fn ids(&self) -> Vec<String> {
        ids(&self.0, true)
    }

    fn text(&self, now: Timestamp) -> String {
        let total = match self.0.evicted {
            0 => String::new(),
            number => {
                let removed = count(number, "snapshot", "snapshots");
                format!("{removed} would be removed now: `snapshotter retention plan` shows which.\n")
            }
        };
        decisions(&self.0, true, now) + &total
    }
}

impl Show for Retention {
    /// Returns the snapshots that the policy removes or removed.
    fn ids(&self) -> Vec<String> {
        ids(self, false)
    }

    fn text(&self, now: Timestamp) -> String {
        let total = match (self.evicted, self.dry_run) {
            (0, true) => "No snapshot would be removed.".to_owned(),
            (0, false) => "No snapshot was removed.".to_owned(),
            (number, true) => format!("{} would be removed.", count(number, "snapshot", "snapshots")),
            (number, false) => format!("{} removed.", count(number, "snapshot", "snapshots")),
        };
        let evicts = self.policy.keep_last.is_some_and(|rule| rule.delete_evicted);
        let labels = if evicts { "A label protects no snapshot: `snapshotter snapshot pin` does.\n" } else { "" };
        format!("{}{total}\n{labels}", decisions(self, false, now))
    }
}

/// Returns the ids of the snapshots that are kept, or of those that are removed.
fn ids(retention: &Retention, kept: bool) -> Vec<String> {
    let decisions = retention.decisions.iter().filter(|decision| decision.keep == kept);
    decisions.map(|decision| decision.snapshot_id.to_string()).collect()
}

/// Formats the policy, and the snapshots that are kept, or those that are removed, with the reasons.
fn decisions(retention: &Retention, kept: bool, now: Timestamp) -> String {
    let row = |decision: &Decision| {
        [
            decision.snapshot_id.to_string(),
            decision.label.to_string(),
            relative_time(decision.created_at, now),
            decision.reasons.iter().map(|reason| render_reason(reason, now)).collect::<Vec<_>>().join("; "),
        ]
    };
    let rows: Vec<_> = retention.decisions.iter().filter(|decision| decision.keep == kept).map(row).collect();
    let header = ["ID", "LABEL", "TAKEN", if kept { "KEPT BECAUSE" } else { "REMOVED BECAUSE" }];
    let table = if rows.is_empty() { String::new() } else { table(header, rows) };
    format!("policy: {}\n{table}", policy(&retention.policy))
}

/// Replaces the times and durations in a reason with relative times and readable durations.
fn render_reason(reason: &str, now: Timestamp) -> String {
    let words: Vec<_> = reason.split(' ').collect();
    let mut rendered = Vec::new();
    let mut rest = words.as_slice();
    while let [first, others @ ..] = rest {
        rest = others;
        let time = others.first().and_then(|text| Timestamp::try_from((*text).to_owned()).ok());
        match (*first, others, time, first.parse()) {
            ("at", [_, others @ ..], Some(time), _) => {
                rest = others;
                rendered.push(relative_time(time, now));
            }
            (_, ["seconds", others @ ..], _, Ok(seconds)) => {
                rest = others;
                rendered.push(duration(seconds));
            }
            _ => rendered.push((*first).to_owned()),
        }
    }
    rendered.join(" ")
}

impl Show for KeyRotation {
    fn ids(&self) -> Vec<String> {
        vec![self.key.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let previous =
            self.previous.map(|previous| format!(" Refs that the key {previous} signed are still accepted."));
        format!("New refs are signed with the key {}.{}\n", self.key, previous.unwrap_or_default())
    }
}

impl Show for Sweep {
    fn ids(&self) -> Vec<String> {
        vec![self.deleted.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let deleted = if self.dry_run { "would be deleted" } else { "deleted" };
        let rows = [
            (self.deleted, deleted),
            (self.owned, "owned by a snapshot, another deployment or an earlier release"),
            (self.too_recent, "younger than the grace period"),
            (self.unmarked, "without the mark of the snapshotter"),
            (self.failed, "could not be checked or deleted"),
            (self.unowned, "archives without metadata"),
            (self.scanned, "in the bucket"),
        ];
        let table =
            table_with_numbers(0, ["BACKUPS", ""], rows.map(|(number, what)| [number.to_string(), what.to_owned()]));
        let total = match (self.dry_run, self.deleted) {
            (true, _) => "Nothing was deleted.".to_owned(),
            (false, deleted) => format!("{} deleted.", count(deleted, "backup was", "backups were")),
        };
        format!("{table}{}{total}\n", unowned(self))
    }
}

/// Lists the archives without metadata, which the operator must check.
fn unowned(sweep: &Sweep) -> String {
    if sweep.unowned == 0 {
        return String::new();
    }
    let rows = sweep.unowned_objects.iter();
    let rows = rows.map(|object| [object.key.clone(), size(object.size_bytes), rounded_duration(object.age_seconds)]);
    let table = table(["ARCHIVES WITHOUT METADATA", "SIZE", "AGE"], rows);
    let more = sweep.unowned.saturating_sub(sweep.unowned_objects.len());
    let more = if more > 0 { format!("{} not listed.\n", count(more, "more is", "more are")) } else { String::new() };
    format!("\n{table}{more}A sweep never deletes these archives, because they may belong to an application.\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_in_reasons_are_readable() {
        let now = Timestamp::try_from("2026-11-20T05:00:00.000Z".to_owned()).unwrap();
        assert_eq!(render_reason("it expires at 2026-12-20T05:00:00.000Z", now), "it expires in 30 days");
        let passed = "5400 seconds have passed since its last use at 2026-11-20T03:00:00.000Z";
        assert_eq!(render_reason(passed, now), "1 h 30 min have passed since its last use 2 h ago");
        for reason in ["needed by \"agent 42\"", "among the newest 3", "pinned at x"] {
            assert_eq!(render_reason(reason, now), reason);
        }
    }
}
