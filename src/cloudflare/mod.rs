//! The service's ports over the real world.
//!
//! - [`deployment`]: what the bindings and vars of this Worker say
//! - [`sandboxes`]: Durable Object stubs of the sandboxes
//! - [`backups`]: the R2 bucket
//! - [`runtime`]: clock, randomness, work in the background, abort signals
//! - [`stub`]: calls a Durable Object's methods
//! - [`workspaces`]: the Workspace objects, seen from the entrypoint
//! - `thrown`: reads what JavaScript throws

pub mod backups;
pub mod deployment;
pub mod runtime;
pub mod sandboxes;
pub mod stub;
mod thrown;
pub mod workspaces;

pub use deployment::Deployment;
pub use workspaces::Workspaces;
