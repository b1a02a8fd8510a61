//! What happens when somebody interrupts a command: it ends at once, and says what that means.

use std::io::IsTerminal;
use std::sync::Mutex;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, print_failure, print_final_json, print_note};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It leaves everything as it was.
    Reads,
    /// It may change something.
    Changes,
}

/// A call that is under way.
#[derive(Clone, Debug)]
struct ActiveCall {
    effect: Effect,
    key: Option<String>,
}

static ACTIVE_CALL: Mutex<Option<ActiveCall>> = Mutex::new(None);

/// From now on, an interrupt ends the command as this says. Where a signal is ignored, as under `nohup`, each signal does what
/// it did before.
pub fn watch(output: Output, command: String) {
    let ended = ctrlc::try_set_handler(move || {
        let underway = ACTIVE_CALL.lock().ok().and_then(|underway| underway.clone());
        if std::io::stderr().is_terminal() {
            // The spinner, or `^C`, is on the line.
            print_note("\n");
        }
        let failure = interrupt_failure(underway.as_ref(), &command);
        print_failure(&failure);
        let end = || std::process::exit(Exit::Interrupted.number().into());
        match &failure {
            Failure::Reported(told) if output.json => print_final_json(&told.envelope(&command), end),
            _ => end(),
        }
    });
    // Without a handler the platform's own ends it.
    drop(ended);
}

/// Notes that a call is under way, until what it answers is dropped.
pub fn track_call(effect: Effect, key: Option<&str>) -> impl Drop + use<> {
    set_active_call(Some(ActiveCall { effect, key: key.map(str::to_owned) }));
    CallTracker
}

struct CallTracker;

impl Drop for CallTracker {
    fn drop(&mut self) {
        set_active_call(None);
    }
}

fn set_active_call(underway: Option<ActiveCall>) {
    if let Ok(mut noted) = ACTIVE_CALL.lock() {
        *noted = underway;
    }
}

/// What an interrupt means. Whoever can run the command again without harm may do so.
fn interrupt_failure(underway: Option<&ActiveCall>, command: &str) -> Failure {
    let finishes =
        "The call was interrupted. The server finishes what was asked for, or takes it back: never half of it.";
    let (message, remediation, is_repeatable) = match underway {
        None => ("The command was interrupted. No call was under way.", String::new(), true),
        Some(ActiveCall { effect: Effect::Reads, .. }) => {
            ("The call was interrupted. It changes nothing.", String::new(), true)
        }
        Some(ActiveCall { key: Some(key), .. }) => {
            let again =
                format!("The same `snapshotter {command}` with `--idempotency-key {key}` gets the same answer.");
            (finishes, again, true)
        }
        Some(_) => (finishes, "Look what is there before you run it again.".to_owned(), false),
    };
    let key = underway.and_then(|underway| underway.key.as_deref());
    Failure::transient(Exit::Interrupted, "INTERRUPTED", message, remediation, is_repeatable).with_key(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(effect: Option<Effect>, key: Option<&str>) -> (bool, Option<String>) {
        let underway = effect.map(|effect| ActiveCall { effect, key: key.map(str::to_owned) });
        match interrupt_failure(underway.as_ref(), "restore") {
            Failure::Reported(told) => (told.retryable, told.key),
            Failure::OutputClosed => panic!("it is told"),
        }
    }

    #[test]
    fn a_command_can_be_run_again_where_that_does_nothing_twice() {
        assert_eq!(told(None, None), (true, None));
        assert_eq!(told(Some(Effect::Reads), None), (true, None));
        assert_eq!(told(Some(Effect::Changes), Some("k")), (true, Some("k".into())));
        assert_eq!(told(Some(Effect::Changes), None), (false, None));
    }
}
