//! The command that runs a command in a sandbox.

use clap::Args;

use super::common::LineageScope;

/// `exec`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter exec @notebook npm test
  snapshotter exec @notebook 'make && ./run > out.txt'
  tar c src | snapshotter exec agent-42 tar x
  snapshotter exec agent-42 --revive npm test
  snapshotter exec @notebook --cwd src -e CI=1 --timeout 10m -- make check
  snapshotter exec @notebook --detach npm run dev

The exit status is that of the command; 255 if it did not run, or if its end is
not known; that of other commands for invalid arguments and settings.")]
pub struct Exec {
    /// The sandbox, which must be running unless --revive is set, or @NAME for a named workspace, which is started if
    /// necessary
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The program and its arguments, after the options of this program. One argument with a space is a command line for the
    /// shell
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required_unless_present = "shell")]
    pub argv: Vec<String>,
    /// Revive the sandbox first if its files are gone: its newest snapshot is restored
    #[arg(long)]
    pub revive: bool,
    /// A command line for the shell, instead of a program
    #[arg(long, value_name = "LINE", conflicts_with = "argv")]
    pub shell: Option<String>,
    /// Start the command in the background and print its id. Its standard input is empty. See `snapshotter commands`
    #[arg(long, short, conflicts_with = "revive")]
    pub detach: bool,
    /// The working directory [default: the directory of the workspace]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// An environment variable of the command: NAME=VALUE, or NAME to copy the value from this environment; repeatable
    #[arg(long, short, value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Do not read the standard input. Otherwise it is read to its end first, unless it is a terminal
    #[arg(long, short)]
    pub no_stdin: bool,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}
