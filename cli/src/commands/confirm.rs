//! Asking before something is done that can't be undone.

use std::io::{BufRead, IsTerminal};

use crate::args::common::Confirmation;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print_note;
use crate::output::sanitize::sanitize_for_terminal;

/// Goes on only if somebody agrees to what is `about` to be done. Where that is nothing, nobody is asked.
pub fn confirm(consent: &Confirmation, about: impl FnOnce() -> Result<Option<String>>) -> Result<()> {
    if consent.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::invalid(
            "CONSENT_MISSING",
            "This can't be undone, and there is no terminal to ask on.",
            "Give --yes when it is what you want. Nothing was done.",
        ));
    }
    let Some(about) = about()? else { return Ok(()) };
    // Who can't be asked does not agree.
    print_note(&format!("{} Go on? [y/N] ", sanitize_for_terminal(&about)));
    let mut answer = String::new();
    let why = match std::io::stdin().lock().read_line(&mut answer) {
        Ok(0) | Err(_) => "The input ended before there was an answer.",
        Ok(_) if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") => return Ok(()),
        Ok(_) => "You did not agree.",
    };
    Err(Failure::local(Exit::Failed, "CONSENT_REFUSED", why, "Nothing was done."))
}
