//! Backup handles and metadata of the SDK.

use proptest::prelude::*;
use sandbox_snapshotter::model::{ArchiveFormat, BackupHandle, BackupMetadata, Code, DirectoryBackup, Timestamp};
use serde_json::{Value, json};

use super::support::cases;

fn handle(value: Value) -> Option<BackupHandle> {
    serde_json::from_value(value).ok()
}

fn metadata(created_at: i64, ttl: f64) -> BackupMetadata {
    BackupMetadata {
        id: "b1".to_owned().try_into().unwrap(),
        dir: "/workspace".into(),
        name: None,
        size_bytes: 4096,
        ttl,
        created_at: Timestamp::from_millis(created_at),
        format: ArchiveFormat::Squashfs,
        entries: None,
    }
}

fn is_expired(created_at: i64, ttl: f64, now: i64) -> bool {
    metadata(created_at, ttl).is_expired(Timestamp::from_millis(now))
}

#[test]
fn handle_requires_id_and_directory() {
    assert!(handle(json!({ "id": "b1", "dir": "/workspace" })).is_some());
    let wrong = [
        json!(null),
        json!("b1"),
        json!(["b1", "/workspace"]),
        json!({}),
        json!({ "id": "b1" }),
        json!({ "dir": "/workspace" }),
        json!({ "id": 1, "dir": "/workspace" }),
        json!({ "id": "b1", "dir": null }),
        json!({ "id": "b/1", "dir": "/workspace" }),
        json!({ "id": "b1", "dir": "/etc" }),
    ];
    for value in wrong {
        assert_eq!(handle(value.clone()), None, "{value}");
    }
}

#[test]
fn record_of_directory_backup_states_size_and_sha256() {
    let record = |size: Value, sha256: &str, format: &str| {
        handle(
            json!({ "id": "b1", "dir": "/workspace", "size": size, "sha256": sha256, "format": format, "name": "it" }),
        )
    };
    let hash = "AB".repeat(32);
    let whole = record(json!(5), &hash, "tar+zstd/1").unwrap();
    let stated = DirectoryBackup { size_bytes: 5, sha256: hash.to_lowercase() };
    assert_eq!(whole.directory_backup(), Some(&stated));
    assert_eq!(json!(whole)["sha256"], hash, "the record is passed back without changes");
    assert!(whole.is_extracted());
    for format in ["tar+zstd", "squashfs", "other/1"] {
        assert_eq!(record(json!(-1), "", format).unwrap().directory_backup(), None, "{format}");
    }
    for (size, sha256) in
        [(json!(-1), &hash[..]), (json!("5"), &hash), (json!(5), &hash[1..]), (json!(5), &"g".repeat(64))]
    {
        assert_eq!(record(size.clone(), sha256, "tar+zstd/1"), None, "{size} {sha256}");
    }
    let later = json!({ "id": "b1", "dir": "/workspace", "size": 5, "sha256": hash, "format": "tar+zstd/2" });
    let error = BackupHandle::try_from(later.as_object().unwrap().clone()).unwrap_err();
    assert_eq!(error.code(), Code::Unsupported);
    assert!(error.message().contains("\"tar+zstd/2\""), "{error}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn handle_keeps_unknown_fields(further in prop::collection::btree_map("[a-z]{4,8}", any_json(), 0..5)) {
        let mut whole = json!(further);
        whole["id"] = json!("b1");
        whole["dir"] = json!("/workspace");
        let text = whole.to_string();
        prop_assert_eq!(json!(handle(whole).unwrap()).to_string(), text);
    }

    #[test]
    fn expiration_check_accepts_any_times(created: i64, ttl: f64, now: i64) {
        is_expired(created, ttl, now);
    }
}

#[test]
fn metadata_of_the_sdk_is_decoded() {
    let of_sdk = json!({
        "id": "6b1f0c1e-0000-4000-8000-000000000001",
        "dir": "/workspace",
        "name": null,
        "sizeBytes": 4096,
        "ttl": 259_200.5,
        "createdAt": "2026-11-20T05:00:00.123Z",
        "further": true,
    });
    let read: BackupMetadata = serde_json::from_value(of_sdk).unwrap();
    assert_eq!(
        read,
        BackupMetadata {
            id: "6b1f0c1e-0000-4000-8000-000000000001".to_owned().try_into().unwrap(),
            ..metadata(1_795_150_800_123, 259_200.5)
        }
    );
}

#[test]
fn backup_expires_one_minute_before_its_ttl_ends() {
    assert!(!is_expired(0, 3600.0, 3_540_000));
    assert!(is_expired(0, 3600.0, 3_540_001));
}

#[test]
fn fraction_of_a_second_counts_in_the_ttl() {
    assert!(!is_expired(0, 60.5, 500));
    assert!(is_expired(0, 60.5, 501));
}

#[test]
fn ttl_beyond_every_timestamp_never_ends() {
    for ttl in [1e300, f64::INFINITY, f64::MAX] {
        assert!(!is_expired(1_795_150_800_000, ttl, 4_000_000_000_000), "{ttl}");
    }
}

#[test]
fn max_ttl_ends_after_a_hundred_years() {
    #[allow(clippy::cast_precision_loss)] // It is far below 2^53.
    let ttl = sandbox_snapshotter::model::stored_backup::MAX_TTL_SECONDS as f64;
    assert!(!is_expired(0, ttl, 99 * 365 * 24 * 3_600_000));
    assert!(is_expired(0, ttl, 100 * 365 * 24 * 3_600_000));
}
