//! The container of a sandbox: whether it is the one that has the sandbox's files.
//!
//! - [`guard`]: runs calls only in the container that has the sandbox's files
//! - [`identity`]: verifies that a container is still the same one
//! - [`unverified`]: containers for which that is not known
//! - [`observation`]: the container of a capture, before and after it

pub(super) mod guard;
pub(super) mod identity;
pub(super) mod observation;
pub(super) mod unverified;
