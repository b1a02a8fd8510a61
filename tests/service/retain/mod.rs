//! Retention: the policy of a workspace lets snapshots go; alarms do the work.

mod many;
mod policy;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use sandbox_snapshotter::model::backup::MAX_TTL;
use serde_json::{Value, json};

use super::support::{DAY, HOUR, MINUTE, Method, Stage, by_label, by_ref};

/// Gives the workspace of `agent-42` a policy.
fn set(stage: &Stage, policy: &Value) -> Value {
    stage.run(Operation::SetRetention, &json!({ "sandboxId": "agent-42", "policy": policy })).unwrap()
}

/// A workspace with a policy, and snapshots with these labels, a minute apart.
fn with_policy(policy: &Value, labels: &[&str]) -> Stage {
    let stage = Stage::with_sandbox();
    set(&stage, policy);
    for label in labels {
        stage.captures("agent-42", label);
        stage.passes(MINUTE);
    }
    stage
}

/// The labels of the snapshots that are there, the newest first.
fn left(stage: &Stage) -> Vec<String> {
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap().to_owned()).collect()
}

fn expires_at(stage: &Stage, snapshot: &SnapshotRef) -> Option<Value> {
    stage.run(Operation::Get, &by_ref(snapshot)).unwrap().get("expiresAt").cloned()
}

/// What a report says of the snapshots that it lets go.
fn let_go(report: &Value) -> Vec<&str> {
    let decisions = report["decisions"].as_array().unwrap().iter();
    decisions.filter(|decision| decision["keep"] == false).map(|decision| decision["label"].as_str().unwrap()).collect()
}

#[test]
fn a_workspace_begins_with_thirty_days() {
    let (stage, snapshot) = Stage::with_snapshot();
    let report = stage.run(Operation::Retention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(report["policy"], json!({ "expirationSeconds": 30 * 24 * 3600, "keepDaily": 0, "keepWeekly": 0 }));
    assert_eq!(expires_at(&stage, &snapshot), Some(json!(snapshot.created_at().plus_millis(30 * DAY))));
}

#[test]
fn a_snapshot_goes_when_its_time_is_over_and_another_one_is_there() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["old"]);
    stage.passes(30 * MINUTE);
    stage.captures("agent-42", "new");
    stage.passes(28 * MINUTE);
    assert_eq!(left(&stage), ["new", "old"]);
    stage.passes(2 * MINUTE);
    assert_eq!(left(&stage), ["new"]);
    assert_eq!(stage.world.stored().len(), 1);
    stage.assert_settled();
}

#[test]
fn the_last_good_snapshot_stays_however_old_it_is() {
    let stage = with_policy(&json!({ "expirationSeconds": 60 }), &["only"]);
    stage.passes(400 * DAY);
    assert_eq!(left(&stage), ["only"]);
    stage.run(Operation::Restore, &by_label("only")).unwrap();
}

#[test]
fn what_has_expired_goes_as_soon_as_there_is_a_newer_one() {
    let stage = with_policy(&json!({ "expirationSeconds": 60 }), &["only"]);
    stage.passes(400 * DAY);
    stage.world.writes("agent-42", "/workspace/b", "b");
    stage.captures("agent-42", "new");
    stage.passes(MINUTE);
    assert_eq!(left(&stage), ["new"]);
}

#[test]
fn a_newer_one_that_cannot_be_restored_is_no_reason_to_let_the_last_good_one_go() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["good", "damaged"]);
    let damaged = stage.run(Operation::Get, &by_label("damaged")).unwrap()["ref"]["ref"]["backup"]["id"].clone();
    stage.world.spoil(|backup| {
        if json!(backup.metadata.as_ref().unwrap().id) == damaged {
            backup.archive = None;
        }
    });
    stage.run(Operation::Verify, &by_label("damaged")).unwrap();
    stage.passes(DAY);
    assert_eq!(left(&stage), ["good"]);
    stage.run(Operation::Restore, &by_label("good")).unwrap();
}

#[test]
fn a_restore_is_a_use_from_which_the_time_counts_anew() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["used", "newest"]);
    stage.passes(50 * MINUTE);
    let holder = stage.run(Operation::Restore, &by_label("used")).unwrap();
    stage.captures(holder["ref"]["sandboxId"].as_str().unwrap(), "its own");
    stage.world.finish_background();
    stage.passes(30 * MINUTE);
    assert_eq!(left(&stage), ["newest", "used"]);
    stage.passes(HOUR);
    assert_eq!(left(&stage), ["newest"]);
}

#[test]
fn what_a_restored_sandbox_needs_stays() {
    let stage = with_policy(&json!({ "expirationSeconds": 60, "keepLast": { "count": 1 } }), &["held"]);
    stage.run(Operation::Restore, &by_label("held")).unwrap();
    stage.captures("agent-42", "newest");
    stage.passes(30 * DAY);
    assert_eq!(left(&stage), ["newest", "held"]);
}

#[test]
fn what_is_being_restored_stays() {
    let stage = with_policy(&json!({}), &["wanted", "newest"]);
    let gate = stage.world.before(Method::RestoreBackup).held();
    let restoring = stage.begin(Operation::Restore, &by_label("wanted"));
    assert!(gate.is_reached());
    let report = set(&stage, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!(let_go(&report), [""; 0]);
    gate.open();
    restoring.answer().unwrap();
    assert_eq!(left(&stage), ["newest", "wanted"]);
}

#[test]
fn what_is_being_made_is_neither_counted_nor_let_go() {
    let stage = with_policy(&json!({}), &["one", "two"]);
    let gate = stage.world.before(Method::CreateBackup).nth(3).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("three"));
    set(&stage, &json!({ "keepLast": { "count": 2 } }));
    assert_eq!(left(&stage), ["three", "two", "one"]);
    gate.open();
    capture.answer().unwrap();
    stage.passes(MINUTE);
    assert_eq!(left(&stage), ["three", "two"]);
}

