//! The calls about checkpoints that a sandbox receives, and their outcomes.

use super::checkpoint::{
    CheckpointCursor, CheckpointDescription, CheckpointDiff, CheckpointName, CheckpointPage, CreatedCheckpoint,
    DeletedCheckpoint, RestoredCheckpoint,
};
use super::sandbox::DirectoryContent;

/// A call about checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointCall {
    /// Creates a checkpoint.
    Create {
        /// The name of the checkpoint.
        name: CheckpointName,
        /// Its description.
        description: CheckpointDescription,
        /// After how many seconds it expires; 0 for never.
        expiration_seconds: u64,
    },
    /// Lists a page of the checkpoints.
    List {
        /// Where the page starts; with the newest if absent.
        after: Option<CheckpointCursor>,
        /// The maximum number of checkpoints on the page.
        limit: u32,
    },
    /// Restores the files of a checkpoint.
    Restore {
        /// The name of the checkpoint.
        name: CheckpointName,
        /// Whether to remove all empty directories afterwards.
        prune: bool,
    },
    /// Deletes a checkpoint.
    Delete {
        /// The name of the checkpoint.
        name: CheckpointName,
    },
    /// Compares the present files with a checkpoint.
    Diff {
        /// The name of the checkpoint.
        name: CheckpointName,
        /// The maximum size of the diff, in bytes.
        max_bytes: u32,
    },
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointOutcome {
    /// The call created a checkpoint.
    Created(CreatedCheckpoint),
    /// The call listed a page of the checkpoints.
    Listed(CheckpointPage),
    /// The call restored the files of a checkpoint.
    Restored(RestoredCheckpoint),
    /// The call deleted a checkpoint, or found none.
    Deleted(DeletedCheckpoint),
    /// The call compared the files with a checkpoint.
    Diffed(CheckpointDiff),
}

/// Why a call was refused. No file was changed, except possibly with [`Failed`](Self::Failed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointRefusal {
    /// The directory is missing, or is not a directory.
    NotADirectory(DirectoryContent),
    /// The directory belongs to the git repository of a parent directory.
    InsideRepository(String),
    /// A directory of the repository that contains refs is a symbolic link.
    SymlinkedRefs(String),
    /// The image has no git.
    GitMissing,
    /// No checkpoint has this name.
    NotFound,
    /// The checkpoint refers to other repositories, whose files it does not contain.
    Submodules,
    /// Some files cannot be read. Lists some of them.
    Unreadable(Vec<String>),
    /// Some files have names that git reserves. Lists some of them.
    ReservedNames(Vec<String>),
    /// The restore would overwrite files that no checkpoint contains: ignored files and nested repositories at paths
    /// where the checkpoint has other files. Lists some of them.
    WouldOverwrite(Vec<String>),
    /// Another call has been running for a long time.
    Busy,
    /// Git failed.
    Failed {
        /// The output of git.
        output: String,
        /// The commit of the files before the call, if files may have been changed already.
        before: Option<String>,
    },
}
