//! The text output of the differences between two snapshots, or a snapshot and the present files.

use std::collections::BTreeMap;

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::diff::{Certainty, ChangeType, Difference, FileChange, SnapshotDiff};
use sandbox_snapshotter_client::model::files::{FileAttributes, FileType};

use super::Show;
use super::render::{lines, size};
use super::sanitize::sanitize_for_terminal;
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
        let mut in_repositories = BTreeMap::<&str, usize>::new();
        self.changes.iter().filter_map(repository).for_each(|of| *in_repositories.entry(of).or_default() += 1);
        in_repositories.retain(|_, count| *count > MAX_OF_REPOSITORY);
        let listed =
            self.changes.iter().filter(|change| repository(change).is_none_or(|of| !in_repositories.contains_key(of)));
        let row = |change: &FileChange| [description(change), sizes(change), path(change)];
        let rows = table_with_numbers(1, ["CHANGE", "SIZE", "PATH"], listed.map(row));
        let others = in_repositories
            .iter()
            .map(|(of, count)| format!("and {count} paths below {}: --quiet lists them", sanitize_for_terminal(of)));
        format!("{rows}{}{hint}", lines(others))
    }
}

/// The maximum number of changed paths in a git repository that are listed one by one: a commit changes many files there.
const MAX_OF_REPOSITORY: usize = 3;

/// Returns the `.git` directory that a changed path is in.
pub fn repository(change: &FileChange) -> Option<&str> {
    const GIT: &str = ".git";
    let path = &change.path;
    let is_git = |start: &usize| {
        let (before, after) = (path.get(..*start), path.get(start + GIT.len()..));
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            && after.is_some_and(|after| after.starts_with('/'))
    };
    let start = path.match_indices(GIT).map(|(start, _)| start).find(is_git)?;
    path.get(..start + GIT.len())
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
    fn files_of_a_repository_are_one_line() {
        let file = attributes(10);
        let added =
            |path: String| serde_json::json!({ "path": path, "change": "added", "certainty": "content", "to": file });
        let paths = (0..4).map(|number| format!("app/.git/objects/{number}")).chain([
            ".git/HEAD".to_owned(),
            ".gitignore".to_owned(),
            "a".to_owned(),
        ]);
        let shown = text(&paths.map(added).collect());
        assert!(!shown.contains("objects"), "{shown}");
        for line in [".git/HEAD\n", ".gitignore\n", "  a\n", "and 4 paths below app/.git: --quiet lists them\n"] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        let of_repository_only = text(&(0..9).map(|number| added(format!(".git/{number}"))).collect());
        assert_eq!(of_repository_only, "CHANGE  SIZE  PATH\nand 9 paths below .git: --quiet lists them\n");
    }

    #[test]
    fn same_files_are_reported() {
        assert_eq!(text(&serde_json::json!([])), "The snapshots have the same files.\n");
        let present = serde_json::json!({ "from": "snap-aaaaaaaaaaaaaaaa", "sandboxId": "agent-42", "changes": [] });
        let present = json::from_value::<SnapshotDiff>(&present).unwrap().text(Timestamp::from_millis(0));
        assert_eq!(present, "The present files of agent-42 are those of the snapshot.\n");
    }
}
