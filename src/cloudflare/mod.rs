//! The service's ports over the real world.
//!
//! - [`deployment`]: what the bindings and vars of this Worker say
//! - [`sandboxes`]: Durable Object stubs of the sandboxes
//! - [`backups`]: the R2 bucket
//! - [`runtime`]: clock, randomness, work in the background, abort signals
//! - `thrown`: reads what JavaScript throws

pub mod backups;
pub mod deployment;
pub mod runtime;
pub mod sandboxes;
mod thrown;

pub use deployment::Deployment;
