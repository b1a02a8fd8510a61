//! What several commands take.

use std::path::PathBuf;

use clap::Args;

/// One snapshot.
#[derive(Args)]
pub struct SnapshotSelector {
    /// The sandbox that it was taken of, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME", required_unless_present = "from_ref")]
    pub target: Option<String>,
    /// Its id, or its tag
    #[arg(value_name = "ID|TAG", required_unless_present = "from_ref")]
    pub snapshot: Option<String>,
    /// A ref in JSON, in the place of both: what `snapshot create --json` prints
    #[arg(long = "ref", id = "from_ref", value_name = "FILE|-", conflicts_with_all = ["target", "snapshot"])]
    pub reference: Option<PathBuf>,
    /// Who asks.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// Who asks.
#[derive(Args)]
pub struct LineageScope {
    /// The sandbox that the caller works in, or @NAME: what is of another lineage is refused
    #[arg(long, value_name = "SANDBOX|@NAME")]
    pub lineage_scope: Option<String>,
    /// Allow other lineages than the session's
    #[arg(long, requires = "lineage_scope")]
    pub allow_cross_lineage: bool,
}

/// A key by which a call can be made again.
#[derive(Args)]
pub struct IdempotencyKey {
    /// Names what is wanted: the same command with the same key gets the same answer, and does nothing twice
    #[arg(long = "idempotency-key", id = "idempotency_key", value_name = "KEY")]
    pub key: Option<String>,
}

/// A person's consent.
#[derive(Args)]
pub struct Confirmation {
    /// Do not ask; needed where there is no terminal to ask on
    #[arg(long, short)]
    pub yes: bool,
}

/// A page of a list.
#[derive(Args)]
pub struct Paging {
    /// Only one page, of so many
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Only one page, from where the one before ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

impl Paging {
    /// All pages.
    pub const ALL: Self = Self { limit: None, cursor: None };

    /// Whether all pages are wanted.
    pub const fn is_all(&self) -> bool {
        self.limit.is_none() && self.cursor.is_none()
    }
}
