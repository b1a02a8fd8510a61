//! The text output of a stopped workspace.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::named::answer::StoppedWorkspace;
use serde::Deserialize;

use super::Show;
use super::hooks::hooks;
use super::render::{exact_time, size};
use super::table::details;
use super::workspaces::{address, platform_snapshot, runtime};

/// A stopped workspace.
#[derive(Debug, Deserialize)]
pub struct Stopped {
    /// The workspace.
    #[serde(flatten)]
    pub workspace: StoppedWorkspace,
    /// Whether the stop took no snapshot, because the workspace is not persistent. The last snapshot is an earlier one.
    #[serde(skip)]
    pub not_saved: bool,
}

impl Show for Stopped {
    fn ids(&self) -> Vec<String> {
        let last = self.workspace.description.last_snapshot.iter().filter(|_| !self.not_saved);
        last.map(|last| last.id.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        let StoppedWorkspace { description: described, rescue_snapshot_id, platform_failure, .. } = &self.workspace;
        let last = described.last_snapshot.as_ref();
        let last =
            last.map(|last| format!("{}, {}, {}", last.id, size(last.size_bytes), exact_time(last.created_at, now)));
        let (snapshot, earlier) = match last {
            last if self.not_saved => {
                ("none: the workspace is not persistent".to_owned(), last.unwrap_or_else(|| "none".to_owned()))
            }
            last => (last.unwrap_or_else(|| "none".to_owned()), String::new()),
        };
        let had_ended = "before the stop; files that were not in a snapshot are lost";
        let rows = [
            ("workspace", address(described)),
            ("state", described.state.to_string()),
            ("runtime", runtime(described.runtime)),
            ("snapshot", snapshot),
            ("earlier snapshot", earlier),
            ("platform snapshot", platform_snapshot(described, now)),
            ("platform failure", platform_failure.clone().unwrap_or_default()),
            (
                "rescue snapshot",
                rescue_snapshot_id
                    .as_ref()
                    .map_or_else(String::new, |id| format!("{id}, with the files written after the cold start")),
            ),
            ("had ended", if self.workspace.had_ended { had_ended } else { "" }.to_owned()),
        ];
        details(rows) + &hooks(&self.workspace.hook_runs)
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::json;

    use super::*;
    use crate::output::loss::stop_warnings;

    #[test]
    fn a_stop_without_a_snapshot_shows_the_earlier_one_as_such() {
        let time = "2026-11-20T05:00:00.000Z";
        let answer = json!({
            "name": "w", "tenant": "default", "state": "stopped", "sandboxId": "s", "formerSandboxIds": [], "dir": "/workspace",
            "persistent": false, "retention": { "expirationSeconds": 0 }, "hooks": {}, "expiry": {}, "dependsOn": {},
            "envNames": [], "createdAt": time, "activeAt": time, "history": [], "hadEnded": false,
            "changedDuringCapture": false, "hookRuns": [],
            "lastSnapshot": { "originId": "s", "dir": "/workspace", "id": "snap-aaaaaaaaaaaaaaaa", "sizeBytes": 10, "createdAt": time },
        });
        let mut stopped = json::from_value::<Stopped>(&answer).unwrap();
        let now = Timestamp::try_from(time.to_owned()).unwrap();
        assert!(stopped.text(now).contains("\nsnapshot   snap-aaaaaaaaaaaaaaaa, 10 B, "), "{}", stopped.text(now));
        assert_eq!(stop_warnings(&stopped.workspace).count(), 0);
        stopped.workspace.changed_during_capture = true;
        let warnings: Vec<_> = stop_warnings(&stopped.workspace).collect();
        assert_eq!(warnings, ["files changed during the last capture; the snapshot may contain earlier versions"]);
        stopped.not_saved = true;
        let text = stopped.text(now);
        assert!(text.contains("\nsnapshot          none: the workspace is not persistent\n"), "{text}");
        assert!(text.contains("\nearlier snapshot  snap-aaaaaaaaaaaaaaaa, "), "{text}");
        assert!(stopped.ids().is_empty());
    }
}
