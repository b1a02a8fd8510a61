//! Tests of the model: ids, refs, requests, records and errors.
// Helpers are not `#[test]` functions, so clippy's exceptions for tests do not apply to them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../support/errors.rs"]
mod any_error;
mod autosave_retention;
mod backup;
mod backup_owner;
mod checkpoint;
mod errors;
mod escape;
mod exclude;
mod former_names;
mod handles;
mod health;
mod ids;
mod invalid_values;
mod json;
mod mint;
mod named;
mod operations;
mod policy;
mod policy_properties;
mod provenance;
mod reasons;
mod record;
mod refs;
mod requests;
mod sandbox_bindings;
mod signature;
mod support;
mod time;
mod web_origin;
