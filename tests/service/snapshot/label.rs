//! Labels: each snapshot has one, unique among the snapshots of one sandbox.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, HOUR, Method, by_id, by_label, by_ref};

/// Returns the labels of the snapshots of `agent-42`, newest first.
fn labels(fixture: &Fixture) -> Vec<String> {
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    let labels = page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap().to_owned());
    labels.collect()
}

fn snapshot(fixture: &Fixture, arguments: &Value) -> Result<Value, Error> {
    let mut arguments = arguments.clone();
    arguments["sandboxId"] = json!("agent-42");
    fixture.run(Operation::Snapshot, &arguments)
}

fn relabel_args(selection: Value, new_label: &str) -> Value {
    let mut arguments = selection;
    arguments["newLabel"] = json!(new_label);
    arguments
}

fn replace_label_args(selection: Value, new_label: &str) -> Value {
    let mut arguments = relabel_args(selection, new_label);
    arguments["replace"] = json!(true);
    arguments
}

#[test]
fn snapshot_without_label_gets_one_from_its_time() {
    let fixture = Fixture::with_sandbox();
    let taken = snapshot(&fixture, &json!({})).unwrap();
    assert_eq!(taken["capture"]["label"], "snap-20261120-050100");
}

#[test]
fn default_labels_of_same_second_are_numbered() {
    let fixture = Fixture::with_sandbox();
    (0..3).for_each(|_| drop(snapshot(&fixture, &json!({})).unwrap()));
    assert_eq!(labels(&fixture), ["snap-20261120-050100-3", "snap-20261120-050100-2", "snap-20261120-050100"]);
}

#[test]
fn default_label_avoids_label_that_caller_assigned() {
    let fixture = Fixture::with_sandbox();
    snapshot(&fixture, &json!({ "label": "snap-20261120-050100" })).unwrap();
    snapshot(&fixture, &json!({})).unwrap();
    assert_eq!(labels(&fixture), ["snap-20261120-050100-2", "snap-20261120-050100"]);
}

#[test]
fn taken_label_is_refused_before_any_call() {
    let fixture = Fixture::with_sandbox();
    let first = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.reset_calls();
    let error = snapshot(&fixture, &json!({ "label": "before" })).expect_code(Code::LabelTaken);
    assert!(error.message().contains(first.snapshot_id().as_str()), "{error}");
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn labels_are_case_sensitive() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "before");
    fixture.snapshot_labelled("agent-42", "Before");
    assert_eq!(labels(&fixture), ["Before", "before"]);
}

#[test]
fn another_sandbox_can_use_the_same_label() {
    let fixture = Fixture::with_sandbox();
    fixture.start_sandbox("agent-7");
    fixture.snapshot_labelled("agent-42", "before");
    fixture.snapshot_labelled("agent-7", "before");
}

#[test]
fn label_of_deleted_snapshot_is_free() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "before");
    fixture.run(Operation::Delete, &by_label("before")).unwrap();
    fixture.snapshot_labelled("agent-42", "before");
}

#[test]
fn label_of_failed_capture_is_free() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).nth(1).fail_with(Failure::new("BackupCreateError", "no room"));
    snapshot(&fixture, &json!({ "label": "before" })).expect_code(Code::BackupFailed);
    snapshot(&fixture, &json!({ "label": "before" })).unwrap();
}

#[test]
fn label_of_interrupted_capture_can_be_requested_again() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).nth(1).fail_transiently();
    snapshot(&fixture, &json!({ "label": "before" })).expect_code(Code::BackupInterrupted);
    snapshot(&fixture, &json!({ "label": "before" })).unwrap();
}

/// Returns a fixture with a snapshot `first` and an interrupted capture `lost`, whose Worker died. The sandbox had not
/// answered, or it had answered and R2 fails to confirm the backup.
fn with_dead_capture(has_answered: bool) -> Fixture {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "first");
    let method = if has_answered { Method::GetMetadata } else { Method::CreateBackup };
    let gate = fixture.world.before(method).nth(2).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("lost"));
    assert!(gate.is_reached());
    fixture.crash_during(capture);
    fixture.world.clear_faults();
    fixture.world.reset_calls();
    if has_answered {
        fixture.world.before(Method::GetMetadata).first(3).fail_transiently();
    }
    fixture
}

