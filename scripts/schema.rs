//! Prints the JSON Schemas of the operations: `npm run types` makes `client/` of them.
#![allow(missing_docs)]

fn main() {
    println!("{:#}", sandbox_snapshotter::api::schema::document());
}
