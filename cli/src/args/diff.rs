//! The command for the differences between two snapshots, or a snapshot and the present files.

use clap::Args;

use super::common::{LineageScope, Paging};

/// `diff`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter diff agent-42 before-upgrade after-upgrade
  snapshotter diff agent-42 before-upgrade
  snapshotter diff @notebook latest --patch --path src
  snapshotter diff agent-42 before-upgrade tried --to-sandbox @experiment
  snapshotter diff @notebook monday friday --json")]
pub struct Diff {
    /// The sandbox that the snapshots were taken of, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The id or the label of the first snapshot, or `latest`
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The id or the label of the second snapshot [default: the present files of the running sandbox]
    #[arg(value_name = "TO")]
    pub to: Option<String>,
    /// The sandbox of the second snapshot or of the present files, or @NAME, if it is another one of the lineage
    #[arg(long, value_name = "SANDBOX|@NAME")]
    pub to_sandbox: Option<String>,
    /// Print the changed lines, as a patch for `git apply`
    #[arg(long, short, conflicts_with_all = ["limit", "cursor"])]
    pub patch: bool,
    /// Print only the changed lines of this file or directory; may be repeated
    #[arg(long, value_name = "PATH", requires = "patch")]
    pub path: Vec<String>,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
    /// The pages of the differences.
    #[command(flatten)]
    pub paging: Paging,
}
