//! `create` of workspaces. `get_or_create`: `getOrCreate`.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{
    ExpectError, FILE, Fixture, MINUTE, Method, PendingOperation, WORKSPACE, by_ref, no_expiry, sandbox,
};

#[test]
fn failed_create_stores_no_variables() {
    let fixture = Fixture::empty();
    let options = json!({ "env": { "TOKEN": "secret" }, "hooks": { "afterStart": { "command": "exit 1" } } });
    fixture.create_workspace(WORKSPACE, &options).expect_code(Code::HookFailed);
    assert!(!format!("{:?}", fixture.record(WORKSPACE)).contains("secret"));
}

#[test]
fn new_workspace_is_active_and_empty() {
    let fixture = Fixture::empty();
    let created = fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&created["state"], &created["how"]), (&json!("active"), &json!("empty")));
    assert_eq!((&created["name"], &created["tenant"]), (&json!(WORKSPACE), &json!("default")));
    assert!(fixture.has_container(WORKSPACE));
    assert!(fixture.world.files(&fixture.sandbox_of(WORKSPACE)).unwrap().is_empty());
}

#[test]
fn sandbox_id_begins_with_the_workspace_name() {
    let fixture = Fixture::empty();
    fixture.create_workspace("My.Work", &json!({})).unwrap();
    let id = fixture.sandbox_of("My.Work");
    assert!(id.starts_with("my-work-"), "{id}");
    assert_eq!(fixture.world.assigned_name(&id).unwrap(), id);
}

#[test]
fn create_returns_settings_without_values_of_variables() {
    let fixture = Fixture::empty();
    let settings = json!({
        "persistent": false,
        "retention": { "keepLast": { "count": 2 } },
        "hooks": { "afterStart": { "command": "exit 0" } },
        "expiry": { "idleSeconds": 60, "maxSeconds": 120 },
        "dependsOn": { "files": ["/etc/hosts"], "fingerprint": "v1" },
        "env": { "TOKEN": "secret" },
        "dir": "/home/me",
    });
    let created = fixture.create_workspace(WORKSPACE, &settings).unwrap();
    assert_eq!(created["persistent"], false);
    assert_eq!(created["expiry"], settings["expiry"]);
    assert_eq!(created["dir"], "/home/me");
    assert_eq!(created["envNames"], json!(["TOKEN"]));
    assert!(!created.to_string().contains("secret"), "{created}");
}

#[test]
fn variables_are_set_before_hooks_run() {
    let fixture = Fixture::empty();
    let options = json!({ "env": { "A": "1" }, "hooks": { "afterStart": { "command": "exit 0" } } });
    fixture.create_workspace(WORKSPACE, &options).unwrap();
    assert_eq!(fixture.world.hook_calls()[0].env["A"], "1");
}

#[test]
fn idle_timeout_of_sandbox_exceeds_idle_limit_of_workspace() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "expiry": { "idleSeconds": 3600 } })).unwrap();
    assert!(fixture.world.sleeps_after(&fixture.sandbox_of(WORKSPACE)).unwrap().unwrap() > 3600);
    fixture.create_workspace("for-ever", &no_expiry()).unwrap();
    assert_eq!(fixture.world.sleeps_after(&fixture.sandbox_of("for-ever")), Some(None));
}

#[test]
fn retention_policy_of_workspace_applies_to_its_snapshots() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "retention": { "keepLast": { "count": 2 } } })).unwrap();
    let policy = fixture.run(Operation::Retention, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    assert_eq!(policy["policy"]["keepLast"]["count"], 2);
}

#[test]
fn create_fails_when_name_is_taken() {
    let fixture = Fixture::with_workspace();
    let error = fixture.create_workspace(WORKSPACE, &json!({})).expect_code(Code::NameTaken);
    assert!(error.message().contains("active"), "{error}");
    fixture.create_workspace("other", &json!({})).unwrap();
}

