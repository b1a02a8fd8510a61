//! The last snapshot of a workspace in its details, and in the list of workspaces.

use sandbox_snapshotter_client::model::named::State;
use sandbox_snapshotter_client::model::named::answer::{LastSnapshot, WorkspaceDescription, WorkspaceEntry};
use sandbox_snapshotter_client::model::{Code, Timestamp};
use serde::Deserialize;

use super::render::{exact_time, relative_time, size};

/// A workspace with its newest snapshot, if that is not the one of its last stop.
#[derive(Debug, Deserialize)]
pub struct Described {
    /// The workspace.
    #[serde(flatten)]
    pub workspace: WorkspaceDescription,
    /// The snapshot of the time [`WorkspaceDescription::last_saved_at`].
    #[serde(skip)]
    pub newest: Option<LastSnapshot>,
}

/// Returns the details of the last snapshot, and of that of the last stop if it is an earlier one. `saved_at` is the time of the
/// last snapshot of any kind, and `newest` that snapshot if it is known.
pub fn rows(
    of_stop: Option<&LastSnapshot>,
    newest: Option<&LastSnapshot>,
    saved_at: Option<Timestamp>,
    now: Timestamp,
) -> [(&'static str, String); 2] {
    let text =
        |last: &LastSnapshot| format!("{}, {}, {}", last.id, size(last.size_bytes), exact_time(last.created_at, now));
    let stop = of_stop.map(text).unwrap_or_default();
    match saved_at.filter(|saved| of_stop.is_none_or(|last| last.created_at < *saved)) {
        Some(saved) => [("last snapshot", newest.map_or_else(|| exact_time(saved, now), text)), ("at last stop", stop)],
        None => [("last snapshot", stop), ("at last stop", String::new())],
    }
}

/// The largest number of workspaces of a page whose newest snapshots are read: each one is a call.
const MAX_READ: usize = 100;

/// Returns whether a workspace may have a newer snapshot than the list knows: it has none of those that callers take.
pub fn may_be_newer(entry: &WorkspaceEntry) -> bool {
    entry.state == State::Active || entry.last_saved_at.is_none()
}

/// Returns whether the newest snapshots are read of the workspaces on a page that may have newer ones.
pub fn are_read(page: &[WorkspaceEntry]) -> bool {
    page.iter().filter(|entry| may_be_newer(entry)).count() <= MAX_READ
}

/// Formats when the last snapshot of a workspace was taken: `?` if the list knows none, and none was read.
pub fn saved(entry: &WorkspaceEntry, are_read: bool, now: Timestamp) -> String {
    let none = if are_read { "never" } else { "?" };
    let saved = entry.last_saved_at.map_or_else(|| none.to_owned(), |time| relative_time(time, now));
    match entry {
        WorkspaceEntry { container_ended: true, .. }
        | WorkspaceEntry { problem_code: Some(Code::NothingRestorable), .. } => {
            format!("{saved}, changes may be lost")
        }
        WorkspaceEntry { unsaved_since: Some(_), .. } => format!("{saved}, then failed"),
        _ => saved,
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_snapshot_is_that_of_the_last_stop_or_a_later_one() {
        let time = |second: u8| Timestamp::try_from(format!("2026-11-20T05:00:0{second}.000Z")).unwrap();
        let of_stop = json!({
            "id": "snap-aaaaaaaaaaaaaaaa", "originId": "s", "dir": "/workspace", "sizeBytes": 5,
            "createdAt": "2026-11-20T05:00:02.000Z",
        });
        let of_stop: LastSnapshot = json::from_value(&of_stop).unwrap();
        let text = |of_stop, saved_at| rows(of_stop, None, saved_at, time(4)).map(|(_, text)| text);
        let stop = "snap-aaaaaaaaaaaaaaaa, 5 B, 2026-11-20T05:00:02.000Z (2 s ago)";
        assert_eq!(text(Some(&of_stop), Some(time(1))), [stop, ""]);
        assert_eq!(text(Some(&of_stop), Some(time(2))), [stop, ""]);
        assert_eq!(text(Some(&of_stop), Some(time(3))), ["2026-11-20T05:00:03.000Z (1 s ago)", stop]);
        assert_eq!(text(None, Some(time(3))), ["2026-11-20T05:00:03.000Z (1 s ago)", ""]);
        assert_eq!(text(None, None), ["", ""]);
        let of_rollback = rows(None, Some(&of_stop), Some(time(2)), time(4));
        assert_eq!(of_rollback.map(|(_, text)| text), [stop, ""]);
    }
}
