//! `fork` creates workspaces that begin with the files of an existing one.

use std::cell::Cell;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, HOUR, MINUTE, Method, WORKSPACE, by_id, no_expiry};

/// Returns the names of the forks.
fn fork_names(forked: &Value) -> Vec<&str> {
    forked["forks"].as_array().unwrap().iter().map(|fork| fork["name"].as_str().unwrap()).collect()
}

#[test]
fn fork_copies_files_and_is_independent_of_its_source() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    assert_eq!(forked["forks"][0]["value"]["how"], "restored");
    fixture.write_workspace_file("other", "second");
    assert_eq!(
        (fixture.read_workspace_file(WORKSPACE).unwrap(), fixture.read_workspace_file("other").unwrap()),
        ("first".into(), "second".into())
    );
    assert_eq!(fixture.state(WORKSPACE), "active");
}

#[test]
fn all_forks_of_a_call_share_one_snapshot() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork", "count": 6 })).unwrap();
    assert_eq!(fork_names(&forked), ["fork-1", "fork-2", "fork-3", "fork-4", "fork-5", "fork-6"]);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
    for fork in forked["forks"].as_array().unwrap() {
        assert_eq!(fork["value"]["restoredFrom"]["snapshotId"], forked["snapshotId"]);
        assert_eq!(fixture.read_workspace_file(fork["name"].as_str().unwrap()).unwrap(), "first");
    }
}

#[test]
fn fork_without_a_name_is_named_after_its_source() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "count": 2 })).unwrap();
    let names = fork_names(&forked);
    assert!(names.iter().all(|name| name.starts_with("work-fork-")) && names[0] != names[1], "{names:?}");
}

#[test]
fn fork_creates_at_most_four_workspaces_at_once() {
    let fixture = Fixture::with_workspace();
    let (open, max_open) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (begins, ends, peak) = (Rc::clone(&open), Rc::clone(&open), Rc::clone(&max_open));
    fixture.world.before(Method::CreateFork).run(move |_| {
        begins.set(begins.get() + 1);
        peak.set(peak.get().max(begins.get()));
    });
    fixture.world.after(Method::CreateFork).run(move |_| ends.set(ends.get() - 1));
    // The gate blocks one restore, so that the maximum number of forks begins.
    let gate = fixture.world.before(Method::RestoreBackup).nth(1).block();
    let fork =
        fixture.begin_in_workspace(Operation::ForkWorkspace, WORKSPACE, &json!({ "newName": "fork", "count": 9 }));
    gate.open();
    fork.answer().unwrap();
    assert_eq!((max_open.get(), open.get()), (4, 0));
}

#[test]
fn failure_of_one_fork_does_not_affect_the_others() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("fork-2", &json!({})).unwrap();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork", "count": 3 })).unwrap();
    let forks = forked["forks"].as_array().unwrap();
    assert_eq!(forks[1]["error"]["code"], "NAME_TAKEN");
    assert!(forks[1].get("value").is_none(), "{forked}");
    for fork in [&forks[0], &forks[2]] {
        assert!(fork["value"].is_object() && fork.get("error").is_none(), "{fork}");
    }
}

#[test]
fn fork_whose_names_are_all_taken_captures_nothing() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("other", &json!({})).unwrap();
    fixture.world.reset_calls();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).expect_code(Code::NameTaken);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn repeated_fork_call_returns_its_forks_although_their_names_are_taken() {
    let fixture = Fixture::with_workspace();
    let options = json!({ "newName": "other", "idempotencyKey": "once" });
    let first = fixture.fork_workspace(WORKSPACE, &options).unwrap();
    let again = fixture.fork_workspace(WORKSPACE, &options).unwrap();
    assert_eq!(again["forks"][0]["value"]["sandboxId"], first["forks"][0]["value"]["sandboxId"]);
}

#[test]
fn fork_fails_when_capture_fails() {
    let fixture = Fixture::with_workspace();
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).expect_code(Code::BackupFailed);
    fixture.get_workspace("other").expect_code(Code::WorkspaceNotFound);
}

