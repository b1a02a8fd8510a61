//! Labels of a workspace with several sandboxes: a label of one of them is taken in the others, and is found in all of them.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure, Result};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, Method, WORKSPACE};

/// Takes a snapshot of the sandbox of a workspace.
fn snapshot(fixture: &Fixture, workspace: &str, options: &Value) -> Result<Value> {
    let mut arguments = json!({ "sandboxId": fixture.sandbox_of(workspace) });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    fixture.run(Operation::Snapshot, &arguments)
}

/// Returns the options that select a snapshot of the present sandbox of the workspace.
fn selection(fixture: &Fixture, taken: &Value) -> Value {
    json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": taken["snapshotId"] })
}

/// A workspace that was rolled back to a snapshot with the label `base`. Returns the snapshot.
fn rolled_back() -> (Fixture, Value) {
    let fixture = Fixture::with_workspace();
    let taken = snapshot(&fixture, WORKSPACE, &json!({ "label": "base" })).unwrap();
    fixture.revert_workspace(WORKSPACE, &taken["snapshotId"]).unwrap();
    (fixture, taken["snapshotId"].clone())
}

#[test]
fn label_of_a_former_sandbox_is_taken() {
    let (fixture, base) = rolled_back();
    let error = snapshot(&fixture, WORKSPACE, &json!({ "label": "base" })).expect_code(Code::LabelTaken);
    assert!(error.message().contains(base.as_str().unwrap()), "{error}");
    snapshot(&fixture, WORKSPACE, &json!({ "label": "base", "replace": true })).unwrap();
}

#[test]
fn label_of_the_sandbox_before_the_former_one_is_taken() {
    let (fixture, base) = rolled_back();
    fixture.revert_workspace(WORKSPACE, &base).unwrap();
    fixture.revert_workspace(WORKSPACE, &base).unwrap();
    snapshot(&fixture, WORKSPACE, &json!({ "label": "base" })).expect_code(Code::LabelTaken);
}

#[test]
fn snapshot_cannot_be_renamed_to_a_label_of_a_former_sandbox() {
    let (fixture, _) = rolled_back();
    let taken = snapshot(&fixture, WORKSPACE, &json!({ "label": "other" })).unwrap();
    let mut arguments = selection(&fixture, &taken);
    arguments["newLabel"] = json!("base");
    fixture.run(Operation::Label, &arguments).expect_code(Code::LabelTaken);
    arguments["newLabel"] = json!("unused");
    fixture.run(Operation::Label, &arguments).unwrap();
}

#[test]
fn snapshot_of_a_former_sandbox_cannot_be_renamed_to_a_label_of_the_present_one() {
    let fixture = Fixture::with_workspace();
    let taken = snapshot(&fixture, WORKSPACE, &json!({ "label": "base" })).unwrap();
    let mut arguments = selection(&fixture, &taken);
    fixture.revert_workspace(WORKSPACE, &taken["snapshotId"]).unwrap();
    snapshot(&fixture, WORKSPACE, &json!({ "label": "present" })).unwrap();
    arguments["newLabel"] = json!("present");
    fixture.run(Operation::Label, &arguments).expect_code(Code::LabelTaken);
}

#[test]
fn snapshot_that_is_deleted_while_the_other_sandboxes_are_asked_gets_no_label() {
    let (fixture, _) = rolled_back();
    let taken = snapshot(&fixture, WORKSPACE, &json!({ "label": "other" })).unwrap();
    snapshot(&fixture, WORKSPACE, &json!({ "fresh": true })).unwrap();
    let selected = selection(&fixture, &taken);
    let mut arguments = selected.clone();
    arguments["newLabel"] = json!("unused");
    fixture.world.reset_calls();
    let gate = fixture.world.before(Method::Describe).nth(1).block();
    let pending = fixture.begin(Operation::Label, &arguments);
    assert!(gate.is_reached());
    fixture.run(Operation::Delete, &selected).unwrap();
    gate.open();
    pending.answer().expect_code(Code::SnapshotNotFound);
    let left = fixture.snapshots_of(&fixture.sandbox_of(WORKSPACE));
    assert!(!left.iter().any(|id| taken["snapshotId"] == id.as_str()), "{left:?}");
}

