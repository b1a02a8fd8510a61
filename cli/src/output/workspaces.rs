//! The text output of named workspaces.

use sandbox_snapshotter_client::model::named::answer::{
    ForkedWorkspaces, LastSnapshot, RestoredFrom, StartOutcome, StartedWorkspace, WorkspaceDescription, WorkspaceEntry,
    WorkspacePage, WorkspaceProblem,
};
use sandbox_snapshotter_client::model::named::{Address, Autosave, State, Storage, StoragePolicy, TurnEnded};
use sandbox_snapshotter_client::model::{Policy, Runtime, SandboxId, SnapshotId, Timestamp};

use super::hooks::{hook, hooks};
use super::last_snapshot::Described;
use super::loss::{UNSAVED, loss_of};
use super::named::with_target;
use super::render::{duration, exact_time, relative_time, rounded_duration, size, time_limit, with_flags};
use super::sanitize::sanitize_for_terminal;
use super::secrets::secrets_text;
use super::snapshots::{names, next_page_hint};
use super::table::{details, table, table_with_numbers};
use super::{Show, last_snapshot};
use crate::remediation::remediation_or;

/// Returns when a workspace stops automatically. At its idle limit, it continues if files changed.
fn stops(workspace: &WorkspaceDescription, now: Timestamp) -> String {
    let Some(at) = workspace.ends_at else { return String::new() };
    let idle_millis = i64::try_from(workspace.expiry.idle_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let condition = if workspace.active_at.plus_millis(idle_millis) == at { ", or later if files change" } else { "" };
    format!("{}{condition}", exact_time(at, now))
}

/// Returns the name of a runtime; empty if the deployment does not name it.
pub(super) fn runtime(runtime: Option<Runtime>) -> String {
    runtime.map_or_else(String::new, |runtime| runtime.to_string())
}

impl Show for WorkspaceDescription {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        text_of(self, None, now)
    }
}

impl Show for Described {
    fn ids(&self) -> Vec<String> {
        self.workspace.ids()
    }

    fn text(&self, now: Timestamp) -> String {
        text_of(&self.workspace, self.newest.as_ref(), now)
    }
}

fn text_of(described: &WorkspaceDescription, newest: Option<&LastSnapshot>, now: Timestamp) -> String {
    let transitions = described.history.iter();
    let transitions =
        transitions.map(|change| [relative_time(change.at, now), change.to.to_string(), change.cause.clone()]);
    format!("{}\n{}", details(rows(described, newest, now)), table(["WHEN", "STATE", "CAUSE"], transitions))
}

/// Returns the details of a workspace. `newest` is its newest snapshot, if that is known.
pub(super) fn rows(
    described: &WorkspaceDescription,
    newest: Option<&LastSnapshot>,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let [last, of_stop] = last_snapshot::rows(described.last_snapshot.as_ref(), newest, described.last_saved_at, now);
    let problem = described.problem.as_ref();
    vec![
        ("workspace", described.name.to_string()),
        ("tenant", described.tenant.to_string()),
        ("state", described.state.to_string()),
        ("container", container(described)),
        ("sandbox", described.sandbox_id.to_string()),
        ("runtime", runtime(described.runtime)),
        ("former sandboxes", former(&described.former_sandbox_ids)),
        ("directory", described.dir.to_string()),
        ("persistent", if described.persistent { "yes" } else { "no" }.to_owned()),
        ("storage", storage(described.storage).to_owned()),
        ("image", described.image.clone().unwrap_or_default()),
        ("incremental", described.incremental.map_or("", |is_on| if is_on { "yes" } else { "no" }).to_owned()),
        ("retention", policy(&described.retention)),
        ("before stop", described.hooks.before_stop.as_ref().map_or_else(String::new, hook)),
        ("after start", described.hooks.after_start.as_ref().map_or_else(String::new, hook)),
        ("on timeout", described.hooks.on_timeout.as_ref().map_or_else(String::new, hook)),
        ("stops when idle", time_limit(described.expiry.idle_seconds)),
        ("stops at age", time_limit(described.expiry.max_seconds)),
        ("saves", saves(described)),
        ("depends on", described.depends_on.files.join(", ")),
        ("fingerprint", described.depends_on.fingerprint.clone().unwrap_or_default()),
        ("variables", described.env_names.join(", ")),
        ("created", exact_time(described.created_at, now)),
        ("started", described.started_at.map_or_else(String::new, |time| exact_time(time, now))),
        ("restored from", restored_from(described.restored_from.as_ref())),
        ("may be lost", loss_of(described)),
        ("active", exact_time(described.active_at, now)),
        ("stops", stops(described, now)),
        ("unsaved since", described.unsaved_since.map_or_else(String::new, |time| exact_time(time, now))),
        last,
        of_stop,
        ("saved before", described.former_snapshot_id.as_ref().map_or_else(String::new, SnapshotId::to_string)),
        ("platform snapshot", platform_snapshot(described, now)),
        ("problem", problem.map_or_else(String::new, |problem| format!("{}: {}", problem.code, problem.message))),
        ("", problem.map_or_else(String::new, |problem| remediation_of(described, problem))),
    ]
}

