//! The commands for lineages, for signing keys and for the deployment.

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
    /// A sandbox of the lineage, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Do not query whether each sandbox is running
    #[arg(long)]
    pub no_check: bool,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub scope: LineageScope,
}

/// The commands for signing keys.
#[derive(Subcommand)]
pub enum Key {
    /// Sign the refs of a sandbox with a new key; asks for confirmation
    ///
    /// Refs that the previous key signed stay valid until the next rotation.
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
    /// The confirmation.
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
    /// Only count the backups
    #[arg(long)]
    pub dry_run: bool,
    /// The minimum age of a backup that the sweep deletes [default: 1d]
    #[arg(long, value_name = "TIME")]
    pub grace: Option<DurationArg>,
    /// The confirmation.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `doctor`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter doctor
  snapshotter doctor --address https://snapshots.example --token-file token.txt")]
pub struct Doctor {
    /// Report the runtimes and the images of the workspaces of this tenant [default: default]
    #[arg(long, value_name = "TENANT")]
    pub tenant: Option<String>,
}