#[test]
fn label_of_dead_capture_is_given_to_next_snapshot_that_requests_it() {
    for has_answered in [false, true] {
        let fixture = with_dead_capture(has_answered);
        let taken = snapshot(&fixture, &json!({ "label": "lost" })).unwrap();
        assert_eq!(taken["capture"]["label"], "lost");
        fixture.run(Operation::Label, &relabel_args(by_label("first"), "lost")).expect_code(Code::LabelTaken);
        fixture.advance_with_alarms(3 * HOUR);
        let found = fixture.run(Operation::Get, &by_label("lost")).unwrap();
        assert_eq!(found["snapshotId"], taken["ref"]["snapshotId"]);
        assert_eq!(labels(&fixture).len(), if has_answered { 3 } else { 2 });
        fixture.assert_nothing_pending();
    }
}

#[test]
fn label_of_dead_capture_can_be_given_to_another_snapshot() {
    for (has_answered, replace) in [(false, false), (false, true), (true, false), (true, true)] {
        let fixture = with_dead_capture(has_answered);
        let mut arguments = relabel_args(by_label("first"), "lost");
        arguments["replace"] = json!(replace);
        fixture.run(Operation::Label, &arguments).unwrap();
        fixture.advance_with_alarms(3 * HOUR);
        let labels = labels(&fixture);
        assert_eq!(labels.len(), if has_answered { 2 } else { 1 });
        assert_eq!(labels.last().map(String::as_str), Some("lost"), "{labels:?}");
        fixture.assert_nothing_pending();
    }
}

#[test]
fn label_of_dead_capture_can_be_given_to_imported_snapshot() {
    let fixture = with_dead_capture(false);
    let handle = fixture.world.create_app_backup("agent-42", None);
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "lost" });
    assert_eq!(fixture.run(Operation::Import, &arguments).unwrap()["capture"]["label"], "lost");
}

#[test]
fn dead_capture_keeps_its_label_when_no_call_requests_it() {
    let fixture = with_dead_capture(true);
    snapshot(&fixture, &json!({ "label": "other" })).unwrap();
    fixture.advance_with_alarms(3 * HOUR);
    assert_eq!(fixture.run(Operation::Get, &by_label("lost")).unwrap()["state"], "ready");
}

#[test]
fn running_capture_keeps_its_label() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "first");
    let gate = fixture.world.before(Method::CreateBackup).nth(2).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    let handle = fixture.world.create_app_backup("agent-42", None);
    let import = json!({ "sandboxId": "agent-42", "backup": handle, "label": "soon" });
    fixture.run(Operation::Label, &relabel_args(by_label("first"), "soon")).expect_code(Code::LabelTaken);
    fixture.run(Operation::Import, &import).expect_code(Code::LabelTaken);
    gate.open();
    assert_eq!(capture.answer().unwrap()["capture"]["label"], "soon");
}

#[test]
fn replace_takes_the_label_and_previous_snapshot_gets_default_label() {
    let fixture = Fixture::with_sandbox();
    let first = fixture.snapshot_labelled("agent-42", "latest");
    fixture.world.advance_clock(5_000);
    let second = snapshot(&fixture, &json!({ "label": "latest", "replace": true })).unwrap();
    assert_eq!(second["capture"]["label"], "latest");
    assert_eq!(labels(&fixture), ["latest", "snap-20261120-050100"]);
    assert_eq!(fixture.run(Operation::Get, &by_ref(&first)).unwrap()["label"], "snap-20261120-050100");
}

#[test]
fn replace_takes_unused_label() {
    let fixture = Fixture::with_sandbox();
    snapshot(&fixture, &json!({ "label": "latest", "replace": true })).unwrap();
    assert_eq!(labels(&fixture), ["latest"]);
}

#[test]
fn failed_replace_leaves_label_with_previous_snapshot() {
    let fixture = Fixture::with_sandbox();
    let first = fixture.snapshot_labelled("agent-42", "latest");
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    snapshot(&fixture, &json!({ "label": "latest", "replace": true })).expect_code(Code::BackupFailed);
    let found = fixture.run(Operation::Get, &by_label("latest")).unwrap();
    assert_eq!(found["snapshotId"], json!(first.snapshot_id()));
}

