//! The documentation: what it says of the code is so, and its links lead somewhere.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod errors;
mod examples;
mod limits;
mod links;
mod markdown;
mod messages;
mod sdk;
mod settings;
