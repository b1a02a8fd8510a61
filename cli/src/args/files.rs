//! The commands for the files of snapshots and of running sandboxes.

use std::path::PathBuf;

use clap::Args;

use super::common::{LineageScope, Paging, SnapshotSelector};

/// The selection of a file of a snapshot, or of a running sandbox.
#[derive(Args)]
pub struct FileSelector {
    /// SANDBOX:PATH or @NAME:PATH for a file of a running sandbox or a workspace. For a file of a snapshot, the sandbox that
    /// the snapshot was taken of, or @NAME; with --ref, the path
    #[arg(value_name = "SANDBOX|@NAME", required_unless_present = "from_ref")]
    pub target: Option<String>,
    /// The id or the label of the snapshot, or `latest`
    #[arg(value_name = "ID|LABEL", conflicts_with = "from_ref")]
    pub snapshot: Option<String>,
    /// The path in the directory that the snapshot contains [default: the directory itself]
    #[arg(value_name = "PATH", conflicts_with = "from_ref")]
    pub path: Option<String>,
    /// The short ref of the snapshot, or a file with its ref in JSON, followed by the path
    #[arg(long = "ref", id = "from_ref", value_name = "SHORT|FILE|-")]
    pub reference: Option<PathBuf>,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

impl FileSelector {
    /// Separates the selection of the snapshot from the path.
    pub fn split(self) -> (SnapshotSelector, Option<String>) {
        let Self { target, snapshot, path, reference, lineage_scope } = self;
        let (target, path) = if reference.is_some() { (None, target) } else { (target, path) };
        (SnapshotSelector { target, snapshot, reference, lineage_scope }, path)
    }

    /// Returns the sandbox or the workspace, if neither a snapshot nor a path is selected.
    pub fn sandbox_alone(&self) -> Option<&str> {
        let target = self.target.as_deref()?;
        let is_alone = self.snapshot.is_none() && self.reference.is_none() && split_place(target).is_none();
        is_alone.then_some(target)
    }

    /// Returns the sandbox or the workspace, and the path in it, unless the selection is that of a snapshot.
    pub fn in_sandbox(&self) -> Option<(&str, &str)> {
        let target = self.target.as_deref().filter(|_| self.snapshot.is_none() && self.reference.is_none())?;
        split_place(target)
    }
}

/// Splits SANDBOX:PATH or @NAME:PATH. A local path with a colon has a slash before it.
pub fn split_place(text: &str) -> Option<(&str, &str)> {
    let (target, path) = text.split_once(':')?;
    let is_place = !target.is_empty() && (target.starts_with('@') || !target.contains('/'));
    is_place.then_some((target, path))
}

/// Returns @NAME:PATH for @NAME/PATH, in which the user may have written a slash in place of the colon.
pub fn with_colon(text: &str) -> Option<String> {
    let (name, path) = text.strip_prefix('@').filter(|text| !text.contains(':'))?.split_once('/')?;
    (!name.is_empty() && !path.is_empty()).then(|| format!("@{name}:{path}"))
}

/// `ls`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter ls @notebook
  snapshotter ls @notebook:src
  snapshotter ls agent-42 before-upgrade
  snapshotter ls @notebook before-upgrade src --json
  snapshotter ls --ref ref.json src")]
pub struct Ls {
    /// The directory.
    #[command(flatten)]
    pub file: FileSelector,
    /// The pages of the list.
    #[command(flatten)]
    pub paging: Paging,
}

/// `stat`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter stat @notebook:src/main.rs
  snapshotter stat agent-42 before-upgrade src/main.rs")]
pub struct Stat {
    /// The file.
    #[command(flatten)]
    pub file: FileSelector,
}

/// `restore-files`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter restore-files agent-42 before-upgrade src/main.rs
  snapshotter restore-files @notebook before-upgrade src docs/guide.md
  snapshotter restore-files agent-42 before a b --to @notebook --overwrite

A directory selects everything in it, at most 1,000 files, links and
directories. Existing files are skipped unless --overwrite is set. The exit
status is 4 if all files were skipped.")]
pub struct RestoreFiles {
    /// The sandbox that the snapshot was taken of, or @NAME for a named workspace
    #[arg(value_name = "SANDBOX|@NAME")]
    pub target: String,
    /// The id or the label of the snapshot, or `latest`
    #[arg(value_name = "ID|LABEL")]
    pub snapshot: String,
    /// The paths of files and directories in the directory that the snapshot contains
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// The running sandbox to write the files to, or @NAME for a named workspace [default: that of the snapshot]
    #[arg(long, value_name = "SANDBOX|@NAME")]
    pub to: Option<String>,
    /// The directory to write the files to [default: that of the workspace, or else the deployment's, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// Replace existing files
    #[arg(long)]
    pub overwrite: bool,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// `cat`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter cat @notebook:src/main.rs
  snapshotter cat agent-42 before-upgrade src/main.rs
  snapshotter cat @notebook before-upgrade data.db > data.db")]
pub struct Cat {
    /// The file.
    #[command(flatten)]
    pub file: FileSelector,
}

/// `du`
#[derive(Args)]
#[command(after_help = "\
Examples:
  snapshotter du agent-42 before-upgrade
  snapshotter du @notebook before-upgrade node_modules")]
pub struct Du {
    /// The directory.
    #[command(flatten)]
    pub file: FileSelector,
}