#[test]
fn stop_with_a_label_of_a_former_sandbox_is_refused_before_its_hooks_run() {
    let (fixture, _) = rolled_back();
    fixture.update_workspace(WORKSPACE, &json!({ "hooks": { "beforeStop": { "command": "exit 0" } } })).unwrap();
    fixture.world.reset_calls();
    let options = json!({ "name": WORKSPACE, "snapshot": { "label": "base" } });
    fixture.run(Operation::StopWorkspace, &options).expect_code(Code::LabelTaken);
    assert_eq!((fixture.state(WORKSPACE), fixture.world.call_count(Method::RunHook)), ("active", 0));
}

#[test]
fn label_of_another_workspace_of_the_lineage_is_free() {
    let (fixture, _) = rolled_back();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork" })).unwrap();
    snapshot(&fixture, "fork", &json!({ "label": "base" })).unwrap();
    snapshot(&fixture, "fork", &json!({ "label": "good" })).unwrap();
    snapshot(&fixture, WORKSPACE, &json!({ "label": "good" })).unwrap();
}

#[test]
fn label_is_free_after_the_deletion_of_its_snapshot() {
    let (fixture, _) = rolled_back();
    let second = snapshot(&fixture, WORKSPACE, &json!({ "label": "second" })).unwrap();
    let former = selection(&fixture, &second);
    let third = snapshot(&fixture, WORKSPACE, &json!({ "label": "third" })).unwrap();
    fixture.revert_workspace(WORKSPACE, &third["snapshotId"]).unwrap();
    fixture.run(Operation::Delete, &former).unwrap();
    snapshot(&fixture, WORKSPACE, &json!({ "label": "second" })).unwrap();
}

#[test]
fn former_sandbox_that_does_not_answer_does_not_prevent_a_snapshot() {
    let (fixture, _) = rolled_back();
    fixture.world.before(Method::Describe).fail_with(Failure::new("Error", "Network connection lost."));
    snapshot(&fixture, WORKSPACE, &json!({ "label": "base" })).unwrap();
}

#[test]
fn snapshot_without_a_label_asks_no_other_sandbox() {
    let (fixture, _) = rolled_back();
    fixture.world.reset_calls();
    snapshot(&fixture, WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.call_count(Method::Describe), 0);
}

#[test]
fn import_with_a_label_of_a_former_sandbox_is_refused_unless_it_replaces() {
    let (fixture, _) = rolled_back();
    let id = fixture.sandbox_of(WORKSPACE);
    let handle = fixture.world.create_app_backup(&id, None);
    let mut arguments = json!({ "sandboxId": id, "backup": handle, "label": "base" });
    fixture.run(Operation::Import, &arguments).expect_code(Code::LabelTaken);
    arguments["replace"] = json!(true);
    fixture.run(Operation::Import, &arguments).unwrap();
}

/// Returns the id of the snapshot of the workspace that a label selects.
fn labelled(fixture: &Fixture, label: &str) -> Result<Value> {
    let selection = json!({ "name": WORKSPACE, "label": label });
    fixture.run(Operation::Get, &selection).map(|snapshot| snapshot["snapshotId"].clone())
}

#[test]
fn label_of_a_former_sandbox_selects_its_snapshot() {
    let (fixture, base) = rolled_back();
    assert_eq!(labelled(&fixture, "base").unwrap(), base);
}

#[test]
fn label_that_was_replaced_selects_the_newest_snapshot_that_has_it() {
    let (fixture, base) = rolled_back();
    fixture.world.advance_clock(MINUTE);
    let newer = snapshot(&fixture, WORKSPACE, &json!({ "label": "base", "replace": true })).unwrap();
    fixture.revert_workspace(WORKSPACE, &base).unwrap();
    assert_eq!(labelled(&fixture, "base").unwrap(), newer["snapshotId"]);
}

#[test]
fn label_of_a_complete_snapshot_is_preferred_to_that_of_a_capture_in_progress() {
    let (fixture, base) = rolled_back();
    fixture.world.advance_clock(MINUTE);
    let gate = fixture.world.before(Method::CreateBackup).block();
    let options = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "label": "base", "replace": true });
    let pending = fixture.begin(Operation::Snapshot, &options);
    assert!(gate.is_reached());
    assert_eq!(labelled(&fixture, "base").unwrap(), base);
    gate.open();
    let newer = pending.answer().unwrap();
    assert_eq!(labelled(&fixture, "base").unwrap(), newer["snapshotId"]);
}

