//! Requests about the content of an archive, and their answers.

pub use snapshot_archive::protocol::{Answer, Attributes, EntryKind, Name, NamedAttributes, Outcome, Request};
