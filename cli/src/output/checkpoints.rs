//! Checkpoints, for people.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::checkpoint::{
    Checkpoint, CheckpointDiff, Checkpoints, CreatedCheckpoint, RestoredCheckpoint,
};

use super::Show;
use super::diff::colorize;
use super::render::{exact_time, lines, relative_time, size};
use super::sanitize::sanitize_for_terminal;
use super::table::{details, table};

/// How many characters of a commit are told.
const COMMIT_CHARS: usize = 10;

impl Show for Checkpoints {
    fn ids(&self) -> Vec<String> {
        self.checkpoints.iter().map(|checkpoint| checkpoint.name.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.checkpoints.is_empty() {
            return "There are no checkpoints in this sandbox.\n".to_owned();
        }
        let row = |checkpoint: &Checkpoint| {
            let commit = checkpoint.commit.chars().take(COMMIT_CHARS).collect();
            let line = checkpoint.description.lines().next().unwrap_or_default().to_owned();
            [checkpoint.name.to_string(), commit, relative_time(checkpoint.created_at, now), line]
        };
        table(["NAME", "COMMIT", "MADE", "MESSAGE"], self.checkpoints.iter().map(row))
    }
}

impl Show for CreatedCheckpoint {
    fn ids(&self) -> Vec<String> {
        vec![self.checkpoint.name.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let Checkpoint { name, commit, created_at, description } = &self.checkpoint;
        details([
            ("checkpoint", name.to_string()),
            ("commit", commit.clone()),
            ("made", exact_time(*created_at, now)),
            ("message", description.clone()),
            ("replaced", self.replaced.clone().unwrap_or_default()),
        ])
    }
}

impl Show for RestoredCheckpoint {
    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let changed = lines(self.changed.iter().map(|path| format!("  {}", sanitize_for_terminal(path))));
        let untold = self.changed_count.saturating_sub(self.changed.len() as u64);
        let untold = if untold > 0 { format!("  and {untold} more\n") } else { String::new() };
        let before = self.before.as_ref();
        let before =
            before.map(|commit| format!("What was there before is the commit {}.\n", sanitize_for_terminal(commit)));
        let went = match self.changed_count {
            0 => format!("The files are as they were at {} already.\n", self.name),
            1 => format!("Back at {}. Changed by it:\n", self.name),
            many => format!("Back at {}. {many} files are changed by it:\n", self.name),
        };
        format!("{went}{changed}{untold}{}", before.unwrap_or_default())
    }
}

impl Show for CheckpointDiff {
    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        colorize(&self.diff)
    }

    fn raw(&self) -> Option<&str> {
        Some(&self.diff)
    }

    fn warning(&self) -> Option<String> {
        let (whole, bytes) = (size(self.size_bytes), self.size_bytes);
        self.truncated.then(|| format!("The diff is cut off; the whole one has {whole}: --max-bytes {bytes}"))
    }
}
