//! The commands about background commands, which `exec --detach` starts.

use clap::{Args, Subcommand};

use super::common::LineageScope;
use super::duration::DurationArg;

/// The commands about background commands.
#[derive(Subcommand)]
pub enum Commands {
    /// List the background commands of a running sandbox, newest first
    #[command(after_help = "\
Example:
  snapshotter commands list @notebook")]
    List(CommandsOf),
    /// Print the standard output of a background command so far
    #[command(after_help = "\
Examples:
  snapshotter commands output @notebook k3f9x2ab
  snapshotter commands output @notebook k3f9x2ab --stderr --follow

With --follow, the exit status is that of the command; 255 if its end is not
known; that of other commands for invalid arguments and settings.")]
    Output(CommandOutput),
    /// End a background command, with all processes of its session
    #[command(after_help = "\
Examples:
  snapshotter commands end @notebook k3f9x2ab
  snapshotter commands end @notebook k3f9x2ab --signal INT --grace 30s")]
    End(EndCommand),
}

/// The sandbox of the background commands.
#[derive(Args)]
pub struct CommandsOf {
    /// The sandbox, or @NAME for a named workspace. It must be running
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `commands output`
#[derive(Args)]
pub struct CommandOutput {
    /// The sandbox.
    #[command(flatten)]
    pub commands: CommandsOf,
    /// The id of the command
    #[arg(value_name = "ID")]
    pub command_id: String,
    /// Print the standard error in place of the standard output
    #[arg(long)]
    pub stderr: bool,
    /// Continue to print until the command ends, and exit with its status. --json prints the first part
    #[arg(long, short)]
    pub follow: bool,
}

/// `commands end`
#[derive(Args)]
pub struct EndCommand {
    /// The sandbox.
    #[command(flatten)]
    pub commands: CommandsOf,
    /// The id of the command
    #[arg(value_name = "ID")]
    pub command_id: String,
    /// The signal that its processes get first: TERM, INT, HUP, QUIT or KILL [default: TERM]
    #[arg(long, value_name = "SIGNAL")]
    pub signal: Option<String>,
    /// The time after which the processes that still run are killed, 0 to 60s [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub grace: Option<DurationArg>,
}
