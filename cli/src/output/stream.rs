//! Writing to the standard output. The signal handler may write to it while a command prints.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, TryLockError};

use anstream::ColorChoice;
use sandbox_snapshotter_client::model::escape::escape;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// Whether something was printed. The lock is held while something is being printed.
static HAS_PRINTED: Mutex<bool> = Mutex::new(false);

/// Prints a JSON document.
pub fn print_json(document: &Value) -> Result<()> {
    print_plain(&line(document))
}

/// Prints a JSON document on several lines, for a person or a configuration file.
pub fn print_indented_json(document: &Value) -> Result<()> {
    print_plain(&format!("{document:#}\n"))
}

/// Prints to the standard output. Colors are removed if the output does not support them.
pub fn print(text: &str) -> Result<()> {
    write_to(anstream::stdout(), text.as_bytes())
}

/// Returns whether the standard output is a terminal, or has colors as on a terminal.
pub fn is_terminal() -> bool {
    let has_colors = anstream::stdout().current_choice() != ColorChoice::Never;
    has_colors || std::io::stdout().is_terminal()
}

/// Prints to the standard output without changes.
pub fn print_plain(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints bytes to the standard output without changes.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    write_to(std::io::stdout(), bytes)
}

/// Prints a JSON document, unless something was printed or is being printed, and then calls `end`, which ends the
/// process.
pub fn print_final_json(document: &Value, end: impl FnOnce()) {
    match HAS_PRINTED.try_lock() {
        Ok(printed) => {
            if !*printed {
                let _ = std::io::stdout().write_all(line(document).as_bytes());
            }
            // The lock is still held, so nothing else is printed.
            end();
        }
        // The thread that holds the lock may be blocked by the reader, so do not wait for it.
        Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => end(),
    }
}

fn line(document: &Value) -> String {
    escape(&document.to_string()).into_owned() + "\n"
}

/// Prints bytes to the standard error without changes. If they cannot be printed, the output is closed.
pub fn print_error_bytes(bytes: &[u8]) {
    let _ = std::io::stderr().write_all(bytes);
}

fn write_to(mut out: impl Write, bytes: &[u8]) -> Result<()> {
    let mut printed = HAS_PRINTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *printed = true;
    let written = out.write_all(bytes).and_then(|()| out.flush());
    // If nothing was written, the failure may still be printed.
    *printed = written.is_ok();
    written.map_err(|error| output_failure(&error))
}

/// Returns the failure of a write to the standard output.
fn output_failure(error: &std::io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        return Failure::OutputClosed;
    }
    let message = format!("The answer could not be printed: {error}.");
    let remediation = "The operation completed. Check where the standard output goes.";
    Failure::local(Exit::Failed, "OUTPUT_FAILED", message, remediation)
}
