//! The commands for tools of language models.

use clap::{Args, Subcommand, ValueEnum};

use super::duration::DurationArg;

/// The commands for tools.
#[derive(Subcommand)]
pub enum Tools {
    /// Create a token that permits a language model the tools of some workspaces, over MCP, and nothing else
    #[command(after_help = "\
Examples:
  snapshotter tools grant @notebook --expires 8h
  snapshotter tools grant @notebook --work --no-branch
  snapshotter tools grant agent-42 agent-43 --only checkpoints --quiet")]
    Grant(Grant),
}

/// The commands for the Model Context Protocol.
#[derive(Subcommand)]
pub enum Mcp {
    /// Print the configuration of an editor or agent, with a new token for the tools of some workspaces
    ///
    /// The output contains the token. Write it to a file that only you can read.
    #[command(after_help = "\
Examples:
  snapshotter mcp config @notebook > .mcp.json
  snapshotter mcp config @notebook --format vscode > .vscode/mcp.json")]
    Config(Config),
}

/// `tools grant`
#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct Grant {
    /// The sandboxes, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME", required = true)]
    pub targets: Vec<String>,
    /// The lifetime of the token, at most 30d
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub expires: DurationArg,
    /// Permit only the tools for snapshots, or only those for checkpoints
    #[arg(long, value_name = "TOOLS")]
    pub only: Option<ToolGroup>,
    /// Permit only tools that change nothing
    #[arg(long)]
    pub read_only: bool,
    /// Withhold the tool that creates a branch
    #[arg(long)]
    pub no_branch: bool,
    /// Permit also the tools for commands and files. They can change everything in the sandbox, and read its variables
    #[arg(long, conflicts_with = "read_only")]
    pub work: bool,
    /// Name the tools without the workspace, which becomes an argument if there are several
    #[arg(long)]
    pub flat: bool,
}

/// A group of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ToolGroup {
    /// The tools for snapshots.
    Snapshots,
    /// The tools for checkpoints.
    Checkpoints,
}

/// `mcp config`
#[derive(Args)]
pub struct Config {
    /// The format: that of most clients, or that of VS Code
    #[arg(long, value_name = "FORMAT", default_value = "common")]
    pub format: ConfigFormat,
    /// The tools.
    #[command(flatten)]
    pub grant: Grant,
}

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConfigFormat {
    /// `mcpServers`, which most clients read.
    Common,
    /// `servers`, which VS Code reads.
    Vscode,
}
