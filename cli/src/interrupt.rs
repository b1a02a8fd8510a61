//! What happens when somebody interrupts a command: it ends at once, and says what that means.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, tell};

/// A call that is under way.
#[derive(Clone, Debug)]
struct Underway {
    operation: String,
    key: Option<String>,
}

static UNDERWAY: Mutex<Option<Underway>> = Mutex::new(None);

/// From now on, an interrupt ends the command as this says.
pub fn watch(output: Output, command: String) {
    let ended = ctrlc::set_handler(move || {
        let underway = UNDERWAY.lock().ok().and_then(|underway| underway.clone());
        if std::io::stderr().is_terminal() {
            // The spinner, or `^C`, is on the line.
            let _ = writeln!(std::io::stderr());
        }
        if let Some(underway) = underway {
            let failure = interrupted(&underway, &command);
            if output.json {
                tell(&failure);
            }
            output.fail(&failure, &command);
        }
        std::process::exit(Exit::Interrupted.number().into());
    });
    // Without a handler the platform's own ends it.
    drop(ended);
}

/// Notes that a call is under way, until what it answers is dropped.
pub fn during(operation: &str, key: Option<&str>) -> impl Drop {
    note(Some(Underway { operation: operation.to_owned(), key: key.map(str::to_owned) }));
    Noted
}

struct Noted;

impl Drop for Noted {
    fn drop(&mut self) {
        note(None);
    }
}

fn note(underway: Option<Underway>) {
    if let Ok(mut noted) = UNDERWAY.lock() {
        *noted = underway;
    }
}

/// What an interrupt of the call means.
fn interrupted(underway: &Underway, command: &str) -> Failure {
    let finishes =
        "The call was interrupted. The server finishes what was asked for, or takes it back: never half of it.";
    let (message, remediation) = match &underway.key {
        _ if only_reads(&underway.operation) => ("The call was interrupted. It changes nothing.", String::new()),
        Some(key) => {
            (finishes, format!("The same `snapshotter {command}` with `--idempotency-key {key}` gets the same answer."))
        }
        None => (finishes, "Look what is there before you run it again.".to_owned()),
    };
    Failure::own(Exit::Interrupted, "INTERRUPTED", message, remediation).keyed(underway.key.as_deref())
}

/// Whether an operation leaves everything as it was.
fn only_reads(operation: &str) -> bool {
    matches!(
        operation,
        "list"
            | "get"
            | "manifest"
            | "verify"
            | "lineage"
            | "retention"
            | "health"
            | "workspaces/getByName"
            | "workspaces/list"
            | "checkpoints/list"
            | "checkpoints/diff"
    )
}
