//! The schemas say what the operations take and answer: no less, and no more.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod answers;
mod document;
mod example_session;
mod examples;
mod failures;
mod openapi;
mod options;
mod schemas;
#[path = "../service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // What the tests of the service need.
mod support;
