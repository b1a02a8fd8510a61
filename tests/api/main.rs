//! How language models call the service: the tools, and the Model Context Protocol around them.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod arguments;
mod authorization;
mod calls;
mod definitions;
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