#[test]
fn more_than_the_newest_few_go_at_the_next_alarm() {
    let stage = with_policy(&json!({ "keepLast": { "count": 2 } }), &["one", "two", "three", "four"]);
    assert_eq!(left(&stage), ["four", "three"]);
    assert_eq!(stage.world.stored().len(), 2);
    stage.assert_settled();
}

#[test]
fn under_a_policy_that_counts_a_snapshot_more_is_a_matter_of_now() {
    for policy in [json!({ "keepLast": { "count": 1 } }), json!({ "keepDaily": 1 }), json!({ "keepWeekly": 1 })] {
        let stage = with_policy(&policy, &["one"]);
        stage.captures("agent-42", "two");
        assert!(stage.alarm_due("agent-42") <= Some(stage.world.moment()), "{policy}");
    }
}

#[test]
fn under_a_policy_of_time_alone_a_snapshot_more_is_a_matter_of_now_once_another_one_has_expired() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["one"]);
    stage.captures("agent-42", "two");
    assert!(stage.alarm_due("agent-42") > Some(stage.world.moment()));
    stage.passes(2 * HOUR);
    stage.captures("agent-42", "three");
    assert!(stage.alarm_due("agent-42") <= Some(stage.world.moment()));
}

#[test]
fn damaged_snapshots_take_no_place_among_the_newest() {
    let stage = with_policy(&json!({}), &["good", "damaged"]);
    stage.world.spoil(|backup| {
        if backup.metadata.as_ref().unwrap().id.as_str().ends_with('2') {
            backup.archive = None;
        }
    });
    stage.run(Operation::Verify, &by_label("damaged")).unwrap();
    set(&stage, &json!({ "keepLast": { "count": 1 } }));
    assert!(left(&stage).contains(&"good".to_owned()), "{:?}", left(&stage));
}

#[test]
fn what_is_counted_out_may_stay_until_it_expires() {
    let policy = json!({ "keepLast": { "count": 1, "deleteEvicted": false }, "expirationSeconds": 3600 });
    let stage = with_policy(&policy, &["one", "two"]);
    assert_eq!(left(&stage), ["two", "one"]);
    stage.passes(2 * HOUR);
    assert_eq!(left(&stage), ["two"]);
}

#[test]
fn what_is_counted_out_goes_by_the_expiration_of_the_policy_and_no_longer_by_that_of_the_newest() {
    let policy = json!({ "keepLast": { "count": 1, "expirationSeconds": 0, "deleteEvicted": false }, "expirationSeconds": 3600 });
    let stage = with_policy(&policy, &["one", "two"]);
    stage.passes(3 * HOUR);
    assert_eq!(left(&stage), ["two"]);
}

#[test]
fn the_newest_of_each_day_and_week_stay() {
    let stage = Stage::with_sandbox();
    set(&stage, &json!({ "keepLast": { "count": 1 }, "keepDaily": 2, "keepWeekly": 2 }));
    for day in 1..=15 {
        stage.captures("agent-42", &format!("day {day} early"));
        stage.passes(HOUR);
        stage.captures("agent-42", &format!("day {day} late"));
        stage.passes(23 * HOUR);
    }
    // The 20th of November 2026, the first day, is a Friday: the last day of a week that counts is day 10, a Sunday.
    assert_eq!(left(&stage), ["day 15 late", "day 14 late", "day 10 late"]);
}

#[test]
fn its_own_expiration_goes_before_the_policys() {
    let stage = Stage::with_sandbox();
    for (label, seconds) in [("short", json!(60)), ("for ever", json!(0)), ("as the policy says", json!(null))] {
        let arguments = json!({ "sandboxId": "agent-42", "label": label, "expirationSeconds": seconds });
        stage.run(Operation::Snapshot, &arguments).unwrap();
    }
    stage.captures("agent-42", "newest");
    stage.passes(HOUR);
    assert_eq!(left(&stage), ["newest", "as the policy says", "for ever"]);
    stage.passes(31 * DAY);
    stage.captures("agent-42", "still newer");
    stage.passes(HOUR);
    assert_eq!(left(&stage), ["still newer", "for ever"]);
}

#[test]
fn a_policy_without_an_end_keeps_everything() {
    let stage = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two", "three"]);
    stage.passes(10 * 365 * DAY);
    assert_eq!(left(&stage), ["three", "two", "one"]);
}

#[test]
fn the_sdks_own_time_to_live_is_never_in_the_way() {
    let stage = with_policy(&json!({ "expirationSeconds": 0 }), &["kept"]);
    assert!(stage.world.options_asked().iter().all(|options| options.ttl == MAX_TTL));
    stage.passes(50 * 365 * DAY);
    stage.run(Operation::Restore, &by_label("kept")).unwrap();
}

#[test]
fn what_r2_fails_to_delete_is_gone_all_the_same_and_deleted_within_the_hour() {
    let stage = with_policy(&json!({}), &["one", "two", "three"]);
    stage.world.before(Method::Delete).first(6).fails_in_passing();
    let report = set(&stage, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!(report["letGo"], 2);
    stage.run(Operation::Restore, &by_label("three")).unwrap();
    stage.passes(HOUR);
    assert_eq!((left(&stage), stage.world.stored().len()), (vec!["three".to_owned()], 1));
    stage.assert_settled();
}
