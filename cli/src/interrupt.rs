//! Signals that interrupt a command. The command ends at once, and reports the state of its call.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, print_failure, print_final_json, print_note};

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The call changes nothing.
    Reads,
    /// The call may change something.
    Changes,
    /// The call runs a command in a sandbox, which is killed with the connection.
    RunsCommand,
}

/// A call in progress.
#[derive(Clone, Debug)]
struct ActiveCall {
    effect: Effect,
    key: Option<String>,
}

static ACTIVE_CALL: Mutex<Option<ActiveCall>> = Mutex::new(None);

/// Whether an earlier call of the command may have changed something.
static HAS_CHANGED: AtomicBool = AtomicBool::new(false);

/// Installs the signal handler, which reports the interruption and ends the command. If a signal is ignored, as under
/// `nohup`, no handler is installed, and all signals keep their behavior.
pub fn watch(output: Output, command: String) {
    let installed = ctrlc::try_set_handler(move || {
        let active = ACTIVE_CALL.lock().ok().and_then(|active| active.clone());
        if std::io::stderr().is_terminal() {
            // The current line contains the spinner or `^C`.
            print_note("\n");
        }
        let failure = interrupt_failure(active.as_ref(), HAS_CHANGED.load(Ordering::Relaxed), &command);
        print_failure(&failure);
        let end = || std::process::exit(Exit::Interrupted.number().into());
        match &failure {
            Failure::Reported(report) if output.json => print_final_json(&report.envelope(&command), end),
            _ => end(),
        }
    });
    // Without this handler, the platform's default handler ends the command.
    drop(installed);
}

/// Records that a call is in progress, until the returned value is dropped.
pub fn track_call(effect: Effect, key: Option<&str>) -> impl Drop + use<> {
    set_active_call(Some(ActiveCall { effect, key: key.map(str::to_owned) }));
    CallTracker(effect)
}

struct CallTracker(Effect);

impl Drop for CallTracker {
    fn drop(&mut self) {
        HAS_CHANGED.fetch_or(self.0 != Effect::Reads, Ordering::Relaxed);
        set_active_call(None);
    }
}

fn set_active_call(call: Option<ActiveCall>) {
    if let Ok(mut active) = ACTIVE_CALL.lock() {
        *active = call;
    }
}

/// Returns the failure of an interrupted command. It is retryable if repeating the command has no further effect.
fn interrupt_failure(active: Option<&ActiveCall>, has_changed: bool, command: &str) -> Failure {
    let unfinished = "The call was interrupted. The server either completes the operation or rolls it back.";
    let (message, remediation, is_repeatable) = match active {
        None | Some(ActiveCall { effect: Effect::Reads, .. }) if has_changed => (
            "The command was interrupted after a call that changes something. What it printed before has happened.",
            "Check the current state before you run the command again.".to_owned(),
            false,
        ),
        None => ("The command was interrupted. No call was in progress.", String::new(), true),
        Some(ActiveCall { effect: Effect::Reads, .. }) => {
            ("The call was interrupted. It does not change anything.", String::new(), true)
        }
        Some(ActiveCall { effect: Effect::RunsCommand, .. }) => {
            let remediation = "Check the files of the sandbox after that, before you run it again.".to_owned();
            (
                "The call was interrupted. The command in the sandbox is being killed, which takes a few seconds.",
                remediation,
                false,
            )
        }
        Some(ActiveCall { key: Some(key), .. }) => {
            let remediation =
                format!("Repeat the same `snapshotter {command}` with `--idempotency-key {key}` to get its answer.");
            (unfinished, remediation, true)
        }
        Some(_) => (unfinished, "Check the current state before you run the command again.".to_owned(), false),
    };
    let key = active.and_then(|call| call.key.as_deref());
    Failure::transient(Exit::Interrupted, "INTERRUPTED", message, remediation, is_repeatable).with_key(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupted(effect: Option<Effect>, key: Option<&str>) -> (bool, Option<String>) {
        interrupted_after(false, effect, key)
    }

    fn interrupted_after(has_changed: bool, effect: Option<Effect>, key: Option<&str>) -> (bool, Option<String>) {
        let active = effect.map(|effect| ActiveCall { effect, key: key.map(str::to_owned) });
        match interrupt_failure(active.as_ref(), has_changed, "restore") {
            Failure::Reported(report) => (report.retryable, report.key),
            Failure::OutputClosed => panic!("the failure must have a report"),
        }
    }

    #[test]
    fn an_interrupted_command_is_retryable_if_repeating_it_has_no_further_effect() {
        assert_eq!(interrupted(None, None), (true, None));
        assert_eq!(interrupted(Some(Effect::Reads), None), (true, None));
        assert_eq!(interrupted(Some(Effect::Changes), Some("k")), (true, Some("k".into())));
        assert_eq!(interrupted(Some(Effect::Changes), None), (false, None));
        assert_eq!(interrupted(Some(Effect::RunsCommand), None), (false, None));
    }

    #[test]
    fn a_read_that_is_interrupted_after_a_change_does_not_make_the_command_repeatable() {
        assert_eq!(interrupted_after(true, Some(Effect::Reads), None), (false, None));
        assert_eq!(interrupted_after(true, None, None), (false, None));
        assert_eq!(interrupted_after(true, Some(Effect::Changes), Some("k")), (true, Some("k".into())));
    }
}
