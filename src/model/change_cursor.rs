//! The consumers of change detection, and the states that automatic saves compare with.

use super::ShortId;

/// A consumer of change detection in a container. Each one has a cursor of its own, which is the time of its last check:
/// no consumer hides changes from another one. Each stop and each capture draws an id for its cursor: a call of an earlier one
/// that takes effect late hides no change from it either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeCursor {
    /// The check whether a workspace is idle.
    Idle,
    /// A stop, which captures the last change.
    Stop(ShortId),
    /// A capture, which reports the changes during it.
    Capture(ShortId),
}

/// The saved state of a container whose files have not changed since its marker was set: they are those of a snapshot.
pub const SAVED_AT_START: &str = "start";
