//! Retention with many snapshots, of which each pass reads only a part.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use sandbox_snapshotter::model::record::Stage;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{remaining_labels, set_policy, with_policy};
use crate::support::{DAY, Fixture, HOUR, MINUTE, by_label};

#[test]
fn all_expired_snapshots_are_deleted_within_an_hour() {
    let fixture = Fixture::with_sandbox();
    set_policy(&fixture, &json!({ "expirationSeconds": 7 * 24 * 3600 }));
    for number in 0..1200 {
        fixture.snapshot_labelled("agent-42", &format!("number {number}"));
    }
    fixture.world.advance_clock(8 * DAY);
    fixture.advance_with_alarms(HOUR);
    assert_eq!(remaining_labels(&fixture), ["number 1199"]);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn newest_restorable_snapshot_is_kept_behind_many_damaged_ones() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["good"]);
    for number in 0..12 {
        fixture.snapshot_labelled("agent-42", &format!("damaged {number}"));
    }
    fixture.world.edit_backups(|backup| {
        if !backup.metadata.as_ref().unwrap().id.as_str().ends_with("01") {
            backup.archive = None;
        }
    });
    for number in 0..12 {
        fixture.run(Operation::Verify, &by_label(&format!("damaged {number}"))).unwrap();
    }
    fixture.advance_with_alarms(2 * HOUR);
    assert_eq!(remaining_labels(&fixture), ["good"]);
}

#[test]
fn newest_of_many_restorable_snapshots_is_kept() {
    let fixture = Fixture::with_sandbox();
    set_policy(&fixture, &json!({ "expirationSeconds": 3600 }));
    for number in 0..12 {
        fixture.snapshot_labelled("agent-42", &format!("number {number}"));
    }
    fixture.world.advance_clock(HOUR);
    fixture.snapshot_labelled("agent-42", "newest");
    fixture.advance_with_alarms(MINUTE);
    assert_eq!(remaining_labels(&fixture), ["newest"]);
}

#[test]
fn expired_snapshots_are_deleted_when_none_is_restorable() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["damaged"]);
    fixture.world.edit_backups(|backup| backup.archive = None);
    fixture.run(Operation::Verify, &by_label("damaged")).unwrap();
    fixture.advance_with_alarms(2 * HOUR);
    assert_eq!(remaining_labels(&fixture), [""; 0]);
}

#[test]
fn policy_with_counts_evaluates_every_snapshot() {
    let fixture = Fixture::with_sandbox();
    for number in 0..501 {
        fixture.snapshot_labelled("agent-42", &format!("number {number}"));
    }
    let report = set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!((report["decisions"].as_array().unwrap().len(), &report["evicted"]), (501, &json!(500)));
}

#[test]
fn snapshot_that_becomes_one_of_the_newest_gets_their_expiration() {
    let policy = json!({ "keepLast": { "count": 2, "expirationSeconds": 0, "deleteEvicted": false } });
    let fixture = with_policy(&policy, &["old"]);
    let arguments = json!({ "sandboxId": "agent-42", "label": "short", "expirationSeconds": 600 });
    fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.snapshot_labelled("agent-42", "newest");
    fixture.advance_with_alarms(MINUTE);
    let expires = || fixture.run(Operation::Get, &by_label("old")).unwrap().get("expiresAt").cloned();
    assert!(expires().is_some(), "it is the third-newest");
    fixture.advance_with_alarms(11 * MINUTE);
    assert_eq!((remaining_labels(&fixture), expires()), (vec!["newest".to_owned(), "old".to_owned()], None));
}

#[test]
fn kept_expired_snapshot_does_not_block_deletion_of_others() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["older", "newest"]);
    let arguments = json!({ "sandboxId": "agent-42", "label": "good for long", "expirationSeconds": 7200 });
    fixture.run(Operation::Snapshot, &arguments).unwrap();
    fixture.world.edit_backups(|backup| {
        if backup.metadata.as_ref().unwrap().id.as_str().ends_with('3') {
            backup.archive = None;
        }
    });
    fixture.run(Operation::Verify, &by_label("good for long")).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(
        remaining_labels(&fixture),
        ["newest"],
        "the damaged snapshot is deleted, and the last restorable one is kept"
    );
}

#[test]
fn expired_snapshot_is_deleted_when_a_newer_restorable_one_exists() {
    for damaged_count in [9, 10, 11] {
        let fixture = Fixture::with_sandbox();
        let capture = |label: &str, seconds: u32| {
            let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
            SnapshotRef::decode(&fixture.run(Operation::Snapshot, &arguments).unwrap()).unwrap()
        };
        capture("due", 3600);
        capture("good", 0);
        for number in 0..damaged_count {
            let snapshot = capture(&format!("damaged {number}"), 0);
            let mut row = fixture.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap().unwrap();
            if let Stage::Ready { stored } = &mut row.stage {
                stored.archive_damage = Some("It is damaged.".into());
            }
            fixture.ledger("agent-42").put_snapshot(&row).unwrap();
        }
        fixture.advance_with_alarms(2 * HOUR);
        let labels = remaining_labels(&fixture);
        assert!(labels.contains(&"good".into()) && !labels.contains(&"due".into()), "{labels:?}");
    }
}
