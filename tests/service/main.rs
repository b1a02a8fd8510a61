//! The service over in-memory ports: the same folders as in `src/service`, and tests of several areas beside them.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod access;
mod calls;
mod check_order;
mod checkpoint;
mod concurrent_calls;
mod container;
mod exec;
mod faults_at_every_call;
mod files;
mod health;
mod lineage;
mod load;
mod restore;
mod retention;
mod runtime;
mod snapshot;
mod support;
mod tasks;
mod usage;
mod workspace;
