//! Retention, for people.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::answer::{KeyRotation, Retention, Sweep};
use sandbox_snapshotter::model::policy::Decision;

use super::Show;
use super::render::{count, duration, relative_time, rounded_duration, size};
use super::table::{table, table_with_numbers};
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
                relative_time(decision.created_at, now),
                match (decision.keep, self.dry_run) {
                    (true, _) => "stays".to_owned(),
                    (false, true) => "goes".to_owned(),
                    (false, false) => "is gone".to_owned(),
                },
                decision.reasons.iter().map(|reason| render_reason(reason, now)).collect::<Vec<_>>().join("; "),
            ]
        };
        let mut text = format!("policy: {}\n", policy(&self.policy));
        if !self.decisions.is_empty() {
            text += &table(["ID", "TAG", "TAKEN", "", "BECAUSE"], self.decisions.iter().map(row));
        }
        let goes = match (self.evicted, self.dry_run) {
            (0, true) => "None goes.".to_owned(),
            (0, false) => "No snapshot was removed.".to_owned(),
            (number, true) => format!("{} would go.", count(number, "snapshot", "snapshots")),
            (number, false) => format!("{} removed.", count(number, "snapshot", "snapshots")),
        };
        format!("{text}{goes}\n")
    }
}

/// A reason, with its times and durations as people are told them.
fn render_reason(reason: &str, now: Timestamp) -> String {
    let words: Vec<_> = reason.split(' ').collect();
    let mut told = Vec::new();
    let mut rest = words.as_slice();
    while let [first, others @ ..] = rest {
        rest = others;
        let time = others.first().and_then(|text| Timestamp::try_from((*text).to_owned()).ok());
        match (*first, others, time, first.parse()) {
            ("at", [_, others @ ..], Some(time), _) => {
                rest = others;
                told.push(relative_time(time, now));
            }
            (_, ["seconds", others @ ..], _, Ok(seconds)) => {
                rest = others;
                told.push(duration(seconds));
            }
            _ => told.push((*first).to_owned()),
        }
    }
    told.join(" ")
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
        vec![self.deleted.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let swept = if self.dry_run { "would be deleted" } else { "deleted" };
        let rows = [
            (self.deleted, swept),
            (self.owned, "belong to a sandbox's snapshots"),
            (self.too_recent, "too young"),
            (self.unmarked, "an application's own"),
            (self.failed, "could not be looked at or deleted"),
            (self.unowned, "archives without metadata, without an owner"),
            (self.scanned, "in the bucket"),
        ];
        let table =
            table_with_numbers(0, ["BACKUPS", ""], rows.map(|(number, what)| [number.to_string(), what.to_owned()]));
        let done = match (self.dry_run, self.deleted) {
            (true, _) => "Nothing was done.".to_owned(),
            (false, swept) => format!("{} deleted.", count(swept, "backup was", "backups were")),
        };
        format!("{table}{}{done}\n", unowned(self))
    }
}

/// The archives without metadata, which are for the operator to look at.
fn unowned(sweep: &Sweep) -> String {
    if sweep.unowned == 0 {
        return String::new();
    }
    let rows = sweep.unowned_objects.iter();
    let rows = rows.map(|object| [object.key.clone(), size(object.size_bytes), rounded_duration(object.age_seconds)]);
    let table = table(["ARCHIVES WITHOUT METADATA", "SIZE", "AGE"], rows);
    let more = sweep.unowned.saturating_sub(sweep.unowned_objects.len());
    let more = if more > 0 { format!("{} not shown.\n", count(more, "more is", "more are")) } else { String::new() };
    format!("\n{table}{more}These are never deleted: each may be an application's own.\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_tell_times_as_everything_else_does() {
        let now = Timestamp::try_from("2026-11-20T05:00:00.000Z".to_owned()).unwrap();
        assert_eq!(render_reason("it expires at 2026-12-20T05:00:00.000Z", now), "it expires in 30 days");
        let passed = "5400 seconds have passed since its last use at 2026-11-20T03:00:00.000Z";
        assert_eq!(render_reason(passed, now), "1 h 30 min have passed since its last use 2 h ago");
        for reason in ["needed by \"agent 42\"", "among the newest 3", "pinned at x"] {
            assert_eq!(render_reason(reason, now), reason);
        }
    }
}
