//! Labels: each snapshot has one, and no two of a workspace have the same.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Error, Failure};
use serde_json::{Value, json};

use super::support::{Checked, HOUR, Method, Stage, by_id, by_label, by_ref};

/// The labels of the snapshots of `agent-42`, the newest first.
fn labels(stage: &Stage) -> Vec<String> {
    let page = stage.run(Operation::List, &json!({ "sandboxId": "agent-42", "check": false })).unwrap();
    let labels = page["snapshots"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap().to_owned());
    labels.collect()
}

fn snapshot(stage: &Stage, arguments: &Value) -> Result<Value, Error> {
    let mut arguments = arguments.clone();
    arguments["sandboxId"] = json!("agent-42");
    stage.run(Operation::Snapshot, &arguments)
}

fn with_label(selection: Value, new_label: &str) -> Value {
    let mut arguments = selection;
    arguments["newLabel"] = json!(new_label);
    arguments
}

fn replacing(selection: Value, new_label: &str) -> Value {
    let mut arguments = with_label(selection, new_label);
    arguments["replace"] = json!(true);
    arguments
}

#[test]
fn a_snapshot_without_a_label_gets_one_by_its_time() {
    let stage = Stage::with_sandbox();
    let taken = snapshot(&stage, &json!({})).unwrap();
    assert_eq!(taken["capture"]["label"], "snap-20261120-050100");
}

#[test]
fn the_others_of_that_second_are_numbered() {
    let stage = Stage::with_sandbox();
    (0..3).for_each(|_| drop(snapshot(&stage, &json!({})).unwrap()));
    assert_eq!(labels(&stage), ["snap-20261120-050100-3", "snap-20261120-050100-2", "snap-20261120-050100"]);
}

#[test]
fn a_label_by_time_that_a_person_gave_is_not_given_again() {
    let stage = Stage::with_sandbox();
    snapshot(&stage, &json!({ "label": "snap-20261120-050100" })).unwrap();
    snapshot(&stage, &json!({})).unwrap();
    assert_eq!(labels(&stage), ["snap-20261120-050100-2", "snap-20261120-050100"]);
}

#[test]
fn a_label_that_another_snapshot_has_is_refused_before_the_sandbox_is_touched() {
    let stage = Stage::with_sandbox();
    let first = stage.captures("agent-42", "before");
    stage.world.forget_calls();
    let error = snapshot(&stage, &json!({ "label": "before" })).fails_as(Code::LabelTaken);
    assert!(error.message().contains(first.snapshot_id().as_str()), "{error}");
    assert!(stage.world.calls().is_empty());
}

#[test]
fn labels_that_differ_only_in_case_are_different() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "before");
    stage.captures("agent-42", "Before");
    assert_eq!(labels(&stage), ["Before", "before"]);
}

#[test]
fn another_workspace_may_use_the_same_label() {
    let stage = Stage::with_sandbox();
    stage.runs("agent-7");
    stage.captures("agent-42", "before");
    stage.captures("agent-7", "before");
}

#[test]
fn the_label_of_a_deleted_snapshot_is_free() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "before");
    stage.run(Operation::Delete, &by_label("before")).unwrap();
    stage.captures("agent-42", "before");
}

#[test]
fn the_label_of_a_capture_that_failed_is_free() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).nth(1).fails_with(Failure::new("BackupCreateError", "no room"));
    snapshot(&stage, &json!({ "label": "before" })).fails_as(Code::BackupFailed);
    snapshot(&stage, &json!({ "label": "before" })).unwrap();
}

#[test]
fn the_label_of_a_capture_that_was_interrupted_can_be_asked_for_again() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).nth(1).fails_in_passing();
    snapshot(&stage, &json!({ "label": "before" })).fails_as(Code::BackupInterrupted);
    snapshot(&stage, &json!({ "label": "before" })).unwrap();
}

/// A snapshot has the label `first`, and another one that had the label `lost` was left when its worker died: its sandbox
/// was asked, or has answered and R2 does not tell yet whether the backup is whole.
fn with_dead_capture(has_answered: bool) -> Stage {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "first");
    let method = if has_answered { Method::Metadata } else { Method::CreateBackup };
    let gate = stage.world.before(method).nth(2).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("lost"));
    assert!(gate.is_reached());
    stage.dies_during(capture);
    stage.world.goes_well();
    stage.world.forget_calls();
    if has_answered {
        stage.world.before(Method::Metadata).first(3).fails_in_passing();
    }
    stage
}

