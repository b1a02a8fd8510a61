//! The commands that copy files.

use std::path::{Path, PathBuf};

use clap::Args;

use super::common::{LineageScope, SnapshotSelector};
use super::files::{FileSelector, split_place};
use super::secrets::Secrets;

/// `cp`
#[derive(Args)]
#[command(override_usage = "\
snapshotter cp [OPTIONS] <FROM>... <TO>
       snapshotter cp [OPTIONS] <SANDBOX|@NAME> <ID|LABEL> <PATH> <LOCAL>
       snapshotter cp [OPTIONS] --ref <FILE|-> <PATH> <LOCAL>")]
#[command(after_help = "\
Examples:
  snapshotter cp ./config.json @notebook:src/config.json
  snapshotter cp @notebook:out/report.pdf .
  snapshotter cp ./src @notebook:
  snapshotter cp ./src/. @notebook:lib
  snapshotter cp a.txt b.txt @notebook:lib/
  snapshotter cp agent-42 before-upgrade src/main.rs .
  snapshotter cp @notebook before-upgrade src ./src
  snapshotter cp agent-42 before-upgrade data.db - | sha256sum
  snapshotter cp --ref ref.json src ./src

As with `cp -r`, an existing directory gets the copy under the name of its
source. A source that ends with /. is copied without its name.")]
pub struct Cp {
    /// FROM and TO, one of which is SANDBOX:PATH or @NAME:PATH, for a file or a directory of a running sandbox or of a
    /// workspace. Several files or directories are copied into the directory TO. For a snapshot: SANDBOX or @NAME, ID or LABEL, PATH and LOCAL; with --ref, PATH and LOCAL. LOCAL is a file
    /// or a directory; - is the standard input or output, and gets a directory as a tar
    #[arg(value_names = ["FROM", "TO"], num_args = 2.., required = true)]
    pub operands: Vec<String>,
    /// The ref of the snapshot in JSON: the output of `snapshot create --json`
    #[arg(long = "ref", id = "from_ref", value_name = "FILE|-")]
    pub reference: Option<PathBuf>,
    /// Replace existing files, and add to directories that have files
    #[arg(long, short)]
    pub force: bool,
    /// Accepted as other programs have it: directories are copied with their files anyway
    #[arg(long, short, short_alias = 'R', short_alias = 'a', hide = true)]
    pub recursive: bool,
    /// What to do with files in a directory of a snapshot that are named like files with secrets [default: exclude]
    #[arg(long, value_name = "MODE")]
    pub secrets: Option<Secrets>,
    /// The lineage scope of the caller.
    #[command(flatten)]
    pub lineage_scope: LineageScope,
}

/// A copy between this machine and a running sandbox: the sandbox or workspace, the path in it, and the local file.
pub type Between<'a> = (&'a str, &'a str, SandboxCopy<'a>);

/// The direction of a copy, and the local file.
#[derive(Clone, Copy)]
pub enum SandboxCopy<'a> {
    /// From the sandbox to this file.
    To(&'a str),
    /// From this file to the sandbox.
    From(&'a str),
}

impl Cp {
    /// Returns what is copied between this machine and running sandboxes, with the operand of each. Returns `None` for a copy from
    /// a snapshot.
    pub fn between(&self) -> Option<Vec<(&str, Between<'_>)>> {
        let (to, sources) = self.operands.split_last()?;
        if self.reference.is_some() || sources.is_empty() {
            return None;
        }
        let is_upload = split_place(to).is_some();
        // For a snapshot, there are four operands too.
        let may_be_snapshot = sources.len() == 3 && is_upload && !to.starts_with('@');
        if may_be_snapshot && !sources.iter().all(|from| Path::new(from).exists()) {
            return None;
        }
        let copies = sources.iter().map(|from| match (split_place(from), split_place(to)) {
            (Some((target, path)), None) => Some((from.as_str(), (target, path, SandboxCopy::To(to)))),
            (None, Some((target, path))) => Some((from.as_str(), (target, path, SandboxCopy::From(from)))),
            _ => None,
        });
        copies.collect()
    }

    /// Separates the selection of the snapshot, the path and the local file. Returns `None` for another number of operands.
    pub fn split(self) -> Option<(SnapshotSelector, String, String, bool)> {
        let Self { operands, reference, force, lineage_scope, recursive: _, secrets: _ } = self;
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
  snapshotter export @notebook before-upgrade src | tar -tv
  snapshotter export --ref ref.json --output before-upgrade.tar")]
pub struct Export {
    /// The directory.
    #[command(flatten)]
    pub file: FileSelector,
    /// The file to write the tar to [default: the standard output, unless it is a terminal]
    #[arg(long, short, value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    pub output: String,
    /// Replace an existing file
    #[arg(long, short)]
    pub force: bool,
    /// What to do with files that are named like files with secrets [default: exclude]
    #[arg(long, value_name = "MODE")]
    pub secrets: Option<Secrets>,
}
