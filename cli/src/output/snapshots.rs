//! Snapshots, for people.

use sandbox_snapshotter::model::answer::{Answer, Deletion, Manifest, Page, Summary, Verification};
use sandbox_snapshotter::model::{Lineage, SandboxId, Taken, Timestamp, WorkspaceRef};

use super::Show;
use super::harmless::safe;
use super::style::{BAD, FAINT, GOOD, WARNING, styled};
use super::table::{details, table, table_with_numbers};
use super::words::{limit, lines, moment, size, when};

impl Show for Taken {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot.snapshot_id().to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let (snapshot, capture) = (&self.snapshot, &self.capture);
        details([
            ("snapshot", snapshot.snapshot_id().to_string()),
            ("tag", capture.label.to_string()),
            ("sandbox", snapshot.origin_id().to_string()),
            ("directory", snapshot.backup().dir().to_string()),
            ("size", size(capture.size_bytes)),
            ("taken", moment(snapshot.created_at(), now)),
            ("shared", if capture.shared { "with a caller who asked earlier".into() } else { String::new() }),
        ])
    }
}

impl Show for WorkspaceRef {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id().to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        details([("sandbox", self.sandbox_id().to_string()), ("lineage of", self.root_id().to_string())])
    }
}

impl Show for Summary {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot_id.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        details(described(self, now))
    }
}

impl Show for Page {
    fn ids(&self) -> Vec<String> {
        self.snapshots.iter().map(|snapshot| snapshot.snapshot_id.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.snapshots.is_empty() {
            return "There are no snapshots.\n".to_owned();
        }
        let row = |snapshot: &Summary| {
            [
                snapshot.snapshot_id.to_string(),
                snapshot.label.to_string(),
                snapshot.size_bytes.map_or_else(String::new, size),
                when(snapshot.created_at, now),
                snapshot.expires_at.map_or_else(String::new, |end| when(end, now)),
                state(snapshot),
            ]
        };
        let rows =
            table_with_numbers(2, ["ID", "TAG", "SIZE", "TAKEN", "EXPIRES", "STATE"], self.snapshots.iter().map(row));
        format!("{rows}{}", further(self.cursor.as_deref()))
    }
}

/// How to get the next page.
pub fn further(cursor: Option<&str>) -> String {
    cursor
        .map_or_else(String::new, |cursor| styled(FAINT, &format!("There are more: --cursor {}", safe(cursor))) + "\n")
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
            ("sandbox made from", parent.unwrap_or_default()),
            ("capture began", moment(self.capture_began_at, now)),
            ("excludes", self.excludes.join(", ")),
            ("gitignore", if self.gitignore { "left out".into() } else { String::new() }),
            ("own expiration", self.expiration_seconds.map_or_else(String::new, limit)),
            ("usable until", self.usable_until.map_or_else(String::new, |end| moment(end, now))),
            ("checksum", self.checksum.clone().unwrap_or_default()),
            ("objects", self.objects.join(", ")),
            ("imported", if self.imported { "yes".into() } else { String::new() }),
            (
                "let go",
                self.ended.as_ref().map_or_else(String::new, |end| format!("{}: {}", moment(end.at, now), end.reason)),
            ),
        ];
        let made = self.derived.iter().map(|made| {
            let how = match made.lineage {
                Lineage::Restored => "restored",
                Lineage::Branch => "branch",
            };
            let holds = if made.holds { "needs it" } else { "" };
            [made.sandbox_id.to_string(), how.to_owned(), when(made.began_at, now), holds.to_owned()]
        });
        let mut text = details(described(&self.summary, now).into_iter().chain(rows));
        if !self.derived.is_empty() {
            text.push('\n');
            text.push_str(&table(["MADE FROM IT", "HOW", "WHEN", ""], made));
        }
        text
    }
}

impl Show for Deletion {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot_id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let was = if self.removed { "Deleted" } else { "Gone already:" };
        format!("{was} {}\n", self.snapshot_id)
    }
}

impl Show for Verification {
    fn ids(&self) -> Vec<String> {
        vec![self.snapshot_id.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let found = self
            .checks
            .iter()
            .map(|check| format!("{} {}: {}", mark(check.ok), safe(&check.name), safe(&check.detail)));
        let verdict = if self.ok { styled(GOOD, "can be restored") } else { styled(BAD, "can't be restored") };
        format!("{}{} {verdict}\n", lines(found), self.snapshot_id)
    }
}

/// What a check found, at a glance.
pub fn mark(ok: Option<bool>) -> String {
    match ok {
        Some(true) => styled(GOOD, "✓"),
        Some(false) => styled(BAD, "✗"),
        None => styled(WARNING, "–"),
    }
}

/// What lists know of a snapshot, by names.
fn described(snapshot: &Summary, now: Timestamp) -> Vec<(&'static str, String)> {
    let restorable = match snapshot.restorable.restorable {
        Answer::Yes => "yes",
        Answer::No => "no",
        Answer::Unknown => "not known",
    };
    let why = snapshot.restorable.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    vec![
        ("snapshot", snapshot.snapshot_id.to_string()),
        ("tag", snapshot.label.to_string()),
        ("state", snapshot.state.as_str().to_owned()),
        ("restorable", format!("{restorable}{why}")),
        ("directory", snapshot.dir.to_string()),
        ("size", snapshot.size_bytes.map_or_else(String::new, |bytes| format!("{} ({bytes} bytes)", size(bytes)))),
        ("taken", moment(snapshot.created_at, now)),
        ("last used", moment(snapshot.last_used_at, now)),
        ("expires", snapshot.expires_at.map_or_else(String::new, |end| moment(end, now))),
        ("pinned", if snapshot.pinned { "yes".into() } else { String::new() }),
        ("needed by", names(&snapshot.holders)),
    ]
}

/// What is to be known of a snapshot in a list.
fn state(snapshot: &Summary) -> String {
    let restorable = match snapshot.restorable.restorable {
        Answer::Yes => "",
        Answer::No => "not restorable",
        Answer::Unknown => "R2 does not say",
    };
    let held = match snapshot.holders.len() {
        0 => String::new(),
        count => format!("held by {count}"),
    };
    let pinned = if snapshot.pinned { "pinned" } else { "" };
    let words = [snapshot.state.as_str(), restorable, pinned, &held];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Several sandboxes, in a row.
pub fn names(sandboxes: &[SandboxId]) -> String {
    sandboxes.iter().map(SandboxId::as_str).collect::<Vec<_>>().join(", ")
}
