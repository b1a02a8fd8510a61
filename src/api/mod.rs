//! The interfaces of the service: RPC, HTTP, tools and MCP. RPC and HTTP have the same operations, with the same names
//! and the same JSON.
//!
//! - [`operations`]: the operations by name, from JSON to JSON
//! - [`tools`]: the operations for language models, with descriptions for them
//! - [`rpc`]: the functions that `worker.mjs` calls
//! - [`http`]: the routes under `/v1`
//! - [`downloads`]: files and directories of snapshots as streams
//! - [`mcp`]: the tools over the Model Context Protocol
//! - [`exec_stream`]: commands whose output the caller reads while they run
//! - [`workspace`]: the Workspace object, which does the work for a sandbox
//! - [`named`]: the `NamedWorkspace` object and the Directory object
//! - [`objects`]: the code that these objects share
//! - `schema`: the operations as JSON Schemas
//! - `openapi`: the routes as an `OpenAPI` document
//! - `execute`: runs one call, from its arrival to its log line; `access_log`: writes that line
//! - `memory_budget`: the limit of the calls that run at the same time in one object
//! - `healthz`: the health of the deployment, without a token
//! - `auth`: the bearer token
//! - `reference`: the pages of `/docs` about the operations
//! - `problem`: errors as `application/problem+json`
//! - `exception`: errors as JavaScript exceptions

mod access_log;
mod auth;
pub mod downloads;
mod exception;
pub mod exec_stream;
mod execute;
mod healthz;
pub mod http;
pub mod mcp;
mod memory_budget;
pub mod named;
pub mod objects;
#[cfg(feature = "schema")]
pub mod openapi;
pub mod operations;
pub(crate) mod problem;
pub(crate) mod reference;
pub mod rpc;
#[cfg(feature = "schema")]
pub mod schema;
pub mod tools;
pub mod workspace;

pub use problem::status;
