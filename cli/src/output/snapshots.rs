//! The text output of snapshots.

use std::collections::{HashMap, HashSet};

use sandbox_snapshotter_client::model::answer::{
    Deletion, Manifest, Page, Restorability, SnapshotState, Summary, Verification,
};
use sandbox_snapshotter_client::model::freeze::FreezeReport;
use sandbox_snapshotter_client::model::{
    DerivationKind, FullReason, Label, Provenance, SandboxId, SnapshotCause, SnapshotForm, SnapshotId, TakenSnapshot,
    Timestamp, WorkspaceRef,
};
use serde::Deserialize;

use super::Show;
use super::render::{exact_time, lines, relative_time, size, time_limit};
use super::sanitize::sanitize_for_terminal;
use super::secrets::{missing_text, secrets_text};
use super::style::{BAD, FAINT, GOOD, WARNING, styled};
use super::table::{details, table, table_with_numbers};

impl Show for TakenSnapshot {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot.snapshot_id().to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let (snapshot, capture) = (&self.snapshot, &self.capture);
        details([
            ("snapshot", snapshot.snapshot_id().to_string()),
            ("label", capture.label.to_string()),
            ("sandbox", snapshot.origin_id().to_string()),
            ("directory", snapshot.backup().dir().to_string()),
            ("size", size(capture.size_bytes)),
            ("form", with_reason(if capture.form.is_full() { "full" } else { "delta" }, notable(capture.reason))),
            ("based on", capture.base.as_ref().map_or_else(String::new, SnapshotId::to_string)),
            ("taken", exact_time(snapshot.created_at(), now)),
            (
                "changed",
                match capture.changed_during_capture {
                    Some(true) => "files changed during the capture".to_owned(),
                    Some(false) | None => String::new(),
                },
            ),
            (
                "freeze",
                match capture.freeze {
                    Some(FreezeReport { consistent: false, .. }) => {
                        "not consistent: the files were thawed before the end of the capture, or that is not known"
                    }
                    Some(FreezeReport { thawed: false, .. }) => "consistent, but the thaw command did not succeed",
                    Some(_) => "consistent",
                    None => "",
                }
                .to_owned(),
            ),
            ("secrets", secrets_text(capture.secrets.as_ref())),
            ("shared", if capture.shared { "with an earlier call".into() } else { String::new() }),
        ])
    }
}

impl Show for WorkspaceRef {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id().to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        details([
            ("sandbox", self.sandbox_id().to_string()),
            ("lineage of", self.root_id().to_string()),
            ("stale", self.stale().join("; ")),
            ("missing", missing_text(self.missing())),
        ])
    }
}

impl Show for Summary {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot_id.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        details(summary_rows(self, now))
    }
}

impl Show for Page {
    fn ids(&self) -> Vec<String> {
        self.snapshots.iter().map(|snapshot| snapshot.snapshot_id.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        SnapshotList::text_of(self, |_| "", now)
    }
}

/// Snapshots of several sandboxes of a workspace.
#[derive(Debug, Deserialize)]
pub struct SnapshotList {
    /// The snapshots.
    #[serde(flatten)]
    pub page: Page,
    /// The snapshots of the workspace's former sandboxes.
    #[serde(skip)]
    pub former: HashSet<SnapshotId>,
}

impl Show for SnapshotList {
    fn ids(&self) -> Vec<String> {
        self.page.ids()
    }