/// Returns the former sandboxes of a workspace: the newest ones, and how many there are.
fn former(sandboxes: &[SandboxId]) -> String {
    match sandboxes.get(..MAX_FORMER) {
        Some(newest) if newest.len() < sandboxes.len() => format!("{}, the newest: {}", sandboxes.len(), names(newest)),
        _ => names(sandboxes),
    }
}

/// The maximum number of former sandboxes in the details of a workspace.
const MAX_FORMER: usize = 3;

/// Returns what became of a container that ended without a stop.
fn container(of: &WorkspaceDescription) -> String {
    match of.state {
        _ if !of.container_ended => String::new(),
        State::Stopped => format!("had ended before the stop; {UNSAVED} may be lost"),
        _ if of.last_saved_at.is_none() => "ended without a stop; no snapshot has all of its files".to_owned(),
        _ => format!(
            "ended without a stop; the next start restores the newest snapshot of all files, or else the one it began with; {UNSAVED} may be lost"
        ),
    }
}

fn storage(policy: StoragePolicy) -> &'static str {
    match policy {
        StoragePolicy::Archive => "archive",
        StoragePolicy::Both => "archive and platform snapshot",
        StoragePolicy::Platform => "platform snapshot only",
    }
}

pub(super) fn platform_snapshot(of: &WorkspaceDescription, now: Timestamp) -> String {
    let Some(platform) = &of.platform_snapshot else { return String::new() };
    let state = match &platform.unusable {
        Some(reason) => format!("unusable: {reason}"),
        None => format!("expires {}", exact_time(platform.expires_at, now)),
    };
    format!("{}, {}, {state}", size(platform.size_bytes), exact_time(platform.created_at, now))
}

impl Show for StartedWorkspace {
    fn ids(&self) -> Vec<String> {
        self.description.ids()
    }

    fn text(&self, now: Timestamp) -> String {
        details(started_rows(self, now)) + &hooks(&self.hook_runs)
    }
}

/// Returns the details of a started workspace.
pub(super) fn started_rows(started: &StartedWorkspace, now: Timestamp) -> Vec<(&'static str, String)> {
    let described = &started.description;
    let problem = described.problem.as_ref();
    vec![
        ("workspace", address(described)),
        ("sandbox", described.sandbox_id.to_string()),
        ("files", files_of(started)),
        ("", problem.map_or_else(String::new, |problem| remediation_of(described, problem))),
        (
            "platform snapshot",
            started.platform_fallback.as_ref().map_or_else(String::new, |why| format!("not restored: {why}")),
        ),
        ("may be lost", loss_of(described)),
        ("saved", unsaved(described)),
        ("rescue snapshot", rescue(started.rescue_snapshot_id.as_ref())),
        ("stale", started.stale.join("; ")),
        ("stops", stops(described, now)),
    ]
}

/// Returns when the files of a workspace without a snapshot are saved.
fn unsaved(of: &WorkspaceDescription) -> String {
    match of.last_saved_at {
        None if of.persistent || of.autosave.is_on() => format!("nothing yet; {}", autosave(of.autosave)),
        None => "nothing; its files are gone when it stops".to_owned(),
        Some(_) => String::new(),
    }
}