#[test]
fn one_of_several_concurrent_creates_gets_the_name() {
    let fixture = Fixture::empty();
    let pending: Vec<_> =
        (0..5).map(|_| fixture.begin_in_workspace(Operation::CreateWorkspace, WORKSPACE, &json!({}))).collect();
    let outcomes: Vec<_> = pending.into_iter().map(PendingOperation::answer).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(fixture.world.running_sandboxes().len(), 1);
}

#[test]
fn repeated_create_with_same_key_returns_same_workspace() {
    let fixture = Fixture::empty();
    let keyed = json!({ "idempotencyKey": "k", "persistent": true });
    let first = fixture.create_workspace(WORKSPACE, &keyed).unwrap();
    let again = fixture.create_workspace(WORKSPACE, &keyed).unwrap();
    assert_eq!(again["sandboxId"], first["sandboxId"]);
    fixture
        .create_workspace(WORKSPACE, &json!({ "idempotencyKey": "k", "persistent": false }))
        .expect_code(Code::IdempotencyConflict);
    fixture.create_workspace(WORKSPACE, &json!({ "idempotencyKey": "other" })).expect_code(Code::NameTaken);
    fixture.create_workspace(WORKSPACE, &json!({})).expect_code(Code::NameTaken);
}

#[test]
fn concurrent_creates_with_same_key_return_same_workspace() {
    let fixture = Fixture::empty();
    let keyed = json!({ "idempotencyKey": "k" });
    let pending: Vec<_> =
        (0..5).map(|_| fixture.begin_in_workspace(Operation::CreateWorkspace, WORKSPACE, &keyed)).collect();
    let answers: Vec<_> = pending.into_iter().map(|create| create.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["sandboxId"] == answers[0]["sandboxId"]), "{answers:?}");
}

#[test]
fn failed_create_frees_the_name() {
    for method in [Method::Claim, Method::BeginRestore, Method::UpdateMarker, Method::EnsureRunning, Method::SetPolicy]
    {
        let fixture = Fixture::empty();
        let arguments = json!({ "retention": { "keepDaily": 1 } });
        fixture.world.before(method).fail_transiently();
        fixture.create_workspace(WORKSPACE, &arguments).expect_err("it fails");
        fixture.get_workspace(WORKSPACE).expect_code(Code::WorkspaceNotFound);
        fixture.world.clear_faults();
        fixture.create_workspace(WORKSPACE, &arguments).unwrap();
        fixture.advance_with_alarms(5 * MINUTE);
        fixture.assert_nothing_pending();
    }
}

#[test]
fn create_does_not_reuse_a_sandbox_id_of_another_workspace() {
    let fixture = Fixture::empty();
    let random = [7; 32];
    fixture.world.queue_random(Some(random));
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    let taken = fixture.sandbox_of(WORKSPACE);
    fixture.world.queue_random(Some(random));
    fixture.create_workspace(WORKSPACE, &json!({ "tenant": "other" })).unwrap();
    let sandbox = fixture.ledger(&taken).sandbox().unwrap().unwrap();
    assert_eq!(sandbox.binding.unwrap().address.tenant.as_str(), "default");
}

#[test]
fn create_does_not_reuse_the_sandbox_of_a_deleted_workspace() {
    let fixture = Fixture::empty();
    for _ in 0..2 {
        fixture.world.queue_random(Some([7; 32]));
        fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.delete_workspace(WORKSPACE).unwrap();
    }
    assert_eq!(
        fixture
            .workspace_store(WORKSPACE)
            .transitions()
            .iter()
            .filter(|(_, step)| step.to.as_str() == "active")
            .count(),
        2
    );
}

#[test]
fn create_from_workspace_copies_its_current_files() {
    let fixture = Fixture::with_workspace();
    let created = fixture.create_workspace("copy", &json!({ "sourceWorkspace": WORKSPACE })).unwrap();
    assert_eq!(created["how"], "restored");
    assert_eq!(fixture.read_workspace_file("copy").unwrap(), "first");
    fixture.write_workspace_file("copy", "second");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn create_from_stopped_workspace_copies_its_files() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.create_workspace("copy", &json!({ "sourceWorkspace": WORKSPACE })).unwrap();
    assert_eq!((fixture.read_workspace_file("copy").unwrap(), fixture.state(WORKSPACE)), ("first".into(), "stopped"));
}

