//! Other workspaces are made that begin where one is.

use std::cell::Cell;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{Checked, HOUR, MINUTE, Method, Stage, WORK, by_id, for_ever};

/// The names of the forks.
fn names(forked: &Value) -> Vec<&str> {
    forked["forks"].as_array().unwrap().iter().map(|fork| fork["name"].as_str().unwrap()).collect()
}

#[test]
fn a_fork_begins_where_the_workspace_is_and_goes_its_own_way() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    assert_eq!(forked["forks"][0]["value"]["how"], "restored");
    stage.writes("other", "second");
    assert_eq!((stage.file(WORK).unwrap(), stage.file("other").unwrap()), ("first".into(), "second".into()));
    assert_eq!(stage.state(WORK), "active");
}

#[test]
fn all_forks_of_a_call_are_made_from_one_snapshot() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "fork", "count": 6 })).unwrap();
    assert_eq!(names(&forked), ["fork-1", "fork-2", "fork-3", "fork-4", "fork-5", "fork-6"]);
    assert_eq!(stage.world.count(Method::CreateBackup), 1);
    for fork in forked["forks"].as_array().unwrap() {
        assert_eq!(fork["value"]["restoredFrom"], forked["snapshotId"]);
        assert_eq!(stage.file(fork["name"].as_str().unwrap()).unwrap(), "first");
    }
}

#[test]
fn a_fork_without_a_name_is_called_after_its_workspace() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "count": 2 })).unwrap();
    let names = names(&forked);
    assert!(names.iter().all(|name| name.starts_with("work-fork-")) && names[0] != names[1], "{names:?}");
}

