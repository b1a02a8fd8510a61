//! Retention: the policy of a sandbox expires and evicts snapshots. Alarms apply it.

mod delete;
mod many;
mod only_copy;
mod policy;
mod references;
mod sweep;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use sandbox_snapshotter::model::stored_backup::MAX_TTL_SECONDS;
use serde_json::{Value, json};

use crate::support::{DAY, Fixture, HOUR, MINUTE, Method, by_label, by_ref};

/// Sets the policy of the sandbox `agent-42`.
fn set_policy(fixture: &Fixture, policy: &Value) -> Value {
    fixture.run(Operation::SetRetention, &json!({ "sandboxId": "agent-42", "policy": policy })).unwrap()
}

/// A sandbox with a policy, and a snapshot for each label, 1 minute apart.
fn with_policy(policy: &Value, labels: &[&str]) -> Fixture {
    let fixture = Fixture::with_sandbox();
    set_policy(&fixture, policy);
    for label in labels {
        fixture.snapshot_labelled("agent-42", label);
        fixture.advance_with_alarms(MINUTE);
    }
    fixture
}

/// Returns the labels of the existing snapshots, newest first.
fn remaining_labels(fixture: &Fixture) -> Vec<String> {
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap().to_owned()).collect()
}

fn expires_at(fixture: &Fixture, snapshot: &SnapshotRef) -> Option<Value> {
    fixture.run(Operation::Get, &by_ref(snapshot)).unwrap().get("expiresAt").cloned()
}

/// Returns the labels of the snapshots that the report does not keep.
fn evicted(report: &Value) -> Vec<&str> {
    let decisions = report["decisions"].as_array().unwrap().iter();
    decisions.filter(|decision| decision["keep"] == false).map(|decision| decision["label"].as_str().unwrap()).collect()
}

#[test]
fn default_expiration_is_thirty_days() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let report = fixture.run(Operation::Retention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(report["policy"], json!({ "expirationSeconds": 30 * 24 * 3600, "keepDaily": 0, "keepWeekly": 0 }));
    assert_eq!(expires_at(&fixture, &snapshot), Some(json!(snapshot.created_at().plus_millis(30 * DAY))));
}

#[test]
fn expired_snapshot_is_deleted_when_a_newer_one_exists() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["old"]);
    fixture.advance_with_alarms(30 * MINUTE);
    fixture.snapshot_labelled("agent-42", "new");
    fixture.advance_with_alarms(28 * MINUTE);
    assert_eq!(remaining_labels(&fixture), ["new", "old"]);
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(remaining_labels(&fixture), ["new"]);
    assert_eq!(fixture.world.backup_ids().len(), 1);
    fixture.assert_nothing_pending();
}

#[test]
fn last_restorable_snapshot_is_kept_at_any_age() {
    let fixture = with_policy(&json!({ "expirationSeconds": 60 }), &["only"]);
    fixture.advance_with_alarms(400 * DAY);
    assert_eq!(remaining_labels(&fixture), ["only"]);
    fixture.run(Operation::Restore, &by_label("only")).unwrap();
}

#[test]
fn snapshot_that_stays_beyond_its_expiration_has_none_in_answers() {
    let fixture = with_policy(&json!({ "expirationSeconds": 864_000 }), &["only"]);
    let answers = || {
        let listed = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
        let tree = fixture.run(Operation::Lineage, &json!({ "sandboxId": "agent-42" })).unwrap();
        [&listed["snapshots"][0], &tree["root"]["snapshots"][0]].map(|snapshot| snapshot.get("expiresAt").is_some())
    };
    assert_eq!(answers(), [true, true]);
    fixture.advance_with_alarms(20 * DAY);
    assert_eq!(answers(), [false, false]);
}

#[test]
fn expired_snapshot_is_deleted_once_a_newer_one_is_taken() {
    let fixture = with_policy(&json!({ "expirationSeconds": 60 }), &["only"]);
    fixture.advance_with_alarms(400 * DAY);
    fixture.world.write_file("agent-42", "/workspace/b", "b");
    fixture.snapshot_labelled("agent-42", "new");
    fixture.advance_with_alarms(MINUTE);
    assert_eq!(remaining_labels(&fixture), ["new"]);
}

