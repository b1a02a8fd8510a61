//! `snapshotter`: the command line of sandbox-snapshotter.
//!
//! - [`args`]: what can be typed
//! - [`settings`], [`transport`]: which server is called, and how
//! - [`commands`]: what each command does
//! - [`output`]: how answers and failures are printed
//! - [`failure`], [`exit`], [`interrupt`]: how a command ends that does not end well

mod args;
mod commands;
mod exit;
mod failure;
mod interrupt;
mod output;
mod settings;
mod transport;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::Cli;
use exit::Exit;
use failure::Failure;
use output::Output;

fn main() -> ExitCode {
    let parsed = Cli::command().try_get_matches();
    let parsed = parsed.and_then(|matches| Ok((name_of(&matches), Cli::from_arg_matches(&matches)?)));
    let (command, cli) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return refuse(&error).into(),
    };
    let output = Output { json: cli.global.json, quiet: cli.global.quiet };
    interrupt::watch(output, command.clone());
    let ended = commands::run(cli, output);
    let exit = ended.unwrap_or_else(|failure| {
        output.fail(&failure, &command);
        failure.exit()
    });
    exit.into()
}

/// The words of the command: `snapshot create`.
fn name_of(matches: &ArgMatches) -> String {
    let (mut matches, mut names) = (matches, Vec::new());
    while let Some((name, inner)) = matches.subcommand() {
        names.push(name);
        matches = inner;
    }
    names.join(" ")
}

/// Tells what is wrong with the arguments, or shows the help that was asked for.
fn refuse(error: &clap::Error) -> Exit {
    let is_json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if !error.use_stderr() {
        return output::print(&error.render().ansi().to_string())
            .map_or_else(|failure| failure.exit(), |()| Exit::Done);
    }
    if !is_json {
        // The exit status tells where nobody reads it.
        drop(error.print());
        return Exit::Invalid;
    }
    let text = error.render().to_string();
    let (message, rest) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let failure = Failure::invalid("INVALID_USAGE", message, rest);
    Output { json: true, quiet: false }.fail(&failure, &attempted());
    failure.exit()
}

/// The words of the command that was attempted, as far as they are known.
fn attempted() -> String {
    let (mut command, mut names) = (Cli::command(), Vec::new());
    for argument in std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok()) {
        if let Some(next) = command.find_subcommand(&argument).cloned() {
            names.push(argument);
            command = next;
        }
    }
    names.join(" ")
}
