//! The states of a named workspace, and how it gets from one to another. This is the one place that says so;
//! `docs/lifecycle.md` draws it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a named workspace is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceState"))]
pub enum State {
    /// Its first sandbox is being made.
    Provisioning,
    /// Its sandbox was handed out, and is somebody's place of work.
    Active,
    /// A snapshot is being taken, and then the sandbox is ended.
    Stopping,
    /// It has no sandbox that runs. It can be started from its newest snapshot.
    Stopped,
    /// A sandbox is being made to hold its files again.
    Restoring,
    /// It could not be made or started, and waits for a decision.
    Failed,
    /// It is gone, and its name is free.
    Deleted,
}

/// Every way from one state to another. A workspace begins as [`State::Provisioning`].
pub const NEXT: &[(State, &[State])] = &[
    (State::Provisioning, &[State::Active, State::Failed, State::Deleted]),
    (State::Active, &[State::Stopping, State::Stopped, State::Restoring, State::Deleted]),
    (State::Stopping, &[State::Stopped, State::Active]),
    (State::Stopped, &[State::Restoring, State::Stopped, State::Deleted]),
    (State::Restoring, &[State::Active, State::Stopped, State::Failed]),
    (State::Failed, &[State::Provisioning, State::Restoring, State::Stopped, State::Deleted]),
    (State::Deleted, &[State::Provisioning]),
];

impl State {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Provisioning, Self::Active, Self::Stopping, Self::Stopped, Self::Restoring, Self::Failed, Self::Deleted];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Active => "active",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Restoring => "restoring",
            Self::Failed => "failed",
            Self::Deleted => "deleted",
        }
    }

    /// Whether it can be followed by another one.
    pub fn may_become(self, next: Self) -> bool {
        NEXT.iter().any(|(from, to)| *from == self && to.contains(&next))
    }

    /// Whether somebody is at work on it: when nobody is, that one died.
    pub const fn is_passing(self) -> bool {
        matches!(self, Self::Provisioning | Self::Stopping | Self::Restoring)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