#[test]
fn last_restorable_snapshot_is_kept_behind_a_damaged_newer_one() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["good", "damaged"]);
    let damaged = fixture.run(Operation::Get, &by_label("damaged")).unwrap()["ref"]["ref"]["backup"]["id"].clone();
    fixture.world.edit_backups(|backup| {
        if json!(backup.metadata.as_ref().unwrap().id) == damaged {
            backup.archive = None;
        }
    });
    fixture.run(Operation::Verify, &by_label("damaged")).unwrap();
    fixture.advance_with_alarms(DAY);
    assert_eq!(remaining_labels(&fixture), ["good"]);
    fixture.run(Operation::Restore, &by_label("good")).unwrap();
}

#[test]
fn restore_restarts_the_expiration_period() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["used", "newest"]);
    fixture.advance_with_alarms(50 * MINUTE);
    let restored = fixture.run(Operation::Restore, &by_label("used")).unwrap();
    fixture.snapshot_labelled(restored["ref"]["sandboxId"].as_str().unwrap(), "its own");
    fixture.world.finish_background();
    fixture.advance_with_alarms(30 * MINUTE);
    assert_eq!(remaining_labels(&fixture), ["newest", "used"]);
    fixture.advance_with_alarms(HOUR);
    assert_eq!(remaining_labels(&fixture), ["newest"]);
}

#[test]
fn snapshot_with_dependents_is_kept() {
    let fixture = with_policy(&json!({ "expirationSeconds": 60, "keepLast": { "count": 1 } }), &["referenced"]);
    fixture.run(Operation::Restore, &by_label("referenced")).unwrap();
    fixture.snapshot_labelled("agent-42", "newest");
    fixture.advance_with_alarms(30 * DAY);
    assert_eq!(remaining_labels(&fixture), ["newest", "referenced"]);
}

#[test]
fn snapshot_that_is_being_restored_is_kept() {
    let fixture = with_policy(&json!({}), &["wanted", "newest"]);
    let gate = fixture.world.before(Method::RestoreBackup).block();
    let restore = fixture.begin(Operation::Restore, &by_label("wanted"));
    assert!(gate.is_reached());
    let report = set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!(evicted(&report), [""; 0]);
    gate.open();
    restore.answer().unwrap();
    assert_eq!(remaining_labels(&fixture), ["newest", "wanted"]);
}

#[test]
fn snapshot_that_is_being_created_is_neither_counted_nor_evicted() {
    let fixture = with_policy(&json!({}), &["one", "two"]);
    let gate = fixture.world.before(Method::CreateBackup).nth(3).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("three"));
    set_policy(&fixture, &json!({ "keepLast": { "count": 2 } }));
    assert_eq!(remaining_labels(&fixture), ["three", "two", "one"]);
    gate.open();
    capture.answer().unwrap();
    fixture.advance_with_alarms(MINUTE);
    assert_eq!(remaining_labels(&fixture), ["three", "two"]);
}

#[test]
fn snapshots_beyond_keep_last_are_evicted_at_the_next_alarm() {
    let fixture = with_policy(&json!({ "keepLast": { "count": 2 } }), &["one", "two", "three", "four"]);
    assert_eq!(remaining_labels(&fixture), ["four", "three"]);
    assert_eq!(fixture.world.backup_ids().len(), 2);
    fixture.assert_nothing_pending();
}

#[test]
fn new_snapshot_sets_an_immediate_alarm_under_a_policy_with_counts() {
    for policy in [json!({ "keepLast": { "count": 1 } }), json!({ "keepDaily": 1 }), json!({ "keepWeekly": 1 })] {
        let fixture = with_policy(&policy, &["one"]);
        fixture.snapshot_labelled("agent-42", "two");
        assert!(fixture.alarm_at("agent-42") <= Some(fixture.world.current_time()), "{policy}");
    }
}

#[test]
fn new_snapshot_sets_an_immediate_alarm_once_another_has_expired() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["one"]);
    fixture.snapshot_labelled("agent-42", "two");
    assert!(fixture.alarm_at("agent-42") > Some(fixture.world.current_time()));
    fixture.advance_with_alarms(2 * HOUR);
    fixture.snapshot_labelled("agent-42", "three");
    assert!(fixture.alarm_at("agent-42") <= Some(fixture.world.current_time()));
}

