//! The commands about a lineage, its keys, and the deployment.

use clap::{Args, Subcommand};

use super::common::{Confirmation, LineageScope};
use super::duration::DurationArg;

/// `lineage`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter lineage agent-42
  snapshotter lineage @notebook --no-check --json")]
pub struct Lineage {
    /// A sandbox of it, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Do not ask each sandbox whether it is running
    #[arg(long)]
    pub no_check: bool,
    /// Who asks.
    #[command(flatten)]
    pub scope: LineageScope,
}

/// The commands about keys.
#[derive(Subcommand)]
pub enum Key {
    /// Sign the refs of a sandbox with a new key; those of the key before stay valid until the next time; asks before
    #[command(after_help = "\
Example:
  snapshotter key rotate agent-42 --yes")]
    Rotate(Rotate),
}

/// `key rotate`
#[derive(Args)]
pub struct Rotate {
    /// The sandbox, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `sweep`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter sweep --dry-run
  snapshotter sweep --grace 2d --yes")]
pub struct Sweep {
    /// Only count
    #[arg(long)]
    pub dry_run: bool,
    /// How old a backup must be [default: 1d]
    #[arg(long, value_name = "TIME")]
    pub grace: Option<DurationArg>,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `doctor`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter doctor
  snapshotter doctor --address https://snapshots.example --token-file token.txt")]
pub struct Doctor {}