impl Show for ForkedWorkspaces<StartedWorkspace> {
    fn ids(&self) -> Vec<String> {
        self.forks.iter().filter_map(|fork| fork.value.as_ref()).map(|fork| address(&fork.description)).collect()
    }

    fn text(&self, _: Timestamp) -> String {
        let rows = self.forks.iter().map(|fork| {
            let made = fork.value.as_ref().map(|started| &started.description);
            let name = made.map_or_else(|| fork.name.to_string(), address);
            let sandbox = made.map(|described| described.sandbox_id.to_string());
            let result = fork.error.as_ref().map_or_else(|| "active".to_owned(), |error| error.code.to_string());
            [name, result, sandbox.unwrap_or_default()]
        });
        let rows = table(["WORKSPACE", "STATE", "SANDBOX"], rows);
        let origin = sanitize_for_terminal(self.origin_id.as_str());
        let loss =
            if self.may_have_lost { format!("In the workspace, {UNSAVED} may be lost.\n") } else { String::new() };
        let secrets = match secrets_text(self.secrets.as_ref()) {
            text if text.is_empty() => text,
            text => format!("Files with secrets are {}.\n", sanitize_for_terminal(&text)),
        };
        let (snapshot, made) = (&self.snapshot_id, self.forks.iter().filter(|fork| fork.value.is_some()).count());
        let start = match made {
            0 => format!(
                "No fork was made. The snapshot {snapshot} of {origin} stays: `--from {snapshot}` begins with it.\n"
            ),
            1 => format!("The fork starts from {snapshot} of {origin}.\n"),
            _ => format!("All forks start from {snapshot} of {origin}.\n"),
        };
        format!("{rows}{start}{loss}{secrets}")
    }
}

impl Show for WorkspacePage {
    fn ids(&self) -> Vec<String> {
        self.workspaces.iter().map(|entry| entry.name.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.workspaces.is_empty() {
            return "There are no workspaces.\n".to_owned();
        }
        let are_read = last_snapshot::are_read(&self.workspaces);
        let row = |entry: &WorkspaceEntry| {
            [
                entry.name.to_string(),
                entry.size_bytes.map_or_else(|| "–".to_owned(), size),
                entry.state.to_string(),
                relative_time(entry.updated_at, now),
                last_snapshot::saved(entry, are_read, now),
                runtime(entry.runtime),
                entry.sandbox_id.to_string(),
            ]
        };
        let header = ["NAME", "SIZE", "STATE", "SINCE", "SAVED", "RUNTIME", "SANDBOX"];
        let rows = table_with_numbers(1, header, self.workspaces.iter().map(row));
        format!("{rows}{}", next_page_hint(self.cursor.as_deref()))
    }
}

/// Says when the files of a workspace are saved.
fn saves(described: &WorkspaceDescription) -> String {
    if !described.persistent && !described.autosave.is_on() {
        return "not at stops: the workspace is not persistent".to_owned();
    }
    autosave(described.autosave)
}

/// Formats the settings of automatic saves.
fn autosave(settings: Autosave) -> String {
    if !settings.is_on() {
        return "only at stops".to_owned();
    }
    let every = (settings.every_seconds > 0).then(|| format!("every {}", duration(settings.every_seconds)));
    let turn = settings.after_turn.then(|| "after turns".to_owned());
    let when = every.into_iter().chain(turn).collect::<Vec<_>>().join(" and ");
    let changed = if settings.only_if_changed { " if files changed" } else { "" };
    format!("{when}{changed}; keeps the newest {}", settings.keep_last)
}

impl Show for TurnEnded {
    fn ids(&self) -> Vec<String> {
        Vec::new()
    }

