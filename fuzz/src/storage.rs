//! What is in the bucket: keys, `meta.json`, the beginnings of archives. The input is a key on a line of its own, and the bytes
//! of the object.

use sandbox_snapshotter::fuzzing::{backup_of, header_of, metadata_of, storage_failed};
use sandbox_snapshotter::model::record::StoredBackup;
use sandbox_snapshotter::model::{BackupId, BackupOwner, Timestamp, json};

use super::rules::{kept, legible, short};
use super::words;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((key, object)) = words::line(data) else { return };
    if let Some((_, own)) = backup_of(key) {
        assert_eq!(own, key, "a key is read as that of another object");
    }
    let id = BackupId::parse("6b1f0c1e-0000-4000-8000-000000000001").expect("an id");
    metadata(&id, object);
    let size = object.len() as u64;
    let check = header_of(object, size);
    assert_eq!(check.ok, Some(is_archive(object)));
}

/// Whether an object begins with a header of squashfs, and is as long as that says.
fn is_archive(object: &[u8]) -> bool {
    let length = object.get(40..48).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    object.starts_with(b"hsqs") && length.is_some_and(|length| length <= object.len() as u64)
}

fn metadata(id: &BackupId, object: &[u8]) {
    let metadata = match metadata_of(id, object) {
        Ok(metadata) => metadata,
        Err(failure) => {
            assert!(failure.is_protocol());
            short(&failure);
            return legible(&storage_failed(failure));
        }
    };
    if let Some(mark) = metadata.name.as_deref().and_then(BackupOwner::parse) {
        assert_eq!(Some(mark.to_string()), metadata.name);
    }
    let usable_until = metadata.usable_until();
    assert!(usable_until <= Timestamp::MAX);
    assert_eq!(metadata.is_expired(Timestamp::MAX), usable_until < Timestamp::MAX);
    let handle = json::from_value(&serde_json::json!({ "id": metadata.id, "dir": "/workspace" })).expect("a handle");
    // What is kept of it in a row is read again.
    kept(&StoredBackup {
        backup: handle,
        created_at: metadata.created_at,
        size_bytes: metadata.size_bytes,
        checksum: None,
        usable_until,
        imported: true,
        checked_at: metadata.created_at,
        damage: None,
        archive_damage: None,
    });
    kept(&metadata);
}
