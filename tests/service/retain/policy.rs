//! A policy is set, told and applied; every decision has a reason.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use super::{left, let_go, set, with_policy};
use crate::support::{Checked, DAY, HOUR, Stage, by_label};

#[test]
fn a_new_policy_is_applied_at_once() {
    let stage = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two", "three"]);
    let report = set(&stage, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!((let_go(&report), &report["letGo"], &report["dryRun"]), (vec!["two", "one"], &json!(2), &json!(false)));
    assert_eq!(left(&stage), ["three"]);
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_shorter_time_holds_for_snapshots_that_are_there() {
    let stage = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two"]);
    set(&stage, &json!({ "expirationSeconds": 3600 }));
    stage.passes(2 * HOUR);
    assert_eq!(left(&stage), ["two"]);
}

#[test]
fn a_longer_time_holds_for_snapshots_that_are_there() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["one", "two"]);
    set(&stage, &json!({ "expirationSeconds": 0 }));
    stage.passes(30 * DAY);
    assert_eq!(left(&stage), ["two", "one"]);
}

#[test]
fn a_policy_can_be_set_before_there_is_anything() {
    let stage = Stage::empty();
    let report = set(&stage, &json!({ "keepLast": { "count": 3 } }));
    assert_eq!((&report["decisions"], &report["letGo"]), (&json!([]), &json!(0)));
}

#[test]
fn a_policy_outlives_the_worker() {
    let stage = with_policy(&json!({ "keepLast": { "count": 1 } }), &["one"]);
    stage.restart();
    stage.captures("agent-42", "two");
    stage.passes(HOUR);
    assert_eq!(left(&stage), ["two"]);
}

#[test]
fn a_dry_run_tells_what_would_go_and_touches_nothing() {
    let stage = with_policy(&json!({}), &["one", "two", "three"]);
    let alarm = stage.alarm_due("agent-42");
    let dry = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } }, "dryRun": true });
    let report = stage.run(Operation::SetRetention, &dry).unwrap();
    assert_eq!((let_go(&report), &report["dryRun"]), (vec!["two", "one"], &json!(true)));
    assert_eq!(stage.alarm_due("agent-42"), alarm);
    stage.passes(HOUR);
    assert_eq!(left(&stage), ["three", "two", "one"]);
    let report = stage.run(Operation::Retention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(report["policy"].get("keepLast"), None, "the policy is the one before");
}

#[test]
fn every_decision_has_a_reason() {
    let stage = with_policy(&json!({}), &["held", "pinned", "counted out", "newest"]);
    let holder = stage.run(Operation::Restore, &by_label("held")).unwrap();
    stage.run(Operation::Pin, &by_label("pinned")).unwrap();
    let dry = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } }, "dryRun": true });
    let report = stage.run(Operation::SetRetention, &dry).unwrap();
    let told: Vec<_> =
        report["decisions"].as_array().unwrap().iter().map(|it| (&it["label"], &it["reasons"])).collect();
    assert_eq!(
        json!(told),
        json!([
            ["newest", ["the newest snapshot that can be restored"]],
            ["counted out", ["not among the newest 1"]],
            ["pinned", ["pinned"]],
            ["held", [format!("held by {}", holder["ref"]["sandboxId"])]],
        ])
    );
}

#[test]
fn the_reason_is_kept_with_what_went() {
    let stage = with_policy(&json!({}), &["one", "two"]);
    let one = stage.run(Operation::Get, &by_label("one")).unwrap()["ref"].clone();
    set(&stage, &json!({ "keepLast": { "count": 1 } }));
    let manifest = stage.run(Operation::Manifest, &json!({ "ref": one })).unwrap();
    assert_eq!(manifest["ended"]["reason"], "not among the newest 1");
    let error = stage.run(Operation::Restore, &json!({ "ref": one })).fails_as(Code::SnapshotNotFound);
    assert!(error.message().contains("not among the newest 1"), "{error}");
}

#[test]
fn applying_lets_go_what_is_due_and_answers_it() {
    let stage = with_policy(&json!({ "expirationSeconds": 3600 }), &["one", "two"]);
    stage.world.pass(2 * HOUR);
    let dry = json!({ "sandboxId": "agent-42", "dryRun": true });
    assert_eq!(let_go(&stage.run(Operation::ApplyRetention, &dry).unwrap()), ["one"]);
    assert_eq!(left(&stage), ["two", "one"]);
    let report = stage.run(Operation::ApplyRetention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(let_go(&report), ["one"]);
    assert_eq!(left(&stage), ["two"]);
    let again = stage.run(Operation::ApplyRetention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(let_go(&again), [""; 0]);
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_and_changes_nothing() {
    let stage = with_policy(&json!({}), &["one", "two"]);
    for policy in [json!({ "keepLast": { "count": 0 } }), json!({ "keepDaily": 10_001 }), json!({ "keep": 1 })] {
        let arguments = json!({ "sandboxId": "agent-42", "policy": policy });
        stage.run(Operation::SetRetention, &arguments).fails_as(Code::InvalidArgument);
    }
    assert_eq!(left(&stage), ["two", "one"]);
}
