//! Setting, reading and applying a policy. Every decision has a reason.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use super::{evicted, remaining_labels, set_policy, with_policy};
use crate::support::{DAY, ExpectError, Fixture, HOUR, by_label};

#[test]
fn new_policy_is_applied_immediately() {
    let fixture = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two", "three"]);
    let report = set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    assert_eq!(
        (evicted(&report), &report["evicted"], &report["dryRun"]),
        (vec!["two", "one"], &json!(2), &json!(false))
    );
    assert_eq!(remaining_labels(&fixture), ["three"]);
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn label_of_a_snapshot_that_the_policy_removed_says_so() {
    let fixture = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two"]);
    set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    let error = fixture.run(Operation::Get, &by_label("one")).unwrap_err();
    assert_eq!(error.code(), Code::SnapshotNotFound);
    let text = error.message();
    assert!(text.contains("with the label \"one\" was removed at"), "{text}");
    assert!(text.contains("by the retention policy (not among the newest 1 of its sandbox)"), "{text}");
    fixture.snapshot_labelled("agent-42", "one");
    fixture.run(Operation::Get, &by_label("one")).unwrap();
}

#[test]
fn shorter_expiration_applies_to_existing_snapshots() {
    let fixture = with_policy(&json!({ "expirationSeconds": 0 }), &["one", "two"]);
    set_policy(&fixture, &json!({ "expirationSeconds": 3600 }));
    fixture.advance_with_alarms(2 * HOUR);
    assert_eq!(remaining_labels(&fixture), ["two"]);
}

#[test]
fn longer_expiration_applies_to_existing_snapshots() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["one", "two"]);
    set_policy(&fixture, &json!({ "expirationSeconds": 0 }));
    fixture.advance_with_alarms(30 * DAY);
    assert_eq!(remaining_labels(&fixture), ["two", "one"]);
}

#[test]
fn policy_can_be_set_before_the_first_snapshot() {
    let fixture = Fixture::empty();
    let report = set_policy(&fixture, &json!({ "keepLast": { "count": 3 } }));
    assert_eq!((&report["decisions"], &report["evicted"]), (&json!([]), &json!(0)));
}

#[test]
fn policy_survives_a_worker_crash() {
    let fixture = with_policy(&json!({ "keepLast": { "count": 1 } }), &["one"]);
    fixture.crash_worker();
    fixture.snapshot_labelled("agent-42", "two");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(remaining_labels(&fixture), ["two"]);
}

#[test]
fn dry_run_reports_evictions_and_changes_nothing() {
    let fixture = with_policy(&json!({}), &["one", "two", "three"]);
    let alarm = fixture.alarm_at("agent-42");
    let dry = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } }, "dryRun": true });
    let report = fixture.run(Operation::SetRetention, &dry).unwrap();
    assert_eq!((evicted(&report), &report["dryRun"]), (vec!["two", "one"], &json!(true)));
    assert_eq!(fixture.alarm_at("agent-42"), alarm);
    fixture.advance_with_alarms(HOUR);
    assert_eq!(remaining_labels(&fixture), ["three", "two", "one"]);
    let report = fixture.run(Operation::Retention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(report["policy"].get("keepLast"), None, "the policy is unchanged");
}

#[test]
fn every_decision_has_a_reason() {
    let fixture = with_policy(&json!({}), &["referenced", "pinned", "counted out", "newest"]);
    let restored = fixture.run(Operation::Restore, &by_label("referenced")).unwrap();
    fixture.run(Operation::Pin, &by_label("pinned")).unwrap();
    let dry = json!({ "sandboxId": "agent-42", "policy": { "keepLast": { "count": 1 } }, "dryRun": true });
    let report = fixture.run(Operation::SetRetention, &dry).unwrap();
    let reasons: Vec<_> = report["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|decision| (&decision["label"], &decision["reasons"]))
        .collect();
    assert_eq!(
        json!(reasons),
        json!([
            ["newest", ["the newest snapshot that can be restored"]],
            ["counted out", ["not among the newest 1 of its sandbox"]],
            ["pinned", ["pinned"]],
            ["referenced", [format!("needed by {}", restored["ref"]["sandboxId"])]],
        ])
    );
}

#[test]
fn reason_is_kept_with_the_deleted_snapshot() {
    let fixture = with_policy(&json!({}), &["one", "two"]);
    let one = fixture.run(Operation::Get, &by_label("one")).unwrap()["ref"].clone();
    set_policy(&fixture, &json!({ "keepLast": { "count": 1 } }));
    let manifest = fixture.run(Operation::Manifest, &json!({ "ref": one })).unwrap();
    assert_eq!(manifest["removal"]["reason"], "by the retention policy (not among the newest 1 of its sandbox)");
    let error = fixture.run(Operation::Restore, &json!({ "ref": one })).expect_code(Code::SnapshotNotFound);
    assert!(error.message().contains("not among the newest 1 of its sandbox"), "{error}");
}

#[test]
fn apply_retention_deletes_expired_snapshots_and_reports_them() {
    let fixture = with_policy(&json!({ "expirationSeconds": 3600 }), &["one", "two"]);
    fixture.world.advance_clock(2 * HOUR);
    let dry = json!({ "sandboxId": "agent-42", "dryRun": true });
    assert_eq!(evicted(&fixture.run(Operation::ApplyRetention, &dry).unwrap()), ["one"]);
    assert_eq!(remaining_labels(&fixture), ["two", "one"]);
    let report = fixture.run(Operation::ApplyRetention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(evicted(&report), ["one"]);
    assert_eq!(remaining_labels(&fixture), ["two"]);
    let again = fixture.run(Operation::ApplyRetention, &json!({ "sandboxId": "agent-42" })).unwrap();
    assert_eq!(evicted(&again), [""; 0]);
}

#[test]
fn invalid_policy_is_refused_and_changes_nothing() {
    let fixture = with_policy(&json!({}), &["one", "two"]);
    for policy in [json!({ "keepLast": { "count": 0 } }), json!({ "keepDaily": 10_001 }), json!({ "keep": 1 })] {
        let arguments = json!({ "sandboxId": "agent-42", "policy": policy });
        fixture.run(Operation::SetRetention, &arguments).expect_code(Code::InvalidArgument);
    }
    assert_eq!(remaining_labels(&fixture), ["two", "one"]);
}
