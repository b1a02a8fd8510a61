//! What every implementation of a port does, whatever it is made of.
//!
//! - `ledger`: the ledger of a workspace
//! - `home`: what is kept of a named workspace, `index`: the Directory that lists them
//! - `sandboxes`, what is `inside` of them, and their `checkpoints`; `backups`, `workspaces`, `runtime`: what else the
//!   service needs, in a `world`
//!
//! The same cases are run over the ports in memory and, in workerd, over the real ones.

use futures_util::future::LocalBoxFuture;

/// Something that holds for every `T`.
pub struct Case<T> {
    /// What holds.
    pub name: &'static str,
    /// Makes sure of it, and panics when it does not hold.
    pub run: fn(&T) -> LocalBoxFuture<'_, ()>,
}

/// A case by the function that makes sure of it, which is named for what holds.
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

pub mod backups;
pub mod checkpoints;
pub mod container;
pub mod directory_store;
pub mod ledger;
pub mod runtime;
pub mod sandbox_ledgers;
pub mod sandboxes;
pub mod workspace_store;
pub mod world;
