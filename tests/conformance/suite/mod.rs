//! The behavior that every implementation of a port must have.
//!
//! - `ledger`: the ledger of one sandbox
//! - `workspace_store`: the storage of a named workspace, `directory_store`: the list of named workspaces,
//!   `token_store`: the access tokens
//! - `sandboxes`, with `markers`, `container`, `changes`, `checkpoints`, `background`, `file_calls`, `file_parts` and
//!   `freezes`: the calls to sandboxes
//! - `backups`, `sandbox_ledgers`, `runtime`: the other ports
//! - `world`: the environment of the cases
//!
//! The same cases run against the in-memory ports and, in workerd, against the real ones.

use futures_util::future::LocalBoxFuture;

/// A required behavior of every `T`.
pub struct Case<T> {
    /// The behavior, as a sentence.
    pub name: &'static str,
    /// Checks the behavior, and panics if it is violated.
    pub run: fn(&T) -> LocalBoxFuture<'_, ()>,
}

/// Makes a case of the function that checks it. The name of the function is the name of the case.
macro_rules! case {
    (async $name:ident) => {
        $crate::suite::Case { name: stringify!($name), run: |subject| Box::pin($name(subject)) }
    };
    ($name:ident) => {
        $crate::suite::Case {
            name: stringify!($name),
            run: |subject| {
                $name(subject);
                Box::pin(std::future::ready(()))
            },
        }
    };
}

pub mod background;
pub mod backups;
pub mod changes;
pub mod checkpoints;
pub mod container;
pub mod directory_store;
pub mod file_calls;
pub mod file_parts;
pub mod freezes;
pub mod ledger;
pub mod markers;
pub mod runtime;
pub mod sandbox_ledgers;
pub mod sandboxes;
pub mod token_store;
pub mod workspace_store;
pub mod world;
