//! The command that revives a sandbox.

use clap::Args;

use super::common::{IdempotencyKey, LineageScope};
use super::snapshot::ImageAction;
use super::workspace::DivergedAction;

/// `revive`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter revive agent-42
  snapshotter revive agent-42 --on-diverged rescue")]
pub struct Revive {
    /// The sandbox. That of a named workspace is started with `workspace start`
    #[arg(value_name = "SANDBOX")]
    pub target: String,
    /// How to handle files that were written since the sandbox cold-started without its own [default: fail]
    #[arg(long, value_name = "ACTION")]
    pub on_diverged: Option<DivergedAction>,
    /// What to do if the image of the sandbox differs from that of the snapshot [default: report]
    #[arg(long, value_name = "ACTION")]
    pub on_image_change: Option<ImageAction>,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}
