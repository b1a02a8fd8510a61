//! The data types: ids, refs, labels, backups, policies, the rows of the ledger, errors.
//!
//! All input is parsed into one of these types at the edge of the Worker and is valid from then on. The types are pure:
//! no I/O, no clock, no randomness.

pub mod answer;
pub mod backup;
pub mod backup_credentials;
pub mod backup_owner;
pub mod checkpoint;
pub mod checkpoint_call;
pub mod code;
pub mod directory;
pub mod error;
pub mod escape;
pub mod exclude;
pub mod failure;
pub mod health;
pub mod ids;
pub mod json;
pub mod label;
pub mod later_code;
pub mod lineage;
pub mod mint;
pub mod named;
pub mod operation;
pub mod policy;
pub mod record;
pub mod refs;
pub mod request;
pub mod retention;
pub mod sandbox;
#[cfg(feature = "schema")]
pub(crate) mod schema;
pub mod signature;
pub mod stored_backup;
pub mod task;
pub mod time;
pub mod tool;
pub mod web_origin;

pub use backup::{BackupHandle, Compression, CompressionFormat};
pub use backup_owner::BackupOwner;
pub use checkpoint::{CheckpointDescription, CheckpointName};
pub use code::{Code, Kind};
pub use directory::Directory;
pub use error::{Error, Result};
pub use failure::Failure;
pub use ids::{BackupId, SandboxId, SnapshotId};
pub use label::Label;
pub use lineage::DerivationKind;
pub use mint::{ShortId, derivation_kind_of, is_minted_with, mint_sandbox_id, mint_snapshot_id, root_of};
pub use policy::Policy;
pub use refs::{
    Capabilities, Capture, PROVIDER_ID, SCHEMA_VERSION, SizeDrop, SnapshotRef, TakenSnapshot, WorkspaceRef,
};
pub use request::{RestoreRequest, Selection, Selector, SnapshotRequest};
pub use sandbox::{Arrival, DirectoryContent, MarkerOutcome, MarkerUpdate, Probe, SandboxStatus, Status};
pub use signature::{SigningKey, is_signed_by};
pub use stored_backup::{ArchiveInfo, BackupMetadata, BackupObject, BackupObjectKind, BackupObjectPage, BackupOptions};
pub use task::PendingTask;
pub use time::Timestamp;
