//! The text output of the differences between two snapshots, or a snapshot and the present files.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::diff::{Certainty, ChangeType, Difference, FileChange, SnapshotDiff};
use sandbox_snapshotter_client::model::files::{FileAttributes, FileType};

use super::Show;
use super::render::size;
use super::snapshots::next_page_hint;
use super::table::table_with_numbers;

impl Show for SnapshotDiff {
    fn ids(&self) -> Vec<String> {
        self.changes.iter().map(|change| change.path.clone()).collect()
    }

    fn text(&self, _: Timestamp) -> String {
        let hint = next_page_hint(self.cursor.as_deref());
        if self.changes.is_empty() {
            let same = match &self.sandbox_id {
                None => "The snapshots have the same files.\n".to_owned(),
                Some(id) => format!("The present files of {} are those of the snapshot.\n", id.as_str()),
            };
            return if hint.is_empty() { same } else { hint };
        }
        let row = |change: &FileChange| [description(change), sizes(change), path(change)];
        let rows = table_with_numbers(1, ["CHANGE", "SIZE", "PATH"], self.changes.iter().map(row));
        format!("{rows}{hint}")
    }
}

/// Returns how a path differs.
fn description(change: &FileChange) -> String {
    let change_type = match change.change {
        ChangeType::Added => "added",
        ChangeType::Removed => "removed",
        ChangeType::Changed => "changed",
        ChangeType::Renamed => "renamed",
    };
    let attributes = change.differences.iter().filter_map(|difference| match difference {
        Difference::Content => None,
        Difference::Type => Some("type"),
        Difference::Mode => Some("mode"),
        Difference::Owner => Some("owner"),
        Difference::Target => Some("target"),
    });
    let attributes: Vec<_> = attributes.collect();
    let uncertain = if change.certainty == Certainty::Metadata { "?" } else { "" };
    if attributes.is_empty() {
        format!("{change_type}{uncertain}")
    } else {
        format!("{change_type}{uncertain} ({})", attributes.join(", "))
    }
}

/// Returns the size of a file, before and after if they differ.
fn sizes(change: &FileChange) -> String {
    let size_of = |attributes: &FileAttributes| {
        if attributes.r#type == FileType::File { size(attributes.size_bytes) } else { String::new() }
    };
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if from.size_bytes != to.size_bytes => format!("{} → {}", size_of(from), size_of(to)),
        (from, to) => to.as_ref().or(from.as_ref()).map(size_of).unwrap_or_default(),
    }
}

/// Returns the path, with a sign of a directory, and with the previous path.
fn path(change: &FileChange) -> String {
    let is_directory = change.to.as_ref().or(change.from.as_ref()).is_some_and(|it| it.r#type == FileType::Directory);
    let sign = if is_directory { "/" } else { "" };
    match &change.previous_path {
        Some(previous) => format!("{previous} -> {}", change.path),
        None => format!("{}{sign}", change.path),
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;

    use super::*;

    fn text(changes: &serde_json::Value) -> String {
        let diff = serde_json::json!({
            "from": "snap-aaaaaaaaaaaaaaaa", "to": "snap-bbbbbbbbbbbbbbbb", "changes": changes,
        });
        json::from_value::<SnapshotDiff>(&diff).unwrap().text(Timestamp::from_millis(0))
    }

    fn attributes(size: u64) -> serde_json::Value {
        serde_json::json!({
            "type": "file", "sizeBytes": size, "mode": "0644", "uid": 0, "gid": 0,
            "modifiedAt": "2026-11-20T05:00:00.000Z",
        })
    }

    #[test]
    fn each_change_is_a_line() {
        let (small, large) = (attributes(10), attributes(2000));
        let changes = serde_json::json!([
            { "path": "a", "change": "added", "certainty": "content", "to": small },
            { "path": "b", "change": "changed", "certainty": "content", "differences": ["content", "mode"], "from": small, "to": large },
            { "path": "c", "change": "changed", "certainty": "metadata", "differences": ["content"], "from": large, "to": large },
            { "path": "new", "previousPath": "old", "change": "renamed", "certainty": "content", "from": small, "to": small },
        ]);
        let expected = "\
CHANGE                    SIZE  PATH
added                     10 B  a
changed (mode)  10 B → 2.0 kB  b
changed?                2.0 kB  c
renamed                   10 B  old -> new
";
        let spaces = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(spaces(&text(&changes)), spaces(expected));
    }

    #[test]
    fn same_files_are_reported() {
        assert_eq!(text(&serde_json::json!([])), "The snapshots have the same files.\n");
        let present = serde_json::json!({ "from": "snap-aaaaaaaaaaaaaaaa", "sandboxId": "agent-42", "changes": [] });
        let present = json::from_value::<SnapshotDiff>(&present).unwrap().text(Timestamp::from_millis(0));
        assert_eq!(present, "The present files of agent-42 are those of the snapshot.\n");
    }
}
