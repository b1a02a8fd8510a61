//! Prints the JSON Schemas of the operations, and the API document with the examples of the tests: `npm run types` makes
//! `client/` and `reference/openapi.json` of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../tests/schema/example_session.rs"]
mod story;
#[path = "../tests/service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // What the tests of the service need.
mod support;

use sandbox_snapshotter::api::{openapi, schema};
use serde_json::json;

fn main() {
    println!("{:#}", json!({ "schema": schema::document(), "openapi": openapi::document(&story::example_session()) }));
}
