//! The commands that download files of snapshots.

use std::path::PathBuf;

use clap::Args;

use super::common::{LineageScope, SnapshotSelector};
use super::files::FileSelector;

/// `cp`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter cp agent-42 before-upgrade src/main.rs .
  snapshotter cp @notebook before-upgrade src ./src
  snapshotter cp agent-42 before-upgrade data.db - | sha256sum
  snapshotter cp --ref ref.json src ./src")]
pub struct Cp {
    /// SANDBOX or @NAME, ID or LABEL, PATH and LOCAL; with --ref, PATH and LOCAL. LOCAL is a file or a directory; - is the
    /// standard output, and gets a directory as a tar
    #[arg(value_name = "SANDBOX|@NAME> <ID|LABEL> <PATH> <LOCAL", num_args = 2..=4, required = true)]
    pub operands: Vec<String>,
    /// The ref of the snapshot in JSON: the output of `snapshot create --json`
    #[arg(long = "ref", id = "from_ref", value_name = "FILE|-")]
    pub reference: Option<PathBuf>,
    /// Replace existing files, and add to existing directories
    #[arg(long, short)]
    pub force: bool,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

impl Cp {
    /// Separates the selection of the snapshot, the path and the local file. Returns `None` for another number of operands.
    pub fn split(self) -> Option<(SnapshotSelector, String, String, bool)> {
        let Self { operands, reference, force, lineage_scope } = self;
        let mut operands = operands.into_iter();
        let (target, snapshot) = match &reference {
            Some(_) => (None, None),
            None => (operands.next(), operands.next()),
        };
        let (path, local) = (operands.next()?, operands.next()?);
        let selector = SnapshotSelector { target, snapshot, reference, lineage_scope };
        operands.next().is_none().then_some((selector, path, local, force))
    }
}

/// `export`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter export agent-42 before-upgrade --output before-upgrade.tar
  snapshotter export @notebook before-upgrade src --output - | tar -tv
  snapshotter export --ref ref.json --output before-upgrade.tar")]
pub struct Export {
    /// The directory.
    #[command(flatten)]
    pub file: FileSelector,
    /// The file to write the tar to; - is the standard output
    #[arg(long, short, value_name = "FILE|-")]
    pub output: String,
    /// Replace an existing file
    #[arg(long, short)]
    pub force: bool,
}
