//! Snapshots, restores and branches of Cloudflare Sandboxes.
//!
//! The modules, from the innermost to the outermost. A module imports only the modules that are listed above it:
//!
//! - [`model`]: the data types: ids, refs, labels, errors. No I/O, no clock, no randomness.
//! - [`ports`]: the traits through which the service reaches sandboxes, storage, other objects, the clock and
//!   randomness.
//! - [`service`]: the operations, one per file, over the ports. It also compiles and runs natively.
//! - [`cloudflare`]: the implementations of the ports: Durable Object stubs, R2, the Workers runtime.
//! - [`api`]: the interfaces: RPC methods, HTTP routes, tools for language models, MCP.
//!
//! `entry.mjs`, in the same folder, is the module that wrangler deploys. Other Workers in Rust call it through
//! `client`, which depends on `model` only, as does the command line in `cli/`. `timer` is the only module of the
//! Workers runtime that both `cloudflare` and `client` use.

#[cfg(feature = "provider")]
pub mod api;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "provider")]
pub mod cloudflare;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod model;
#[cfg(feature = "provider")]
pub mod ports;
#[cfg(feature = "provider")]
pub mod service;
#[cfg(any(feature = "provider", feature = "service-binding"))]
mod timer;

/// Compiles the examples in the guide to the Rust client.
#[cfg(all(doctest, feature = "service-binding"))]
#[doc = include_str!("../docs/client-rust.md")]
struct ClientGuide;
