//! The command-line arguments.
//!
//! - [`Global`]: the options of all commands
//! - [`snapshot`], [`files`], [`diff`], [`download`], [`exec`], [`commands`], [`workspace`], [`retention`], [`checkpoint`],
//!   [`tools`], [`tokens`], [`usage`], [`maintenance`], [`shell`]: the commands
//! - [`common`], [`policy`], [`secrets`], [`settings`]: arguments that several commands share
//! - [`help`]: the help of the program, with its commands in groups
//! - `duration`, [`number`]: durations and numbers

#![allow(clippy::doc_markdown)] // Help is not Markdown.

pub mod checkpoint;
pub mod commands;
pub mod common;
pub mod diff;
pub mod download;
pub mod duration;
pub mod exec;
pub mod files;
pub mod help;
pub mod maintenance;
pub mod number;
pub mod policy;
pub mod retention;
pub mod revive;
pub mod secrets;
pub mod settings;
pub mod shell;
pub mod snapshot;
pub mod tokens;
pub mod tools;
pub mod usage;
pub mod workspace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use self::duration::DurationArg;
use crate::exit::Exit;

/// Manage snapshots of Cloudflare Sandboxes from the command line.
///
/// Captures the files of a sandbox, creates new sandboxes from them, and manages named workspaces. Calls a deployment
/// of sandbox-snapshotter: set its address and API token with --address and --token-file, with SNAPSHOTTER_ADDRESS and
/// SNAPSHOTTER_TOKEN, or in ~/.config/snapshotter/config.toml.
#[derive(Parser)]
#[command(name = "snapshotter", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", Exit::table()))]
pub struct Cli {
    /// The options of all commands.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  snapshotter workspace create notebook
  snapshotter exec @notebook npm test
  snapshotter snapshot create @notebook --label before-upgrade
  snapshotter workspace rollback notebook before-upgrade
  snapshotter lineage @notebook
  snapshotter restore agent-42 before-upgrade
  snapshotter doctor";

/// The options of all commands.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct Global {
    /// Print one JSON document: the answer of the API, or the error
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only ids and names
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The address of the server: https://… [env: SNAPSHOTTER_ADDRESS]
    #[arg(long, global = true, value_name = "URL")]
    pub address: Option<String>,
    /// A file with the API token; - is the standard input [env: SNAPSHOTTER_TOKEN contains the token itself]
    #[arg(long, global = true, value_name = "FILE|-", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// The API token. Other users of this machine can see it in the process list; prefer --token-file
    #[arg(long, global = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// The configuration file [env: SNAPSHOTTER_CONFIG] [default: ~/.config/snapshotter/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The profile in the configuration file; environment variables are ignored
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Allow sending the token over plain http to other machines
    #[arg(long, global = true)]
    pub allow_http: bool,
    /// The time limit of a call, including retries; 0 means no limit [default: 15m]. With `exec`, that of the command: 1s–1h
    /// [default: 60s], and with `--detach` 1s–24h [default: 1h]
    #[arg(long, global = true, value_name = "TIME")]
    pub timeout: Option<DurationArg>,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Take and manage snapshots of a sandbox
    #[command(subcommand, alias = "snapshots")]
    Snapshot(snapshot::Snapshot),
    /// Create a sandbox with a snapshot's files, to continue the work
    Restore(snapshot::Restore),
    /// Create a sandbox with a snapshot's files, to try an alternative
    Branch(snapshot::Restore),
    /// Restore a sandbox that lost its files from its newest snapshot
    Revive(revive::Revive),
    /// List the files in a directory of a sandbox or of a snapshot
    ///
    /// A stopped workspace is started first; a sandbox without a workspace must be running. A snapshot is read without a container.
    Ls(files::Ls),
    /// Show the attributes of a file of a sandbox or of a snapshot
    ///
    /// A stopped workspace is started first; a sandbox without a workspace must be running. A snapshot is read without a container.
    Stat(files::Stat),
    /// Print the content of a file of a sandbox or of a snapshot
    ///
    /// A stopped workspace is started first; a sandbox without a workspace must be running. A snapshot is read without a container.
    Cat(files::Cat),
    /// Show how many files and bytes a snapshot has, and where
    ///
    /// The snapshot is read without a container.
    Du(files::Du),
    /// Copy files from or to a sandbox, or from a snapshot
    ///
    /// A stopped workspace is started first; a sandbox without a workspace must be running. A file or a directory of a snapshot is copied to
    /// this machine, without a container.
    Cp(download::Cp),
    /// Write the files of a snapshot as a tar
    ///
    /// All files, or those of one directory. Starts no container.
    Export(download::Export),
    /// Compare two snapshots, or one with the running sandbox
    Diff(diff::Diff),
    /// Write files of a snapshot to a running sandbox
    ///
    /// Replaces no existing files without --overwrite. A stopped workspace must be started first.
    RestoreFiles(files::RestoreFiles),
    /// Run a command in a sandbox or in a named workspace
    ///
    /// The workspace is started with its files if it is not running.
    Exec(exec::Exec),
    /// List, read and end background commands
    ///
    /// `exec --detach` starts them.
    #[command(subcommand)]
    Commands(commands::Commands),
    /// Manage named workspaces, whose files persist across sandboxes
    #[command(subcommand, alias = "workspaces")]
    Workspace(Box<workspace::Workspace>),
    /// Manage how long the snapshots of a sandbox are kept
    #[command(subcommand)]
    Retention(retention::Retention),
    /// Manage checkpoints: named states inside a running sandbox
    ///
    /// They are cheap, local and lost with the container.
    #[command(subcommand, alias = "checkpoints")]
    Checkpoint(checkpoint::Checkpoint),
    /// Show the tree of sandboxes and snapshots of a lineage
    Lineage(maintenance::Lineage),
    /// Show what workspaces use, and its cost by list prices
    ///
    /// The prices are those of Cloudflare's price list. Starts no container.
    Usage(usage::Usage),
    /// Manage the keys that sign refs
    #[command(subcommand)]
    Key(maintenance::Key),
    /// Delete the snapshotter's backups that no snapshot owns
    ///
    /// Asks for confirmation.
    Sweep(maintenance::Sweep),
    /// Give language models tools
    #[command(subcommand)]
    Tools(tools::Tools),
    /// Manage access tokens with permissions
    ///
    /// A token permits some operations, on all workspaces or on some of them.
    #[command(subcommand)]
    Tokens(tokens::Tokens),
    /// Connect editors and agents over the Model Context Protocol
    #[command(subcommand)]
    Mcp(tools::Mcp),
    /// Check the address, the token and the deployment
    Doctor(maintenance::Doctor),
    /// Print the completion script of a shell
    Completions(shell::Completions),
    /// Print the manual page, or write those of all commands
    Man(shell::Man),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_definitions_are_consistent() {
        help::command().debug_assert();
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
                // A wrapped example cannot be copied.
                let widest = help.lines().map(|line| line.chars().count()).max();
                assert!(widest.is_some_and(|widest| widest <= 80), "{help}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&help::command());
    }

    #[test]
    fn every_command_in_the_documentation_is_valid() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let mut commands = Vec::new();
        for page in ["cli.md", "workspaces.md", "lost-files.md", "usage.md"] {
            let text = std::fs::read_to_string(root.join(page)).unwrap();
            let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
            let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("snapshotter "));
            commands.extend(lines.map(str::to_owned));
        }
        assert!(commands.len() >= 20, "{commands:?}");
        for command in commands {
            // The shell splits the words.
            let script = format!("snapshotter() {{ printf '%s\\n' snapshotter \"$@\"; }}; {command}");
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            let words = String::from_utf8(output.stdout).unwrap();
            let parsed = help::command().try_get_matches_from(words.lines());
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        }
    }
}
