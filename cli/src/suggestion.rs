//! Suggestions for a command without its group, such as `snapshotter fork` instead of `snapshotter workspace fork`, and for
//! an unknown option, such as `--name` instead of `--new-name`.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Adds suggestions to the error of a command with these words.
pub fn add(mut error: clap::Error, words: &[String]) -> clap::Error {
    let root = Cli::command();
    match error.kind() {
        ErrorKind::InvalidSubcommand => suggest_group(&mut error, &root),
        ErrorKind::UnknownArgument => suggest_option(&mut error, &root, words),
        _ => {}
    }
    error
}

/// Suggests the commands of this name in the groups, instead of commands with a similar name.
fn suggest_group(error: &mut clap::Error, root: &Command) {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return };
    let suggested = commands_named(root, word);
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
}

/// Returns the commands of this name in the groups of the root, each with its group.
fn commands_named(root: &Command, word: &str) -> Vec<String> {
    let groups = root.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    groups.map(|group| format!("{} {word}", group.get_name())).collect()
}

/// Suggests the option that ends with the words of the unknown one, or else the argument of this name, instead of passing
/// the unknown option as a value.
fn suggest_option(error: &mut clap::Error, root: &Command, words: &[String]) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    let Some(name) = unknown.strip_prefix("--") else { return };
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word));
    let Some(command) = command else { return };
    let ending = format!("-{name}");
    let longer = command.get_opts().filter_map(|option| option.get_long()).find(|long| long.ends_with(&ending));
    let value_name = name.to_uppercase();
    let is_argument = command
        .get_positionals()
        .any(|argument| argument.get_value_names().is_some_and(|names| names.iter().any(|name| **name == *value_name)));
    let (kind, suggestion) = match longer {
        Some(longer) => (ContextKind::SuggestedArg, ContextValue::String(format!("--{longer}"))),
        None if is_argument => {
            let tip = StyledStr::from(format!("pass {value_name} without '{unknown}'"));
            (ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]))
        }
        None => return,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(Vec::new()));
    error.insert(kind, suggestion);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(line: &str) -> String {
        let error = Cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
        let words = crate::command_words(line.split(' ').skip(1).map(str::to_owned));
        add(error, &words).render().to_string()
    }

    #[test]
    fn a_command_without_its_group_suggests_the_group() {
        assert!(suggested("snapshotter fork notebook").contains("exists: 'workspace fork'"));
        let listed = suggested("snapshotter list");
        for command in ["'snapshot list'", "'workspace list'", "'checkpoint list'"] {
            assert!(listed.contains(command), "{listed}");
        }
    }

    #[test]
    fn an_unknown_option_suggests_the_longer_one() {
        let fork = suggested("snapshotter workspace fork notebook --name attempt");
        assert!(fork.contains("exists: '--new-name'"), "{fork}");
        assert!(!fork.contains("as a value"), "{fork}");
    }

    #[test]
    fn an_option_with_the_name_of_an_argument_suggests_the_argument() {
        let create = suggested("snapshotter workspace create --name notebook");
        assert!(create.contains("tip: pass NAME without '--name'"), "{create}");
        assert!(!create.contains("as a value"), "{create}");
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        assert!(suggested("snapshotter workspace strat").contains("'start'"));
        assert!(!suggested("snapshotter nonsense").contains("tip"));
    }
}
