//! Tests of the tools for language models, and of the Model Context Protocol.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../support/errors.rs"]
mod any_error;
mod arguments;
mod authorization;
mod background;
mod calls;
#[path = "../schema/decoding.rs"]
mod decoding;
mod definitions;
mod files;
mod grants;
mod json_rpc;
mod methods;
mod named;
mod origins;
mod protocol_versions;
mod support;
mod texts;
mod tool_scope;
mod toolset;