#[test]
fn not_more_than_four_forks_are_made_at_once() {
    let stage = Stage::with_work();
    let (open, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (begins, ends, seen) = (Rc::clone(&open), Rc::clone(&open), Rc::clone(&most));
    stage.world.before(Method::Create).happens(move |_| {
        begins.set(begins.get() + 1);
        seen.set(seen.get().max(begins.get()));
    });
    stage.world.after(Method::Create).happens(move |_| ends.set(ends.get() - 1));
    // Held, so that as many begin as may.
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let fork = stage.begins(Operation::ForkWorkspace, WORK, &json!({ "newName": "fork", "count": 9 }));
    gate.open();
    fork.answer().unwrap();
    assert_eq!((most.get(), open.get()), (4, 0));
}

#[test]
fn what_fails_for_one_fork_is_its_own_matter() {
    let stage = Stage::with_work();
    stage.creates("fork-2", &json!({})).unwrap();
    let forked = stage.forks(WORK, &json!({ "newName": "fork", "count": 3 })).unwrap();
    let forks = forked["forks"].as_array().unwrap();
    assert_eq!(forks[1]["error"]["code"], "NAME_TAKEN");
    assert!(forks[1].get("value").is_none(), "{forked}");
    for fork in [&forks[0], &forks[2]] {
        assert!(fork["value"].is_object() && fork.get("error").is_none(), "{fork}");
    }
}

#[test]
fn a_workspace_that_cannot_be_captured_is_not_forked() {
    let stage = Stage::with_work();
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    stage.forks(WORK, &json!({ "newName": "other" })).fails_as(Code::BackupFailed);
    stage.described("other").fails_as(Code::WorkspaceNotFound);
}

#[test]
fn a_fork_is_kept_as_its_workspace_is_but_without_its_variables() {
    let settings = json!({
        "persistent": false,
        "retention": { "keepDaily": 3 },
        "hooks": { "beforeStop": { "command": "exit 0" } },
        "expiry": { "idleSeconds": 0, "maxSeconds": 7 },
        "dependsOn": { "fingerprint": "v1" },
        "env": { "TOKEN": "secret" },
    });
    let stage = Stage::with_work_as(&settings);
    let fork = |asked: Value| stage.forks(WORK, &asked).unwrap()["forks"][0]["value"].clone();
    let without = fork(json!({ "newName": "without" }));
    for field in ["persistent", "retention", "hooks", "expiry", "dependsOn", "dir"] {
        assert_eq!(without[field], stage.described(WORK).unwrap()[field], "{field}");
    }
    assert_eq!(without["envNames"], json!([]));
    assert_eq!(fork(json!({ "newName": "with", "copyEnv": true }))["envNames"], json!(["TOKEN"]));
}

#[test]
fn one_that_is_stopped_is_forked_from_its_newest_snapshot() {
    let stage = Stage::with_stopped_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    assert_eq!(forked["snapshotId"], json!(stage.record(WORK).last_snapshot.unwrap().id));
    assert_eq!((stage.file("other").unwrap(), stage.is_up(WORK)), ("first".into(), false));
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn one_whose_sandbox_sleeps_is_forked_from_its_newest_snapshot() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.stops(&stage.sandbox_of(WORK));
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    assert_eq!((stage.file("other").unwrap(), stage.is_up(WORK)), ("first".into(), false));
}

#[test]
fn one_that_was_deleted_while_the_fork_waited_is_not_forked() {
    let stage = Stage::with_work();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let _first = stage.begins(Operation::ForkWorkspace, WORK, &json!({ "newName": "first" }));
    assert!(gate.is_reached());
    let delete = stage.begins(Operation::DeleteWorkspace, WORK, &json!({}));
    let fork = stage.begins(Operation::ForkWorkspace, WORK, &json!({ "newName": "other" }));
    gate.open();
    delete.answer().unwrap();
    fork.answer().fails_as(Code::WorkspaceNotFound);
    stage.described("other").fails_as(Code::WorkspaceNotFound);
}

#[test]
fn one_that_was_written_into_since_it_woke_by_itself_is_not_forked() {
    let stage = Stage::with_diverged_work();
    stage.forks(WORK, &json!({ "newName": "other" })).fails_as(Code::WorkspaceDiverged);
    stage.creates("other", &json!({ "sourceWorkspace": WORK })).fails_as(Code::WorkspaceDiverged);
}

#[test]
fn a_key_is_forgotten_after_two_days() {
    let stage = Stage::with_work_as(&for_ever());
    let asked = json!({ "newName": "fork", "idempotencyKey": "k" });
    stage.forks(WORK, &asked).unwrap();
    stage.deletes("fork").unwrap();
    stage.writes(WORK, "second");
    stage.world.pass(49 * HOUR);
    stage.forks(WORK, &asked).unwrap();
    assert_eq!(stage.file("fork").unwrap(), "second");
}

#[test]
fn a_variable_that_was_taken_away_is_copied_by_no_call_that_is_repeated() {
    let mut further = for_ever();
    further["env"] = json!({ "TOKEN": "secret" });
    let stage = Stage::with_work_as(&further);
    let asked = json!({ "newName": "fork", "idempotencyKey": "k", "copyEnv": true });
    stage.forks(WORK, &asked).unwrap();
    stage.deletes("fork").unwrap();
    stage.updates(WORK, &json!({ "env": {} })).unwrap();
    stage.forks(WORK, &asked).unwrap();
    assert!(stage.record("fork").settings.env.is_empty());
}

#[test]
fn one_that_never_had_anything_and_does_not_run_is_not_forked() {
    let stage = Stage::empty();
    stage.creates(WORK, &json!({ "persistent": false })).unwrap();
    stage.stops(WORK).unwrap();
    stage.forks(WORK, &json!({})).fails_as(Code::NothingRestorable);
}

#[test]
fn a_fork_of_a_fork_that_was_never_stopped_begins_where_that_one_did() {
    let stage = Stage::with_work();
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    stage.world.stops(&stage.sandbox_of("other"));
    stage.forks("other", &json!({ "newName": "third" })).unwrap();
    assert_eq!(stage.file("third").unwrap(), "first");
}

#[test]
fn the_same_call_gets_the_same_forks() {
    let stage = Stage::with_work();
    for asked in [
        json!({ "newName": "fork", "count": 2, "idempotencyKey": "k" }),
        json!({ "count": 2, "idempotencyKey": "other" }),
    ] {
        let first = stage.forks(WORK, &asked).unwrap();
        stage.world.pass(MINUTE);
        stage.writes(WORK, "later");
        let again = stage.forks(WORK, &asked).unwrap();
        assert_eq!((names(&first), &first["snapshotId"]), (names(&again), &again["snapshotId"]));
        for (fork, same) in first["forks"].as_array().unwrap().iter().zip(again["forks"].as_array().unwrap()) {
            assert_eq!(fork["value"]["sandboxId"], same["value"]["sandboxId"]);
        }
    }
}

#[test]
fn the_same_call_gets_the_same_forks_also_when_the_workspace_was_stopped_since() {
    let stage = Stage::with_work();
    let asked = json!({ "newName": "fork", "idempotencyKey": "k" });
    let first = stage.forks(WORK, &asked).unwrap();
    stage.saves(WORK, "later");
    let again = stage.forks(WORK, &asked).unwrap();
    assert_eq!(first["snapshotId"], again["snapshotId"]);
    assert_eq!(first["forks"][0]["value"]["sandboxId"], again["forks"][0]["value"]["sandboxId"]);
}

#[test]
fn the_same_call_gets_the_same_forks_also_when_the_workspace_was_changed_since() {
    let stage = Stage::with_work();
    let asked = json!({ "newName": "fork", "idempotencyKey": "k" });
    let first = stage.forks(WORK, &asked).unwrap();
    stage.updates(WORK, &json!({ "persistent": false, "env": { "A": "1" } })).unwrap();
    let again = stage.forks(WORK, &asked).unwrap();
    assert_eq!(again["forks"][0]["value"]["sandboxId"], first["forks"][0]["value"]["sandboxId"], "{again}");
}

#[test]
fn a_key_is_that_of_one_call() {
    let stage = Stage::with_work();
    stage.forks(WORK, &json!({ "newName": "fork", "idempotencyKey": "k" })).unwrap();
    for other in [json!({ "count": 2 }), json!({ "newName": "other" }), json!({ "copyEnv": true })] {
        let mut asked = json!({ "newName": "fork", "idempotencyKey": "k" });
        asked.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        stage.forks(WORK, &asked).fails_as(Code::IdempotencyConflict);
    }
}

#[test]
fn what_is_remembered_of_a_call_holds_no_secrets_but_those_to_be_copied() {
    let stage = Stage::with_work_as(&json!({ "env": { "TOKEN": "secret" }, "expiry": { "idleSeconds": 0 } }));
    let remembered = || serde_json::to_string(&stage.record(WORK).forks).unwrap();
    stage.forks(WORK, &json!({ "newName": "without", "idempotencyKey": "k" })).unwrap();
    assert!(!remembered().contains("secret"));
    stage.forks(WORK, &json!({ "newName": "with", "idempotencyKey": "other", "copyEnv": true })).unwrap();
    assert!(remembered().contains("secret"));
    stage.deletes(WORK).unwrap();
    assert!(!remembered().contains("secret"));
}

#[test]
fn a_create_that_failed_is_made_again_from_the_same_snapshot() {
    let stage = Stage::with_work();
    let asked = json!({ "sourceWorkspace": WORK, "idempotencyKey": "k" });
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.creates("copy", &asked).fails_as(Code::SandboxUnavailable);
    stage.world.goes_well();
    stage.writes(WORK, "later");
    stage.creates("copy", &asked).unwrap();
    assert_eq!((stage.world.count(Method::CreateBackup), stage.file("copy")), (1, Some("first".into())));
}

#[test]
fn forks_hold_the_snapshot_until_they_have_one_of_their_own() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "fork", "count": 2 })).unwrap();
    let selection = json!({ "sandboxId": forked["originId"], "snapshotId": forked["snapshotId"] });
    let holders = || stage.run(Operation::Get, &selection).unwrap()["holders"].as_array().unwrap().len();
    assert_eq!(holders(), 2);
    stage.world.pass(MINUTE);
    stage.stops("fork-1").unwrap();
    stage.world.finish_background();
    assert_eq!(holders(), 1);
    stage.run(Operation::Delete, &selection).fails_as(Code::SnapshotHeld);
}

