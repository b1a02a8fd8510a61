//! A label selects one of the workspace's own snapshots wherever a workspace continues from a snapshot.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, WORKSPACE};

/// The label of the snapshot with the content `first`.
const BASE: &str = "tests pass";

/// The active workspace `work` with the content `second`, in a sandbox that is newer than that of the snapshot [`BASE`].
fn with_labelled_snapshot() -> Fixture {
    let fixture = Fixture::with_workspace();
    let base = take(&fixture, BASE);
    fixture.start_workspace(WORKSPACE, &json!({ "from": base["snapshotId"] })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture
}

fn take(fixture: &Fixture, label: &str) -> Value {
    let options = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "label": label });
    fixture.run(Operation::Snapshot, &options).unwrap()
}

fn get_or_create(fixture: &Fixture, name: &str, from: &str) -> Result<Value> {
    fixture.run(Operation::GetOrCreateWorkspace, &json!({ "name": name, "from": from }))
}

#[test]
fn workspace_continues_from_a_label() {
    type Call = fn(&Fixture) -> Result<Value>;
    let calls: [(&str, Call); 4] = [
        ("start", |fixture| fixture.start_workspace(WORKSPACE, &json!({ "from": BASE }))),
        ("getOrCreate", |fixture| get_or_create(fixture, WORKSPACE, BASE)),
        ("update", |fixture| fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": BASE }))),
        ("promote", |fixture| fixture.promote_workspace(WORKSPACE, &json!({ "from": BASE }))),
    ];
    for (name, call) in calls {
        let fixture = with_labelled_snapshot();
        call(&fixture).unwrap();
        assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"), "{name}");
    }
}

#[test]
fn forks_begin_with_the_snapshot_that_has_the_label() {
    let fixture = with_labelled_snapshot();
    let options = json!({ "newName": "try", "from": BASE, "idempotencyKey": "f" });
    let forked = fixture.fork_workspace(WORKSPACE, &options).unwrap();
    assert_eq!(fixture.read_workspace_file("try").as_deref(), Some("first"));
    assert_eq!(fixture.fork_workspace(WORKSPACE, &options).unwrap()["snapshotId"], forked["snapshotId"]);
}

#[test]
fn start_from_latest_restores_the_newest_snapshot() {
    let fixture = with_labelled_snapshot();
    let newest = take(&fixture, "newest");
    fixture.write_workspace_file(WORKSPACE, "third");
    let started = fixture.start_workspace(WORKSPACE, &json!({ "from": "latest" })).unwrap();
    assert_eq!(started["restoredFrom"]["snapshotId"], newest["snapshotId"]);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
}

#[test]
fn unknown_label_is_answered_with_a_similar_one() {
    let fixture = with_labelled_snapshot();
    for outcome in [
        fixture.start_workspace(WORKSPACE, &json!({ "from": "tests pas" })),
        fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": "tests pas" })),
        fixture.fork_workspace(WORKSPACE, &json!({ "from": "tests pas" })),
        fixture.promote_workspace(WORKSPACE, &json!({ "from": "tests pas" })),
    ] {
        let error = outcome.expect_code(Code::SnapshotNotFound);
        assert!(error.remediation().contains("Did you mean \"tests pass\"?"), "{error:?}");
    }
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
}

#[test]
fn label_of_a_removed_snapshot_says_when_and_why_it_was_removed() {
    let fixture = with_labelled_snapshot();
    fixture.run(Operation::Delete, &json!({ "name": WORKSPACE, "label": BASE, "force": true })).unwrap();
    let error = fixture.start_workspace(WORKSPACE, &json!({ "from": BASE })).expect_code(Code::SnapshotNotFound);
    assert!(error.message().contains("was removed at") && error.message().contains("a caller"), "{error:?}");
    assert!(error.remediation().contains("another label"), "{error:?}");
}

#[test]
fn id_of_a_removed_snapshot_of_a_former_sandbox_says_when_and_why_it_was_removed() {
    let fixture = with_labelled_snapshot();
    let by_label = json!({ "name": WORKSPACE, "label": BASE });
    let id = fixture.run(Operation::Get, &by_label).unwrap()["snapshotId"].clone();
    fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": "latest" })).unwrap();
    fixture.run(Operation::Delete, &json!({ "name": WORKSPACE, "label": BASE, "force": true })).unwrap();
    for outcome in [
        fixture.run(Operation::Get, &json!({ "name": WORKSPACE, "snapshotId": id })),
        fixture.start_workspace(WORKSPACE, &json!({ "from": id })),
    ] {
        let error = outcome.expect_code(Code::SnapshotNotFound);
        assert!(error.message().contains("was removed at") && error.message().contains("a caller"), "{error:?}");
    }
}

#[test]
fn promotion_prefers_the_workspace_with_the_name() {
    let fixture = with_labelled_snapshot();
    take(&fixture, "try");
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.write_workspace_file("try", "better");
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try" })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("better"));
}

#[test]
fn promotion_of_a_name_that_no_workspace_has_takes_the_snapshot_with_the_label() {
    let fixture = with_labelled_snapshot();
    take(&fixture, "try");
    fixture.write_workspace_file(WORKSPACE, "third");
    let options = json!({ "from": "try", "idempotencyKey": "p" });
    let promoted = fixture.promote_workspace(WORKSPACE, &options).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
    fixture.write_workspace_file(WORKSPACE, "fourth");
    let repeated = fixture.promote_workspace(WORKSPACE, &options).unwrap();
    assert_eq!(repeated["sandboxId"], promoted["sandboxId"]);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("fourth"), "it is not promoted again");
}

#[test]
fn promotion_of_a_text_that_is_neither_a_workspace_nor_a_label_says_what_to_pass() {
    let fixture = with_labelled_snapshot();
    let error =
        fixture.promote_workspace(WORKSPACE, &json!({ "from": "nothing" })).expect_code(Code::WorkspaceNotFound);
    assert!(error.remediation().contains("Pass another label"), "{error:?}");
}

#[test]
fn workspace_is_not_created_from_a_label() {
    let fixture = with_labelled_snapshot();
    let error = get_or_create(&fixture, "new", BASE).expect_code(Code::InvalidArgument);
    assert!(error.remediation().contains("sourceSnapshot"), "{error:?}");
}

#[test]
fn label_of_another_workspace_is_not_found() {
    let fixture = with_labelled_snapshot();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.start_workspace("try", &json!({ "from": BASE })).expect_code(Code::SnapshotNotFound);
}

#[test]
fn repeated_start_does_not_go_back_although_the_label_has_moved() {
    let fixture = with_labelled_snapshot();
    let options = json!({ "from": BASE, "idempotencyKey": "s" });
    fixture.start_workspace(WORKSPACE, &options).unwrap();
    fixture.write_workspace_file(WORKSPACE, "third");
    let moved = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "label": BASE, "replace": true });
    fixture.run(Operation::Snapshot, &moved).unwrap();
    fixture.write_workspace_file(WORKSPACE, "fourth");
    assert_eq!(fixture.start_workspace(WORKSPACE, &options).unwrap()["how"], "running");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("fourth"));
}
