//! The names of the user in place of the placeholders of tips.

use clap::{Arg, Command};

use crate::quoting::shell_words;

/// Replaces the placeholders in the commands of a tip with the operands of the command that the user wrote.
pub fn fill(tip: &str, root: &Command, words: &[String], arguments: &[String]) -> String {
    let names = Names::of(root, words, &operands(root, words, arguments));
    let replace = |(index, part): (usize, &str)| {
        // Parts with an odd index are between backticks.
        if index % 2 == 0 || !part.contains("snapshotter ") {
            return part.to_owned();
        }
        let word = |word: &str| names.get(word).unwrap_or_else(|| word.to_owned());
        part.split(' ').map(word).collect::<Vec<_>>().join(" ")
    };
    tip.split('`').enumerate().map(replace).collect::<Vec<_>>().join("`")
}

/// What the user wrote for the placeholders.
struct Names {
    target: Option<String>,
    workspace: Option<String>,
    /// A snapshot, or the name of a checkpoint.
    second: Option<String>,
    is_of_checkpoint: bool,
}

impl Names {
    fn of(root: &Command, words: &[String], operands: &[&String]) -> Self {
        let group = words.first().map(String::as_str);
        let first = operands.first().map(|first| first.as_str());
        let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word));
        let value_name = |index: usize| {
            let names = command?.get_positionals().nth(index)?.get_value_names()?;
            names.first().map(clap::builder::Str::as_str)
        };
        let named = operands.iter().find(|operand| operand.starts_with('@'));
        let named = named.map(|operand| operand.split(':').next().unwrap_or_default().to_owned());
        let target = match value_name(0) {
            Some("NAME") if group == Some("workspace") => {
                first.map(|name| format!("@{}", name.trim_start_matches('@')))
            }
            // The id of a sandbox may contain a colon.
            // After an unknown command of the group, its name follows.
            _ if words == ["workspace"] && named.is_none() => operands.get(1).map(|name| format!("@{name}")),
            // The id of a sandbox may contain a colon. The first operand may be the value of an unknown option.
            Some("SANDBOX|@NAME") if named.is_none() => first.map(str::to_owned),
            _ => named,
        };
        let workspace = target.as_ref().and_then(|target| target.strip_prefix('@')).map(str::to_owned);
        let takes_second =
            value_name(1).is_some_and(|name| matches!(name, "ID|LABEL" | "ID|REF|LABEL" | "FROM" | "NAME"));
        let second = operands.get(1).filter(|_| takes_second).map(|second| (*second).clone());
        Self { target, workspace, second, is_of_checkpoint: group == Some("checkpoint") }
    }

    /// Returns the text for a placeholder; `None` for other words, and if it is not known.
    fn get(&self, placeholder: &str) -> Option<String> {
        let text = match placeholder {
            "SANDBOX|@NAME" | "@NAME" => &self.target,
            "ID|LABEL" => &self.second,
            "NAME" if self.is_of_checkpoint => &self.second,
            "NAME" => &self.workspace,
            _ => return None,
        };
        text.as_deref().map(|text| shell_words([text]))
    }
}

/// Returns the arguments that are neither words of the command nor options with their values.
fn operands<'a>(root: &Command, words: &[String], arguments: &'a [String]) -> Vec<&'a String> {
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word)).unwrap_or(root);
    let takes_value = |option: &str| {
        let is_named = |known: &&Arg| {
            let long = known.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
            long || known.get_short().is_some_and(|short| option == format!("-{short}"))
        };
        let mut known = command.get_arguments().chain(root.get_arguments());
        known.find(is_named).is_some_and(|known| known.get_action().takes_values())
    };
    let (mut left, mut operands, mut is_value) = (words.iter().peekable(), Vec::new(), false);
    for argument in arguments {
        if is_value {
            is_value = false;
        } else if argument.starts_with('-') {
            is_value = takes_value(argument);
        } else if left.peek() == Some(&argument) {
            left.next();
        } else {
            operands.push(argument);
        }
    }
    operands
}
