//! The text output of a workspace that continues in another sandbox, or with other settings.

use sandbox_snapshotter_client::model::named::answer::{StartedWorkspace, WorkspaceDescription};
use sandbox_snapshotter_client::model::request::SettingsUpdate;
use sandbox_snapshotter_client::model::{SnapshotId, Timestamp};
use serde::Deserialize;

use super::Show;
use super::hooks::hooks;
use super::loss::loss_of;
use super::table::details;
use super::workspaces::{address, rows, started_rows};

/// A workspace that was started from a snapshot, in a new sandbox.
#[derive(Debug, Deserialize)]
pub struct StartedFrom {
    /// The workspace.
    #[serde(flatten)]
    pub started: StartedWorkspace,
}

impl Show for StartedFrom {
    fn ids(&self) -> Vec<String> {
        self.started.ids()
    }

    fn text(&self, now: Timestamp) -> String {
        let rows = started_rows(&self.started, now).into_iter().chain([saved_before(&self.started.description)]);
        details(rows) + &hooks(&self.started.hook_runs)
    }
}

/// Returns which snapshot has the files that the workspace had before.
fn saved_before(described: &WorkspaceDescription) -> (&'static str, String) {
    ("saved before", described.former_snapshot_id.as_ref().map_or_else(String::new, SnapshotId::to_string))
}

/// A workspace after a rollback or a promotion.
#[derive(Debug, Deserialize)]
pub struct SwitchedWorkspace {
    /// The workspace.
    #[serde(flatten)]
    pub description: WorkspaceDescription,
    /// What happened to its files.
    #[serde(skip)]
    pub files: String,
}

impl Show for SwitchedWorkspace {
    fn ids(&self) -> Vec<String> {
        self.description.ids()
    }

    fn text(&self, _: Timestamp) -> String {
        let described = &self.description;
        details([
            ("workspace", address(described)),
            ("state", described.state.to_string()),
            ("sandbox", described.sandbox_id.to_string()),
            ("files", self.files.clone()),
            ("may be lost", loss_of(described)),
            saved_before(described),
        ])
    }
}

/// A workspace whose settings were changed.
#[derive(Debug, Deserialize)]
pub struct UpdatedWorkspace {
    /// The workspace.
    #[serde(flatten)]
    pub description: WorkspaceDescription,
    /// The settings that were changed.
    #[serde(skip)]
    pub changed: SettingsUpdate,
}

impl Show for UpdatedWorkspace {
    fn ids(&self) -> Vec<String> {
        self.description.ids()
    }

    /// Shows the settings that were changed. `workspace show` shows all.
    fn text(&self, now: Timestamp) -> String {
        let changed = changed_rows(&self.changed);
        if changed.is_empty() {
            return self.description.text(now);
        }
        let rows = rows(&self.description, None, now).into_iter().filter_map(|(name, text)| match name {
            _ if changed.contains(&name) => Some((name, if text.is_empty() { "none".to_owned() } else { text })),
            "workspace" | "state" | "problem" | "" => Some((name, text)),
            _ => None,
        });
        details(rows)
    }
}

/// Returns the names of the details that show these settings.
fn changed_rows(changed: &SettingsUpdate) -> Vec<&'static str> {
    let SettingsUpdate {
        persistent,
        storage,
        durable,
        incremental,
        image,
        retention,
        hooks,
        expiry,
        autosave,
        depends_on,
        env,
    } = changed;
    let names: [(bool, &[&str]); 10] = [
        (persistent.is_some(), &["persistent"]),
        (storage.is_some() || durable.is_some(), &["storage"]),
        (incremental.is_some(), &["incremental"]),
        (image.is_some(), &["image"]),
        (retention.is_some(), &["retention"]),
        (hooks.is_some(), &["before stop", "after start", "on timeout"]),
        (expiry.is_some(), &["stops when idle", "stops at age", "stops"]),
        (autosave.is_some(), &["saves"]),
        (depends_on.is_some(), &["depends on", "fingerprint"]),
        (env.is_some(), &["variables"]),
    ];
    names.into_iter().filter(|(is_changed, _)| *is_changed).flat_map(|(_, names)| names.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::{SandboxId, WorkspaceRef, json};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_start_from_a_snapshot_says_where_the_former_files_are() {
        let id = |id| SandboxId::parse(id).unwrap();
        let time = "2026-11-20T05:00:00.000Z";
        let answer = json!({
            "name": "w", "tenant": "default", "state": "active", "sandboxId": "s2", "formerSandboxIds": ["s"],
            "dir": "/workspace", "persistent": true, "retention": { "expirationSeconds": 0 }, "hooks": {}, "expiry": {},
            "dependsOn": {}, "envNames": [], "createdAt": time, "activeAt": time, "history": [], "how": "restored", "stale": [],
            "hookRuns": [], "formerSnapshotId": "snap-aaaaaaaaaaaaaaaa",
            "workspace": WorkspaceRef::new(id("s2"), id("s")),
        });
        let started = json::from_value::<StartedFrom>(&answer).unwrap();
        let text = started.text(Timestamp::from_millis(0));
        assert!(text.contains("\nsaved before  snap-aaaaaaaaaaaaaaaa\n"), "{text}");
    }

    #[test]
    fn an_update_shows_the_settings_that_were_changed() {
        use sandbox_snapshotter_client::model::named::settings::{Expiry, Hooks};
        let time = "2026-11-20T05:00:00.000Z";
        let answer = json!({
            "name": "w", "tenant": "default", "state": "stopped", "sandboxId": "s", "formerSandboxIds": [],
            "dir": "/workspace", "persistent": true, "retention": { "expirationSeconds": 0 }, "hooks": {},
            "expiry": { "idleSeconds": 3600, "maxSeconds": 0 }, "dependsOn": {}, "envNames": [], "createdAt": time,
            "activeAt": time, "history": [],
        });
        let text = |changed: SettingsUpdate| {
            let updated = UpdatedWorkspace { changed, ..json::from_value(&answer).unwrap() };
            updated.text(Timestamp::from_millis(0))
        };
        let lines =
            |text: &str| text.lines().map(|line| line.split("  ").next().unwrap().to_owned()).collect::<Vec<_>>();
        let expiry = text(SettingsUpdate { expiry: Some(Expiry::default()), ..SettingsUpdate::default() });
        assert_eq!(lines(&expiry), ["workspace", "state", "stops when idle", "stops at age", "stops"], "{expiry}");
        assert!(expiry.contains("stops when idle  1 h\n"), "{expiry}");
        let hooks = text(SettingsUpdate { hooks: Some(Hooks::default()), ..SettingsUpdate::default() });
        assert!(hooks.contains("before stop  none\n") && !hooks.contains("retention"), "{hooks}");
        assert!(text(SettingsUpdate::default()).contains("retention"));
    }
}
