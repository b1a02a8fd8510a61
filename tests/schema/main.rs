//! Tests of the schemas: they accept exactly the options and answers of the operations.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod answers;
mod decoding;
mod document;
mod example_session;
mod examples;
mod failures;
mod openapi;
mod options;
mod schemas;
#[path = "../service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // The service tests use all of it.
mod support;
