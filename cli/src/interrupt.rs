//! What happens when somebody interrupts a command: it ends at once, and says what that means.

use std::io::IsTerminal;
use std::sync::Mutex;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, last_words, note, tell};

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
struct Underway {
    effect: Effect,
    key: Option<String>,
}

static UNDERWAY: Mutex<Option<Underway>> = Mutex::new(None);

/// From now on, an interrupt ends the command as this says. Where a signal is ignored, as under `nohup`, each signal does what
/// it did before.
pub fn watch(output: Output, command: String) {
    let ended = ctrlc::try_set_handler(move || {
        let underway = UNDERWAY.lock().ok().and_then(|underway| underway.clone());
        if std::io::stderr().is_terminal() {
            // The spinner, or `^C`, is on the line.
            note("\n");
        }
        let failure = interrupted(underway.as_ref(), &command);
        tell(&failure);
        let end = || std::process::exit(Exit::Interrupted.number().into());
        match &failure {
            Failure::Told(told) if output.json => last_words(&told.envelope(&command), end),
            _ => end(),
        }
    });
    // Without a handler the platform's own ends it.
    drop(ended);
}

/// Notes that a call is under way, until what it answers is dropped.
pub fn during(effect: Effect, key: Option<&str>) -> impl Drop + use<> {
    mark(Some(Underway { effect, key: key.map(str::to_owned) }));
    Noted
}

struct Noted;

impl Drop for Noted {
    fn drop(&mut self) {
        mark(None);
    }
}

fn mark(underway: Option<Underway>) {
    if let Ok(mut noted) = UNDERWAY.lock() {
        *noted = underway;
    }
}

/// What an interrupt means. Whoever can run the command again without harm may do so.
fn interrupted(underway: Option<&Underway>, command: &str) -> Failure {
    let finishes =
        "The call was interrupted. The server finishes what was asked for, or takes it back: never half of it.";
    let (message, remediation, is_repeatable) = match underway {
        None => ("The command was interrupted. No call was under way.", String::new(), true),
        Some(Underway { effect: Effect::Reads, .. }) => {
            ("The call was interrupted. It changes nothing.", String::new(), true)
        }
        Some(Underway { key: Some(key), .. }) => {
            let again =
                format!("The same `snapshotter {command}` with `--idempotency-key {key}` gets the same answer.");
            (finishes, again, true)
        }
        Some(_) => (finishes, "Look what is there before you run it again.".to_owned(), false),
    };
    let key = underway.and_then(|underway| underway.key.as_deref());
    Failure::passing(Exit::Interrupted, "INTERRUPTED", message, remediation, is_repeatable).keyed(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(effect: Option<Effect>, key: Option<&str>) -> (bool, Option<String>) {
        let underway = effect.map(|effect| Underway { effect, key: key.map(str::to_owned) });
        match interrupted(underway.as_ref(), "restore") {
            Failure::Told(told) => (told.retryable, told.key),
            Failure::Closed => panic!("it is told"),
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
