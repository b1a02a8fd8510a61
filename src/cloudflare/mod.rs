//! The service's ports over the real world.
//!
//! - [`deployment`]: what the bindings and vars of this Worker say
//! - [`sandboxes`]: Durable Object stubs of the sandboxes
//! - [`backups`]: the R2 bucket
//! - [`ledger`]: the `SQLite` tables of a Workspace object
//! - [`runtime`]: clock, randomness, work in the background, abort signals
//! - [`stub`]: calls a Durable Object's methods
//! - [`workspaces`]: the Workspace objects, seen from the entrypoint and from each other
//! - [`value`]: JSON values on either side of the border to JavaScript
//! - `thrown`: reads what JavaScript throws

pub mod backups;
pub mod deployment;
pub mod ledger;
pub mod runtime;
pub mod sandboxes;
pub mod stub;
mod thrown;
pub mod value;
pub mod workspaces;

pub use deployment::Deployment;
pub use workspaces::WorkspaceObjects;
