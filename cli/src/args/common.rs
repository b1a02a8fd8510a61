//! The arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sandbox_snapshotter_client::model::Runtime;

use super::number::number;

/// The selection of one snapshot.
#[derive(Args)]
pub struct SnapshotSelector {
    /// The sandbox that the snapshot was taken of, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME", required_unless_present = "from_ref")]
    pub target: Option<String>,
    /// The id or the label of the snapshot, or `latest`
    #[arg(value_name = "ID|LABEL", required_unless_present = "from_ref")]
    pub snapshot: Option<String>,
    /// The short ref of the snapshot, instead of both; or a file with its ref in JSON: the output of `snapshot create --json`
    #[arg(long = "ref", id = "from_ref", value_name = "SHORT|FILE|-", conflicts_with_all = ["target", "snapshot"])]
    pub reference: Option<PathBuf>,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// The lineage scope of the caller.
#[derive(Args)]
pub struct LineageScope {
    /// The sandbox that the caller works in, or @NAME: snapshots of other lineages are refused
    #[arg(long, value_name = "SANDBOX|@NAME")]
    pub lineage_scope: Option<String>,
    /// Allow snapshots of other lineages
    #[arg(long, requires = "lineage_scope")]
    pub allow_cross_lineage: bool,
}

/// The runtime of a sandbox.
#[derive(Args)]
pub struct RuntimeOption {
    /// The runtime of the sandbox [default: that of its origin, or the deployment's default]
    #[arg(long, value_name = "RUNTIME", value_parser = runtime())]
    pub runtime: Option<Runtime>,
}

/// Returns the parser of the names of runtimes.
pub fn runtime() -> impl TypedValueParser<Value = Runtime> {
    PossibleValuesParser::new(Runtime::ALL.map(Runtime::as_str)).try_map(|name| Runtime::parse(&name))
}

/// The idempotency key of a call.
#[derive(Args)]
pub struct IdempotencyKey {
    /// The idempotency key: a repeated command with the same key gets the same answer and does nothing twice
    #[arg(long = "idempotency-key", id = "idempotency_key", value_name = "KEY")]
    pub key: Option<String>,
}

/// The confirmation of a command that deletes or replaces data.
#[derive(Args)]
pub struct Confirmation {
    /// Do not ask for confirmation; required without a terminal
    #[arg(long, short)]
    pub yes: bool,
}

/// The pages of a list to print.
#[derive(Args)]
pub struct Paging {
    /// Print one page only, with at most N rows
    #[arg(long, value_name = "N", value_parser = number)]
    pub limit: Option<u32>,
    /// Print one page only, starting at this cursor of the previous page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

impl Paging {
    /// All pages.
    pub const ALL: Self = Self { limit: None, cursor: None };

    /// Returns whether all pages are requested.
    pub const fn is_all(&self) -> bool {
        self.limit.is_none() && self.cursor.is_none()
    }
}
