//! The service's ports over the real world.
//!
//! - [`deployment`]: what the bindings and vars of this Worker say
//! - [`sandboxes`]: Durable Object stubs of the sandboxes; [`session`]: several calls on one as one request; `scripts`: the
//!   commands that are run inside of them; `checkpoints`: those that work on checkpoints; `ignored`: the one that lists what git
//!   ignores; `prelude`: how all of them begin
//! - [`backups`]: the R2 bucket
//! - [`ledger`]: the `SQLite` tables of a Workspace object
//! - [`home`]: those of a named workspace's; [`index`]: those of a Directory; `sql`: what they have in common
//! - [`runtime`]: clock, randomness, work in the background, abort signals
//! - [`stub`]: calls a Durable Object's methods
//! - [`names`]: the objects of named workspaces and the Directories, seen from there too
//! - [`workspaces`]: the Workspace objects, seen from the entrypoint and from each other
//! - [`health`]: what the configuration says of a deployment's health; [`metrics`]: operations as data points;
//!   [`log`]: pieces of work as lines
//! - [`value`]: JSON values on either side of the border to JavaScript
//! - `thrown`: reads what JavaScript throws

pub mod backups;
pub(crate) mod checkpoints;
pub mod deployment;
pub mod health;
pub mod home;
mod ignored;
pub mod index;
pub mod ledger;
pub mod log;
pub mod metrics;
pub mod names;
mod prelude;
pub mod runtime;
pub mod sandboxes;
pub(crate) mod scripts;
pub mod session;
mod sql;
pub mod stub;
pub(crate) mod thrown;
pub mod value;
pub mod workspaces;

pub use deployment::Deployment;
pub use workspaces::WorkspaceObjects;
