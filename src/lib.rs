//! Snapshots, restores and branches of Cloudflare Sandboxes.
//!
//! The map, from the inside out; imports run one way, from the last line to the first:
//!
//! - [`model`]: what things are. Ids, refs, labels, errors. No I/O, no clock, no randomness.
//! - [`ports`]: what the service needs of the world, as traits.
//! - [`service`]: what it does, one operation per file, over the ports. Runs natively.
//! - [`cloudflare`]: the ports over the real world: Durable Object stubs, R2, the Workers runtime.
//! - [`api`]: how it is called: RPC methods and HTTP routes.
//!
//! `entry.mjs`, beside this file, is the module that wrangler deploys.

pub mod api;
pub mod cloudflare;
pub mod model;
pub mod ports;
pub mod service;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
