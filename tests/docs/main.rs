//! Tests of the documentation: it agrees with the code, and its links resolve.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod costs;
mod errors;
mod examples;
mod limits;
mod links;
mod markdown;
mod messages;
mod permissions;
mod sdk;
mod settings;
