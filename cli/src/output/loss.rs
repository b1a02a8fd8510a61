//! The warnings of files that may be lost.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::exec::StartedForExec;
use sandbox_snapshotter_client::model::named::answer::{
    RestoredFrom, StartOutcome, StoppedWorkspace, WorkspaceDescription,
};

use super::workspaces::files;

/// The files that may be lost where a container ended.
pub const UNSAVED: &str = "changes that are in no snapshot";

/// Returns the warning about a start after which files may be lost, or that restored none. That of a workspace that was running
/// repeats the one of its last start, whose answer may not have been received.
pub fn loss_warning(started: &StartedForExec) -> Option<String> {
    let loss = possible_loss(started.may_have_lost, started.lost_since, started.restored_from.as_ref());
    let files = match (started.how, started.restored_from.as_ref()) {
        (StartOutcome::Running | StartOutcome::Empty, None) => "no snapshot was restored".to_owned(),
        (StartOutcome::Running, from) => format!("the files were {}", files(StartOutcome::Restored, from)),
        (how, from) => format!("the files were {}", files(how, from)),
    };
    let when = if started.how == StartOutcome::Running { "repeated from its last start: " } else { "" };
    if loss.is_empty() {
        return (started.how == StartOutcome::Empty).then(|| "the workspace was started without files".to_owned());
    }
    Some(format!("{when}{files}; {loss} may be lost"))
}

/// Returns the warning about a workspace whose answer to a start says that files may be lost.
pub fn loss_warning_of(described: &WorkspaceDescription) -> Option<String> {
    let (loss, from) = (loss_of(described), described.restored_from.as_ref());
    (!loss.is_empty()).then(|| match from {
        Some(from) => format!("the files were {}; {loss} may be lost", files(StartOutcome::Restored, Some(from))),
        None => format!("{loss} may be lost"),
    })
}

/// Returns the warning about a workspace that was rolled back, or to which the files of `promoted` were promoted. The switch itself loses
/// nothing: its answer repeats what was lost before, because a container ended without a stop or its files could not be captured.
pub fn switch_warning(described: &WorkspaceDescription, promoted: Option<&str>) -> Option<String> {
    let loss = loss_of(described);
    let loss = promoted.map_or_else(|| loss.clone(), |promoted| format!("{loss}, of {promoted} or of this workspace,"));
    (described.may_have_lost == Some(true)).then(|| match &described.former_snapshot_id {
        Some(saved) => format!("{saved} has the files from before; earlier, {loss} may be lost"),
        None => format!("before this, files were not saved: {loss} may be lost"),
    })
}

/// Returns the warnings about a stopped workspace. That of a container that had ended includes what its start may have lost. Otherwise
/// the stop loses only what was written during its last capture: its answer repeats what the start may have lost.
pub fn stop_warnings(stopped: &StoppedWorkspace) -> impl Iterator<Item = String> + use<> {
    let described = &stopped.description;
    let ended = || format!("the container had ended before the stop; {UNSAVED} may be lost");
    let at_start = || loss_warning_of(described).map(|warning| format!("at its last start, {warning}"));
    let changed = "files changed during the last capture; the snapshot may contain earlier versions".to_owned();
    let changed = stopped.changed_during_capture.then_some(changed);
    described.container_ended.then(ended).or_else(at_start).into_iter().chain(changed)
}

/// Returns which files a workspace may have lost.
pub(super) fn loss_of(described: &WorkspaceDescription) -> String {
    possible_loss(described.may_have_lost, described.lost_since, described.restored_from.as_ref())
}

