//! The commands for snapshots.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use sandbox_snapshotter_client::model::freeze::Freeze;
use sandbox_snapshotter_client::model::named::settings::OnImageChange;

use super::common::{Confirmation, IdempotencyKey, LineageScope, Paging, RuntimeOption, SnapshotSelector};
use super::duration::DurationArg;
use super::number::{number, positive};
use super::secrets::Secrets;

/// The commands for snapshots.
#[derive(Subcommand)]
pub enum Snapshot {
    /// Capture a directory of a running sandbox
    #[command(after_help = "\
Examples:
  snapshotter snapshot create agent-42
  snapshotter snapshot create agent-42 --label before-upgrade --expires 7d
  snapshotter snapshot create @notebook --exclude '*.log' --compression zstd
  snapshotter snapshot create agent-42 --json > ref.json")]
    Create(Create),
    /// List the snapshots of a sandbox, newest first
    #[command(after_help = "\
Examples:
  snapshotter snapshot list agent-42
  snapshotter snapshot list @notebook --label-prefix before-
  snapshotter snapshot list agent-42 --quiet | head -1")]
    List(List),
    /// Show all details of a snapshot
    #[command(after_help = "\
Examples:
  snapshotter snapshot show agent-42 before-upgrade
  snapshotter snapshot show --ref ref.json --json")]
    Show(Show),
    /// Check in R2 whether a snapshot can be restored; starts no container
    #[command(after_help = "\
Example:
  snapshotter snapshot verify agent-42 before-upgrade || echo broken")]
    Verify(Verify),
    /// Delete a snapshot; asks for confirmation
    #[command(after_help = "\
Examples:
  snapshotter snapshot delete agent-42 before-upgrade
  snapshotter snapshot delete agent-42 snap-9rbk8d2dduhnwf6u --force --yes")]
    Delete(Delete),
    /// Pin a snapshot: the retention policy never removes it
    #[command(after_help = "\
Example:
  snapshotter snapshot pin agent-42 before-upgrade")]
    Pin(Pin),
    /// Unpin a snapshot: the retention policy applies to it again
    #[command(after_help = "\
Example:
  snapshotter snapshot unpin agent-42 before-upgrade")]
    Unpin(Pin),
    /// Change the label of a snapshot
    #[command(after_help = "\
Example:
  snapshotter snapshot label agent-42 snap-9rbk8d2dduhnwf6u --to works")]
    Label(Label),
    /// Import a backup that the SDK created directly
    #[command(after_help = "\
Example:
  snapshotter snapshot import agent-42 --backup handle.json --label imported")]
    Import(Import),
}

/// `snapshot create`
#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct Create {
    /// The sandbox, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The label of the snapshot [default: snap-YYYYMMDD-HHMMSS, in UTC]
    #[arg(long, short, value_name = "LABEL")]
    pub label: Option<String>,
    /// Take the label from another snapshot that has it
    #[arg(long, requires = "label")]
    pub replace: bool,
    /// The directory to capture [default: that of the workspace, or else the deployment's, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// The snapshot expires this long after its last use; 0 means never [default: the retention policy decides]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
    /// Exclude names that match this pattern, at any depth; must not contain a slash; repeatable
    #[arg(long = "exclude", value_name = "PATTERN")]
    pub excludes: Vec<String>,
    /// Exclude the files that git ignores, in a git repository; refused if a file that it does not ignore has such a name
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub gitignore: Option<bool>,
    /// The compression of the archive
    #[arg(long, value_name = "FORMAT")]
    pub compression: Option<Compression>,
    /// The number of threads that compress the archive
    #[arg(long, value_name = "N", value_parser = positive)]
    pub compression_threads: Option<std::num::NonZeroU32>,
    /// Start the sandbox if it is not running; it starts without any of its files
    #[arg(long)]
    pub wake: bool,
    /// Adopt the present files as the sandbox's own after its container was replaced
    #[arg(long)]
    pub adopt: bool,
    /// Start a new capture even if one is already in progress
    #[arg(long)]
    pub fresh: bool,
    /// Whether to store only what changed since a full snapshot, where that is possible [default: the workspace or the deployment
    /// decides]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub incremental: Option<bool>,
    /// Capture again while files change during the capture, up to 3 times
    #[arg(long)]
    pub settled: bool,
    /// What to do with files that seem to contain secrets [default: keep them, and search for none]
    #[arg(long, value_name = "MODE")]
    pub secrets: Option<Secrets>,
    /// A command in the container that freezes the files of a program, such as a database, before the capture
    #[arg(long, value_name = "COMMAND", requires = "thaw")]
    pub freeze: Option<String>,
    /// The command that thaws the files after the capture
    #[arg(long, value_name = "COMMAND", requires = "freeze")]
    pub thaw: Option<String>,
    /// The time limit of the freeze: then the container thaws the files by itself
    #[arg(long, value_name = "SECONDS", requires = "freeze", value_parser = number, default_value_t = Freeze::MAX_SECONDS)]
    pub freeze_timeout: u32,
    /// The runtime of the sandbox.
    #[command(flatten)]
    pub runtime: RuntimeOption,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// What to do if the image of a sandbox differs from that of a snapshot.
