//! Suggestions for a command without its group, such as `snapshotter fork` instead of `snapshotter workspace fork`; for an
//! unknown option, such as `--name` instead of `--new-name`; for a name without its option; and for commands that have another
//! name in other products.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use crate::args::help;
use crate::quoting::shell_words;

/// Commands of other programs, and the commands here that do the same.
const SYNONYMS: [(&str, &str); 4] = [
    ("rollback", "workspace rollback"),
    ("undo", "workspace rollback"),
    ("logs", "commands output"),
    ("ps", "commands list"),
];

/// Options of other programs that copy directories.
const RECURSIVE: [&str; 4] = ["-r", "-R", "-a", "--recursive"];

/// How to copy a directory.
const RECURSIVE_TIP: &str = "a directory of a snapshot needs no option. For one of a running sandbox, run \
    `tar c DIR | snapshotter exec @NAME tar x`, or `snapshotter exec @NAME tar c DIR | tar x`";

/// Adds suggestions to the error of a command with these words.
pub fn add(mut error: clap::Error, words: &[String]) -> clap::Error {
    let root = help::command();
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
    let mut suggested = commands_named(root, word);
    if suggested.is_empty() {
        suggested.extend(SYNONYMS.iter().filter(|(other, _)| other == word).map(|(_, here)| (*here).to_owned()));
    }
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
/// the unknown option as a value, which no command takes.
fn suggest_option(error: &mut clap::Error, root: &Command, words: &[String]) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    if words == ["cp"] && RECURSIVE.contains(&unknown.as_str()) {
        replace_tip(error, RECURSIVE_TIP);
        return;
    }
    let command = words.iter().try_fold(root, |command, word| command.find_subcommand(word));
    let Some(command) = command else { return };
    let Some(name) = unknown.strip_prefix("--") else {
        if let Some(tip) = option_for(command, unknown) {
            replace_tip(error, &tip);
        }
        return;
    };
    let ending = format!("-{name}");
    let longer = command.get_opts().filter_map(|option| option.get_long()).find(|long| long.ends_with(&ending));
    let value_name = name.to_uppercase();
    let is_argument = command
        .get_positionals()
        .any(|argument| argument.get_value_names().is_some_and(|names| names.iter().any(|name| **name == *value_name)));
    let tip = format!("pass {value_name} without '{unknown}'");
    error.remove(ContextKind::Suggested);
    if let Some(longer) = longer {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{longer}")));
    } else if is_argument {
        replace_tip(error, &tip);
    }
}

/// Returns the tip for a word too many: the option of the command that takes a name, if the user may have left it out.
fn option_for(command: &Command, word: &str) -> Option<String> {
    let takes_name = |option: &&Arg| {
        let names = option.get_value_names().unwrap_or_default();
        matches!(names, [name] if !name.contains("SANDBOX") && (name.contains("NAME") || name.contains("LABEL")))
    };
    let own = || command.get_opts().filter(|option| !option.is_global_set());
    let option = own().find(|option| option.is_required_set()).or_else(|| own().find(takes_name))?;
    (!word.starts_with('-'))
        .then(|| format!("you may mean '--{} {}'", option.get_long().unwrap_or_default(), shell_words([word])))
}

/// Replaces the tips of an error.
fn replace_tip(error: &mut clap::Error, tip: &str) {
    let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip.to_owned())]);
    error.insert(ContextKind::Suggested, tips);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(line: &str) -> String {
        let error = help::command().try_get_matches_from(line.split(' ')).unwrap_err();
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
    fn a_name_without_its_option_suggests_the_option() {
        for (line, option) in [
            ("workspace fork notebook try-1", "'--new-name try-1'"),
            ("snapshot label @notebook snap-9rbk8d2dduhnwf6u keep", "'--to keep'"),
            ("snapshot create @notebook before", "'--label before'"),
            ("workspace promote notebook @try-1", "'--from @try-1'"),
            ("workspace start notebook before", "'--from before'"),
            ("workspace stop notebook before", "'--label before'"),
        ] {
            let text = suggested(&format!("snapshotter {line}"));
            assert!(text.contains(&format!("tip: you may mean {option}")), "{line}: {text}");
        }
        let delete = suggested("snapshotter snapshot delete agent-42 before after");
        assert!(!delete.contains("tip"), "{delete}");
    }

    #[test]
    fn an_option_with_the_name_of_an_argument_suggests_the_argument() {
        let create = suggested("snapshotter workspace create --name notebook");
        assert!(create.contains("tip: pass NAME without '--name'"), "{create}");
        assert!(!create.contains("as a value"), "{create}");
    }

    #[test]
    fn an_unknown_option_is_not_suggested_as_a_value() {
        let restore = suggested("snapshotter restore agent-42 before --lable x");
        assert!(restore.contains("'--lable'") && !restore.contains("as a value"), "{restore}");
        let create = suggested("snapshotter snapshot create agent-42 --lable x");
        assert!(create.contains("'--label'") && !create.contains("as a value"), "{create}");
    }

    #[test]
    fn the_option_to_copy_directories_suggests_tar() {
        for option in RECURSIVE {
            let text = suggested(&format!("snapshotter cp {option} src @proj:src"));
            assert!(text.contains("tip: a directory") && text.contains("tar c DIR | snapshotter exec"), "{text}");
            assert!(!text.contains("as a value") && text.matches("<FROM> <TO>").count() == 1, "{text}");
        }
    }

    #[test]
    fn a_command_of_another_program_suggests_the_one_here() {
        for (line, expected) in [
            ("snapshotter rollback", "'workspace rollback'"),
            ("snapshotter undo", "'workspace rollback'"),
            ("snapshotter workspace undo", "'workspace rollback'"),
            ("snapshotter logs", "'commands output'"),
            ("snapshotter ps", "'commands list'"),
        ] {
            let text = suggested(line);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn synonyms_name_existing_commands() {
        for (_, here) in SYNONYMS {
            assert_eq!(crate::command_words(here.split(' ').map(str::to_owned)).join(" "), here);
        }
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        assert!(suggested("snapshotter workspace strat").contains("'start'"));
        assert!(!suggested("snapshotter nonsense").contains("tip"));
    }
}
