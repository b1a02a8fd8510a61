//! The commands about retention.

use clap::{Args, Subcommand};

use super::common::{Confirmation, LineageScope};
use super::policy::Policy;

/// The commands about retention.
#[derive(Subcommand)]
pub enum Retention {
    /// Show the policy of a sandbox, and what it means for each of its snapshots
    #[command(after_help = "\
Example:
  snapshotter retention show agent-42")]
    Show(Show),
    /// Say what would be removed now, and why; with a policy, what it would remove
    #[command(after_help = "\
Examples:
  snapshotter retention plan agent-42
  snapshotter retention plan agent-42 --keep-last 5 --keep-daily 7")]
    Plan(Plan),
    /// Let go what the policy says; asks before
    #[command(after_help = "\
Example:
  snapshotter retention apply agent-42 --yes")]
    Apply(Apply),
    /// Give a sandbox another policy, which is applied at once; asks before
    #[command(after_help = "\
Examples:
  snapshotter retention set agent-42 --keep-last 10 --expires 14d
  snapshotter retention set @notebook --expires never --yes")]
    Set(Set),
}

/// `retention show`
#[derive(Args)]
pub struct Show {
    /// The sandbox, or @NAME for all sandboxes that a named workspace has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Who asks.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `retention plan`
#[derive(Args)]
pub struct Plan {
    /// The sandbox, or @NAME for all sandboxes that a named workspace has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Another policy than the one that it has.
    #[command(flatten)]
    pub policy: Policy,
}

/// `retention apply`
#[derive(Args)]
pub struct Apply {
    /// The sandbox, or @NAME for all sandboxes that a named workspace has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `retention set`
#[derive(Args)]
pub struct Set {
    /// The sandbox, or @NAME for a named workspace with all sandboxes that it has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
    /// The policy. What is not said is as by default.
    #[command(flatten)]
    pub policy: Policy,
}
