//! Where there are many snapshots, of which not all are looked at each time.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use sandbox_snapshotter::model::record::Stage as State;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{left, set, with_policy};
use crate::support::{DAY, HOUR, MINUTE, Stage, by_label};

#[test]
fn however_many_are_overdue_all_of_them_go_within_the_hour() {
    let stage = Stage::with_sandbox();
    set(&stage, &json!({ "expirationSeconds": 7 * 24 * 3600 }));
    for number in 0..1200 {
        stage.captures("agent-42", &format!("number {number}"));
    }
    stage.world.pass(8 * DAY);
    stage.passes(HOUR);
    assert_eq!(left(&stage), ["number 1199"]);
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn the_newest_good_one_is_found_among_many() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["good"]);
    for number in 0..12 {
        stage.captures("agent-42", &format!("damaged {number}"));
    }
    stage.world.spoil(|backup| {
        if !backup.metadata.as_ref().unwrap().id.as_str().ends_with("01") {
            backup.archive = None;
        }
    });
    for number in 0..12 {
        stage.run(Operation::Verify, &by_label(&format!("damaged {number}"))).unwrap();
    }
    stage.passes(2 * HOUR);
    assert_eq!(left(&stage), ["good"]);
}

#[test]
fn of_many_good_ones_it_is_the_newest_that_stays() {
    let stage = Stage::with_sandbox();
    set(&stage, &json!({ "expirationSeconds": 3600 }));
    for number in 0..12 {
        stage.captures("agent-42", &format!("number {number}"));
    }
    stage.world.pass(HOUR);
    stage.captures("agent-42", "newest");
    stage.passes(MINUTE);
    assert_eq!(left(&stage), ["newest"]);
}

#[test]
fn where_none_is_good_all_that_have_expired_go() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["damaged"]);
    stage.world.spoil(|backup| backup.archive = None);
    stage.run(Operation::Verify, &by_label("damaged")).unwrap();
    stage.passes(2 * HOUR);
    assert_eq!(left(&stage), [""; 0]);
}

#[test]
fn a_policy_that_counts_looks_at_every_snapshot_however_many_there_are() {
    let stage = Stage::with_sandbox();
    for number in 0..501 {
        stage.captures("agent-42", &format!("number {number}"));
    }
    let report = set(&stage, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!((report["decisions"].as_array().unwrap().len(), &report["letGo"]), (501, &json!(500)));
}

#[test]
fn who_moves_up_among_the_newest_expires_as_one_of_them_from_then_on() {
    let policy = json!({ "keepLast": { "count": 2, "expirationSeconds": 0, "deleteEvicted": false } });
    let stage = with_policy(&policy, &["old"]);
    let arguments = json!({ "sandboxId": "agent-42", "label": "short", "expirationSeconds": 600 });
    stage.run(Operation::Snapshot, &arguments).unwrap();
    stage.captures("agent-42", "newest");
    stage.passes(MINUTE);
    let expires = || stage.run(Operation::Get, &by_label("old")).unwrap().get("expiresAt").cloned();
    assert!(expires().is_some(), "it is the third");
    stage.passes(11 * MINUTE);
    assert_eq!((left(&stage), expires()), (vec!["newest".to_owned(), "old".to_owned()], None));
}

#[test]
fn what_has_expired_and_is_kept_does_not_keep_others_from_going() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["older", "newest"]);
    let arguments = json!({ "sandboxId": "agent-42", "label": "good for long", "expirationSeconds": 7200 });
    stage.run(Operation::Snapshot, &arguments).unwrap();
    stage.world.spoil(|backup| {
        if backup.metadata.as_ref().unwrap().id.as_str().ends_with('3') {
            backup.archive = None;
        }
    });
    stage.run(Operation::Verify, &by_label("good for long")).unwrap();
    stage.passes(3 * HOUR);
    assert_eq!(left(&stage), ["newest"], "the damaged one has gone, and the last good one has not");
}

#[test]
fn what_is_due_goes_where_a_newer_one_can_be_restored_however_many_still_newer_ones_are_damaged() {
    for damaged in [9, 10, 11] {
        let stage = Stage::with_sandbox();
        let capture = |label: &str, seconds: u32| {
            let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
            SnapshotRef::decode(&stage.run(Operation::Snapshot, &arguments).unwrap()).unwrap()
        };
        capture("due", 3600);
        capture("good", 0);
        for number in 0..damaged {
            let snapshot = capture(&format!("damaged {number}"), 0);
            let mut row = stage.ledger("agent-42").snapshot(snapshot.snapshot_id()).unwrap().unwrap();
            if let State::Ready { stored } = &mut row.stage {
                stored.damage_within = Some("It is damaged.".into());
            }
            stage.ledger("agent-42").put_snapshot(&row).unwrap();
        }
        stage.passes(2 * HOUR);
        let left = left(&stage);
        assert!(left.contains(&"good".into()) && !left.contains(&"due".into()), "{left:?}");
    }
}