#[test]
fn fork_copies_settings_but_not_variables() {
    let settings = json!({
        "persistent": false,
        "retention": { "keepDaily": 3 },
        "hooks": { "beforeStop": { "command": "exit 0" } },
        "expiry": { "idleSeconds": 0, "maxSeconds": 7 },
        "dependsOn": { "fingerprint": "v1" },
        "env": { "TOKEN": "secret" },
    });
    let fixture = Fixture::with_workspace_options(&settings);
    let fork = |arguments: Value| fixture.fork_workspace(WORKSPACE, &arguments).unwrap()["forks"][0]["value"].clone();
    let without = fork(json!({ "newName": "without" }));
    for field in ["persistent", "retention", "hooks", "expiry", "dependsOn", "dir"] {
        assert_eq!(without[field], fixture.get_workspace(WORKSPACE).unwrap()[field], "{field}");
    }
    assert_eq!(without["envNames"], json!([]));
    assert_eq!(fork(json!({ "newName": "with", "copyEnv": true }))["envNames"], json!(["TOKEN"]));
}

#[test]
fn fork_of_stopped_workspace_uses_its_newest_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    assert_eq!(forked["snapshotId"], json!(fixture.record(WORKSPACE).last_snapshot.unwrap().id));
    assert_eq!(
        (fixture.read_workspace_file("other").unwrap(), fixture.has_container(WORKSPACE)),
        ("first".into(), false)
    );
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn fork_of_workspace_with_ended_container_uses_its_newest_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    assert_eq!(
        (fixture.read_workspace_file("other").unwrap(), fixture.has_container(WORKSPACE)),
        ("first".into(), false)
    );
}

#[test]
fn fork_fails_when_workspace_is_deleted_while_it_waits() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let _first = fixture.begin_in_workspace(Operation::ForkWorkspace, WORKSPACE, &json!({ "newName": "first" }));
    assert!(gate.is_reached());
    let delete = fixture.begin_in_workspace(Operation::DeleteWorkspace, WORKSPACE, &json!({}));
    let fork = fixture.begin_in_workspace(Operation::ForkWorkspace, WORKSPACE, &json!({ "newName": "other" }));
    gate.open();
    delete.answer().unwrap();
    fork.answer().expect_code(Code::WorkspaceNotFound);
    fixture.get_workspace("other").expect_code(Code::WorkspaceNotFound);
}

#[test]
fn fork_of_diverged_workspace_is_refused() {
    let fixture = Fixture::with_diverged_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).expect_code(Code::WorkspaceDiverged);
    fixture.create_workspace("other", &json!({ "sourceWorkspace": WORKSPACE })).expect_code(Code::WorkspaceDiverged);
}

#[test]
fn idempotency_key_of_fork_expires_after_two_days() {
    let fixture = Fixture::with_workspace_options(&no_expiry());
    let arguments = json!({ "newName": "fork", "idempotencyKey": "k" });
    fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    fixture.delete_workspace("fork").unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.advance_clock(49 * HOUR);
    fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    assert_eq!(fixture.read_workspace_file("fork").unwrap(), "second");
}

#[test]
fn repeated_fork_does_not_copy_removed_variables() {
    let mut options = no_expiry();
    options["env"] = json!({ "TOKEN": "secret" });
    let fixture = Fixture::with_workspace_options(&options);
    let arguments = json!({ "newName": "fork", "idempotencyKey": "k", "copyEnv": true });
    fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    fixture.delete_workspace("fork").unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "env": {} })).unwrap();
    fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    assert!(fixture.record("fork").settings.env.is_empty());
}

#[test]
fn fork_fails_for_stopped_workspace_without_snapshots() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.fork_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
}

#[test]
fn fork_of_never_stopped_fork_uses_the_same_source() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of("other"));
    fixture.fork_workspace("other", &json!({ "newName": "third" })).unwrap();
    assert_eq!(fixture.read_workspace_file("third").unwrap(), "first");
}

#[test]
fn repeated_fork_with_same_key_returns_same_forks() {
    let fixture = Fixture::with_workspace();
    for arguments in [
        json!({ "newName": "fork", "count": 2, "idempotencyKey": "k" }),
        json!({ "count": 2, "idempotencyKey": "other" }),
    ] {
        let first = fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
        fixture.world.advance_clock(MINUTE);
        fixture.write_workspace_file(WORKSPACE, "later");
        let again = fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
        assert_eq!((fork_names(&first), &first["snapshotId"]), (fork_names(&again), &again["snapshotId"]));
        for (fork, same) in first["forks"].as_array().unwrap().iter().zip(again["forks"].as_array().unwrap()) {
            assert_eq!(fork["value"]["sandboxId"], same["value"]["sandboxId"]);
        }
    }
}

