//! Operations on a sandbox take the name of a workspace in its place, and mean the present sandbox; `list` means all of them.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, WORKSPACE};

/// The active workspace `work` with three sandboxes and the snapshots `one`, `two` and `three`, and those that its moves took.
fn with_three_sandboxes() -> Fixture {
    let fixture = Fixture::with_workspace();
    for (label, next) in [("one", true), ("two", true), ("three", false)] {
        let taken = fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "label": label })).unwrap();
        if next {
            fixture.start_workspace(WORKSPACE, &json!({ "from": taken["snapshotId"] })).unwrap();
            fixture.world.advance_clock(MINUTE);
        }
    }
    fixture
}

fn list(fixture: &Fixture, options: &Value) -> Value {
    fixture.run(Operation::List, options).unwrap()
}

fn labels(page: &Value) -> Vec<&str> {
    page["snapshots"].as_array().unwrap().iter().map(|snapshot| snapshot["label"].as_str().unwrap()).collect()
}

#[test]
fn snapshot_by_name_is_taken_of_the_present_sandbox() {
    let fixture = with_three_sandboxes();
    let taken = fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE, "label": "four" })).unwrap();
    assert_eq!(taken["ref"]["originId"], fixture.sandbox_of(WORKSPACE));
}

#[test]
fn list_by_name_has_the_snapshots_of_all_sandboxes_newest_first() {
    let fixture = with_three_sandboxes();
    let page = list(&fixture, &json!({ "name": WORKSPACE }));
    let all = labels(&page);
    // The others are those that a move to another sandbox takes.
    let own: Vec<_> = all.into_iter().filter(|label| !label.starts_with("snap-")).collect();
    assert_eq!(own, ["three", "two", "one"]);
    let times: Vec<_> =
        page["snapshots"].as_array().unwrap().iter().map(|it| it["createdAt"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|one, other| one >= other), "{times:?}");
    assert_eq!(page["cursor"], Value::Null);
    let prefixed = list(&fixture, &json!({ "name": WORKSPACE, "labelPrefix": "t" }));
    assert_eq!(labels(&prefixed), ["three", "two"]);
}

