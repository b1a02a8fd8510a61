//! How the service is called. Every operation is the same over RPC and HTTP: the same name, the same JSON.
//!
//! - [`operations`]: the operations by name, from JSON to JSON
//! - [`tools`]: those of them that language models may ask for, in words for these
//! - [`rpc`]: the functions that `entry.mjs` calls
//! - [`http`]: the routes under `/v1`
//! - [`mcp`]: the tools over the Model Context Protocol
//! - [`workspace`]: the Workspace object, which does the work for a sandbox
//! - [`named`]: the object of a named workspace, and the Directory
//! - [`objects`]: what these have in common
//! - `schema`: the operations as JSON Schemas
//! - `openapi`: the routes as an `OpenAPI` document
//! - `answer`: one call from its arrival to its log line; `tell`: that line
//! - `room`: how much may be under way in one object
//! - `healthz`: the deployment's health, for whoever asks
//! - `auth`: the bearer token
//! - `problem`: errors as `application/problem+json`
//! - `exception`: errors as JavaScript exceptions

mod answer;
mod auth;
mod exception;
mod healthz;
pub mod http;
pub mod mcp;
pub mod named;
pub mod objects;
#[cfg(feature = "schema")]
pub mod openapi;
pub mod operations;
pub(crate) mod problem;
mod room;
pub mod rpc;
#[cfg(feature = "schema")]
pub mod schema;
mod tell;
pub mod tools;
pub mod workspace;

pub use problem::status;
