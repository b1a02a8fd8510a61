//! The commands about retention.

use clap::{Args, Subcommand};

use super::common::{Consent, Session};
use super::policy::Policy;

/// The commands about retention.
#[derive(Subcommand)]
pub enum Retention {
    /// Show the policy of a sandbox, and what it means for each of its snapshots
    #[command(after_help = "\
Example:
  snapshotter retention show agent-42")]
    Show(Show),
    /// Say what would be let go now, and why; with a policy, what it would let go
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
    pub place: String,
    /// Who asks.
    #[command(flatten)]
    pub session: Session,
}

/// `retention plan`
#[derive(Args)]
pub struct Plan {
    /// The sandbox, or @NAME for all sandboxes that a named workspace has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub place: String,
    /// Another policy than the one that it has.
    #[command(flatten)]
    pub policy: Policy,
}

/// `retention apply`
#[derive(Args)]
pub struct Apply {
    /// The sandbox, or @NAME for all sandboxes that a named workspace has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub place: String,
    /// Whether to ask.
    #[command(flatten)]
    pub consent: Consent,
}

/// `retention set`
#[derive(Args)]
pub struct Set {
    /// The sandbox, or @NAME for a named workspace with all sandboxes that it has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub place: String,
    /// Whether to ask.
    #[command(flatten)]
    pub consent: Consent,
    /// The policy. What is not said is as by default.
    #[command(flatten)]
    pub policy: Policy,
}
