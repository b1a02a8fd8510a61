//! Workspaces that persist by name: the same order of files as `src/model/named`.

mod lifecycle;
mod name;
mod record;
mod requests;
mod settings;
mod standing;
