//! Objects in the bucket: keys, `meta.json` and the first bytes of archives. The input has two parts: a line with a key,
//! and the bytes of the object.

use sandbox_snapshotter::fuzzing::{backup_of, header_of, metadata_of, storage_failed};
use sandbox_snapshotter::model::record::StoredBackup;
use sandbox_snapshotter::model::{BackupId, BackupOwner, Timestamp, json};

use super::input;
use super::rules::{assert_json_round_trip, assert_legible, assert_short};

/// See the module.
pub fn read(data: &[u8]) {
    let Some((key, object)) = input::line(data) else { return };
    if let Some((_, parsed)) = backup_of(key) {
        assert_eq!(parsed, key, "the key is parsed as that of another object");
    }
    let id = BackupId::parse("6b1f0c1e-0000-4000-8000-000000000001").expect("an id");
    check_metadata(&id, object);
    let size = object.len() as u64;
    let check = header_of(object, size);
    assert_eq!(check.ok, Some(is_archive(object)));
}

/// Whether an object begins with a squashfs header and is at least as long as the header says.
fn is_archive(object: &[u8]) -> bool {
    let length = object.get(40..48).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    object.starts_with(b"hsqs") && length.is_some_and(|length| length <= object.len() as u64)
}

fn check_metadata(id: &BackupId, object: &[u8]) {
    let metadata = match metadata_of(id, object) {
        Ok(metadata) => metadata,
        Err(failure) => {
            assert!(failure.is_protocol());
            assert_short(&failure);
            return assert_legible(&storage_failed(failure));
        }
    };
    if let Some(owner) = metadata.name.as_deref().and_then(BackupOwner::parse) {
        assert_eq!(Some(owner.to_string()), metadata.name);
    }
    let usable_until = metadata.usable_until();
    assert!(usable_until <= Timestamp::MAX);
    assert_eq!(metadata.is_expired(Timestamp::MAX), usable_until < Timestamp::MAX);
    let handle = json::from_value(&serde_json::json!({ "id": metadata.id, "dir": "/workspace" })).expect("a handle");
    // A row stores these fields, and must be readable.
    assert_json_round_trip(&StoredBackup {
        backup: handle,
        created_at: metadata.created_at,
        size_bytes: metadata.size_bytes,
        checksum: None,
        format: None,
        listing: None,
        full_reason: None,
        usable_until,
        imported: true,
        checked_at: metadata.created_at,
        damage: None,
        archive_damage: None,
    });
    assert_json_round_trip(&metadata);
}
