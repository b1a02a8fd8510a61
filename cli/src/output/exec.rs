//! The text output of commands that ran, and of the start of a workspace for a command. `exec` prints the outputs of the
//! command itself, except in JSON mode.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::exec::{ExecResult, StartedForExec};

use super::Show;
use super::workspaces::{files, possible_loss};

impl Show for ExecResult {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        self.stdout.clone()
    }
}

/// Returns the warning about a start after which files may be lost.
pub fn loss_warning(started: &StartedForExec) -> Option<String> {
    let loss = possible_loss(started.may_have_lost, started.lost_since, started.restored_from.as_ref());
    let files = files(started.how, started.restored_from.as_ref());
    (!loss.is_empty()).then(|| format!("the files were {files}; {loss} may be lost"))
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::json;

    use super::*;

    fn warning(may_have_lost: bool, lost_since: Option<&str>) -> Option<String> {
        let from =
            json!({ "snapshotId": "snap-aaaaaaaaaaaaaaaa", "createdAt": "2026-01-01T00:00:00.000Z", "ageSeconds": 4 });
        let started =
            json!({ "how": "restored", "restoredFrom": from, "mayHaveLost": may_have_lost, "lostSince": lost_since });
        loss_warning(&json::from_value(&started).unwrap())
    }

    #[test]
    fn a_start_that_may_have_lost_files_has_a_warning() {
        assert_eq!(
            warning(true, Some("2026-01-01T00:00:00.000Z")).unwrap(),
            "the files were restored from snap-aaaaaaaaaaaaaaaa, which was 4 s old; files that were newer than the \
             snapshot may be lost"
        );
        assert_eq!(warning(false, None), None);
    }

    #[test]
    fn a_loss_before_the_restored_snapshot_is_reported_with_its_time() {
        assert_eq!(
            warning(true, Some("2025-12-31T00:00:00.000Z")).unwrap(),
            "the files were restored from snap-aaaaaaaaaaaaaaaa, which was 4 s old; files that were written after \
             2025-12-31T00:00:00.000Z may be lost"
        );
    }
}
