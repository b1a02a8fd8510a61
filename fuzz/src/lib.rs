//! Fuzz targets for the code that parses outside data, one per kind of data. A target parses its input with the code of
//! the product, and panics if a rule is violated.
//!
//! - [`refs`], [`texts`], [`arguments`], [`json`]: requests of callers
//! - [`mcp`], [`tokens`], [`tools`]: requests of language models, and their authorization
//! - [`sandbox`], [`git`], [`failures`]: answers of sandboxes
//! - [`storage`]: objects in the bucket; [`archives`]: the content of archives
//! - [`rows`]: rows and messages that the product itself has written
//! - [`client`]: responses to a client, from the snapshotter or from another server
//!
//! `rules` has the rules that several targets share; `input` splits inputs into their parts.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::missing_panics_doc)] // A panic is a finding.

pub mod archives;
pub mod arguments;
pub mod client;
pub mod failures;
pub mod git;
mod input;
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

/// A function that runs a target on an input.
pub type Target = fn(&[u8]);

/// Every target, by name.
pub const TARGETS: [(&str, Target); 16] = [
    ("arguments", arguments::read),
    ("client", client::read),
    ("delta", archives::read_delta),
    ("failures", failures::read),
    ("git", git::read),
    ("json", json::read),
    ("mcp", mcp::read),
    ("refs", refs::read),
    ("rows", rows::read),
    ("sandbox", sandbox::read),
    ("squashfs", archives::read_squashfs),
    ("storage", storage::read),
    ("tar", archives::read_tar),
    ("texts", texts::read),
    ("tokens", tokens::read),
    ("tools", tools::read),
];
