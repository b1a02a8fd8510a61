//! The commands about snapshots.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{Confirmation, IdempotencyKey, LineageScope, Paging, SnapshotSelector};
use super::duration::DurationArg;

/// The commands about snapshots.
#[derive(Subcommand)]
pub enum Snapshot {
    /// Capture a directory of a running sandbox
    #[command(after_help = "\
Examples:
  snapshotter snapshot create agent-42
  snapshotter snapshot create agent-42 --tag before-upgrade --expires 7d
  snapshotter snapshot create @notebook --exclude '*.log' --compression zstd
  snapshotter snapshot create agent-42 --json > ref.json")]
    Create(Create),
    /// List the snapshots of a sandbox, the newest first
    #[command(after_help = "\
Examples:
  snapshotter snapshot list agent-42
  snapshotter snapshot list @notebook --tag-prefix before-
  snapshotter snapshot list agent-42 --quiet | head -1")]
    List(List),
    /// Show everything that is known about a snapshot
    #[command(after_help = "\
Examples:
  snapshotter snapshot show agent-42 before-upgrade
  snapshotter snapshot show --ref ref.json --json")]
    Show(Show),
    /// Check in R2 whether a snapshot can be restored; no container is started
    #[command(after_help = "\
Example:
  snapshotter snapshot verify agent-42 before-upgrade || echo broken")]
    Verify(Verify),
    /// Delete a snapshot
    #[command(after_help = "\
Examples:
  snapshotter snapshot delete agent-42 before-upgrade
  snapshotter snapshot delete agent-42 snap-9rbk8d2dduhnwf6u --force --yes")]
    Delete(Delete),
    /// Keep a snapshot whatever the retention policy says
    #[command(after_help = "\
Example:
  snapshotter snapshot pin agent-42 before-upgrade")]
    Pin(Pin),
    /// Leave a snapshot to the retention policy again
    #[command(after_help = "\
Example:
  snapshotter snapshot unpin agent-42 before-upgrade")]
    Unpin(Pin),
    /// Give a snapshot another tag
    #[command(after_help = "\
Example:
  snapshotter snapshot label agent-42 snap-9rbk8d2dduhnwf6u --to works")]
    Label(Label),
    /// Take in a backup that the SDK made directly
    #[command(after_help = "\
Example:
  snapshotter snapshot import agent-42 --backup handle.json --tag imported")]
    Import(Import),
}

/// `snapshot create`
#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct Create {
    /// The sandbox, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// What the snapshot is called [default: snap-YYYYMMDD-HHMMSS, in UTC]
    #[arg(long, short, value_name = "TAG")]
    pub tag: Option<String>,
    /// Take the tag from the snapshot that has it
    #[arg(long, requires = "tag")]
    pub replace: bool,
    /// The directory [default: that of the deployment, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// How long after its last use it goes; 0 is never [default: what the policy says]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
    /// Leave out names of this pattern, at any depth; it has no slash, and can be given several times
    #[arg(long = "exclude", value_name = "PATTERN")]
    pub excludes: Vec<String>,
    /// Leave out what git ignores, where all of that is at the top of the directory
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub gitignore: Option<bool>,
    /// How the archive is compressed
    #[arg(long, value_name = "FORMAT")]
    pub compression: Option<Compression>,
    /// How many threads compress it
    #[arg(long, value_name = "N")]
    pub compression_threads: Option<std::num::NonZeroU32>,
    /// Start the sandbox where it is not running: it has none of its files then
    #[arg(long)]
    pub wake: bool,
    /// Go on with the files that are there now, where the container was replaced
    #[arg(long)]
    pub adopt: bool,
    /// Begin a capture of its own, though one is under way
    #[arg(long)]
    pub fresh: bool,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
    /// Who asks.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// How archives are compressed.
#[derive(Clone, Copy, ValueEnum)]
pub enum Compression {
    /// Found everywhere
    Gzip,
    /// The fastest
    Lz4,
    /// The smallest at a fair speed
    Zstd,
}

/// `snapshot list`
#[derive(Args)]
pub struct List {
    /// The sandbox, or @NAME for all sandboxes that a named workspace has and had
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// Only those whose tag begins like this
    #[arg(long, value_name = "TEXT")]
    pub tag_prefix: Option<String>,
    /// Do not look into R2 for what can be restored
    #[arg(long)]
    pub no_check: bool,
    /// Which page.
    #[command(flatten)]
    pub paging: Paging,
    /// Who asks.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `snapshot show`
#[derive(Args)]
pub struct Show {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
}

/// `snapshot verify`
#[derive(Args)]
pub struct Verify {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
}

/// `snapshot pin` and `snapshot unpin`
#[derive(Args)]
pub struct Pin {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
}

/// `snapshot delete`
#[derive(Args)]
pub struct Delete {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
    /// Delete it although it is pinned, or others need it; asks before
    #[arg(long)]
    pub force: bool,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `snapshot label`
#[derive(Args)]
pub struct Label {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
    /// The tag that it gets
    #[arg(long, value_name = "TAG")]
    pub to: String,
    /// Take the tag from the snapshot that has it
    #[arg(long)]
    pub replace: bool,
}

/// `snapshot import`
#[derive(Args)]
pub struct Import {
    /// The sandbox that the backup was made of, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The handle that `createBackup` answered, in JSON
    #[arg(long, value_name = "FILE|-")]
    pub backup: PathBuf,
    /// What the snapshot is called [default: snap-YYYYMMDD-HHMMSS, in UTC]
    #[arg(long, short, value_name = "TAG")]
    pub tag: Option<String>,
    /// Take the tag from the snapshot that has it
    #[arg(long, requires = "tag")]
    pub replace: bool,
    /// How long after its last use it goes; 0 is never [default: what the policy says]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
}

/// `restore` and `branch`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter restore agent-42 before-upgrade
  snapshotter branch @notebook snap-9rbk8d2dduhnwf6u --quiet
  snapshotter snapshot create agent-42 --json | snapshotter restore --ref -
  snapshotter restore --ref ref.json --idempotency-key \"$JOB\"")]
pub struct Restore {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
}