/// Returns which files may be lost: those that are in no snapshot. Names the time since when, unless it is that of the restored
/// snapshot, or the newer partial snapshot, which no start restores.
pub(super) fn possible_loss(
    may_have_lost: Option<bool>,
    since: Option<Timestamp>,
    from: Option<&RestoredFrom>,
) -> String {
    if let Some(partial) = from.and_then(|from| from.newer_partial_id.as_ref()).filter(|_| may_have_lost == Some(true))
    {
        return format!("newer changes that are not in the partial snapshot {partial}");
    }
    match since.filter(|since| from.is_none_or(|from| *since != from.created_at)) {
        _ if may_have_lost != Some(true) => String::new(),
        Some(since) => format!("{UNSAVED}, and were made after {since},"),
        None => UNSAVED.to_owned(),
    }
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
            "the files were restored from snap-aaaaaaaaaaaaaaaa, which was 4 s old; changes that are in no \
             snapshot may be lost"
        );
        assert_eq!(warning(false, None), None);
    }

    #[test]
    fn the_warning_names_a_newer_partial_snapshot() {
        let from = json!({
            "snapshotId": "snap-aaaaaaaaaaaaaaaa", "createdAt": "2026-01-01T00:00:00.000Z", "ageSeconds": 4,
            "newerPartialId": "snap-bbbbbbbbbbbbbbbb",
        });
        let started = json!({ "how": "restored", "restoredFrom": from, "mayHaveLost": true });
        let warning = loss_warning(&json::from_value(&started).unwrap()).unwrap();
        let loss = "; newer changes that are not in the partial snapshot snap-bbbbbbbbbbbbbbbb may be lost";
        assert!(warning.ends_with(loss), "{warning}");
    }

    #[test]
    fn an_empty_start_that_lost_nothing_is_a_warning_too() {
        let started = json::from_value(&json!({ "how": "empty" })).unwrap();
        assert_eq!(loss_warning(&started).unwrap(), "the workspace was started without files");
    }

    #[test]
    fn a_start_without_a_snapshot_does_not_say_that_files_are_in_place() {
        for (how, expected) in [
            (
                "running",
                "repeated from its last start: no snapshot was restored; changes that are in no snapshot may be lost",
            ),
            ("empty", "no snapshot was restored; changes that are in no snapshot may be lost"),
            (
                "adopted",
                "the files were adopted, as written after the cold start; changes that are in no snapshot may be lost",
            ),
        ] {
            let started = json!({ "how": how, "mayHaveLost": true });
            assert_eq!(loss_warning(&json::from_value(&started).unwrap()).unwrap(), expected);
        }
    }

    #[test]
    fn a_rollback_repeats_a_loss_as_one_of_before() {
        let warning_of = |may_have_lost: bool, saved: Option<&str>, promoted| {
            let time = "2026-11-20T05:00:00.000Z";
            let answer = json!({
                "name": "w", "tenant": "default", "state": "active", "sandboxId": "s2", "formerSandboxIds": ["s"],
                "dir": "/workspace", "persistent": true, "retention": { "expirationSeconds": 0 }, "hooks": {},
                "expiry": {}, "dependsOn": {}, "envNames": [], "createdAt": time, "activeAt": time, "history": [],
                "mayHaveLost": may_have_lost, "formerSnapshotId": saved,
            });
            switch_warning(&json::from_value(&answer).unwrap(), promoted)
        };
        let warning = |may_have_lost, saved| warning_of(may_have_lost, saved, None);
        assert_eq!(
            warning_of(true, Some("snap-aaaaaaaaaaaaaaaa"), Some("@fork")).unwrap(),
            "snap-aaaaaaaaaaaaaaaa has the files from before; earlier, changes that are in no snapshot, of @fork or of this \
             workspace, may be lost"
        );
        assert_eq!(
            warning(true, None).unwrap(),
            "before this, files were not saved: changes that are in no snapshot may be lost"
        );
        assert_eq!(
            warning(true, Some("snap-aaaaaaaaaaaaaaaa")).unwrap(),
            "snap-aaaaaaaaaaaaaaaa has the files from before; earlier, changes that are in no snapshot may be lost"
        );
        assert_eq!(warning(false, None), None);
    }

    #[test]
    fn a_loss_before_the_restored_snapshot_is_reported_with_its_time() {
        assert_eq!(
            warning(true, Some("2025-12-31T00:00:00.000Z")).unwrap(),
            "the files were restored from snap-aaaaaaaaaaaaaaaa, which was 4 s old; changes that are in no snapshot, and \
             were made after 2025-12-31T00:00:00.000Z, may be lost"
        );
    }
}
