//! Prints the JSON Schemas of the operations, and the API document with the examples of the tests. `npm run types`
//! generates `client/schema.json`, `client/src/types.ts` and `reference/openapi.json` from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../tests/schema/example_session.rs"]
mod example_session;
#[path = "../tests/service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // Only the tests of the service use all of it.
mod support;

use example_session::example_session;
use sandbox_snapshotter::api::{openapi, schema};
use serde_json::json;

fn main() {
    println!("{:#}", json!({ "schema": schema::document(), "openapi": openapi::document(&example_session()) }));
}
