//! The container of a sandbox: whether it is the one that has its files.

mod expected_marker;
mod identified;
mod identity;
mod replaced_container;
mod unverified;
