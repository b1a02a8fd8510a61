//! The operations on the snapshots of one sandbox.

mod capture;
mod coalesce;
mod directories;
mod directory_backup;
mod exclude;
mod forgery;
mod freeze;
mod import;
mod incremental;
mod keys;
mod label;
mod list;
mod manifest;
mod pin;
mod provenance;
mod secrets;
mod settle;
mod short_refs;
mod slow_probe;
mod stored_backup;
mod suspect;
mod verify;
