//! `getOrCreate` of workspaces.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result};
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, Method, WORKSPACE, workspace_args};

#[test]
fn get_or_create_creates_missing_and_starts_existing_workspace() {
    let fixture = Fixture::empty();
    let get = || {
        fixture
            .run(Operation::GetOrCreateWorkspace, &workspace_args(WORKSPACE, &json!({ "persistent": true })))
            .unwrap()
    };
    assert_eq!(get()["how"], "empty");
    assert_eq!(get()["how"], "running");
    fixture.world.advance_clock(MINUTE);
    fixture.stop_with_content(WORKSPACE, "first");
    assert_eq!(get()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn get_or_create_changes_only_the_fingerprint_of_existing_workspace() {
    let fixture = Fixture::with_workspace();
    let arguments =
        json!({ "persistent": false, "env": { "A": "1" }, "dependsOn": { "fingerprint": "v2", "files": ["/a"] } });
    fixture.run(Operation::GetOrCreateWorkspace, &workspace_args(WORKSPACE, &arguments)).unwrap();
    let settings = fixture.record(WORKSPACE).settings;
    assert!(settings.persistent && settings.env.is_empty() && settings.depends_on.files.is_empty());
    assert_eq!(settings.depends_on.fingerprint.unwrap(), "v2");
}

#[test]
fn get_or_create_refuses_another_directory_than_that_of_the_workspace() {
    let fixture = Fixture::with_workspace();
    let get_or_create = |dir: &str| {
        let options = workspace_args(WORKSPACE, &json!({ "dir": dir }));
        fixture.run(Operation::GetOrCreateWorkspace, &options)
    };
    let error = get_or_create("/tmp").expect_code(Code::OtherDirectory);
    assert!(error.message().contains("has the directory \"/workspace\", not \"/tmp\""), "{error:?}");
    for same in ["/workspace", "/workspace/", "/workspace/./"] {
        get_or_create(same).unwrap();
    }
}

#[test]
fn get_or_create_applies_start_options_to_a_new_workspace() {
    let options = json!({ "dependsOn": { "fingerprint": "v1" }, "expiry": { "idleSeconds": 0 } });
    let fixture = Fixture::with_workspace_options(&options);
    let get_or_create = |start: Value| {
        let mut arguments = json!({ "sourceWorkspace": WORKSPACE, "dependsOn": { "fingerprint": "v2" } });
        arguments.as_object_mut().unwrap().extend(start.as_object().unwrap().clone());
        fixture.run(Operation::GetOrCreateWorkspace, &workspace_args("other", &arguments))
    };
    get_or_create(json!({})).expect_code(Code::SnapshotStale);
    get_or_create(json!({ "acceptStale": true, "expect": { "a": "0" } })).unwrap();
}

#[test]
fn get_or_create_uses_the_source_when_name_becomes_free_meanwhile() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("gone", &json!({})).unwrap();
    let gate = fixture.world.before(Method::Decommission).nth(1).block();
    let delete = fixture.begin_in_workspace(Operation::DeleteWorkspace, "gone", &json!({}));
    let create =
        fixture.begin_in_workspace(Operation::GetOrCreateWorkspace, "gone", &json!({ "sourceWorkspace": WORKSPACE }));
    gate.open();
    delete.answer().unwrap();
    create.answer().unwrap();
    assert_eq!(fixture.read_workspace_file("gone").unwrap(), "first");
    // The same, with a delete that has not begun yet.
    let gate = fixture.world.before(Method::StopSandbox).nth(1).block();
    fixture.world.reset_calls();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, "gone", &json!({}));
    let delete = fixture.begin_in_workspace(Operation::DeleteWorkspace, "gone", &json!({}));
    let create =
        fixture.begin_in_workspace(Operation::GetOrCreateWorkspace, "gone", &json!({ "sourceWorkspace": WORKSPACE }));
    gate.open();
    stop.answer().unwrap();
    delete.answer().unwrap();
    create.answer().unwrap();
    assert_eq!(fixture.read_workspace_file("gone").unwrap(), "first");
}

#[test]
fn concurrent_get_or_create_calls_capture_the_source_once() {
    let fixture = Fixture::with_workspace();
    let arguments = json!({ "sourceWorkspace": WORKSPACE });
    let pending: Vec<_> =
        (0..5).map(|_| fixture.begin_in_workspace(Operation::GetOrCreateWorkspace, "other", &arguments)).collect();
    assert!(pending.into_iter().all(|call| call.answer().is_ok()));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
}

/// Starts or creates the workspace `name` from a snapshot.
fn get_or_create_from(fixture: &Fixture, name: &str, from: &Value) -> Result<Value> {
    let options = json!({ "name": name, "from": from, "idempotencyKey": "k" });
    fixture.run(Operation::GetOrCreateWorkspace, &options)
}

#[test]
fn get_or_create_from_a_snapshot_goes_back_to_it_once() {
    let fixture = Fixture::with_workspace();
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    let started = get_or_create_from(&fixture, WORKSPACE, &taken["snapshotId"]).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
    fixture.write_workspace_file(WORKSPACE, "third");
    let again = get_or_create_from(&fixture, WORKSPACE, &taken["snapshotId"]).unwrap();
    assert_eq!(again["sandboxId"], started["sandboxId"]);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("third"));
}

#[test]
fn get_or_create_from_a_short_ref_creates_a_missing_workspace() {
    let fixture = Fixture::with_workspace();
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    let created = get_or_create_from(&fixture, "new", &taken["shortRef"]).unwrap();
    assert_eq!(fixture.read_workspace_file("new").as_deref(), Some("first"));
    fixture.write_workspace_file("new", "second");
    let again = get_or_create_from(&fixture, "new", &taken["shortRef"]).unwrap();
    assert_eq!(again["sandboxId"], created["sandboxId"]);
    assert_eq!(fixture.read_workspace_file("new").as_deref(), Some("second"));
}

#[test]
fn get_or_create_of_a_missing_workspace_from_a_snapshot_id_is_refused() {
    let fixture = Fixture::with_workspace();
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    get_or_create_from(&fixture, "new", &taken["snapshotId"]).expect_code(Code::InvalidArgument);
}

#[test]
fn key_that_created_the_workspace_is_refused_with_another_source() {
    let fixture = Fixture::with_workspace();
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    get_or_create_from(&fixture, "new", &taken["shortRef"]).unwrap();
    get_or_create_from(&fixture, "new", &taken["snapshotId"]).expect_code(Code::IdempotencyConflict);
    let without = json!({ "name": "new", "idempotencyKey": "k" });
    fixture.run(Operation::GetOrCreateWorkspace, &without).expect_code(Code::IdempotencyConflict);
}
