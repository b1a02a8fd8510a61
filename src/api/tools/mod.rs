//! Tools for language models: the operations that a model may ask for itself, in words that it understands.
//!
//! - `catalog`: which tools there are, and how they are described
//! - [`call`]: a tool that is called, as operations of the service
//! - `reach`: which workspaces and snapshots it may be called for
//! - `words`: what a tool came to, as a text
//! - [`grant`]: tokens for who may use some of them over MCP

pub mod call;
mod catalog;
pub mod grant;
mod reach;
mod words;

pub use call::call;
pub use catalog::{Tool, definitions, find};
