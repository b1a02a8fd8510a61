//! The types of requests, answers and errors: ids, refs, labels, policies, the table of operations.
//!
//! All input is parsed into one of these types, and is valid from then on. The types are pure: no I/O, no clock, no
//! randomness.

pub mod answer;
pub mod archive_format;
pub mod background;
pub mod backup;
pub mod cause;
pub mod checkpoint;
pub mod code;
pub mod consistency;
pub mod counted;
pub mod delta;
pub mod diff;
pub mod directory;
pub mod error;
pub mod escape;
pub mod exec;
pub mod failure;
pub mod files;
pub mod freeze;
pub mod health;
pub mod ids;
pub mod json;
pub mod label;
pub mod later_code;
pub mod lineage;
pub mod named;
pub mod operation;
mod operation_properties;
pub mod operation_request;
pub mod policy;
pub mod prices;
pub mod provenance;
pub mod refs;
pub mod request;
pub mod revive;
pub mod runtime;
#[cfg(feature = "schema")]
pub mod schema;
pub mod secrets;
pub mod short_ref;
pub mod similar;
pub mod sse;
pub mod time;
pub mod token;
pub mod tool;
pub mod usage;
pub mod workspace_ref;

pub use archive_format::ArchiveFormat;
pub use backup::{BackupHandle, Compression, CompressionFormat, DirectoryBackup};
pub use cause::SnapshotCause;
pub use checkpoint::{CheckpointDescription, CheckpointName};
pub use code::{Code, Kind};
pub use consistency::Consistency;
pub use counted::counted;
pub use delta::{DeltasOnDelete, FullReason, SnapshotForm};
pub use directory::Directory;
pub use error::{Error, Result};
pub use failure::Failure;
pub use ids::{BackupId, SandboxId, SnapshotId};
pub use label::Label;
pub use lineage::DerivationKind;
pub use policy::Policy;
pub use provenance::Provenance;
pub use refs::{Capture, PROVIDER_ID, SCHEMA_VERSION, SizeDrop, SnapshotRef, TakenSnapshot};
pub use request::{RestoreRequest, Selection, Selector, SnapshotRequest};
pub use runtime::Runtime;
pub use secrets::{SecretsMode, SecretsReport};
pub use short_ref::ShortRef;
pub use time::Timestamp;
pub use workspace_ref::{Capabilities, WorkspaceRef};
