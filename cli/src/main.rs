//! `snapshotter`: the command line of sandbox-snapshotter.
//!
//! - [`args`]: the command-line arguments
//! - [`input`]: input from files and from the standard input
//! - [`settings`], [`transport`]: the server, and the calls to it
//! - [`commands`]: the implementation of the commands
//! - [`output`]: the printing of answers and failures
//! - [`failure`], [`remediation`], [`exit`], [`interrupt`]: failures, their remediations, exit statuses and signals
//! - [`suggestion`]: suggestions for a command without its group, and for an unknown option or a name without one
//! - [`quoting`]: commands in suggestions

mod args;
mod commands;
mod exit;
mod failure;
mod input;
mod interrupt;
mod output;
mod quoting;
mod remediation;
mod settings;
mod suggestion;
mod transport;

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use args::{Cli, help};
use exit::Exit;
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    let parsed = help::command().try_get_matches();
    let parsed = parsed.and_then(|matches| Ok((command_name(&matches), Cli::from_arg_matches(&matches)?)));
    let (command, cli) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return report_usage_error(&suggestion::add(error, &own_arguments())).into(),
    };
    let output = Output { json: cli.global.json, quiet: cli.global.quiet };
    interrupt::watch(output, command.clone());
    let exit = commands::run(cli, output).unwrap_or_else(|failure| {
        output.fail(&failure, &command);
        failure.exit()
    });
    exit.into()
}

/// Returns the name of the command, such as `snapshot create`.
fn command_name(matches: &ArgMatches) -> String {
    let (mut matches, mut names) = (matches, Vec::new());
    while let Some((name, inner)) = matches.subcommand() {
        names.push(name);
        matches = inner;
    }
    names.join(" ")
}

/// Reports invalid arguments, or prints the requested help.
fn report_usage_error(error: &clap::Error) -> Exit {
    let is_json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if !error.use_stderr() {
        return output::print(&error.render().ansi().to_string())
            .map_or_else(|failure| failure.exit(), |()| Exit::Done);
    }
    if !is_json {
        // If the error cannot be printed, the exit status still reports it.
        let _ = write!(anstream::stderr(), "{}", output::as_called(error.render().ansi().to_string()));
        return Exit::Invalid;
    }
    let text = error.render().to_string();
    let words = attempted_words().join(" ");
    let (message, remediation) = message_and_remediation(&text, &words);
    let failure = Failure::invalid("INVALID_USAGE", message, remediation);
    Output { json: true, quiet: false }.fail(&failure, &words);
    failure.exit()
}

/// Returns the message of an error of clap, and its tips, or else the command that explains the arguments.
fn message_and_remediation(text: &str, words: &str) -> (String, String) {
    let (message, rest) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let tips: Vec<_> = rest.lines().filter_map(|line| line.trim_start().strip_prefix("tip: ")).collect();
    let help = format!("`snapshotter {words} --help`").replace("  ", " ");
    let remediation = if tips.is_empty() { format!("{help} explains the arguments.") } else { tips.join("; ") };
    (message, remediation)
}

/// Returns the words of the command in the arguments of this program, as far as they are valid.
fn attempted_words() -> Vec<String> {
    command_words(own_arguments().into_iter())
}

/// Returns the arguments of this program that are text.
fn own_arguments() -> Vec<String> {
    std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok()).collect()
}

/// Returns the words of the command in the arguments: all before the first invalid one, without options and their
/// values.
fn command_words(mut arguments: impl Iterator<Item = String>) -> Vec<String> {
    let (mut command, mut words) = (help::command(), Vec::new());
    command.build();
    while let Some(argument) = arguments.next() {
        if argument.starts_with('-') {
            let option = command.get_arguments().find(|known| {
                let long = known.get_long().map(|long| format!("--{long}"));
                let short = known.get_short().map(|short| format!("-{short}"));
                [long, short].contains(&Some(argument.clone()))
            });
            if option.is_some_and(|option| option.get_action().takes_values()) {
                arguments.next();
            }
            continue;
        }
        let Some(next) = command.find_subcommand(&argument).cloned() else { break };
        words.push(argument);
        command = next;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_values_are_not_part_of_the_command_name() {
        let attempted = |line: &str| command_words(line.split(' ').map(str::to_owned)).join(" ");
        assert_eq!(attempted("--profile restore snapshot list"), "snapshot list");
        assert_eq!(attempted("snapshot --token man list origin"), "snapshot list");
        assert_eq!(attempted("--json snapshot -q create branch --nonsense"), "snapshot create");
        assert_eq!(attempted("nonsense restore"), "");
    }
}