#[test]
fn the_label_of_a_dead_capture_is_given_to_whoever_asks_for_it() {
    for has_answered in [false, true] {
        let stage = with_dead_capture(has_answered);
        let taken = snapshot(&stage, &json!({ "label": "lost" })).unwrap();
        assert_eq!(taken["capture"]["label"], "lost");
        stage.run(Operation::Label, &with_label(by_label("first"), "lost")).fails_as(Code::LabelTaken);
        stage.passes(3 * HOUR);
        let found = stage.run(Operation::Get, &by_label("lost")).unwrap();
        assert_eq!(found["snapshotId"], taken["ref"]["snapshotId"]);
        assert_eq!(labels(&stage).len(), if has_answered { 3 } else { 2 });
        stage.assert_settled();
    }
}

#[test]
fn the_label_of_a_dead_capture_can_be_given_to_another_snapshot() {
    for (has_answered, replaces) in [(false, false), (false, true), (true, false), (true, true)] {
        let stage = with_dead_capture(has_answered);
        let mut arguments = with_label(by_label("first"), "lost");
        arguments["replace"] = json!(replaces);
        stage.run(Operation::Label, &arguments).unwrap();
        stage.passes(3 * HOUR);
        let labels = labels(&stage);
        assert_eq!(labels.len(), if has_answered { 2 } else { 1 });
        assert_eq!(labels.last().map(String::as_str), Some("lost"), "{labels:?}");
        stage.assert_settled();
    }
}

#[test]
fn the_label_of_a_dead_capture_can_be_given_to_what_is_imported() {
    let stage = with_dead_capture(false);
    let handle = stage.world.backs_up("agent-42", None);
    let arguments = json!({ "sandboxId": "agent-42", "backup": handle, "label": "lost" });
    assert_eq!(stage.run(Operation::Import, &arguments).unwrap()["capture"]["label"], "lost");
}

#[test]
fn a_dead_capture_keeps_its_label_where_nobody_asks_for_it() {
    let stage = with_dead_capture(true);
    snapshot(&stage, &json!({ "label": "other" })).unwrap();
    stage.passes(3 * HOUR);
    assert_eq!(stage.run(Operation::Get, &by_label("lost")).unwrap()["state"], "ready");
}

#[test]
fn a_capture_that_is_under_way_keeps_its_label() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "first");
    let gate = stage.world.before(Method::CreateBackup).nth(2).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    let handle = stage.world.backs_up("agent-42", None);
    let import = json!({ "sandboxId": "agent-42", "backup": handle, "label": "soon" });
    stage.run(Operation::Label, &with_label(by_label("first"), "soon")).fails_as(Code::LabelTaken);
    stage.run(Operation::Import, &import).fails_as(Code::LabelTaken);
    gate.open();
    assert_eq!(capture.answer().unwrap()["capture"]["label"], "soon");
}

#[test]
fn a_snapshot_that_replaces_takes_the_label_and_the_other_gets_one_by_its_time() {
    let stage = Stage::with_sandbox();
    let first = stage.captures("agent-42", "latest");
    stage.world.pass(5_000);
    let second = snapshot(&stage, &json!({ "label": "latest", "replace": true })).unwrap();
    assert_eq!(second["capture"]["label"], "latest");
    assert_eq!(labels(&stage), ["latest", "snap-20261120-050100"]);
    assert_eq!(stage.run(Operation::Get, &by_ref(&first)).unwrap()["label"], "snap-20261120-050100");
}

#[test]
fn a_replacement_of_a_label_that_nobody_has_just_takes_it() {
    let stage = Stage::with_sandbox();
    snapshot(&stage, &json!({ "label": "latest", "replace": true })).unwrap();
    assert_eq!(labels(&stage), ["latest"]);
}

#[test]
fn a_replacement_that_fails_leaves_the_label_where_it_was() {
    let stage = Stage::with_sandbox();
    let first = stage.captures("agent-42", "latest");
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    snapshot(&stage, &json!({ "label": "latest", "replace": true })).fails_as(Code::BackupFailed);
    let found = stage.run(Operation::Get, &by_label("latest")).unwrap();
    assert_eq!(found["snapshotId"], json!(first.snapshot_id()));
}

