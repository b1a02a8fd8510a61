//! The client in Rust: what it sends, what it makes of the answers, and when it calls again.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod answers;
mod errors;
#[path = "../schema/examples.rs"]
mod examples;
mod fake_transport;
mod in_memory;
mod options;
mod pages;
mod retries;
#[path = "../service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // What the tests of the service need.
mod support;