    fn text(&self, now: Timestamp) -> String {
        let time = |time: Option<Timestamp>| time.map_or_else(String::new, |time| exact_time(time, now));
        details([
            ("state", self.state.to_string()),
            ("saves", self.save_due_at.map_or_else(|| "no".to_owned(), |time| exact_time(time, now))),
            ("last snapshot", time(self.last_saved_at)),
            ("unsaved since", time(self.unsaved_since)),
        ])
    }
}

/// Formats a policy on one line.
pub fn policy(policy: &Policy) -> String {
    let mut rules = vec![format!("expires {}", after(policy.expiration_seconds))];
    if let Some(rule) = policy.keep_last {
        let expiration = rule.expiration_seconds.map(|seconds| format!(", which expire {}", after(seconds)));
        let evicted = if rule.delete_evicted { "" } else { ", the others until they expire" };
        rules.push(format!("keeps at most the newest {}{}{evicted}", rule.count, expiration.unwrap_or_default()));
    }
    for (count, unit) in [(policy.keep_daily, "days"), (policy.keep_weekly, "weeks")] {
        if count > 0 {
            rules.push(format!("keeps the newest of each of {count} {unit}"));
        }
    }
    rules.join("; ")
}

fn after(seconds: u64) -> String {
    if seconds == 0 { "never".to_owned() } else { format!("{} after the last use", duration(seconds)) }
}

/// Returns the name, with the tenant if it is not the default one.
pub(super) fn address(described: &WorkspaceDescription) -> String {
    let WorkspaceDescription { name, tenant, .. } = described;
    Address { tenant: tenant.clone(), name: name.clone() }.short()
}

/// Returns the snapshot from which the last start restored the files, with its age at that time.
fn restored_from(from: Option<&RestoredFrom>) -> String {
    from.map_or_else(String::new, |from| {
        let source = match (from.storage, &from.snapshot_id) {
            (Storage::Platform, Some(id)) => format!("a platform snapshot with the files of {id}"),
            (Storage::Archive, Some(id)) => id.to_string(),
            (_, None) => "a platform snapshot".to_owned(),
        };
        format!("{source}, which was {} old", rounded_duration(from.age_seconds))
    })
}

/// Returns how a workspace got its files, or the problem of a running one: its directory is missing.
fn files_of(started: &StartedWorkspace) -> String {
    match &started.description.problem {
        Some(problem) => problem.message.clone(),
        None => files(started.how, started.description.restored_from.as_ref()),
    }
}

/// Returns how to correct the problem of a workspace, with its name in the commands.
fn remediation_of(described: &WorkspaceDescription, problem: &WorkspaceProblem) -> String {
    with_target(&problem_remediation(problem), &format!("@{}", address(described)))
}

pub(super) fn problem_remediation(problem: &WorkspaceProblem) -> String {
    with_flags(remediation_or(problem.code, &problem.remediation))
}

/// Returns how a sandbox got its files.
pub(super) fn files(how: StartOutcome, from: Option<&RestoredFrom>) -> String {
    let restored = restored_from(from);
    match how {
        StartOutcome::Running if restored.is_empty() => "already in place".to_owned(),
        StartOutcome::Running => format!("already in place, restored from {restored}"),
        StartOutcome::Restored => format!("restored from {restored}"),
        StartOutcome::Empty => "none".to_owned(),
        StartOutcome::Adopted => "adopted, as written after the cold start".to_owned(),
    }
}

/// Returns which snapshot has the files from before a restore.
pub(super) fn rescue(id: Option<&SnapshotId>) -> String {
    id.map_or_else(String::new, |id| format!("{id}, with the files from before the restore"))
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn many_former_sandboxes_are_a_number_and_the_newest_ones() {
        let ids = |count| (0..count).map(|number| SandboxId::parse(&format!("s{number}")).unwrap()).collect::<Vec<_>>();
        assert_eq!(former(&ids(3)), "s0, s1, s2");
        assert_eq!(former(&ids(40)), "40, the newest: s0, s1, s2");
    }

    #[test]
    fn forks_that_failed_do_not_start_from_the_snapshot() {
        let text = |forks: Value| {
            let answer = json!({ "snapshotId": "snap-aaaaaaaaaaaaaaaa", "originId": "s", "forks": forks });
            json::from_value::<ForkedWorkspaces<StartedWorkspace>>(&answer).unwrap().text(Timestamp::from_millis(0))
        };
        let error = json!({ "code": "NAME_TAKEN", "message": "No.", "remediation": "Use another.", "at": "2026-11-20T05:00:00.000Z" });
        let failed = text(json!([{ "name": "try", "error": error }]));
        let expected = "No fork was made. The snapshot snap-aaaaaaaaaaaaaaaa of s stays: \
                        `--from snap-aaaaaaaaaaaaaaaa` begins with it.\n";
        assert!(failed.contains(expected) && !failed.contains("start"), "{failed}");
    }
}