    /// Marks the snapshots whose labels select another one of the list.
    fn text(&self, now: Timestamp) -> String {
        let mut selected = HashMap::<&Label, &Summary>::new();
        // The newest one is first. A capture in progress gets the label once it is complete.
        for snapshot in self.page.snapshots.iter().rev() {
            let other = selected.get(&snapshot.label).map(|other| other.state);
            if snapshot.state == SnapshotState::Ready || other != Some(SnapshotState::Ready) {
                selected.insert(&snapshot.label, snapshot);
            }
        }
        let note = |snapshot: &Summary| {
            let is_selected = selected.get(&snapshot.label).is_none_or(|it| it.snapshot_id == snapshot.snapshot_id);
            match self.former.contains(&snapshot.snapshot_id) {
                _ if is_selected => "",
                true => "former sandbox",
                false => "older",
            }
        };
        Self::text_of(&self.page, note, now)
    }
}

impl SnapshotList {
    fn text_of(page: &Page, note: impl Fn(&Summary) -> &'static str, now: Timestamp) -> String {
        if page.snapshots.is_empty() {
            return "There are no snapshots.\n".to_owned();
        }
        let row = |snapshot: &Summary| {
            [
                snapshot.snapshot_id.to_string(),
                snapshot.label.to_string(),
                snapshot.size_bytes.map_or_else(String::new, size),
                relative_time(snapshot.created_at, now),
                snapshot.cause.map_or("", SnapshotCause::words).to_owned(),
                expiration(snapshot, now),
                summary_state(snapshot, note(snapshot)),
            ]
        };
        let image = |snapshot: &Summary| snapshot.provenance.as_ref().map_or_else(String::new, Provenance::summary);
        let first = page.snapshots.first().map(image);
        let header = ["ID", "LABEL", "SIZE", "TAKEN", "CAUSE", "EXPIRES", "STATE"];
        // The image is shown where it makes a difference. `snapshot show` shows it always.
        let rows = if page.snapshots.iter().all(|snapshot| Some(image(snapshot)) == first) {
            table_with_numbers(2, header, page.snapshots.iter().map(row))
        } else {
            let [id, label, size, taken, cause, expires, state] = header;
            let with_image = |snapshot: &Summary| {
                let [id, label, size, taken, cause, expires, state] = row(snapshot);
                [id, label, size, taken, cause, expires, image(snapshot), state]
            };
            let header = [id, label, size, taken, cause, expires, "IMAGE", state];
            table_with_numbers(2, header, page.snapshots.iter().map(with_image))
        };
        format!("{rows}{}", next_page_hint(page.cursor.as_deref()))
    }
}

/// Returns the hint for the next page, if there is one.
pub fn next_page_hint(cursor: Option<&str>) -> String {
    cursor.map_or_else(String::new, |cursor| {
        styled(FAINT, &format!("Next page: --cursor {}", sanitize_for_terminal(cursor))) + "\n"
    })
}

impl Show for Manifest {
    fn ids(&self) -> Vec<String> {
        self.summary.ids()
    }

    fn text(&self, now: Timestamp) -> String {
        let parent = self.parent.as_ref().map(|parent| format!("{} of {}", parent.snapshot_id, parent.origin_id));
        let rows = [
            ("sandbox", self.origin_id.to_string()),
            ("lineage of", self.root_id.to_string()),
            ("created from", parent.unwrap_or_default()),
            ("capture began", exact_time(self.capture_began_at, now)),
            ("excludes", self.excludes.join(", ")),
            (
                "gitignore",
                if self.gitignore { "excludes what git ignores, in a repository".into() } else { String::new() },
            ),
            ("secrets", secrets_text(self.secrets.as_ref())),
            ("own expiration", self.expiration_seconds.map_or_else(String::new, time_limit)),
            (
                "usable until",
                self.usable_until.filter(|end| is_soon(*end, now)).map_or_else(String::new, |end| exact_time(end, now)),
            ),
            ("checksum", self.checksum.clone().unwrap_or_default()),
            ("objects", self.objects.join(", ")),
            ("imported", if self.imported { "yes".into() } else { String::new() }),
            (
                "removed",
                self.removal
                    .as_ref()
                    .map_or_else(String::new, |end| format!("{}: {}", exact_time(end.at, now), end.reason)),
            ),
        ];
        let derived = self.derived.iter().map(|derived| {
            let kind = match derived.lineage {
                DerivationKind::Restored => "restored",
                DerivationKind::Branch => "branch",
            };
            let needs = if derived.needs_snapshot { "needs the snapshot" } else { "" };
            [derived.sandbox_id.to_string(), kind.to_owned(), relative_time(derived.began_at, now), needs.to_owned()]
        });
        let mut text = details(summary_rows(&self.summary, now).into_iter().chain(rows));
        if !self.derived.is_empty() {
            text.push('\n');
            text.push_str(&table(["DERIVED SANDBOX", "KIND", "CREATED", ""], derived));
        }
        text
    }
}

impl Show for Deletion {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot_id.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let deltas = self.deltas.iter().map(|delta| format!("Deleted {delta}\n"));
        let kept = self.kept.iter().map(|kept| {
            let until = kept.until.map_or_else(
                || "until they are deleted".to_owned(),
                |until| format!("until {}, or until they are deleted", exact_time(until, now)),
            );
            let ids = join(&kept.deltas);
            format!("Its archive, {}, stays in R2 for the deltas {ids}, {until}.\n", size(kept.bytes))
        });
        let id = &self.snapshot_id;
        let deleted = if self.removed { format!("Deleted {id}\n") } else { format!("{id} was deleted before\n") };
        deltas.chain([deleted]).chain(kept).collect()
    }
}

