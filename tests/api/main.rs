//! How language models call the service: the tools, and the Model Context Protocol around them.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod arguments;
mod calls;
mod definitions;
mod eras;
mod frames;
mod grants;
mod methods;
mod named;
mod origins;
mod reach;
mod scope;
mod support;
mod texts;
mod toolset;