#[test]
fn a_label_stays_with_the_other_until_the_replacement_is_made() {
    let stage = Stage::with_sandbox();
    let first = stage.captures("agent-42", "latest");
    let gate = stage.world.before(Method::CreateBackup).nth(2).held();
    let replacing =
        stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "label": "latest", "replace": true }));
    let found = |stage: &Stage| stage.run(Operation::Get, &by_label("latest")).unwrap()["snapshotId"].clone();
    assert_eq!(found(&stage), json!(first.snapshot_id()));
    gate.open();
    assert_eq!(replacing.answer().unwrap()["ref"]["snapshotId"], found(&stage));
}

#[test]
fn a_replacement_takes_the_label_from_whoever_has_it_in_the_end() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "latest");
    stage.captures("agent-42", "other");
    let gate = stage.world.before(Method::CreateBackup).nth(3).held();
    let capture =
        stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42", "label": "latest", "replace": true }));
    stage.run(Operation::Label, &replacing(by_label("other"), "latest")).unwrap();
    gate.open();
    let taken = capture.answer().unwrap();
    let found = stage.run(Operation::Get, &by_label("latest")).unwrap();
    assert_eq!(found["snapshotId"], taken["ref"]["snapshotId"]);
    assert_eq!(labels(&stage).len(), 3);
}

#[test]
fn a_snapshot_that_loses_its_label_while_it_is_being_made_is_made_all_the_same() {
    let stage = Stage::with_sandbox();
    stage.captures("agent-42", "other");
    let gate = stage.world.before(Method::CreateBackup).nth(2).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("wanted"));
    stage.run(Operation::Label, &replacing(by_label("other"), "wanted")).unwrap();
    gate.open();
    let taken = capture.answer().unwrap();
    assert_ne!(taken["capture"]["label"], "wanted");
    assert!(labels(&stage).contains(&taken["capture"]["label"].as_str().unwrap().to_owned()));
}

#[test]
fn a_snapshot_can_be_given_another_label() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.captures("agent-42", "before");
    for (number, selection) in [by_ref(&snapshot), by_id(&snapshot), by_label("label 1")].into_iter().enumerate() {
        let answer = stage.run(Operation::Label, &with_label(selection, &format!("label {number}"))).unwrap();
        assert_eq!(answer["label"], json!(format!("label {number}")));
        assert_eq!(labels(&stage), [format!("label {number}")]);
    }
    stage.run(Operation::Get, &by_label("before")).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_snapshot_may_be_given_the_label_that_it_has() {
    let stage = Stage::with_sandbox();
    let snapshot = stage.captures("agent-42", "before");
    stage.run(Operation::Label, &with_label(by_ref(&snapshot), "before")).unwrap();
    assert_eq!(labels(&stage), ["before"]);
}

#[test]
fn a_label_that_is_taken_is_given_only_with_replace() {
    let stage = Stage::with_sandbox();
    let [one, other] = ["one", "other"].map(|label| stage.captures("agent-42", label));
    stage.run(Operation::Label, &with_label(by_ref(&one), "other")).fails_as(Code::LabelTaken);
    assert_eq!(labels(&stage), ["other", "one"]);
    stage.run(Operation::Label, &replacing(by_ref(&one), "other")).unwrap();
    assert_eq!(labels(&stage), ["snap-20261120-050100", "other"]);
    assert_eq!(stage.run(Operation::Get, &by_ref(&other)).unwrap()["label"], "snap-20261120-050100");
}

#[test]
fn a_snapshot_that_is_gone_is_not_labelled() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Delete, &by_ref(&snapshot)).unwrap();
    stage.run(Operation::Label, &with_label(by_ref(&snapshot), "late")).fails_as(Code::SnapshotNotFound);
}

#[test]
fn a_snapshot_that_is_being_made_is_not_labelled_yet() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let capture = stage.begin(Operation::Snapshot, &by_label("soon"));
    stage.run(Operation::Label, &with_label(by_label("soon"), "now")).fails_as(Code::SnapshotBusy);
    gate.open();
    capture.answer().unwrap();
}

#[test]
fn labelling_looks_at_nothing_outside_of_the_ledger() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.run(Operation::Label, &with_label(by_ref(&snapshot), "later")).unwrap();
    assert!(stage.world.calls().is_empty());
}