impl Show for Verification {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot_id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let checks = self.checks.iter().map(|check| {
            format!(
                "{} {}: {}",
                check_mark(check.ok),
                sanitize_for_terminal(&check.name),
                sanitize_for_terminal(&check.detail)
            )
        });
        let verdict = if self.ok { styled(GOOD, "can be restored") } else { styled(BAD, "can't be restored") };
        format!("{}{} {verdict}\n", lines(checks), self.snapshot_id)
    }
}

/// Returns the symbol for the result of a check.
pub fn check_mark(ok: Option<bool>) -> String {
    match ok {
        Some(true) => styled(GOOD, "✓"),
        Some(false) => styled(BAD, "✗"),
        None => styled(WARNING, "–"),
    }
}

/// Returns the details of a snapshot that lists contain, with their names.
fn summary_rows(snapshot: &Summary, now: Timestamp) -> Vec<(&'static str, String)> {
    let restorable = match snapshot.restorable.restorable {
        Restorability::Yes => "yes",
        Restorability::No => "no",
        Restorability::Unknown => "unknown",
    };
    let is_shared = snapshot.shared_bytes.is_some_and(|bytes| bytes > 0);
    let known =
        |part: fn(&Provenance) -> Option<String>| snapshot.provenance.as_ref().and_then(part).unwrap_or_default();
    let why = snapshot.restorable.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    vec![
        ("snapshot", snapshot.snapshot_id.to_string()),
        ("label", snapshot.label.to_string()),
        ("state", snapshot.state.as_str().to_owned()),
        ("cause", snapshot.cause.map_or("", SnapshotCause::words).to_owned()),
        ("restorable", format!("{restorable}{why}")),
        ("directory", snapshot.dir.to_string()),
        ("size", snapshot.size_bytes.map_or_else(String::new, |bytes| format!("{} ({bytes} bytes)", size(bytes)))),
        ("form", with_reason(form_word(snapshot), snapshot.full_reason)),
        ("based on", snapshot.base.as_ref().map_or_else(String::new, SnapshotId::to_string)),
        ("restored bytes", snapshot.total_bytes.map_or_else(String::new, size)),
        ("only its own", snapshot.own_bytes.filter(|_| is_shared).map_or_else(String::new, size)),
        ("shared", snapshot.shared_bytes.filter(|_| is_shared).map_or_else(String::new, size)),
        ("deltas", join(&snapshot.deltas)),
        ("format", snapshot.format.map_or_else(String::new, |format| format.as_str().to_owned())),
        ("image", known(|it| it.image.clone())),
        ("packages", known(|it| it.packages.clone())),
        ("SDK version", known(|it| it.sdk_version.clone())),
        ("class version", known(|it| it.class_version.clone())),
        ("taken", exact_time(snapshot.created_at, now)),
        ("last used", exact_time(snapshot.last_used_at, now)),
        ("expires", snapshot.expires_at.map_or_else(String::new, |end| exact_time(end, now))),
        ("pinned", if snapshot.pinned { "yes".into() } else { String::new() }),
        ("needed by", names(&snapshot.dependents)),
    ]
}

