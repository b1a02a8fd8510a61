//! The implementation of the service's ports on Cloudflare.
//!
//! - [`deployment`]: the configuration from the bindings and vars of this Worker
//! - [`sandboxes`]: the operations on sandboxes; [`caller_commands`]: those of callers in their containers;
//!   [`sandbox_stubs`]: the calls of their Durable Object stubs; [`sdk_session`]: several calls to one sandbox, billed as
//!   one request; `sandbox_command`: what both share; `scripts`: the commands that run in a container; `checkpoints`: the
//!   commands for checkpoints; `git_ignored`: the command that lists the paths that git ignores; `prelude`: the first lines
//!   of each of these commands; [`command_stream`]: the output of the commands of callers; `input_writer`: their input
//! - [`backups`]: the R2 bucket; `backup_keys`: the keys in it; `archive_reader`: the content of archives in it; `digest`:
//!   their SHA-256
//! - [`downloads`]: files and directories of archives as streams
//! - [`ledger`]: the `SQLite` tables of a Workspace object
//! - [`workspace_store`]: the tables of a `NamedWorkspace` object; [`directory_store`]: the tables of a Directory
//!   object; `sql`: the code that they share
//! - [`runtime`]: clock, randomness, background work, abort signals
//! - [`stub`]: method calls to a Durable Object
//! - [`objects`]: calls between this Worker's own objects
//! - [`named_workspaces`]: the client of the `NamedWorkspace` and Directory objects
//! - [`workspaces`]: the client of the Workspace objects, for the entrypoint and for other objects
//! - [`health`]: the health checks of the configuration; [`metrics`]: data points of operations; [`log`]: log lines
//! - [`value`]: JSON values, converted between Rust and JavaScript
//! - `js_error`: failures from JavaScript exceptions

mod archive_reader;
pub(crate) mod backup_keys;
pub mod backups;
pub mod caller_commands;
pub(crate) mod checkpoints;
pub mod command_stream;
pub mod deployment;
mod digest;
pub mod directory_store;
pub mod downloads;
mod git_ignored;
pub mod health;
mod input_writer;
pub(crate) mod js_error;
pub mod ledger;
pub mod log;
pub mod metrics;
pub mod named_workspaces;
pub mod objects;
pub(crate) mod prelude;
pub mod runtime;
mod sandbox_command;
pub mod sandbox_stubs;
pub mod sandboxes;
pub(crate) mod scripts;
pub mod sdk_session;
mod sql;
pub mod stub;
pub mod value;
pub mod workspace_store;
pub mod workspaces;

pub use deployment::Deployment;
pub use workspaces::WorkspaceObjects;
