//! The commands about checkpoints.

use clap::{Args, Subcommand};

use super::common::{Confirmation, LineageScope, Paging};

/// The commands about checkpoints.
#[derive(Subcommand)]
pub enum Checkpoint {
    /// Keep the files of a running sandbox as a checkpoint in it
    #[command(after_help = "\
Example:
  snapshotter checkpoint create agent-42 before --message 'all tests pass'")]
    Create(Create),
    /// List the checkpoints in a running sandbox, the newest first
    #[command(after_help = "\
Example:
  snapshotter checkpoint list agent-42")]
    List(List),
    /// Put the files of a running sandbox back as they were at a checkpoint; asks before
    #[command(after_help = "\
Example:
  snapshotter checkpoint restore agent-42 before-refactoring --yes")]
    Restore(Restore),
    /// Compare the files of a running sandbox with a checkpoint
    #[command(after_help = "\
Examples:
  snapshotter checkpoint diff agent-42 before-refactoring
  snapshotter checkpoint diff agent-42 before-refactoring > changes.patch
  CLICOLOR_FORCE=1 snapshotter checkpoint diff agent-42 step-3 | less -R")]
    Diff(Diff),
}

/// Where checkpoints are.
#[derive(Args)]
pub struct LocationArgs {
    /// The sandbox, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The directory [default: that of the deployment, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// Who asks.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `checkpoint create`
#[derive(Args)]
pub struct Create {
    /// Where.
    #[command(flatten)]
    pub location: LocationArgs,
    /// What it is called; a checkpoint of that name is replaced
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What it is of
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
}

/// `checkpoint list`
#[derive(Args)]
pub struct List {
    /// Where.
    #[command(flatten)]
    pub location: LocationArgs,
    /// Which page.
    #[command(flatten)]
    pub paging: Paging,
}

/// `checkpoint restore`
#[derive(Args)]
pub struct Restore {
    /// Where.
    #[command(flatten)]
    pub location: LocationArgs,
    /// Which
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `checkpoint diff`
#[derive(Args)]
pub struct Diff {
    /// Where.
    #[command(flatten)]
    pub location: LocationArgs,
    /// Which
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How long the diff may be, in bytes
    #[arg(long, value_name = "BYTES")]
    pub max_bytes: Option<u32>,
}
