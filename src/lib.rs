//! Snapshots, restores and branches of Cloudflare Sandboxes.
//!
//! The modules, from the innermost to the outermost. A module imports only the modules that are listed above it:
//!
//! - [`model`]: the data types: ids, refs, labels, rows, errors. No I/O, no clock, no randomness. The types of requests
//!   and answers are in the crate of the Rust client, `clients/rust/`.
//! - [`ports`]: the traits through which the service reaches sandboxes, storage, other objects, the clock and
//!   randomness.
//! - [`service`]: the operations, one per file, over the ports. It also compiles and runs natively.
//! - [`cloudflare`]: the implementations of the ports: Durable Object stubs, R2, the Workers runtime.
//! - [`api`]: the interfaces: RPC methods, HTTP routes, tools for language models, MCP.
//!
//! `entry.mjs`, in the same folder, is the module that wrangler deploys; `entry-container.mjs` where no sandbox is of the
//! SDK 0.12. Other Workers in Rust, and the command line in `cli/`, call it through the Rust client and do not depend on
//! this crate.

pub mod api;
pub mod cloudflare;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod model;
pub mod ports;
pub mod service;
