//! A platform snapshot expires, is bound to an image, and is refreshed only if it is the only copy.

use sandbox_snapshotter::model::named::platform_snapshot::PlatformSnapshot;
use sandbox_snapshotter::model::{SnapshotId, Timestamp};
use serde_json::{Value, json};

const DAY: i64 = 24 * 3600 * 1000;

fn at(days: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + days * DAY)
}

fn snapshot(fields: &Value) -> PlatformSnapshot {
    let mut row = json!({ "id": "p", "token": "t", "sizeBytes": 1, "image": "one", "createdAt": at(0) });
    row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(row).unwrap()
}

fn archive(is_same: bool) -> Value {
    json!({ "archive": { "snapshotId": "snap-0123456789abcdef", "createdAt": at(0), "isSame": is_same } })
}

#[test]
fn platform_snapshot_expires_30_days_after_its_last_use() {
    assert_eq!(snapshot(&json!({})).expires_at(), at(30));
    assert_eq!(snapshot(&json!({ "lastRestoredAt": at(12) })).expires_at(), at(42));
}

#[test]
fn platform_snapshot_starts_only_before_its_expiration_and_with_its_image() {
    let usable = snapshot(&json!({}));
    assert_eq!(usable.obstacle(Some("one"), at(29)), None);
    assert!(usable.obstacle(Some("one"), at(30)).unwrap().contains("it expired at"));
    let attempted = snapshot(&json!({ "attemptedAt": at(10) }));
    assert_eq!(attempted.obstacle(Some("one"), at(39)), None, "the attempt may have extended its lifetime");
    assert!(attempted.obstacle(Some("one"), at(40)).is_some());
    assert!(usable.obstacle(Some("two"), at(1)).unwrap().contains("\"two\""));
    assert!(usable.obstacle(None, at(1)).unwrap().contains("no platform snapshots"));
    let unusable = snapshot(&json!({ "unusable": "gone" }));
    assert_eq!(unusable.obstacle(Some("one"), at(1)).unwrap(), "gone");
}

#[test]
fn later_archive_is_newer_than_the_platform_snapshot() {
    let linked = snapshot(&archive(true));
    assert!(!linked.is_older_than(at(0)));
    assert!(linked.is_older_than(at(1)));
    assert!(snapshot(&json!({})).is_older_than(at(-1)), "it had no archive");
}

#[test]
fn only_copy_is_refreshed_from_day_20_on_and_then_every_day() {
    assert_eq!(snapshot(&archive(false)).refresh_due(), Some(at(20)));
    assert_eq!(snapshot(&json!({ "lastRestoredAt": at(5) })).refresh_due(), Some(at(25)));
    let failed = json!({ "refreshFailure": { "at": at(20), "reason": "busy" } });
    assert_eq!(snapshot(&failed).refresh_due(), Some(at(21)));
    assert_eq!(snapshot(&archive(true)).refresh_due(), None);
    assert_eq!(snapshot(&json!({ "unusable": "gone" })).refresh_due(), None);
}

#[test]
fn same_archive_is_that_of_the_same_stop() {
    let id = SnapshotId::parse("snap-0123456789abcdef").unwrap();
    assert_eq!(snapshot(&archive(true)).same_archive(), Some(&id));
    assert_eq!(snapshot(&archive(false)).same_archive(), None);
}
