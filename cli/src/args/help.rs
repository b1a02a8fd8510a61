//! The help of the program, with its commands in groups.

use std::fmt::{Result, Write};

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use super::Cli;

/// The groups of the commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Workspaces", &["workspace", "lineage", "usage"]),
    ("Snapshots", &["snapshot", "restore", "branch", "revive", "diff", "retention", "checkpoint"]),
    ("Files", &["ls", "stat", "cat", "du", "cp", "export", "restore-files"]),
    ("Commands", &["exec", "commands"]),
    ("Administration", &["doctor", "tokens", "tools", "mcp", "key", "sweep", "completions", "man"]),
];

/// The options of settings that are only for a workspace which exists.
const REMOVALS: [&str; 3] = ["default_image", "no_hooks", "no_env"];

/// Returns the definition of the command line, whose help has the commands in groups.
pub fn command() -> Command {
    let command = Cli::command().mut_subcommand("workspace", |group| group.mut_subcommand("create", without_removals));
    let mut template = StyledStr::new();
    match write_template(&mut template, &command) {
        Ok(()) => command.help_template(template),
        Err(_) => command,
    }
}

/// Hides the options that remove settings: a new workspace has none.
fn without_removals(create: Command) -> Command {
    REMOVALS.iter().fold(create, |create, id| create.mut_arg(id, |option| option.hide(true)))
}

/// Returns whether a word is an option of a command, such as `--env`, `--env=A=b` or `-e`.
pub fn has_option(name: &str, word: &str) -> bool {
    let mut command = command();
    command.build();
    let word = word.split_once('=').map_or(word, |(option, _)| option);
    command.find_subcommand(name).is_some_and(|command| {
        command.get_arguments().any(|argument| {
            let long = argument.get_long().map(|long| format!("--{long}"));
            let short = argument.get_short().map(|short| format!("-{short}"));
            [long, short].iter().flatten().any(|option| option == word)
        })
    })
}

/// Writes the template of the help: the one of clap, with groups instead of one list of commands.
fn write_template(template: &mut StyledStr, command: &Command) -> Result {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let width = command.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    write!(template, "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n")?;
    for (group, names) in GROUPS {
        writeln!(template, "{header}{group}:{header:#}")?;
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).cloned().unwrap_or_default();
            writeln!(template, "  {literal}{name:width$}{literal:#}  {about}")?;
        }
        writeln!(template)?;
    }
    write!(template, "{header}Options:{header:#}\n{{options}}{{after-help}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help() -> String {
        command().render_help().to_string()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<_> = Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_help_begins_with_the_commands_about_workspaces() {
        let help = help();
        let workspaces = help.find("Workspaces:\n  workspace      Manage named workspaces").unwrap();
        for later in ["Snapshots:\n", "Files:\n", "Administration:\n", "Options:\n", "Examples:\n"] {
            assert!(workspaces < help.find(later).unwrap(), "{help}");
        }
    }

    #[test]
    fn options_that_remove_settings_are_in_the_help_of_update_alone() {
        let help_of = |name: &str| {
            let mut command = command();
            command.build();
            let group = command.find_subcommand_mut("workspace").unwrap();
            group.find_subcommand_mut(name).unwrap().render_long_help().to_string()
        };
        for option in ["--default-image", "--no-hooks", "--no-env"] {
            assert!(help_of("update").contains(option), "{option}");
            assert!(!help_of("create").contains(option), "{option}");
        }
    }

    #[test]
    fn files_of_a_stopped_workspace_are_said_to_start_it() {
        for name in ["exec", "ls", "stat", "cat", "cp"] {
            let mut command = command();
            command.build();
            let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            assert!(help.contains("started"), "{name}: {help}");
            assert!(!help.contains("The sandbox must be running"), "{name}: {help}");
        }
    }

    #[test]
    fn the_lines_about_commands_fit_into_80_columns() {
        let help = help();
        for line in help.split("Options:").next().unwrap().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
