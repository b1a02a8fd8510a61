//! Named workspaces, for people.

use sandbox_snapshotter::model::named::answer::{
    DeletedWorkspace, ForkedWorkspaces, HookRun, StartedWorkspace, StoppedWorkspace, WorkspaceDescription,
    WorkspaceEntry, WorkspacePage,
};
use sandbox_snapshotter::model::named::messages::StartOutcome;
use sandbox_snapshotter::model::named::settings::{Hook, OnFailure};
use sandbox_snapshotter::model::{Policy, Timestamp};

use super::Show;
use super::render::{count, duration, exact_time, lines, relative_time, size, time_limit, with_flags};
use super::sanitize::sanitize_for_terminal;
use super::snapshots::{check_mark, names, next_page_hint};
use super::table::{details, table, table_with_numbers};
use crate::failure::remediation_or;

impl Show for WorkspaceDescription {
    fn ids(&self) -> Vec<String> {
        vec![self.sandbox_id.to_string()]
    }

    fn text(&self, now: Timestamp) -> String {
        let last = self.last_snapshot.as_ref();
        let last =
            last.map(|last| format!("{}, {}, {}", last.id, size(last.size_bytes), exact_time(last.created_at, now)));
        let problem = self.problem.as_ref();
        let rows = [
            ("workspace", self.name.to_string()),
            ("tenant", self.tenant.to_string()),
            ("state", self.state.to_string()),
            ("sandbox", self.sandbox_id.to_string()),
            ("former sandboxes", names(&self.former_sandbox_ids)),
            ("directory", self.dir.to_string()),
            ("persistent", if self.persistent { "yes" } else { "no" }.to_owned()),
            ("retention", policy(&self.retention)),
            ("before a stop", self.hooks.before_stop.as_ref().map_or_else(String::new, hook)),
            ("after a start", self.hooks.after_start.as_ref().map_or_else(String::new, hook)),
            ("on timeout", self.hooks.on_timeout.as_ref().map_or_else(String::new, hook)),
            ("stops when idle", time_limit(self.expiry.idle_seconds)),
            ("stops at age", time_limit(self.expiry.max_seconds)),
            ("depends on", self.depends_on.files.join(", ")),
            ("fingerprint", self.depends_on.fingerprint.clone().unwrap_or_default()),
            ("variables", self.env_names.join(", ")),
            ("made", exact_time(self.created_at, now)),
            ("started", self.started_at.map_or_else(String::new, |time| exact_time(time, now))),
            ("active", exact_time(self.active_at, now)),
            ("ends", self.ends_at.map_or_else(String::new, |time| exact_time(time, now))),
            ("last snapshot", last.unwrap_or_default()),
            ("problem", problem.map_or_else(String::new, |problem| format!("{}: {}", problem.code, problem.message))),
            (
                "",
                problem
                    .map_or_else(String::new, |problem| with_flags(remediation_or(problem.code, &problem.remediation))),
            ),
        ];
        let steps =
            self.history.iter().map(|step| [relative_time(step.at, now), step.to.to_string(), step.cause.clone()]);
        format!("{}\n{}", details(rows), table(["WHEN", "STATE", "BECAUSE"], steps))
    }
}

impl Show for StartedWorkspace {
    fn ids(&self) -> Vec<String> {
        self.description.ids()
    }

    fn text(&self, now: Timestamp) -> String {
        let described = &self.description;
        let files = match (self.how, &self.restored_from) {
            (StartOutcome::Running, _) => "in place already".to_owned(),
            (StartOutcome::Restored, Some(id)) => format!("restored from {id}"),
            (StartOutcome::Restored, None) => "restored".to_owned(),
            (StartOutcome::Empty, _) => "none yet".to_owned(),
            (StartOutcome::Adopted, _) => "the files written since it cold-started".to_owned(),
        };
        let rows = [
            ("workspace", address(described)),
            ("sandbox", described.sandbox_id.to_string()),
            ("files", files),
            (
                "rescue snapshot",
                self.rescue_snapshot_id
                    .as_ref()
                    .map_or_else(String::new, |id| format!("what was there instead, in {id}")),
            ),
            ("stale", self.stale.join("; ")),
            ("ends", described.ends_at.map_or_else(String::new, |time| exact_time(time, now))),
        ];
        details(rows) + &hooks(&self.hook_runs)
    }
}

