//! Suggestions for a command without its group: `snapshotter fork` instead of `snapshotter workspace fork`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Suggests the commands of this name in the groups, instead of commands with a similar name.
pub fn add(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let suggested = commands_named(&Cli::command(), word);
    if !suggested.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(suggested));
    }
    error
}

/// Returns the commands of this name in the groups of the root, each with its group.
fn commands_named(root: &Command, word: &str) -> Vec<String> {
    let groups = root.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    groups.map(|group| format!("{} {word}", group.get_name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(line: &str) -> String {
        let error = Cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
        add(error).render().to_string()
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
    fn other_errors_stay_as_they_are() {
        assert!(suggested("snapshotter workspace strat").contains("'start'"));
        assert!(!suggested("snapshotter nonsense").contains("tip"));
    }
}
