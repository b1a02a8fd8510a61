//! What a sandbox is asked to do about checkpoints, and what comes of it.

use super::checkpoint::{
    CheckpointCursor, CheckpointDescription, CheckpointDiff, CheckpointName, Checkpoints, CreatedCheckpoint,
    RestoredCheckpoint,
};
use super::sandbox::Place;

/// In which container it may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// In one that is at least so old, in milliseconds, and carries no note that it took the place of another one.
    Aged(i64),
    /// In the one that was handed out to a workspace with a name, by its stamp.
    HandedOut,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointCall {
    /// A checkpoint is made.
    Create {
        /// What it is called.
        name: CheckpointName,
        /// What it is of.
        description: CheckpointDescription,
    },
    /// A page of the checkpoints is listed.
    List {
        /// Where the page begins; at the newest where absent.
        after: Option<CheckpointCursor>,
        /// How many are on it at most.
        limit: u32,
    },
    /// The files become again what they were.
    Restore {
        /// At which checkpoint.
        name: CheckpointName,
    },
    /// The files are compared.
    Diff {
        /// With which checkpoint.
        name: CheckpointName,
        /// How long the diff may be, in bytes.
        max_bytes: u32,
    },
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckpointDone {
    /// A checkpoint was made.
    Created(CreatedCheckpoint),
    /// A page of the checkpoints was listed.
    Listed(Checkpoints),
    /// The files are again what they were.
    Restored(RestoredCheckpoint),
    /// The files were compared.
    Compared(CheckpointDiff),
}

/// Why nothing was done, and no file was changed, unless [`Failed`](Self::Failed) says something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointRefusal {
    /// The container is too young: it may have taken the place of another one.
    Young {
        /// How long it has been running, in milliseconds.
        age_millis: i64,
    },
    /// The container carries the note that it took the place of another one.
    TookPlace,
    /// The container was not handed out.
    NotHandedOut,
    /// The directory is none.
    NoDirectory(Place),
    /// The directory belongs to the git repository of another one that is above it.
    Inside(String),
    /// A directory of the repository that holds refs is a symbolic link.
    LinkedRefs(String),
    /// There is no git.
    NoGit,
    /// There is no checkpoint of that name.
    Unknown,
    /// The checkpoint refers to other repositories, of which it does not have the files.
    Gitlinks,
    /// Files can't be read; some of them.
    Unreadable(Vec<String>),
    /// Files have names that git keeps to itself; some of them.
    Names(Vec<String>),
    /// What is in no checkpoint would be lost: ignored files and nested repositories that are where the checkpoint has other
    /// files; some of them.
    Blocked(Vec<String>),
    /// Another call is at work, and has been for long.
    Busy,
    /// Git failed.
    Failed {
        /// What it said.
        words: String,
        /// The commit of what was there before, where files may have been changed already.
        before: Option<String>,
    },
}