impl Show for StoppedWorkspace {
    fn ids(&self) -> Vec<String> {
        self.description.last_snapshot.iter().map(|last| last.id.to_string()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        let described = &self.description;
        let last = described.last_snapshot.as_ref();
        let last =
            last.map(|last| format!("{}, {}, {}", last.id, size(last.size_bytes), exact_time(last.created_at, now)));
        let asleep = "it had ended before: what was not in a snapshot then is lost";
        let unsettled = "files were still being changed while it was taken";
        let rows = [
            ("workspace", address(described)),
            ("state", described.state.to_string()),
            ("snapshot", last.unwrap_or_else(|| "none".to_owned())),
            (
                "rescue snapshot",
                self.rescue_snapshot_id
                    .as_ref()
                    .map_or_else(String::new, |id| format!("what was written since, in {id}")),
            ),
            ("had ended", if self.had_ended { asleep } else { "" }.to_owned()),
            ("changed during capture", if self.changed_during_capture { unsettled } else { "" }.to_owned()),
        ];
        details(rows) + &hooks(&self.hook_runs)
    }
}

impl Show for ForkedWorkspaces<StartedWorkspace> {
    fn ids(&self) -> Vec<String> {
        self.forks.iter().filter(|fork| fork.value.is_some()).map(|fork| fork.name.to_string()).collect()
    }

    fn text(&self, _: Timestamp) -> String {
        let rows = self.forks.iter().map(|fork| {
            let sandbox = fork.value.as_ref().map(|started| started.description.sandbox_id.to_string());
            let problem = fork.error.as_ref().map(|error| error.code.to_string());
            [fork.name.to_string(), sandbox.unwrap_or_default(), problem.unwrap_or_default()]
        });
        let rows = table(["WORKSPACE", "SANDBOX", "PROBLEM"], rows);
        format!("{rows}All begin with {} of {}.\n", self.snapshot_id, sanitize_for_terminal(self.origin_id.as_str()))
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
        let row = |entry: &WorkspaceEntry| {
            [
                entry.name.to_string(),
                entry.size_bytes.map_or_else(String::new, size),
                entry.state.to_string(),
                relative_time(entry.updated_at, now),
                entry.sandbox_id.to_string(),
            ]
        };
        let head = ["NAME", "SIZE", "STATE", "SINCE", "SANDBOX"];
        let rows = table_with_numbers(1, head, self.workspaces.iter().map(row));
        format!("{rows}{}", next_page_hint(self.cursor.as_deref()))
    }
}

impl Show for DeletedWorkspace {
    fn ids(&self) -> Vec<String> {
        vec![self.name.to_string()]
    }

    fn text(&self, _: Timestamp) -> String {
        let was = if self.removed { "Deleted" } else { "Gone already:" };
        let snapshots = count(self.removed_snapshots, "snapshot goes", "snapshots go");
        let mut text = format!("{was} {}; {snapshots} with it.\n", self.name);
        if !self.kept.is_empty() {
            let rows = self.kept.iter().map(|kept| {
                let pinned = if kept.pinned { "pinned" } else { "" };
                [kept.snapshot_id.to_string(), kept.origin_id.to_string(), names(&kept.dependents), pinned.to_owned()]
            });
            text += &table(["KEPT FOR NOW", "SANDBOX", "NEEDED BY", ""], rows);
        }
        if !self.pending.is_empty() {
            text += &lines([format!("The snapshots of {} follow.", sanitize_for_terminal(&names(&self.pending)))]);
        }
        text
    }
}

/// A policy, in a row.
pub fn policy(policy: &Policy) -> String {
    let mut words = vec![format!("expires {}", after(policy.expiration_seconds))];
    if let Some(rule) = policy.keep_last {
        let own = rule.expiration_seconds.map(|seconds| format!(", which expire {}", after(seconds)));
        let evicted = if rule.delete_evicted { "" } else { ", the others when they expire" };
        words.push(format!("the newest {}{}{evicted}", rule.count, own.unwrap_or_default()));
    }
    for (count, what) in [(policy.keep_daily, "days"), (policy.keep_weekly, "weeks")] {
        if count > 0 {
            words.push(format!("one of each of {count} {what}"));
        }
    }
    words.join("; ")
}

fn after(seconds: u64) -> String {
    if seconds == 0 { "never".to_owned() } else { format!("{} after the last use", duration(seconds)) }
}

fn hook(hook: &Hook) -> String {
    let failure = match hook.on_failure {
        OnFailure::Fail => "must succeed",
        OnFailure::Warn => "may fail",
    };
    format!("{} ({}, {failure})", hook.command, duration(hook.timeout_seconds.into()))
}

/// What hooks came to, with what they printed.
fn hooks(runs: &[HookRun]) -> String {
    let show = |run: &HookRun| {
        let how = match run.exit_code {
            _ if run.timed_out => "its time was over".to_owned(),
            Some(code) => format!("exit {code}"),
            None => "killed".to_owned(),
        };
        let output = lines(run.output.lines().map(|line| format!("    {}", sanitize_for_terminal(line))));
        format!("{} {} ({how})\n{output}", check_mark(Some(run.ok)), sanitize_for_terminal(&run.hook))
    };
    runs.iter().map(show).collect()
}

/// The name, with the tenant where it is not the usual one.
fn address(described: &WorkspaceDescription) -> String {
    let WorkspaceDescription { name, tenant, .. } = described;
    if tenant.as_str() == sandbox_snapshotter::model::named::Tenant::DEFAULT {
        name.to_string()
    } else {
        format!("{tenant}/{name}")
    }
}