#[test]
fn create_from_snapshot_restores_its_files() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.create_workspace(WORKSPACE, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn source_snapshot_is_referenced_until_workspace_has_its_own() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.create_workspace(WORKSPACE, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    let before = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(before["dependents"], json!([fixture.sandbox_of(WORKSPACE)]));
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.world.finish_background();
    let after = fixture.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(after["dependents"], json!([]));
}

#[test]
fn start_restores_source_snapshot_after_container_ended() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.create_workspace(WORKSPACE, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(started["restoredFrom"]["snapshotId"], json!(snapshot.snapshot_id()));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn create_refuses_sources_of_another_tenant() {
    let fixture = Fixture::with_stopped_workspace();
    let snapshot = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": fixture.record(WORKSPACE).last_snapshot.unwrap().id });
    let arguments = json!({ "tenant": "other", "sourceSnapshot": snapshot });
    fixture.create_workspace("theft", &arguments).expect_code(Code::CrossLineage);
    fixture
        .create_workspace("theft", &json!({ "tenant": "other", "sourceWorkspace": WORKSPACE }))
        .expect_code(Code::WorkspaceNotFound);
    fixture.create_workspace("copy", &json!({ "sourceSnapshot": snapshot })).unwrap();
}

#[test]
fn create_refuses_its_own_name_as_source() {
    Fixture::empty()
        .create_workspace(WORKSPACE, &json!({ "sourceWorkspace": WORKSPACE }))
        .expect_code(Code::InvalidArgument);
}

#[test]
fn create_from_workspace_uses_the_directory_of_the_source() {
    let fixture = Fixture::with_workspace_options(&json!({ "dir": "/home/me" }));
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/home/me/notes", "first");
    let created = fixture.create_workspace("copy", &json!({ "sourceWorkspace": WORKSPACE })).unwrap();
    assert_eq!(created["dir"], "/home/me");
    let other = json!({ "sourceWorkspace": WORKSPACE, "dir": "/workspace" });
    fixture.create_workspace("odd", &other).expect_code(Code::InvalidArgument);
    fixture.get_workspace("odd").expect_code(Code::WorkspaceNotFound);
}

#[test]
fn create_frees_the_name_when_source_is_deleted_meanwhile() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::Reserve).nth(1).run({
        let ledger = fixture.ledger("agent-42");
        let id = snapshot.snapshot_id().clone();
        move |_| ledger.delete_snapshot(&id).unwrap()
    });
    fixture
        .create_workspace(WORKSPACE, &json!({ "sourceSnapshot": by_ref(&snapshot) }))
        .expect_code(Code::SnapshotNotFound);
    fixture.get_workspace(WORKSPACE).expect_code(Code::WorkspaceNotFound);
}

#[test]
fn copy_has_the_root_id_of_its_source() {
    let fixture = Fixture::empty();
    let long = "a".repeat(63);
    fixture.create_workspace(&long, &json!({})).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.write_workspace_file(&long, "first");
    let copy = fixture.create_workspace("copy", &json!({ "sourceWorkspace": long })).unwrap();
    assert_eq!(copy["workspace"]["ref"]["rootId"], json!(fixture.sandbox_of(&long)));
    let root_id = fixture.snapshotter(copy["sandboxId"].as_str().unwrap()).root().unwrap();
    assert_eq!(root_id, sandbox(&fixture.sandbox_of(&long)));
}

#[test]
fn create_preserves_files_written_during_it() {
    let fixture = Fixture::empty();
    fixture.world.after(Method::UpdateMarker).nth(1).run(|world| {
        let id = world.running_sandboxes().into_iter().next().unwrap();
        world.write_file(&id, FILE, "early");
    });
    fixture.create_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "early");
}

#[test]
fn create_accepts_the_directory_of_the_source() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("other", &json!({ "sourceWorkspace": WORKSPACE, "dir": "/workspace" })).unwrap();
    assert_eq!(fixture.read_workspace_file("other").unwrap(), "first");
}