#[test]
fn label_that_no_snapshot_has_is_not_found_and_the_newest_ones_are_named() {
    let (fixture, _) = rolled_back();
    let error = labelled(&fixture, "bsae").expect_code(Code::SnapshotNotFound);
    assert!(
        error.message().contains("\"bsae\"") && error.remediation().starts_with("Did you mean \"base\"?"),
        "{error:?}"
    );
    assert!(!error.is_retryable());
}

#[test]
fn label_is_not_reported_as_missing_if_a_sandbox_of_the_workspace_does_not_answer() {
    let (fixture, _) = rolled_back();
    fixture.world.before(Method::SearchLabel).fail_transiently();
    assert_ne!(labelled(&fixture, "bsae").unwrap_err().code(), Code::SnapshotNotFound);
}

#[test]
fn latest_selects_the_newest_snapshot_of_the_present_files() {
    let (fixture, base) = rolled_back();
    assert_eq!(labelled(&fixture, "latest").unwrap(), base);
    fixture.world.advance_clock(MINUTE);
    let newer = snapshot(&fixture, WORKSPACE, &json!({ "label": "other" })).unwrap();
    assert_eq!(labelled(&fixture, "latest").unwrap(), newer["snapshotId"]);
}

#[test]
fn latest_is_an_ordinary_label_if_a_snapshot_has_it() {
    let fixture = Fixture::with_workspace();
    let first = snapshot(&fixture, WORKSPACE, &json!({ "label": "latest" })).unwrap();
    fixture.world.advance_clock(MINUTE);
    snapshot(&fixture, WORKSPACE, &json!({ "label": "other" })).unwrap();
    assert_eq!(labelled(&fixture, "latest").unwrap(), first["snapshotId"]);
}

#[test]
fn latest_of_a_workspace_without_snapshot_is_not_found() {
    let fixture = Fixture::with_workspace();
    let error = labelled(&fixture, "latest").expect_code(Code::SnapshotNotFound);
    assert!(error.message().contains("has no snapshot"), "{error:?}");
}

/// Restores the snapshot of the workspace with a label. Returns the id of the new sandbox.
fn restore(fixture: &Fixture, label: &str, key: &str) -> Result<Value> {
    let options = json!({ "name": WORKSPACE, "label": label, "idempotencyKey": key });
    fixture.run(Operation::Restore, &options).map(|restored| restored["ref"]["sandboxId"].clone())
}

#[test]
fn repeated_restore_of_a_label_has_the_same_answer_although_a_newer_snapshot_of_another_sandbox_has_the_label() {
    let (fixture, base) = rolled_back();
    let restored = restore(&fixture, "base", "k").unwrap();
    fixture.world.advance_clock(MINUTE);
    let newer = snapshot(&fixture, WORKSPACE, &json!({ "label": "base", "replace": true })).unwrap();
    assert_eq!(labelled(&fixture, "base").unwrap(), newer["snapshotId"]);
    assert_eq!(restore(&fixture, "base", "k").unwrap(), restored);
    assert_ne!(restore(&fixture, "base", "other").unwrap(), restored);
    fixture.revert_workspace(WORKSPACE, &base).unwrap();
    assert_eq!(restore(&fixture, "base", "k").unwrap(), restored);
}

#[test]
fn repeated_restore_whose_label_means_another_snapshot_creates_no_second_sandbox() {
    let (fixture, base) = rolled_back();
    restore(&fixture, "latest", "k").unwrap();
    fixture.world.advance_clock(MINUTE);
    snapshot(&fixture, WORKSPACE, &json!({ "label": "other" })).unwrap();
    restore(&fixture, "latest", "k").expect_code(Code::IdempotencyConflict);
    let mut arguments = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "newLabel": "former" });
    arguments["snapshotId"] = base;
    restore(&fixture, "base", "of a label").unwrap();
    fixture.run(Operation::Label, &arguments).unwrap();
    restore(&fixture, "base", "of a label").expect_code(Code::IdempotencyConflict);
}

#[test]
fn labels_of_the_caller_come_before_automatic_ones_in_advice() {
    let fixture = Fixture::with_workspace();
    fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "label": "good" })).unwrap();
    fixture.world.advance_clock(60_000);
    fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "fresh": true })).unwrap();
    let unknown = json!({ "name": WORKSPACE, "label": "website" });
    let error = fixture.run(Operation::Get, &unknown).expect_code(Code::SnapshotNotFound);
    assert!(
        error.remediation().starts_with("Pass another label, such as \"good\", \"snap-"),
        "{}",
        error.remediation()
    );
}
