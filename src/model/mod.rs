//! What things are: ids, refs, labels, backups, policies, the rows of the ledger, errors.
//!
//! Everything from outside becomes one of these types once, at the edge, and can't be wrong afterwards.
//! Pure: nothing here does I/O, reads a clock or draws random numbers.

pub mod answer;
pub mod backup;
pub mod checkpoint;
pub mod checkpoint_call;
pub mod directory;
pub mod error;
pub mod escape;
pub mod exclude;
pub mod failure;
pub mod health;
pub mod ids;
pub mod json;
pub mod label;
pub mod later;
pub mod mark;
pub mod mint;
pub mod named;
pub mod origin;
pub mod policy;
pub mod record;
pub mod refs;
pub mod request;
pub mod sandbox;
#[cfg(feature = "schema")]
pub(crate) mod schema;
pub mod signature;
pub mod time;
pub mod tool;

pub use backup::{
    Archive, BackupHandle, BackupMetadata, BackupOptions, Compression, CompressionFormat, Listed, Listing, Part,
};
pub use checkpoint::{CheckpointDescription, CheckpointName};
pub use directory::Directory;
pub use error::{Code, Error, Kind, Result};
pub use failure::Failure;
pub use ids::{BackupId, SandboxId, ShortId, SnapshotId};
pub use label::Label;
pub use mark::Mark;
pub use mint::{Lineage, lineage_of, mint, root_of};
pub use policy::Policy;
pub use refs::{Capabilities, Capture, PROVIDER_ID, SCHEMA_VERSION, SnapshotRef, Suspect, Taken, WorkspaceRef};
pub use request::{RestoreRequest, Selection, Selector, SnapshotRequest};
pub use sandbox::{Arrival, Place, Probe, SandboxState, StampOutcome, Stamping, Status};
pub use signature::SigningKey;
pub use time::Timestamp;
