//! Asking before something is done that can't be undone.

use std::io::{BufRead, IsTerminal, Write};

use crate::args::common::Consent;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::words::safe;

/// Goes on only if somebody agrees to what is `about` to be done.
pub fn confirm(consent: &Consent, about: impl FnOnce() -> Result<String>) -> Result<()> {
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
    let about = about()?;
    // Who can't be asked does not agree.
    let _ = write!(anstream::stderr(), "{} Go on? [y/N] ", safe(&about));
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::own(Exit::Failed, "CONSENT_REFUSED", "You did not agree.", "Nothing was done."))
}