#[derive(Clone, Copy, ValueEnum)]
pub enum ImageAction {
    /// The command fails, and nothing is restored
    Fail,
    /// The answer reports the difference
    Report,
    /// The difference is ignored
    Allow,
}

impl From<ImageAction> for OnImageChange {
    fn from(action: ImageAction) -> Self {
        match action {
            ImageAction::Fail => Self::Fail,
            ImageAction::Report => Self::Report,
            ImageAction::Allow => Self::Allow,
        }
    }
}

/// The compression of archives.
#[derive(Clone, Copy, ValueEnum)]
pub enum Compression {
    /// Available everywhere
    Gzip,
    /// The fastest algorithm
    Lz4,
    /// The smallest archives at a moderate speed
    Zstd,
}

/// What a deletion does with the deltas that are based on the snapshot.
#[derive(Clone, Copy, ValueEnum)]
pub enum DeltasOnDelete {
    /// They stay, and the archive of the snapshot stays in R2 until the last of them is deleted
    Keep,
    /// They are deleted too, so that nothing of the snapshot stays in R2
    Delete,
}

/// `snapshot list`
#[derive(Args)]
pub struct List {
    /// The sandbox, or @NAME for the present and all former sandboxes of a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// List only snapshots whose label starts with this text
    #[arg(long, value_name = "TEXT")]
    pub label_prefix: Option<String>,
    /// Do not check in R2 which snapshots can be restored
    #[arg(long)]
    pub no_check: bool,
    /// The page.
    #[command(flatten)]
    pub paging: Paging,
    /// The lineage scope of the caller.
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
    /// Delete the snapshot although it is pinned or has dependents
    #[arg(long)]
    pub force: bool,
    /// What to do with the deltas that are based on the snapshot: keep them and its archive, or delete them too [default: keep]
    #[arg(long, value_name = "ACTION")]
    pub deltas: Option<DeltasOnDelete>,
    /// The confirmation.
    #[command(flatten)]
    pub confirmation: Confirmation,
}

/// `snapshot label`
#[derive(Args)]
pub struct Label {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
    /// The new label
    #[arg(long, value_name = "LABEL")]
    pub to: String,
    /// Take the label from another snapshot that has it
    #[arg(long)]
    pub replace: bool,
}

/// `snapshot import`
#[derive(Args)]
pub struct Import {
    /// The sandbox that the backup was taken of, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The handle that `createBackup` returned, or the record of `DirectoryBackup`, in JSON
    #[arg(long, value_name = "FILE|-")]
    pub backup: PathBuf,
    /// The label of the snapshot [default: snap-YYYYMMDD-HHMMSS, in UTC]
    #[arg(long, short, value_name = "LABEL")]
    pub label: Option<String>,
    /// Take the label from another snapshot that has it
    #[arg(long, requires = "label")]
    pub replace: bool,
    /// The snapshot expires this long after its last use; 0 means never [default: the retention policy decides]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
    /// The runtime of the sandbox.
    #[command(flatten)]
    pub runtime: RuntimeOption,
}

/// `restore` and `branch`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter restore agent-42 before-upgrade
  snapshotter branch @notebook snap-9rbk8d2dduhnwf6u --quiet
  snapshotter restore agent-42 before-upgrade --runtime container
  snapshotter snapshot create agent-42 --json | snapshotter restore --ref -
  snapshotter restore --ref ref.json --idempotency-key \"$JOB\"

The new sandbox ends by itself when it is not used, after the idle time of its
class. To end it earlier, destroy it in your Worker.")]
pub struct Restore {
    /// The snapshot.
    #[command(flatten)]
    pub selector: SnapshotSelector,
    /// The runtime of the new sandbox.
    #[command(flatten)]
    pub runtime: RuntimeOption,
    /// What to do if the image of the new sandbox differs from that of the snapshot [default: report]
    #[arg(long, value_name = "ACTION")]
    pub on_image_change: Option<ImageAction>,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
}
