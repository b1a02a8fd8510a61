//! Whatever reads outside data, given anything: one target per kind of data. Each takes the bytes, has them read as the
//! product does, and panics where something does not hold that must.
//!
//! - [`refs`], [`texts`], [`arguments`], [`json`]: what callers send
//! - [`mcp`], [`tokens`], [`tools`]: what language models send, and who lets them
//! - [`sandbox`], [`git`], [`failures`]: what sandboxes answer
//! - [`storage`]: what is in the bucket
//! - [`rows`]: what the product itself has written
//! - [`client`]: what the snapshotter, or somebody else, answers a client
//!
//! `rules` is what holds of several; `words` takes inputs apart.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::missing_panics_doc)] // A panic is a finding.

pub mod arguments;
pub mod client;
pub mod failures;
pub mod git;
pub mod json;
pub mod mcp;
pub mod refs;
pub mod rows;
mod rules;
pub mod sandbox;
pub mod storage;
pub mod texts;
pub mod tokens;
pub mod tools;
mod words;

/// Reads an input.
pub type Target = fn(&[u8]);

/// Every target, by its name.
pub const TARGETS: [(&str, Target); 13] = [
    ("arguments", arguments::read),
    ("client", client::read),
    ("failures", failures::read),
    ("git", git::read),
    ("json", json::read),
    ("mcp", mcp::read),
    ("refs", refs::read),
    ("rows", rows::read),
    ("sandbox", sandbox::read),
    ("storage", storage::read),
    ("texts", texts::read),
    ("tokens", tokens::read),
    ("tools", tools::read),
];
