//! The container that a call requires, and why a call was refused.

use serde::{Deserialize, Serialize};

use super::ContainerIdentity;

/// The container in which a call may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RequiredContainer {
    /// The container with this identity. A class that reports identities refuses another one, and starts none.
    Identified(ContainerIdentity),
    /// The ready container of a named workspace.
    Ready,
    /// The ready container whose marker has this nonce.
    Marked(String),
    /// A container that is at least this old and does not carry the note that it replaced another container.
    OlderThan {
        /// The age, in milliseconds.
        millis: i64,
    },
}

impl RequiredContainer {
    /// Returns the identity that the class of the sandbox compares.
    pub const fn identity(&self) -> Option<ContainerIdentity> {
        if let Self::Identified(identity) = self { Some(*identity) } else { None }
    }
}

/// Why a call was refused in a container that is not the required one. It changed nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerRefusal {
    /// The container is too young: it may have replaced another one.
    TooYoung {
        /// How long it has been running, in milliseconds.
        age_millis: i64,
    },
    /// Another container is running.
    OtherContainer,
}

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal<R> {
    /// The container is not the required one.
    Container(ContainerRefusal),
    /// The call was refused in the required container.
    Call(R),
}

impl<R> Refusal<R> {
    /// Changes the refusal in the required container.
    pub fn map<T>(self, change: impl FnOnce(R) -> T) -> Refusal<T> {
        match self {
            Self::Container(refusal) => Refusal::Container(refusal),
            Self::Call(refusal) => Refusal::Call(change(refusal)),
        }
    }
}

impl<R> From<R> for Refusal<R> {
    fn from(refusal: R) -> Self {
        Self::Call(refusal)
    }
}
