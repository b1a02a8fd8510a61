//! The service over in-memory ports: the same order of files as `src/service`.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod abort;
mod arrival;
mod branch;
mod container;
mod failures;
mod forgery;
mod guard;
mod order;
mod replaced;
mod restore;
mod retry;
mod snapshot;
mod stored;
mod support;
