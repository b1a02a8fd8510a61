//! Tools for language models: operations that a model can call, with descriptions for the model.
//!
//! - `catalog`: the tools and their definitions
//! - [`call`]: the execution of a tool, by operations of the service
//! - [`OperationExecutor`]: the operations that tools call
//! - `tool_scope`: the workspaces and snapshots that a tool may use
//! - `render`: the result of a tool as text
//! - [`grant`]: tokens that permit some tools over MCP

pub mod call;
mod catalog;
mod executor;
pub mod grant;
mod render;
mod tool_scope;

pub use call::call;
pub use catalog::{Tool, definitions, find_tool};
pub use executor::OperationExecutor;