#[test]
fn damaged_snapshots_do_not_count_for_keep_last() {
    let fixture = with_policy(&json!({}), &["good", "damaged"]);
    fixture.world.edit_backups(|backup| {
        if backup.metadata.as_ref().unwrap().id.as_str().ends_with('2') {
            backup.archive = None;
        }
    });
    fixture.run(Operation::Verify, &by_label("damaged")).unwrap();
    set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    assert!(remaining_labels(&fixture).contains(&"good".to_owned()), "{:?}", remaining_labels(&fixture));
}

#[test]
fn snapshots_beyond_keep_last_may_stay_until_they_expire() {
    let policy = json!({ "keepLast": { "count": 1, "deleteEvicted": false }, "expirationSeconds": 3600 });
    let fixture = with_policy(&policy, &["one", "two"]);
    assert_eq!(remaining_labels(&fixture), ["two", "one"]);
    fixture.advance_with_alarms(2 * HOUR);
    assert_eq!(remaining_labels(&fixture), ["two"]);
}

#[test]
fn snapshots_beyond_keep_last_use_the_expiration_of_the_policy() {
    let policy = json!({ "keepLast": { "count": 1, "expirationSeconds": 0, "deleteEvicted": false }, "expirationSeconds": 3600 });
    let fixture = with_policy(&policy, &["one", "two"]);
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(remaining_labels(&fixture), ["two"]);
}

#[test]
fn newest_snapshot_of_each_day_and_week_is_kept() {
    let fixture = Fixture::with_sandbox();
    set_policy(&fixture, &json!({ "keepLast": { "count": 1 }, "keepDaily": 2, "keepWeekly": 2 }));
    for day in 1..=15 {
        fixture.snapshot_labelled("agent-42", &format!("day {day} early"));
        fixture.advance_with_alarms(HOUR);
        fixture.snapshot_labelled("agent-42", &format!("day {day} late"));
        fixture.advance_with_alarms(23 * HOUR);
    }
    // Day 1, 20 November 2026, is a Friday. Day 10, a Sunday, is the last day of the second week that is kept.
    assert_eq!(remaining_labels(&fixture), ["day 15 late", "day 14 late", "day 10 late"]);
}

#[test]
fn expiration_of_a_snapshot_overrides_the_policy() {
    let fixture = Fixture::with_sandbox();
    for (label, seconds) in [("short", json!(60)), ("for ever", json!(0)), ("as the policy says", json!(null))] {
        let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
        fixture.run(Operation::Snapshot, &arguments).unwrap();
    }
    fixture.snapshot_labelled("agent-42", "newest");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(remaining_labels(&fixture), ["newest", "as the policy says", "for ever"]);
    fixture.advance_with_alarms(31 * DAY);
    fixture.snapshot_labelled("agent-42", "still newer");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(remaining_labels(&fixture), ["still newer", "for ever"]);
}

#[test]
fn policy_without_expiration_keeps_every_snapshot() {
    let fixture = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two", "three"]);
    fixture.advance_with_alarms(10 * 365 * DAY);
    assert_eq!(remaining_labels(&fixture), ["three", "two", "one"]);
}

#[test]
fn time_to_live_of_the_sdk_never_expires_a_snapshot() {
    let fixture = with_policy(&json!({ "expirationSeconds": 0 }), &["kept"]);
    assert!(fixture.world.backup_options().iter().all(|options| options.ttl == MAX_TTL_SECONDS));
    fixture.advance_with_alarms(50 * 365 * DAY);
    fixture.run(Operation::Restore, &by_label("kept")).unwrap();
}

#[test]
fn backups_that_r2_fails_to_delete_are_deleted_within_an_hour() {
    let fixture = with_policy(&json!({}), &["one", "two", "three"]);
    fixture.world.before(Method::Delete).first(6).fail_transiently();
    let report = set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!(report["evicted"], 2);
    fixture.run(Operation::Restore, &by_label("three")).unwrap();
    fixture.advance_with_alarms(HOUR);
    assert_eq!((remaining_labels(&fixture), fixture.world.backup_ids().len()), (vec!["three".to_owned()], 1));
    fixture.assert_nothing_pending();
}
