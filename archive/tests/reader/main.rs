//! The readers over archives that mksquashfs and tar make, and over damaged ones.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod costs;
mod delta;
mod diff;
mod export;
mod files;
mod hostile;
mod hostile_tar;
mod oracle;
mod pages;
mod paths;
mod ranges;
#[cfg(feature = "protocol")]
mod starts;
mod summary;
