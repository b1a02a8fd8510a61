//! The confirmation of commands that delete or replace data.

use std::io::{BufRead, IsTerminal};

use crate::args::common::Confirmation;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print_note;
use crate::output::sanitize::sanitize_for_terminal;

/// Asks the user to confirm a command, and fails if the user does not. `describe` returns the effect of the command; if
/// there is no effect, there is no question.
pub fn confirm(confirmation: &Confirmation, describe: impl FnOnce() -> Result<Option<String>>) -> Result<()> {
    confirm_lines(confirmation, || Ok(describe()?.into_iter().collect()))
}

/// As [`confirm`], with an effect of several lines.
pub fn confirm_lines(confirmation: &Confirmation, describe: impl FnOnce() -> Result<Vec<String>>) -> Result<()> {
    if confirmation.yes {
        return Ok(());
    }
    let effect = describe()?;
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(missing(&effect));
    }
    if effect.is_empty() {
        return Ok(());
    }
    let effect: Vec<_> = effect.iter().map(|line| sanitize_for_terminal(line)).collect();
    print_note(&format!("{} Continue? [y/N] ", effect.join("\n")));
    let mut answer = String::new();
    let message = match std::io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => "The input ended without an answer.",
        Ok(_) if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") => return Ok(()),
        Ok(_) => "The command was not confirmed.",
    };
    Err(Failure::local(Exit::Failed, "CONSENT_REFUSED", message, "Nothing was done."))
}

/// Returns the failure of a command that can't be confirmed, with its effect.
fn missing(effect: &[String]) -> Failure {
    let message = match effect {
        [] => {
            "This command would change nothing now, but it may delete data, and there is no terminal to confirm it on."
                .to_owned()
        }
        effect => format!("{}\nThere is no terminal to confirm it on.", effect.join("\n")),
    };
    let remediation = "Nothing was done. Pass `--yes` to run it without a question.";
    Failure::invalid("CONSENT_MISSING", message, remediation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_cannot_be_confirmed_says_what_it_would_do() {
        let confirmation = Confirmation { yes: false };
        let effect = || Ok(Some("This permanently deletes the workspace default/web.".to_owned()));
        // The standard input of a test may be a terminal.
        let Failure::Reported(report) = missing(&[effect().unwrap().unwrap()]) else { panic!() };
        assert_eq!(
            report.message,
            "This permanently deletes the workspace default/web.\nThere is no terminal to confirm it on."
        );
        assert!(confirm(&Confirmation { yes: true }, effect).is_ok());
        let unknown = || Err(Failure::local(Exit::NotFound, "WORKSPACE_NOT_FOUND", "", ""));
        assert_eq!(confirm(&confirmation, unknown).unwrap_err().code(), Some("WORKSPACE_NOT_FOUND"));
    }
}
