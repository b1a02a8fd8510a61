//! What can be typed.
//!
//! - [`Global`]: what every command takes
//! - [`snapshot`], [`workspace`], [`retention`], [`checkpoint`], [`upkeep`], [`shell`]: the commands
//! - [`common`]: what several of them take; [`span`]: durations

#![allow(clippy::doc_markdown)] // Help is not Markdown.

pub mod checkpoint;
pub mod common;
pub mod duration;
pub mod maintenance;
pub mod policy;
pub mod retention;
pub mod shell;
pub mod snapshot;
pub mod workspace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use self::duration::DurationArg;
use crate::exit::Exit;

/// Snapshots of Cloudflare Sandboxes, from the command line.
///
/// Captures what is in a sandbox, makes new sandboxes from it, and keeps places of work by name. It asks a deployment of
/// sandbox-snapshotter: say which with --address and --token-file, with SNAPSHOTTER_ADDRESS and SNAPSHOTTER_TOKEN, or in
/// ~/.config/snapshotter/config.toml.
#[derive(Parser)]
#[command(name = "snapshotter", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", Exit::table()))]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  snapshotter snapshot create agent-42 --tag before-upgrade
  snapshotter restore agent-42 before-upgrade
  snapshotter snapshot create agent-42 --json | snapshotter branch --ref -
  snapshotter workspace start notebook
  snapshotter lineage @notebook
  snapshotter doctor";

/// What every command takes.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct Global {
    /// Print one JSON document: the answer as the API gives it, or the failure
    #[arg(long, global = true)]
    pub json: bool,
    /// Print ids and names alone
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Where the server is: https://… [env: SNAPSHOTTER_ADDRESS]
    #[arg(long, global = true, value_name = "URL")]
    pub address: Option<String>,
    /// A file that holds the API token; - is the standard input [env: SNAPSHOTTER_TOKEN holds the token itself]
    #[arg(long, global = true, value_name = "FILE|-", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// The API token. Others on this machine can see it in the list of processes: better use --token-file
    #[arg(long, global = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// The file of settings [env: SNAPSHOTTER_CONFIG] [default: ~/.config/snapshotter/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The profile in the file of settings: nothing of the environment is taken then
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Send the token over plain http to other machines too
    #[arg(long, global = true)]
    pub allow_http: bool,
    /// How long a call may take, with all of its attempts; 0 is for ever
    #[arg(long, global = true, value_name = "TIME", default_value = "15m")]
    pub timeout: DurationArg,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Take snapshots of a sandbox, and look after them
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    /// Make a new sandbox with the files of a snapshot, to go on there
    Restore(snapshot::Restore),
    /// Make a new sandbox with the files of a snapshot, to try something else
    Branch(snapshot::Restore),
    /// Keep places of work by name, across sandboxes that come and go
    #[command(subcommand)]
    Workspace(Box<workspace::Workspace>),
    /// Say how long the snapshots of a sandbox are kept
    #[command(subcommand)]
    Retention(retention::Retention),
    /// Go back and forth inside of one running sandbox: cheap, local, gone with the container
    #[command(subcommand)]
    Checkpoint(checkpoint::Checkpoint),
    /// Show the tree of sandboxes and snapshots that a sandbox belongs to
    Lineage(maintenance::Lineage),
    /// Look after the keys that sign refs
    #[command(subcommand)]
    Key(maintenance::Key),
    /// Delete what the snapshotter left in the bucket that belongs to no sandbox's snapshots
    Sweep(maintenance::Sweep),
    /// Find out what is wrong: with the address, the token, the deployment
    Doctor(maintenance::Doctor),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Print the manual page, or write all of them into a folder
    Man(shell::Man),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        fn check(command: &clap::Command) {
            if !command.has_subcommands() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(
                    help.contains("Examples:\n  snapshotter ") || help.contains("Example:\n  snapshotter "),
                    "{}",
                    command.get_name()
                );
                // A line that is broken can't be copied.
                let widest = help.lines().map(|line| line.chars().count()).max();
                assert!(widest.is_some_and(|widest| widest <= 80), "{help}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
