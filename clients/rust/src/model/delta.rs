//! The form of a snapshot: complete, or only what changed since another one.

use serde::{Deserialize, Serialize};

use super::{Error, Result};

/// What the archive of a snapshot contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum SnapshotForm {
    /// All files.
    #[default]
    Full,
    /// The changes since a full snapshot, its base. A restore needs both.
    Delta,
}

impl SnapshotForm {
    /// Returns whether it is the default form.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full)
    }
}

impl FullReason {
    /// Returns the reason as it appears in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoBase => "noBase",
            Self::Container => "container",
            Self::Inventory => "inventory",
            Self::Directory => "directory",
            Self::Excludes => "excludes",
            Self::Rescue => "rescue",
            Self::BaseUnusable => "baseUnusable",
            Self::BaseSmall => "baseSmall",
            Self::BaseOld => "baseOld",
            Self::BaseFull => "baseFull",
            Self::Large => "large",
            Self::Entries => "entries",
            Self::Overlay => "overlay",
            Self::Mount => "mount",
            Self::FileSystem => "fileSystem",
            Self::Tools => "tools",
            Self::Special => "special",
            Self::Attributes => "attributes",
            Self::Changing => "changing",
            Self::Clock => "clock",
            Self::Disk => "disk",
            Self::Failed => "failed",
        }
    }

    /// Returns the reason in words, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoBase => "the container has no full snapshot to compare with",
            Self::Container => "the container is another one than that of the base",
            Self::Inventory => "the inventory of the base is missing, damaged or of another base",
            Self::Directory => "the base is of another directory, or the directory is reached through a symbolic link",
            Self::Excludes => "files are excluded",
            Self::Rescue => "it is a rescue snapshot",
            Self::BaseUnusable => "the base is deleted, damaged or about to expire",
            Self::BaseSmall => "the files or the base are smaller than 5 MB",
            Self::BaseOld => "the base is older than 7 days",
            Self::BaseFull => "the base has 32 deltas already",
            Self::Large => "more than 25 % of the bytes changed",
            Self::Entries => "the directory has more than 500,000 entries",
            Self::Overlay => "the files are in an overlay over a mounted archive",
            Self::Mount => "a file system is mounted in the directory",
            Self::FileSystem => "the file system may not record all changes",
            Self::Tools => "the image lacks a program",
            Self::Special => "the directory contains devices, FIFOs or symbolic links with several names",
            Self::Attributes => "a directory has extended attributes or an access control list",
            Self::Changing => "files changed while they were read",
            Self::Clock => "the clock of the container was set",
            Self::Disk => "the disk of the container is full",
            Self::Failed => "the comparison failed",
        }
    }
}

/// What a deletion does with the deltas that are based on the snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum DeltasOnDelete {
    /// They stay. The archive of the snapshot stays in R2 until the last of them is deleted.
    #[default]
    Keep,
    /// They are deleted, too, so that nothing of the snapshot stays in R2.
    Delete,
}

impl DeltasOnDelete {
    /// Parses a choice.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "keep" => Ok(Self::Keep),
            "delete" => Ok(Self::Delete),
            _ => {
                Err(Error::invalid_argument("`deltas` must be \"keep\" or \"delete\"", "Pass \"keep\" or \"delete\"."))
            }
        }
    }

    /// Returns whether it is the default.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
    pub fn is_keep(&self) -> bool {
        *self == Self::Keep
    }
}

/// Why a snapshot is full although incremental snapshots were requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FullReason {
    /// The container has no inventory of a full snapshot: it is the first snapshot of the container's files, or the first
    /// after a restore of another sandbox's snapshot.
    NoBase,
    /// The container is another one than the base was captured in or restored into.
    Container,
    /// The inventory of the base in the container is missing, damaged or of another base.
    Inventory,
    /// The last base is of another directory, or the directory is reached through a symbolic link.
    Directory,
    /// `excludes` or `gitignore` is set.
    Excludes,
    /// The snapshot is a rescue snapshot.
    Rescue,
    /// The base is deleted, damaged, or about to expire in R2.
    BaseUnusable,
    /// The files, or the base, are smaller than 5 MB.
    BaseSmall,
    /// The base is older than 7 days.
    BaseOld,
    /// The base has 32 deltas already.
    BaseFull,
    /// More than 25 % of the bytes changed.
    Large,
    /// The directory has more than 500,000 entries.
    Entries,
    /// The files are in an overlay over a mounted archive, or would be restored into one.
    Overlay,
    /// A file system is mounted in the directory.
    Mount,
    /// The file system may not record all changes.
    FileSystem,
    /// The image lacks a program: Perl, GNU tar, GNU find, or a program of coreutils.
    Tools,
    /// The directory contains devices, FIFOs, or symbolic links with several names.
    Special,
    /// A directory has extended attributes or an access control list.
    Attributes,
    /// Files changed while they were read.
    Changing,
    /// The clock of the container was set.
    Clock,
    /// The disk of the container is full.
    Disk,
    /// The comparison failed.
    Failed,
}
