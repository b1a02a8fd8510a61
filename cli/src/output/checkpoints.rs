//! The text output of checkpoints.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::checkpoint::{
    Checkpoint, CheckpointDescription, CheckpointDiff, CheckpointPage, CreatedCheckpoint, DeletedCheckpoint,
    RestoredCheckpoint,
};

use serde::Deserialize;

use super::Show;
use super::diff::colorize;
use super::render::{exact_time, lines, relative_time, size};
use super::sanitize::sanitize_for_terminal;
use super::table::{details, table};

/// The number of characters of a commit in a list.
const COMMIT_CHARS: usize = 10;

impl Show for CheckpointPage {
    fn ids(&self) -> Vec<String> {
        self.checkpoints.iter().map(|checkpoint| checkpoint.name.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.checkpoints.is_empty() {
            return "There are no checkpoints in this sandbox.\n".to_owned();
        }
        let row = |checkpoint: &Checkpoint| {
            let commit = checkpoint.commit.chars().take(COMMIT_CHARS).collect();
            let line = message(checkpoint).lines().next().unwrap_or_default().to_owned();
            [checkpoint.name.to_string(), commit, relative_time(checkpoint.created_at, now), line]
        };
        table(["NAME", "COMMIT", "CREATED", "MESSAGE"], self.checkpoints.iter().map(row))
    }
}

impl Show for CreatedCheckpoint {
    fn ids(&self) -> Vec<String> {
        vec![self.checkpoint.name.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let Checkpoint { name, commit, created_at, description: _, expires_at } = &self.checkpoint;
        details([
            ("checkpoint", name.to_string()),
            ("commit", commit.clone()),
            ("created", exact_time(*created_at, now)),
            ("expires", expires_at.map(|at| exact_time(at, now)).unwrap_or_default()),
            ("message", message(&self.checkpoint).to_owned()),
            ("replaced", self.replaced.clone().unwrap_or_default()),
        ])
    }
}

/// Returns the message of the user; empty for the text that the Worker sets without one.
fn message(checkpoint: &Checkpoint) -> &str {
    let default = CheckpointDescription::default_for(&checkpoint.name);
    Some(checkpoint.description.as_str()).filter(|text| *text != default.as_str()).unwrap_or_default()
}

/// A restored checkpoint, and where.
#[derive(Debug, Deserialize)]
pub struct Restored {
    /// The checkpoint.
    #[serde(flatten)]
    pub checkpoint: RestoredCheckpoint,
    /// The argument that selects the sandbox.
    #[serde(skip)]
    pub target: String,
}

impl Show for Restored {
    fn ids(&self) -> Vec<String> {
        vec![self.checkpoint.name.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let RestoredCheckpoint { name, before, changed, changed_count, pruned_directories, .. } = &self.checkpoint;
        let omitted = changed_count.saturating_sub(changed.len() as u64);
        let changed = lines(changed.iter().map(|path| format!("  {}", sanitize_for_terminal(path))));
        let omitted = if omitted > 0 { format!("  and {omitted} more\n") } else { String::new() };
        let before = before.as_ref().map(|commit| {
            let (commit, target) = (sanitize_for_terminal(commit), sanitize_for_terminal(&self.target));
            format!(
                "The commit {commit} has the previous files. To get them back:\n  snapshotter exec {target} git update-ref \
                 refs/sandbox/snapshots/undo {commit}\n  snapshotter checkpoint restore {target} undo\n"
            )
        });
        let result = match changed_count {
            0 => format!("The files already match the checkpoint {name}.\n"),
            1 => format!("Restored the checkpoint {name}. 1 file changed:\n"),
            many => format!("Restored the checkpoint {name}. {many} files changed:\n"),
        };
        let pruned = match pruned_directories {
            None => String::new(),
            Some(1) => "Removed 1 empty directory.\n".to_owned(),
            Some(many) => format!("Removed {many} empty directories.\n"),
        };
        format!("{result}{changed}{omitted}{pruned}{}", before.unwrap_or_default())
    }
}

impl Show for DeletedCheckpoint {
    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        if self.removed {
            format!("Deleted the checkpoint {}.\n", self.name)
        } else {
            format!("There is no checkpoint {}.\n", self.name)
        }
    }
}

impl Show for CheckpointDiff {
    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        if self.diff.is_empty() {
            return format!("The files are as in the checkpoint {}.\n", self.name);
        }
        colorize(&self.diff)
    }

    fn raw(&self) -> Option<&str> {
        Some(&self.diff)
    }

    fn warning(&self) -> Option<String> {
        let (complete, bytes) = (size(self.size_bytes), self.size_bytes);
        self.truncated
            .then(|| format!("The diff is truncated. The complete diff has {complete}: pass --max-bytes {bytes}"))
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;

    use super::*;

    #[test]
    fn a_checkpoint_without_a_message_has_no_line_for_it() {
        let text = |description: &str| {
            let checkpoint = serde_json::json!({
                "name": "c1", "commit": "0123456789abcdef", "createdAt": "2026-11-20T05:00:00.000Z", "description": description,
            });
            json::from_value::<CreatedCheckpoint>(&checkpoint).unwrap().text(Timestamp::from_millis(0))
        };
        assert!(!text("snapshot: c1").contains("message"), "{}", text("snapshot: c1"));
        assert!(text("tests pass").contains("tests pass"), "{}", text("tests pass"));
    }
}
