//! The text output of hooks.

use sandbox_snapshotter_client::model::named::answer::HookRun;
use sandbox_snapshotter_client::model::named::settings::{Hook, OnFailure};

use super::render::{duration, lines};
use super::sanitize::sanitize_for_terminal;
use super::snapshots::check_mark;

/// Formats a hook on one line.
pub(super) fn hook(hook: &Hook) -> String {
    let failure = match hook.on_failure {
        OnFailure::Fail => "must succeed",
        OnFailure::Warn => "may fail",
    };
    format!("{} ({}, {failure})", hook.command, duration(hook.timeout_seconds.into()))
}

/// Formats the results of hooks, with their output.
pub(super) fn hooks(runs: &[HookRun]) -> String {
    let show = |run: &HookRun| {
        let result = match run.exit_code {
            _ if run.timed_out => "timed out".to_owned(),
            Some(code) => format!("exit {code}"),
            None => "no exit code".to_owned(),
        };
        let output = lines(run.output.lines().map(|line| format!("    {}", sanitize_for_terminal(line))));
        format!("{} {} ({result})\n{output}", check_mark(Some(run.ok)), sanitize_for_terminal(hook_name(&run.hook)))
    };
    runs.iter().map(show).collect()
}

/// Returns the name of a hook, in the words of the options of this program.
fn hook_name(name: &str) -> &str {
    match name {
        "afterStart" => "after start",
        "beforeStop" => "before stop",
        "onTimeout" => "on timeout",
        name => name,
    }
}