/// Returns the text in the expiration column of a list. A ready snapshot without an expiration is kept: it is pinned, the
/// newest one, or needed.
fn expiration(snapshot: &Summary, now: Timestamp) -> String {
    match snapshot.expires_at {
        Some(end) => relative_time(end, now),
        None if snapshot.state == SnapshotState::Ready => "kept".to_owned(),
        None => String::new(),
    }
}

/// Returns whether a time is in less than ten years. A backup that ends later than that is usable as long as it exists.
const fn is_soon(end: Timestamp, now: Timestamp) -> bool {
    end.millis_since(now) < 10 * 365 * 86_400_000
}

/// Returns the form of a snapshot.
const fn form_word(snapshot: &Summary) -> &'static str {
    match (snapshot.state, snapshot.form) {
        (SnapshotState::Creating, _) => "",
        (_, SnapshotForm::Full) => "full",
        (_, SnapshotForm::Delta) => "delta",
    }
}

/// Returns the reason for a full snapshot, unless it is usual: there is no base, the files are small, or the file system has no deltas.
fn notable(reason: Option<FullReason>) -> Option<FullReason> {
    reason.filter(|reason| !matches!(reason, FullReason::NoBase | FullReason::BaseSmall | FullReason::FileSystem))
}

/// Returns the form of a snapshot, and why it is a full one.
fn with_reason(form: &str, reason: Option<FullReason>) -> String {
    let form = if reason == Some(FullReason::Excludes) { "partial" } else { form };
    reason.map_or_else(|| form.to_owned(), |reason| format!("{form}, because {}", reason.words()))
}

/// Joins the ids of snapshots.
fn join(ids: &[SnapshotId]) -> String {
    ids.iter().map(SnapshotId::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns the text in the state column of a list, with a note about the label.
fn summary_state(snapshot: &Summary, note: &str) -> String {
    let restorable = match snapshot.restorable.restorable {
        Restorability::Yes => "",
        Restorability::No => "not restorable",
        Restorability::Unknown => "R2 did not respond",
    };
    let needed = match snapshot.dependents.len() {
        0 => String::new(),
        count => format!("needed by {count}"),
    };
    let pinned = if snapshot.pinned { "pinned" } else { "" };
    let delta = if snapshot.form == SnapshotForm::Delta { "delta" } else { "" };
    let partial = if snapshot.partial { "partial" } else { "" };
    let words = [snapshot.state.as_str(), note, delta, partial, restorable, pinned, &needed];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Joins the ids of sandboxes.
pub fn names(sandboxes: &[SandboxId]) -> String {
    sandboxes.iter().map(SandboxId::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;

    use super::*;

    #[test]
    fn a_reason_for_a_full_archive_is_plain_text() {
        let time = "2026-11-20T05:00:00.000Z";
        let summary = serde_json::json!({
            "snapshotId": "snap-aaaaaaaaaaaaaaaa", "label": "first", "state": "ready", "dir": "/workspace", "createdAt": time,
            "ageSeconds": 0, "fullReason": "fileSystem", "lastUsedAt": time, "pinned": false, "dependents": [],
            "restorable": "yes",
        });
        let text = json::from_value::<Summary>(&summary).unwrap().text(Timestamp::from_millis(0));
        assert!(text.contains("form        full, because the file system may not record all changes\n"), "{text}");
    }

    #[test]
    fn the_usual_reasons_for_a_full_archive_are_no_news() {
        let usual = [FullReason::NoBase, FullReason::BaseSmall, FullReason::FileSystem];
        assert!(usual.iter().all(|usual| notable(Some(*usual)).is_none()));
        assert_eq!(notable(Some(FullReason::Clock)), Some(FullReason::Clock));
    }
}
