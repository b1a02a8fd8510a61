//! Reads the archives of snapshots by range, without unpacking them.
//!
//! - [`Source`]: where the bytes of an archive come from
//! - [`Archives`] and [`Archive`]: the files of a snapshot, in one archive or in two; [`Content`] and [`Walk`] are read step by step
//! - [`Entry`], [`Path`], [`Error`]: what it takes and returns
//! - [`diff()`]: the differences between two snapshots, or a snapshot and a [`Listing`]
//! - [`summarize`]: how many files and bytes a directory has, and where they are
//! - [`Download`]: the content of a file, or a tar of a directory, which `export` makes
//! - `protocol`: requests and answers between WebAssembly modules
//! - `single`: one archive of any format; `delta`: a base with the changes of a carrier
//! - `squashfs`: archives of mksquashfs, with random access
//! - `tar`: archives of tar, which are read from their begin
//! - [`secrets`]: the names of files that usually contain secrets
//! - `read_ahead`, `cache`, `compression`: large reads, and a limited amount of memory
//!
//! An archive is untrusted: the process that makes it runs beside foreign code. The readers check each offset, size and
//! name, and use a limited amount of memory for each archive.
#![forbid(unsafe_code)]

mod archive;
mod cache;
mod compression;
mod delta;
mod diff;
mod download;
mod entry;
mod error;
mod export;
mod fields;
mod hash;
mod left_out;
mod listing;
mod path;
#[cfg(feature = "protocol")]
pub mod protocol;
mod read_ahead;
pub mod secrets;
mod single;
mod sorted;
mod source;
mod squashfs;
mod summary;
mod tar;

pub use archive::{Archive, Archives, Content, SortedWalk, Walk};
pub use diff::{Certainty, Change, ChangeKind, DiffPage, Difference, diff};
pub use download::{Download, Form};
pub use entry::{Child, Entry, Kind, MAX_PAGE, Page};
pub use error::{Error, Result};
pub use left_out::LeftOut;
pub use listing::Listing;
pub use path::{Path, compare};
pub use sorted::{Compared, DiffError, Side};
pub use source::Source;
pub use summary::{EntryTotals, Summary, Totals, summarize};
