//! The commands for retention.

use clap::{Args, Subcommand};

use super::common::{Confirmation, LineageScope};
use super::policy::Policy;

/// The commands for retention.
#[derive(Subcommand)]
pub enum Retention {
    /// Show the retention policy of a sandbox, and the snapshots that it keeps now, with the reasons
    #[command(after_help = "\
Example:
  snapshotter retention show agent-42")]
    Show(Show),
    /// Show which snapshots the policy would remove now, and why; with rules, what those rules would remove
    #[command(after_help = "\
Examples:
  snapshotter retention plan agent-42
  snapshotter retention plan agent-42 --keep-last 5 --keep-daily 7")]
    Plan(Plan),
    /// Remove the snapshots that the policy does not keep; asks for confirmation
    #[command(after_help = "\
Example:
  snapshotter retention apply agent-42 --yes")]
    Apply(Apply),
    /// Set the retention policy of a sandbox, and apply it at once; asks for confirmation. Rules
    /// that are not given stay as they are. The snapshots of each sandbox of a named workspace are counted apart
    #[command(after_help = "\
Examples:
  snapshotter retention set agent-42 --keep-last 10 --expires 14d
  snapshotter retention set @notebook --expires never --yes")]
    Set(Set),
}

/// `retention show`
#[derive(Args)]
pub struct Show {
    /// The sandbox, or @NAME for the present and all former sandboxes of a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `retention plan`
#[derive(Args)]
pub struct Plan {
    /// The sandbox, or @NAME for the present and all former sandboxes of a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The policy to plan with, instead of the present one.
    #[command(flatten)]
    pub policy: Policy,
}

/// `retention apply`
#[derive(Args)]
pub struct Apply {
    /// The sandbox, or @NAME for the present and all former sandboxes of a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The confirmation.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `retention set`
#[derive(Args)]
pub struct Set {
    /// The sandbox, or @NAME for a named workspace: its present and all former sandboxes get the policy, each with its own counts
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The confirmation.
    #[command(flatten)]
    pub confirmation: Confirmation,
    /// The rules to set. Others stay as they are.
    #[command(flatten)]
    pub policy: Policy,
}
