//! Snapshots, restores and branches of Cloudflare Sandboxes.
//!
//! The map, from the inside out; imports run one way, from the last line to the first:
//!
//! - [`model`]: what things are. Ids, refs, labels, errors. No I/O, no clock, no randomness.
//! - [`ports`]: what the service needs of the world, as traits.
//! - [`service`]: what it does, one operation per file, over the ports. Runs natively.
//! - [`cloudflare`]: the ports over the real world: Durable Object stubs, R2, the Workers runtime.
//! - [`api`]: how it is called: RPC methods, HTTP routes, tools for language models, MCP.
//!
//! `entry.mjs`, beside this file, is the module that wrangler deploys. Other Workers in Rust call it with `client`, which
//! stands on `model` alone; so does the command line, in `cli/`. `timer` is the one thing of the runtime that both sides wait by.

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

/// Compiles the examples of the guide to the client.
#[cfg(all(doctest, feature = "service-binding"))]
#[doc = include_str!("../docs/client-rust.md")]
struct ClientGuide;
