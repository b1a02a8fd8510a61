//! The states of a named workspace and the transitions between them. This module is the only definition;
//! `docs/lifecycle.md` shows it as a diagram.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Timestamp;

/// The state of a named workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceState"))]
pub enum State {
    /// The first sandbox is being created.
    Provisioning,
    /// The sandbox is ready and in use.
    Active,
    /// A snapshot is being taken; then the sandbox is destroyed.
    Stopping,
    /// No sandbox is running. The workspace can be started from its newest snapshot.
    Stopped,
    /// The workspace's files are being restored into a sandbox.
    Restoring,
    /// The workspace could not be created or started. The caller must decide how to continue.
    Failed,
    /// The workspace is deleted, and its name is free.
    Deleted,
}

/// A transition of a workspace from one state to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transition {
    /// The state before the transition; absent for a new workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<State>,
    /// The state after the transition.
    pub to: State,
    /// When the transition occurred.
    pub at: Timestamp,
    /// The reason, for people.
    pub cause: String,
}

/// The allowed transitions: each state with its possible successors. A workspace begins as [`State::Provisioning`].
pub const TRANSITIONS: &[(State, &[State])] = &[
    (State::Provisioning, &[State::Active, State::Failed, State::Deleted]),
    (State::Active, &[State::Stopping, State::Stopped, State::Restoring, State::Deleted]),
    (State::Stopping, &[State::Stopped, State::Active]),
    (State::Stopped, &[State::Restoring, State::Stopped, State::Deleted]),
    (State::Restoring, &[State::Active, State::Stopped, State::Failed]),
    (State::Failed, &[State::Provisioning, State::Restoring, State::Stopped, State::Deleted]),
    (State::Deleted, &[State::Provisioning]),
];

impl State {
    /// All states.
    pub const ALL: [Self; 7] =
        [Self::Provisioning, Self::Active, Self::Stopping, Self::Stopped, Self::Restoring, Self::Failed, Self::Deleted];

    /// Returns the state as it appears in JSON.
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

    /// Returns whether the transition from this state to `next` is allowed.
    pub fn can_become(self, next: Self) -> bool {
        TRANSITIONS.iter().any(|(from, to)| *from == self && to.contains(&next))
    }

    /// Returns whether an operation is working on a workspace in this state. If none is, the operation was interrupted.
    pub const fn is_in_transition(self) -> bool {
        matches!(self, Self::Provisioning | Self::Stopping | Self::Restoring)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
