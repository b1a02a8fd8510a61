//! Tests of the Rust client: requests, answers, errors and retries.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod answers;
#[path = "../schema/decoding.rs"]
mod decoding;
mod downloads;
mod errors;
#[path = "../schema/examples.rs"]
mod examples;
mod fake_transport;
mod in_memory;
mod options;
mod pages;
mod retries;
#[path = "../service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // The service tests use all of it.
mod support;
mod workspace_handle;
