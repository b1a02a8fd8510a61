//! The way out: the standard output, which an interrupt may want while something is being printed.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, TryLockError};

use anstream::ColorChoice;
use sandbox_snapshotter::model::escape::escape;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// Whoever prints holds this. It tells whether something was printed.
static HAS_PRINTED: Mutex<bool> = Mutex::new(false);

/// Prints a JSON document.
pub fn print_json(document: &Value) -> Result<()> {
    print_plain(&line(document))
}

/// Prints to the standard output. Colours are left out where they are not wanted.
pub fn print(text: &str) -> Result<()> {
    write_to(anstream::stdout(), text)
}

/// Whether the standard output goes to a terminal, or is meant for one.
pub fn is_terminal() -> bool {
    let is_coloured = anstream::stdout().current_choice() != ColorChoice::Never;
    is_coloured || std::io::stdout().is_terminal()
}

/// Prints to the standard output, byte for byte.
pub fn print_plain(text: &str) -> Result<()> {
    write_to(std::io::stdout(), text)
}

/// Prints a JSON document as the last thing before the end, which `end` is, unless something was printed or is being printed.
pub fn print_final_json(document: &Value, end: impl FnOnce()) {
    match HAS_PRINTED.try_lock() {
        Ok(printed) => {
            if !*printed {
                let _ = std::io::stdout().write_all(line(document).as_bytes());
            }
            // Nobody else prints any more.
            end();
        }
        // A reader may never take what is being printed.
        Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => end(),
    }
}

fn line(document: &Value) -> String {
    escape(&document.to_string()).into_owned() + "\n"
}

fn write_to(mut out: impl Write, text: &str) -> Result<()> {
    let mut printed = HAS_PRINTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *printed = true;
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    // What could not be printed may be followed by the failure.
    *printed = written.is_ok();
    written.map_err(|error| output_failure(&error))
}

/// Why something could not be printed.
fn output_failure(error: &std::io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        return Failure::OutputClosed;
    }
    let message = format!("The answer could not be printed: {error}.");
    let remediation = "What was asked for is done. Look where the standard output goes.";
    Failure::local(Exit::Failed, "OUTPUT_FAILED", message, remediation)
}
