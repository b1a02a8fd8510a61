//! Snapshots of one sandbox: taken, imported, found, shown, checked and labeled.
//!
//! - [`coalesce`]: runs one capture of the sandbox at a time, shared by all callers that make the same request
//! - [`capture`]: captures the sandbox
//! - [`backup`]: the backup of a capture: calls `createBackup`, and verifies what the SDK stored
//! - [`incremental`]: decides whether a capture stores all files or the changes since a full snapshot
//! - [`finish`]: records a capture that succeeded as a snapshot
//! - [`freeze`]: freezes files during a capture, and thaws them
//! - [`settle`]: detects changes during a capture, and repeats it
//! - [`capture_row`]: the row of a capture in progress, which other calls may change
//! - [`discard`]: ends captures that failed: deletes their backup, or leaves it to recovery
//! - [`reconcile`]: completes or rolls back captures that no call works on
//! - [`exclude`]: refuses captures that would leave out more than the caller requested
//! - [`secrets`]: finds files with secrets, and leaves them out or refuses the capture
//! - [`suspect`]: snapshots that are much smaller than their predecessor
//! - [`import`]: adds a backup that was made elsewhere to the ledger
//! - [`select`]: finds the snapshot that a request names
//! - [`list`], [`manifest`]: show snapshots
//! - [`verify`]: checks whether a snapshot can be restored
//! - [`label`], [`pin`]: change what users assign to a snapshot
//! - [`keys`]: rotates the keys that sign refs
//! - [`stored_backup`]: the objects of a backup in R2
//! - [`owner_mark`]: the owner of a backup in R2, and the deletion of backups

mod backup;
mod capture;
mod capture_row;
pub(super) mod coalesce;
mod discard;
mod exclude;
mod finish;
mod freeze;
mod import;
pub(super) mod incremental;
mod keys;
mod label;
mod list;
pub(super) mod manifest;
pub(super) mod owner_mark;
mod pin;
mod reconcile;
mod secrets;
pub(in crate::service) mod select;
pub(in crate::service) mod settle;
pub(super) mod stored_backup;
mod suspect;
pub(crate) mod verify;
