//! Tests of the model of named workspaces. The files correspond to those of `src/model/named`.

mod binding;
mod lifecycle;
mod name;
mod platform_snapshot;
pub mod record;
mod requests;
mod settings;