#[test]
fn the_lineage_shows_forks_as_branches() {
    let stage = Stage::with_work();
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    let parent = stage.ledger(&stage.sandbox_of("other")).workspace().unwrap().unwrap().parent.unwrap();
    assert_eq!((parent.lineage.word(), parent.origin_id.as_str()), ("branch", stage.sandbox_of(WORK).as_str()));
}

#[test]
fn a_fork_is_a_sign_of_life() {
    let stage = Stage::with_work();
    let before = stage.record(WORK).active_at;
    stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    assert!(stage.record(WORK).active_at > before);
}

#[test]
fn a_snapshot_that_is_not_a_workspaces_can_be_a_source_of_any_tenant() {
    let (stage, snapshot) = Stage::with_snapshot();
    for tenant in ["one", "two"] {
        stage.creates(WORK, &json!({ "tenant": tenant, "sourceSnapshot": by_id(&snapshot) })).unwrap();
    }
}

#[test]
fn a_fork_has_what_was_written_before_it_was_asked_for() {
    let stage = Stage::with_work();
    let gate = stage.world.after(Method::CreateBackup).nth(1).held();
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": stage.sandbox_of(WORK) }));
    assert!(gate.is_reached());
    stage.writes(WORK, "second");
    let fork = stage.begins(Operation::ForkWorkspace, WORK, &json!({ "newName": "other" }));
    gate.open();
    taking.answer().unwrap();
    fork.answer().unwrap();
    assert_eq!(stage.file("other").unwrap(), "second");
}
