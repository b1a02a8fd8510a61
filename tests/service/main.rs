//! The service over in-memory ports: the same order of files as `src/service`.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod abort;
mod arrival;
mod branch;
mod checkpoint;
mod chores;
mod container;
mod crowd;
mod delete;
mod directories;
mod doubt;
mod everywhere;
mod failures;
mod forgery;
mod guard;
mod health;
mod hold;
mod import;
mod keys;
mod label;
mod lifecycle;
mod limits;
mod lineage;
mod list;
mod manifest;
mod meanwhile;
mod named;
mod once;
mod order;
mod pin;
mod recover;
mod replaced;
mod restore;
mod retain;
mod retry;
mod sdk_errors;
mod session;
mod snapshot;
mod stored;
mod support;
mod sweep;
mod trace;
mod verify;