#[test]
fn repeated_fork_returns_same_forks_after_workspace_was_stopped() {
    let fixture = Fixture::with_workspace();
    let arguments = json!({ "newName": "fork", "idempotencyKey": "k" });
    let first = fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    fixture.stop_with_content(WORKSPACE, "later");
    let again = fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    assert_eq!(first["snapshotId"], again["snapshotId"]);
    assert_eq!(first["forks"][0]["value"]["sandboxId"], again["forks"][0]["value"]["sandboxId"]);
}

#[test]
fn repeated_fork_returns_same_forks_after_workspace_was_updated() {
    let fixture = Fixture::with_workspace();
    let arguments = json!({ "newName": "fork", "idempotencyKey": "k" });
    let first = fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "persistent": false, "env": { "A": "1" } })).unwrap();
    let again = fixture.fork_workspace(WORKSPACE, &arguments).unwrap();
    assert_eq!(again["forks"][0]["value"]["sandboxId"], first["forks"][0]["value"]["sandboxId"], "{again}");
}

#[test]
fn fork_refuses_a_key_used_with_other_arguments() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork", "idempotencyKey": "k" })).unwrap();
    for other in [json!({ "count": 2 }), json!({ "newName": "other" }), json!({ "copyEnv": true })] {
        let mut arguments = json!({ "newName": "fork", "idempotencyKey": "k" });
        arguments.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        fixture.fork_workspace(WORKSPACE, &arguments).expect_code(Code::IdempotencyConflict);
    }
}

#[test]
fn fork_record_contains_secrets_only_with_copy_env() {
    let fixture =
        Fixture::with_workspace_options(&json!({ "env": { "TOKEN": "secret" }, "expiry": { "idleSeconds": 0 } }));
    let fork_calls = || serde_json::to_string(&fixture.record(WORKSPACE).fork_calls).unwrap();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "without", "idempotencyKey": "k" })).unwrap();
    assert!(!fork_calls().contains("secret"));
    fixture
        .fork_workspace(WORKSPACE, &json!({ "newName": "with", "idempotencyKey": "other", "copyEnv": true }))
        .unwrap();
    assert!(fork_calls().contains("secret"));
    fixture.delete_workspace(WORKSPACE).unwrap();
    assert!(!fork_calls().contains("secret"));
}

#[test]
fn repeated_create_uses_the_snapshot_of_the_failed_attempt() {
    let fixture = Fixture::with_workspace();
    let arguments = json!({ "sourceWorkspace": WORKSPACE, "idempotencyKey": "k" });
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    fixture.create_workspace("copy", &arguments).expect_code(Code::SandboxUnavailable);
    fixture.world.clear_faults();
    fixture.write_workspace_file(WORKSPACE, "later");
    fixture.create_workspace("copy", &arguments).unwrap();
    assert_eq!(
        (fixture.world.call_count(Method::CreateBackup), fixture.read_workspace_file("copy")),
        (1, Some("first".into()))
    );
}

#[test]
fn forks_reference_the_snapshot_until_they_have_their_own() {
    let fixture = Fixture::with_workspace();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork", "count": 2 })).unwrap();
    let selection = json!({ "sandboxId": forked["originId"], "snapshotId": forked["snapshotId"] });
    let dependent_count = || fixture.run(Operation::Get, &selection).unwrap()["dependents"].as_array().unwrap().len();
    assert_eq!(dependent_count(), 2);
    fixture.world.advance_clock(MINUTE);
    fixture.stop_workspace("fork-1").unwrap();
    fixture.world.finish_background();
    assert_eq!(dependent_count(), 1);
    fixture.run(Operation::Delete, &selection).expect_code(Code::SnapshotHasDependents);
}

#[test]
fn lineage_records_forks_as_branches() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    let parent = fixture.ledger(&fixture.sandbox_of("other")).sandbox().unwrap().unwrap().parent.unwrap();
    assert_eq!((parent.kind.as_str(), parent.origin_id.as_str()), ("branch", fixture.sandbox_of(WORKSPACE).as_str()));
}