#[test]
fn label_stays_with_previous_snapshot_until_replacement_is_complete() {
    let fixture = Fixture::with_sandbox();
    let first = fixture.snapshot_labelled("agent-42", "latest");
    let gate = fixture.world.before(Method::CreateBackup).nth(2).block();
    let replacing =
        fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "label": "latest", "replace": true }));
    let found = |fixture: &Fixture| fixture.run(Operation::Get, &by_label("latest")).unwrap()["snapshotId"].clone();
    assert_eq!(found(&fixture), json!(first.snapshot_id()));
    gate.open();
    assert_eq!(replacing.answer().unwrap()["ref"]["snapshotId"], found(&fixture));
}

#[test]
fn replace_takes_label_from_its_owner_at_completion() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "latest");
    fixture.snapshot_labelled("agent-42", "other");
    let gate = fixture.world.before(Method::CreateBackup).nth(3).block();
    let capture =
        fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "label": "latest", "replace": true }));
    fixture.run(Operation::Label, &replace_label_args(by_label("other"), "latest")).unwrap();
    gate.open();
    let taken = capture.answer().unwrap();
    let found = fixture.run(Operation::Get, &by_label("latest")).unwrap();
    assert_eq!(found["snapshotId"], taken["ref"]["snapshotId"]);
    assert_eq!(labels(&fixture).len(), 3);
}

#[test]
fn snapshot_that_loses_its_label_during_capture_completes_with_another() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_labelled("agent-42", "other");
    let gate = fixture.world.before(Method::CreateBackup).nth(2).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("wanted"));
    fixture.run(Operation::Label, &replace_label_args(by_label("other"), "wanted")).unwrap();
    gate.open();
    let taken = capture.answer().unwrap();
    assert_ne!(taken["capture"]["label"], "wanted");
    assert!(labels(&fixture).contains(&taken["capture"]["label"].as_str().unwrap().to_owned()));
}

#[test]
fn snapshot_can_be_relabeled() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    for (number, selection) in [by_ref(&snapshot), by_id(&snapshot), by_label("label 1")].into_iter().enumerate() {
        let answer = fixture.run(Operation::Label, &relabel_args(selection, &format!("label {number}"))).unwrap();
        assert_eq!(answer["label"], json!(format!("label {number}")));
        assert_eq!(labels(&fixture), [format!("label {number}")]);
    }
    fixture.run(Operation::Get, &by_label("before")).expect_code(Code::SnapshotNotFound);
}

#[test]
fn snapshot_can_be_relabeled_with_its_own_label() {
    let fixture = Fixture::with_sandbox();
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    fixture.run(Operation::Label, &relabel_args(by_ref(&snapshot), "before")).unwrap();
    assert_eq!(labels(&fixture), ["before"]);
}

#[test]
fn relabel_with_taken_label_requires_replace() {
    let fixture = Fixture::with_sandbox();
    let [one, other] = ["one", "other"].map(|label| fixture.snapshot_labelled("agent-42", label));
    fixture.run(Operation::Label, &relabel_args(by_ref(&one), "other")).expect_code(Code::LabelTaken);
    assert_eq!(labels(&fixture), ["other", "one"]);
    fixture.run(Operation::Label, &replace_label_args(by_ref(&one), "other")).unwrap();
    assert_eq!(labels(&fixture), ["snap-20261120-050100", "other"]);
    assert_eq!(fixture.run(Operation::Get, &by_ref(&other)).unwrap()["label"], "snap-20261120-050100");
}

#[test]
fn deleted_snapshot_cannot_be_labeled() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    fixture.run(Operation::Label, &relabel_args(by_ref(&snapshot), "late")).expect_code(Code::SnapshotNotFound);
}

#[test]
fn snapshot_being_created_cannot_be_labeled() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let capture = fixture.begin(Operation::Snapshot, &by_label("soon"));
    fixture.run(Operation::Label, &relabel_args(by_label("soon"), "now")).expect_code(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn label_uses_only_the_ledger() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.run(Operation::Label, &relabel_args(by_ref(&snapshot), "later")).unwrap();
    assert!(fixture.world.calls().is_empty());
}
