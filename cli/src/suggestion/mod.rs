//! Suggestions for a command without its group, such as `snapshotter fork` instead of `snapshotter workspace fork`; for an
//! unknown option, such as `--name` instead of `--new-name`; for a name without its option; and for commands and options that
//! have another name in other products.
//!
//! - `command`: unknown commands
//! - `option`: unknown options, and words too many
//! - `fill`: the names of the user in the tips
//! - `missing`: arguments that are required
//! - `synonyms`: the commands and options of other programs
//! - `tips`: arguments that a command does not take
//! - `surplus`: words that a command does not take

mod command;
mod fill;
mod missing;
mod option;
mod surplus;
mod synonyms;
mod tips;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::help;

/// Adds suggestions to the error of a command with these arguments.
pub fn add(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let root = help::command();
    let words = crate::command_words(arguments.iter().cloned());
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            command::suggest(&mut error, &root, &words, arguments);
            fill_tips(&mut error, &root, &words, arguments);
        }
        ErrorKind::UnknownArgument => {
            option::suggest(&mut error, &root, &words, arguments);
            fill_tips(&mut error, &root, &words, arguments);
        }
        ErrorKind::MissingRequiredArgument => {
            let first = match error.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(missing)) => missing.first().cloned(),
                _ => None,
            };
            let tip = missing::tip(&root, &words, arguments)
                .or_else(|| missing::list_tip(&words, arguments, first.as_deref()?));
            if let Some(tip) = tip {
                replace_tip(&mut error, &tip);
            }
        }
        ErrorKind::InvalidValue => {
            if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
                && let Some(ContextValue::Strings(known)) = error.get(ContextKind::ValidValue)
                && let Some(here) = synonyms::values(value).iter().find(|here| known.iter().any(|known| known == *here))
            {
                error.insert(ContextKind::SuggestedValue, ContextValue::String((*here).to_owned()));
            }
        }
        _ => {}
    }
    error
}

/// Replaces the placeholders in the tips of an error with the names of the user.
fn fill_tips(error: &mut clap::Error, root: &Command, words: &[String], arguments: &[String]) {
    let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested) else { return };
    let tips = tips.iter().map(|tip| StyledStr::from(fill::fill(&tip.to_string(), root, words, arguments)));
    let tips = ContextValue::StyledStrs(tips.collect());
    error.insert(ContextKind::Suggested, tips);
}

/// Replaces the tips of an error.
fn replace_tip(error: &mut clap::Error, tip: &str) {
    let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip.to_owned())]);
    error.insert(ContextKind::Suggested, tips);
}

#[cfg(test)]
mod tests;
