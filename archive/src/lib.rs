//! Reads the archives of snapshots by range, without unpacking them.
//!
//! - [`Source`]: where the bytes of an archive come from
//! - [`Squashfs`]: archives of mksquashfs, with random access
//! - [`Tar`]: archives of tar, which are read from their begin
//! - [`Entry`], [`Path`], [`Error`]: what the readers have in common
//!
//! An archive is untrusted: the process that makes it runs beside foreign code. The readers check each offset, size and
//! name, and use a limited amount of memory for each archive.
#![forbid(unsafe_code)]

mod cache;
mod compression;
mod entry;
mod error;
mod fields;
mod path;
mod read_ahead;
mod source;
pub mod squashfs;

pub use entry::{Child, Entry, Kind, Page};
pub use error::{Error, Result};
pub use path::Path;
pub use source::Source;
pub use squashfs::Squashfs;
