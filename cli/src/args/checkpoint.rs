//! The commands about checkpoints.

use clap::{Args, Subcommand};

use super::common::{Confirmation, LineageScope, Paging};
use super::duration::DurationArg;
use super::number::number;

/// The commands about checkpoints.
#[derive(Subcommand)]
pub enum Checkpoint {
    /// Create a checkpoint of the files in a running sandbox
    #[command(after_help = "\
Example:
  snapshotter checkpoint create agent-42 before --message tested --expires 1d")]
    Create(Create),
    /// List the checkpoints in a running sandbox, newest first
    #[command(after_help = "\
Example:
  snapshotter checkpoint list agent-42")]
    List(List),
    /// Restore the files of a running sandbox to a checkpoint; asks for confirmation
    #[command(after_help = "\
Example:
  snapshotter checkpoint restore agent-42 before-refactoring --yes")]
    Restore(Restore),
    /// Delete a checkpoint; succeeds if there is none with this name
    #[command(after_help = "\
Example:
  snapshotter checkpoint delete agent-42 before-refactoring")]
    Delete(Delete),
    /// Compare the files of a running sandbox with a checkpoint
    #[command(after_help = "\
Examples:
  snapshotter checkpoint diff agent-42 before-refactoring
  snapshotter checkpoint diff agent-42 before-refactoring > changes.patch
  CLICOLOR_FORCE=1 snapshotter checkpoint diff agent-42 step-3 | less -R")]
    Diff(Diff),
}

/// The location of checkpoints.
#[derive(Args)]
pub struct LocationArgs {
    /// The sandbox, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The directory [default: that of the workspace, or else the deployment's, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `checkpoint create`
#[derive(Args)]
pub struct Create {
    /// The location.
    #[command(flatten)]
    pub location: LocationArgs,
    /// The name of the checkpoint; an existing checkpoint with this name is replaced
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The description of the checkpoint
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
    /// The checkpoint expires after this time; 0 means never [default: never]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
}

/// `checkpoint list`
#[derive(Args)]
pub struct List {
    /// The location.
    #[command(flatten)]
    pub location: LocationArgs,
    /// The page.
    #[command(flatten)]
    pub paging: Paging,
}

/// `checkpoint restore`
#[derive(Args)]
pub struct Restore {
    /// The location.
    #[command(flatten)]
    pub location: LocationArgs,
    /// The name of the checkpoint
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Remove all empty directories afterwards
    #[arg(long)]
    pub prune: bool,
    /// The confirmation.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `checkpoint delete`
#[derive(Args)]
pub struct Delete {
    /// The location.
    #[command(flatten)]
    pub location: LocationArgs,
    /// The name of the checkpoint
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `checkpoint diff`
#[derive(Args)]
pub struct Diff {
    /// The location.
    #[command(flatten)]
    pub location: LocationArgs,
    /// The name of the checkpoint
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The maximum length of the diff, in bytes [default: 262144]
    #[arg(long, value_name = "BYTES", value_parser = number)]
    pub max_bytes: Option<u32>,
}