#[test]
fn fork_updates_the_activity_time() {
    let fixture = Fixture::with_workspace();
    let before = fixture.record(WORKSPACE).active_at;
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    assert!(fixture.record(WORKSPACE).active_at > before);
}

#[test]
fn snapshot_outside_workspaces_is_a_source_for_every_tenant() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    for tenant in ["one", "two"] {
        fixture.create_workspace(WORKSPACE, &json!({ "tenant": tenant, "sourceSnapshot": by_id(&snapshot) })).unwrap();
    }
}

#[test]
fn fork_contains_files_written_before_the_call() {
    let fixture = Fixture::with_workspace();
    let gate = fixture.world.after(Method::CreateBackup).nth(1).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) }));
    assert!(gate.is_reached());
    fixture.write_workspace_file(WORKSPACE, "second");
    let fork = fixture.begin_in_workspace(Operation::ForkWorkspace, WORKSPACE, &json!({ "newName": "other" }));
    gate.open();
    capture.answer().unwrap();
    fork.answer().unwrap();
    assert_eq!(fixture.read_workspace_file("other").unwrap(), "second");
}

#[test]
fn fork_from_the_latest_snapshot_of_an_active_workspace_takes_no_capture() {
    let fixture = Fixture::with_workspace();
    let latest = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.reset_calls();
    let forked =
        fixture.fork_workspace(WORKSPACE, &json!({ "newName": "fork", "count": 3, "from": "latest" })).unwrap();
    assert_eq!((&forked["snapshotId"], &forked["mayHaveLost"]), (&latest["snapshotId"], &json!(false)));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    for name in fork_names(&forked) {
        assert_eq!(fixture.read_workspace_file(name).as_deref(), Some("first"));
    }
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("second"));
}

#[test]
fn fork_from_the_latest_snapshot_fails_without_a_snapshot() {
    let fixture = Fixture::with_workspace();
    let error = fixture
        .fork_workspace(WORKSPACE, &json!({ "newName": "fork", "from": "latest" }))
        .expect_code(Code::NothingRestorable);
    assert_eq!(error.message(), "The workspace \"work\" has no snapshot of all of its files.");
    fixture.get_workspace("fork").expect_code(Code::WorkspaceNotFound);
}

#[test]
fn fork_begins_with_a_given_snapshot_of_the_lineage() {
    let fixture = Fixture::with_workspace();
    let older = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of(WORKSPACE) })).unwrap();
    fixture.stop_with_content(WORKSPACE, "second");
    for (name, from) in [("by-id", &older["snapshotId"]), ("by-short-ref", &older["shortRef"])] {
        let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": name, "from": from })).unwrap();
        assert_eq!(forked["snapshotId"], older["snapshotId"]);
        assert_eq!(fixture.read_workspace_file(name).as_deref(), Some("first"));
    }
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn fork_from_a_snapshot_of_another_lineage_is_refused() {
    let fixture = Fixture::with_workspace();
    fixture.create_workspace("other", &no_expiry()).unwrap();
    fixture.world.advance_clock(MINUTE);
    let foreign = fixture.run(Operation::Snapshot, &json!({ "sandboxId": fixture.sandbox_of("other") })).unwrap();
    for from in [&foreign["snapshotId"], &foreign["shortRef"]] {
        fixture
            .fork_workspace(WORKSPACE, &json!({ "newName": "fork", "from": from }))
            .expect_code(Code::SnapshotNotFound);
    }
}

#[test]
fn repeated_fork_from_another_source_is_an_idempotency_conflict() {
    let fixture = Fixture::with_stopped_workspace();
    let fork = |options: &Value| fixture.fork_workspace(WORKSPACE, options);
    let first = fork(&json!({ "newName": "fork", "from": "latest", "idempotencyKey": "k" })).unwrap();
    let again = fork(&json!({ "newName": "fork", "from": "latest", "idempotencyKey": "k" })).unwrap();
    assert_eq!(again["forks"][0]["value"]["sandboxId"], first["forks"][0]["value"]["sandboxId"]);
    fork(&json!({ "newName": "fork", "idempotencyKey": "k" })).expect_code(Code::IdempotencyConflict);
}
