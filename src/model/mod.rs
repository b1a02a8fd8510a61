//! The data types: ids, refs, labels, backups, policies, the rows of the ledger, errors.
//!
//! The types of requests, answers and errors are those of the Rust client, re-exported here. This module adds what only
//! the Worker uses. All input is parsed into one of these types at the edge of the Worker and is valid from then on. The
//! types are pure: no I/O, no clock, no randomness.

pub mod archive;
pub mod background_call;
pub mod backup_credentials;
pub mod backup_location;
pub mod backup_owner;
pub mod change_cursor;
pub mod checkpoint_call;
pub mod delta;
pub mod exclude;
pub mod exec_call;
pub mod file_call;
pub mod file_part;
pub mod freeze_call;
pub mod mint;
pub mod named;
pub mod record;
pub mod required_container;
pub mod retention;
pub mod sandbox;
pub mod sandbox_bindings;
pub mod secret_search;
pub mod signature;
pub mod stored_backup;
pub mod task;
pub mod token_record;
pub mod web_origin;

pub use backup_location::{BackupLocation, LocatedBackup};
pub use backup_owner::BackupOwner;
pub use change_cursor::ChangeCursor;
pub use mint::{ShortId, derivation_kind_of, is_minted_with, mint_sandbox_id, mint_snapshot_id, root_of};
pub use sandbox::{
    Arrival, ContainerId, ContainerIdentity, DirectoryContent, MarkerOutcome, MarkerUpdate, Probe, SandboxStatus,
    Status,
};
pub use sandbox_bindings::{SandboxBinding, SandboxBindings};
pub use sandbox_snapshotter_client::model::*;
pub use signature::{SigningKey, is_signed_by};
pub use stored_backup::{ArchiveInfo, BackupMetadata, BackupObject, BackupObjectKind, BackupObjectPage, BackupOptions};
pub use task::PendingTask;
