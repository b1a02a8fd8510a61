//! Workspaces that persist by name: the same order of files as `src/model/named`.

mod binding;
mod lifecycle;
mod name;
pub mod record;
mod requests;
mod settings;