#[test]
fn pages_of_a_list_by_name_have_each_snapshot_once() {
    let fixture = with_three_sandboxes();
    let whole = list(&fixture, &json!({ "name": WORKSPACE }));
    for limit in 1..=labels(&whole).len() {
        let (mut found, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let page = list(&fixture, &json!({ "name": WORKSPACE, "limit": limit, "cursor": cursor }));
            assert!(labels(&page).len() <= limit);
            found.extend(labels(&page).into_iter().map(str::to_owned));
            cursor = page["cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(found, labels(&whole), "pages of {limit}");
    }
}

#[test]
fn lineage_by_name_is_that_of_the_present_sandbox() {
    let fixture = with_three_sandboxes();
    let by_id = fixture.run(Operation::Lineage, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    assert_eq!(fixture.run(Operation::Lineage, &json!({ "name": WORKSPACE })).unwrap(), by_id);
}

#[test]
fn checkpoints_take_the_workspace_beside_the_name_of_the_checkpoint() {
    let fixture = with_three_sandboxes();
    let in_workspace = |more: Value| {
        let mut options = json!({ "workspace": WORKSPACE });
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options
    };
    for (operation, more) in [
        (Operation::CreateCheckpoint, json!({ "name": "cp" })),
        (Operation::ListCheckpoints, json!({})),
        (Operation::DiffCheckpoint, json!({ "name": "cp" })),
        (Operation::RestoreCheckpoint, json!({ "name": "cp" })),
        (Operation::DeleteCheckpoint, json!({ "name": "cp" })),
    ] {
        let mut by_id = more.clone();
        by_id["sandboxId"] = fixture.sandbox_of(WORKSPACE).into();
        let outcome = |options: &Value| fixture.run(operation, options).map_err(|error| error.code());
        assert_eq!(outcome(&in_workspace(more)).is_ok(), outcome(&by_id).is_ok(), "{operation:?}");
    }
    fixture.run(Operation::ListCheckpoints, &json!({ "workspace": "missing" })).expect_code(Code::WorkspaceNotFound);
}

#[test]
fn files_of_a_snapshot_by_name_are_restored_to_the_present_sandbox() {
    let fixture = with_three_sandboxes();
    let restore = |options: &Value| fixture.run(Operation::RestoreFiles, options);
    let by_label = json!({ "name": WORKSPACE, "label": "one", "paths": ["notes.txt"], "overwrite": true });
    assert_eq!(restore(&by_label).unwrap()["sandboxId"], fixture.sandbox_of(WORKSPACE));
    let by_latest = json!({ "name": WORKSPACE, "label": "latest", "paths": ["notes.txt"], "to": null });
    assert_eq!(restore(&by_latest).unwrap()["sandboxId"], fixture.sandbox_of(WORKSPACE));
    let sandbox = fixture.sandbox_of(WORKSPACE);
    let by_sandbox = json!({ "sandboxId": sandbox, "label": "three", "paths": ["notes.txt"] });
    assert_eq!(restore(&by_sandbox).unwrap()["sandboxId"], sandbox);
}

#[test]
fn workspace_is_not_selected_beside_a_sandbox() {
    let fixture = Fixture::with_workspace();
    let both = json!({ "name": WORKSPACE, "sandboxId": fixture.sandbox_of(WORKSPACE) });
    let tenant = json!({ "tenant": "default", "sandboxId": fixture.sandbox_of(WORKSPACE) });
    for operation in [Operation::Snapshot, Operation::Lineage, Operation::List] {
        let error = fixture.run(operation, &both).expect_code(Code::InvalidArgument);
        assert!(error.message().contains("both a workspace and a sandbox"), "{operation:?}: {error:?}");
        fixture.run(operation, &tenant).expect_code(Code::InvalidArgument);
        let null = json!({ "name": null, "tenant": null, "sandboxId": fixture.sandbox_of(WORKSPACE) });
        fixture.run(operation, &null).unwrap();
    }
}

#[test]
fn unknown_workspace_and_wrong_names_are_refused() {
    let fixture = Fixture::with_workspace();
    for operation in [Operation::Snapshot, Operation::Lineage, Operation::List] {
        let refused = |options: Value, code: Code| drop(fixture.run(operation, &options).expect_code(code));
        refused(json!({ "name": "missing" }), Code::WorkspaceNotFound);
        refused(json!({ "name": WORKSPACE, "tenant": "other" }), Code::WorkspaceNotFound);
        refused(json!({ "name": "a/b" }), Code::InvalidWorkspaceName);
        refused(json!({ "name": 7 }), Code::InvalidArgument);
        refused(json!({}), Code::InvalidArgument);
        refused(json!({ "name": "missing", "unknown": true }), Code::InvalidArgument);
    }
}

#[test]
fn retention_of_a_workspace_is_a_setting_of_it() {
    let fixture = Fixture::with_workspace();
    let policy = json!({});
    for (operation, options) in [
        (Operation::SetRetention, json!({ "name": WORKSPACE, "policy": policy })),
        (Operation::SetRetention, json!({ "sandboxId": WORKSPACE, "policy": policy })),
        (Operation::ApplyRetention, json!({ "name": WORKSPACE })),
        (Operation::Retention, json!({ "name": WORKSPACE })),
    ] {
        let error = fixture.run(operation, &options).expect_code(Code::InvalidArgument);
        assert!(error.remediation().contains("`workspaces/update`"), "{operation:?}: {error:?}");
    }
    fixture.run(Operation::SetRetention, &json!({ "sandboxId": "other", "policy": policy })).unwrap();
}

#[test]
fn misspelled_option_beside_a_name_is_reported() {
    let fixture = Fixture::with_workspace();
    for (operation, options) in [
        (Operation::Get, json!({ "name": WORKSPACE, "lable": "x" })),
        (Operation::Delete, json!({ "name": WORKSPACE, "lable": "x" })),
        (Operation::Snapshot, json!({ "name": WORKSPACE, "lable": "x" })),
    ] {
        let error = fixture.run(operation, &options).expect_code(Code::InvalidArgument);
        assert!(error.message().contains("no option \"lable\""), "{operation:?}: {error:?}");
    }
    let error =
        fixture.run(Operation::ListCheckpoints, &json!({ "name": WORKSPACE })).expect_code(Code::InvalidArgument);
    assert!(error.remediation().contains("as `workspace`"), "{error:?}");
}

#[test]
fn snapshot_by_the_name_of_a_stopped_workspace_is_refused() {
    let fixture = with_three_sandboxes();
    fixture.stop_workspace(WORKSPACE).unwrap();
    let error = fixture.run(Operation::Snapshot, &json!({ "name": WORKSPACE })).expect_code(Code::SandboxNotRunning);
    assert!(error.remediation().contains("Start the workspace"), "{error:?}");
}
