//! A workspace is made.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{Checked, FILE, MINUTE, Method, Running, Stage, WORK, by_ref, for_ever, on, sandbox};

#[test]
fn how_it_is_to_be_started_counts_for_a_new_one_too() {
    let further = json!({ "dependsOn": { "fingerprint": "v1" }, "expiry": { "idleSeconds": 0 } });
    let stage = Stage::with_work_as(&further);
    let asked = |start: serde_json::Value| {
        let mut asked = json!({ "sourceWorkspace": WORK, "dependsOn": { "fingerprint": "v2" } });
        asked.as_object_mut().unwrap().extend(start.as_object().unwrap().clone());
        stage.run(Operation::GetOrCreateWorkspace, &on("other", &asked))
    };
    asked(json!({})).fails_as(Code::SnapshotStale);
    asked(json!({ "acceptStale": true, "expect": { "a": "0" } })).unwrap();
}

#[test]
fn one_that_could_not_be_made_keeps_no_secret() {
    let stage = Stage::empty();
    let further = json!({ "env": { "TOKEN": "secret" }, "hooks": { "afterStart": { "command": "exit 1" } } });
    stage.creates(WORK, &further).fails_as(Code::HookFailed);
    assert!(!format!("{:?}", stage.record(WORK)).contains("secret"));
}

#[test]
fn those_who_come_together_look_for_the_source_once() {
    let stage = Stage::with_work();
    let asked = json!({ "sourceWorkspace": WORK });
    let begun: Vec<_> = (0..5).map(|_| stage.begins(Operation::GetOrCreateWorkspace, "other", &asked)).collect();
    assert!(begun.into_iter().all(|call| call.answer().is_ok()));
    assert_eq!(stage.world.count(Method::CreateBackup), 1);
}

#[test]
fn a_new_workspace_is_active_and_empty() {
    let stage = Stage::empty();
    let created = stage.creates(WORK, &json!({})).unwrap();
    assert_eq!((&created["state"], &created["how"]), (&json!("active"), &json!("empty")));
    assert_eq!((&created["name"], &created["tenant"]), (&json!(WORK), &json!("default")));
    assert!(stage.is_up(WORK));
    assert!(stage.world.files(&stage.sandbox_of(WORK)).unwrap().is_empty());
}

#[test]
fn its_sandbox_is_called_like_it() {
    let stage = Stage::empty();
    stage.creates("My.Work", &json!({})).unwrap();
    let id = stage.sandbox_of("My.Work");
    assert!(id.starts_with("my-work-"), "{id}");
    assert_eq!(stage.world.told_name(&id).unwrap(), id);
}

#[test]
fn its_settings_are_told_but_for_the_values_of_variables() {
    let stage = Stage::empty();
    let settings = json!({
        "persistent": false,
        "retention": { "keepLast": { "count": 2 } },
        "hooks": { "afterStart": { "command": "exit 0" } },
        "expiry": { "idleSeconds": 60, "maxSeconds": 120 },
        "dependsOn": { "files": ["/etc/hosts"], "fingerprint": "v1" },
        "env": { "TOKEN": "secret" },
        "dir": "/home/me",
    });
    let created = stage.creates(WORK, &settings).unwrap();
    assert_eq!(created["persistent"], false);
    assert_eq!(created["expiry"], settings["expiry"]);
    assert_eq!(created["dir"], "/home/me");
    assert_eq!(created["envNames"], json!(["TOKEN"]));
    assert!(!created.to_string().contains("secret"), "{created}");
}

#[test]
fn the_variables_are_set_before_anything_runs() {
    let stage = Stage::empty();
    let hook = json!({ "env": { "A": "1" }, "hooks": { "afterStart": { "command": "exit 0" } } });
    stage.creates(WORK, &hook).unwrap();
    assert_eq!(stage.world.hooks_run()[0].env["A"], "1");
}

#[test]
fn its_sandbox_stays_awake_longer_than_the_workspace_may_be_idle() {
    let stage = Stage::empty();
    stage.creates(WORK, &json!({ "expiry": { "idleSeconds": 3600 } })).unwrap();
    assert!(stage.world.sleeps_after(&stage.sandbox_of(WORK)).unwrap().unwrap() > 3600);
    stage.creates("for-ever", &for_ever()).unwrap();
    assert_eq!(stage.world.sleeps_after(&stage.sandbox_of("for-ever")), Some(None));
}

#[test]
fn a_policy_of_its_own_is_that_of_its_snapshots() {
    let stage = Stage::empty();
    stage.creates(WORK, &json!({ "retention": { "keepLast": { "count": 2 } } })).unwrap();
    let policy = stage.run(Operation::Retention, &json!({ "sandboxId": stage.sandbox_of(WORK) })).unwrap();
    assert_eq!(policy["policy"]["keepLast"]["count"], 2);
}

#[test]
fn a_name_is_given_once() {
    let stage = Stage::with_work();
    let error = stage.creates(WORK, &json!({})).fails_as(Code::NameTaken);
    assert!(error.message().contains("active"), "{error}");
    stage.creates("other", &json!({})).unwrap();
}

#[test]
fn of_callers_who_create_together_one_gets_the_name() {
    let stage = Stage::empty();
    let begun: Vec<_> = (0..5).map(|_| stage.begins(Operation::CreateWorkspace, WORK, &json!({}))).collect();
    let outcomes: Vec<_> = begun.into_iter().map(Running::answer).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(stage.world.running().len(), 1);
}

#[test]
fn the_same_call_gets_the_same_workspace() {
    let stage = Stage::empty();
    let keyed = json!({ "idempotencyKey": "k", "persistent": true });
    let first = stage.creates(WORK, &keyed).unwrap();
    let again = stage.creates(WORK, &keyed).unwrap();
    assert_eq!(again["sandboxId"], first["sandboxId"]);
    stage.creates(WORK, &json!({ "idempotencyKey": "k", "persistent": false })).fails_as(Code::IdempotencyConflict);
    stage.creates(WORK, &json!({ "idempotencyKey": "other" })).fails_as(Code::NameTaken);
    stage.creates(WORK, &json!({})).fails_as(Code::NameTaken);
}

#[test]
fn the_same_calls_together_get_the_same_workspace() {
    let stage = Stage::empty();
    let keyed = json!({ "idempotencyKey": "k" });
    let begun: Vec<_> = (0..5).map(|_| stage.begins(Operation::CreateWorkspace, WORK, &keyed)).collect();
    let answers: Vec<_> = begun.into_iter().map(|create| create.answer().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["sandboxId"] == answers[0]["sandboxId"]), "{answers:?}");
}

#[test]
fn what_could_not_be_made_frees_its_name() {
    for method in [Method::Claim, Method::Begin, Method::Stamp, Method::Resume, Method::SetPolicy] {
        let stage = Stage::empty();
        let asked = json!({ "retention": { "keepDaily": 1 } });
        stage.world.before(method).fails_in_passing();
        stage.creates(WORK, &asked).expect_err("it fails");
        stage.described(WORK).fails_as(Code::WorkspaceNotFound);
        stage.world.goes_well();
        stage.creates(WORK, &asked).unwrap();
        stage.passes(5 * MINUTE);
        stage.assert_settled();
    }
}

#[test]
fn an_id_that_is_somebodys_is_not_taken() {
    let stage = Stage::empty();
    let random = [7; 32];
    stage.world.draws_next(Some(random));
    stage.creates(WORK, &json!({})).unwrap();
    let taken = stage.sandbox_of(WORK);
    stage.world.draws_next(Some(random));
    stage.creates(WORK, &json!({ "tenant": "other" })).unwrap();
    let workspace = stage.ledger(&taken).workspace().unwrap().unwrap();
    assert_eq!(workspace.standing.unwrap().address.tenant.as_str(), "default");
}

#[test]
fn the_sandbox_of_a_former_workspace_of_the_name_is_not_taken_again() {
    let stage = Stage::empty();
    for _ in 0..2 {
        stage.world.draws_next(Some([7; 32]));
        stage.creates(WORK, &json!({})).unwrap();
        stage.deletes(WORK).unwrap();
    }
    assert_eq!(stage.home(WORK).logged().iter().filter(|(_, step)| step.to.as_str() == "active").count(), 2);
}

#[test]
fn it_may_begin_with_the_present_files_of_another_one() {
    let stage = Stage::with_work();
    let made = stage.creates("copy", &json!({ "sourceWorkspace": WORK })).unwrap();
    assert_eq!(made["how"], "restored");
    assert_eq!(stage.file("copy").unwrap(), "first");
    stage.writes("copy", "second");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn it_may_begin_with_the_files_of_one_that_is_stopped() {
    let stage = Stage::with_stopped_work();
    stage.creates("copy", &json!({ "sourceWorkspace": WORK })).unwrap();
    assert_eq!((stage.file("copy").unwrap(), stage.state(WORK)), ("first".into(), "stopped"));
}

#[test]
fn it_may_begin_with_any_snapshot_of_a_sandbox() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.creates(WORK, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn what_it_began_with_stays_as_long_as_it_has_no_snapshot_of_its_own() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.creates(WORK, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    let held = stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(held["holders"], json!([stage.sandbox_of(WORK)]));
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    stage.world.finish_background();
    let free = stage.run(Operation::Get, &by_ref(&snapshot)).unwrap();
    assert_eq!(free["holders"], json!([]));
}

#[test]
fn a_sandbox_that_lost_the_files_it_began_with_gets_them_again() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.creates(WORK, &json!({ "sourceSnapshot": by_ref(&snapshot) })).unwrap();
    stage.world.stops(&stage.sandbox_of(WORK));
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(started["restoredFrom"], json!(snapshot.snapshot_id()));
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn the_snapshots_and_workspaces_of_another_tenant_are_no_source() {
    let stage = Stage::with_stopped_work();
    let snapshot =
        json!({ "sandboxId": stage.sandbox_of(WORK), "snapshotId": stage.record(WORK).last_snapshot.unwrap().id });
    let others = json!({ "tenant": "other", "sourceSnapshot": snapshot });
    stage.creates("theft", &others).fails_as(Code::CrossSession);
    stage.creates("theft", &json!({ "tenant": "other", "sourceWorkspace": WORK })).fails_as(Code::WorkspaceNotFound);
    stage.creates("copy", &json!({ "sourceSnapshot": snapshot })).unwrap();
}

#[test]
fn a_workspace_does_not_begin_with_itself() {
    Stage::empty().creates(WORK, &json!({ "sourceWorkspace": WORK })).fails_as(Code::InvalidArgument);
}

#[test]
fn it_holds_the_directory_that_its_source_does() {
    let stage = Stage::with_work_as(&json!({ "dir": "/home/me" }));
    stage.world.writes(&stage.sandbox_of(WORK), "/home/me/notes", "first");
    let made = stage.creates("copy", &json!({ "sourceWorkspace": WORK })).unwrap();
    assert_eq!(made["dir"], "/home/me");
    let other = json!({ "sourceWorkspace": WORK, "dir": "/workspace" });
    stage.creates("odd", &other).fails_as(Code::InvalidArgument);
    stage.described("odd").fails_as(Code::WorkspaceNotFound);
}

#[test]
fn a_source_that_is_gone_when_it_is_needed_frees_the_name() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Reserve).nth(1).happens({
        let ledger = stage.ledger("agent-42");
        let id = snapshot.snapshot_id().clone();
        move |_| ledger.forget_snapshot(&id).unwrap()
    });
    stage.creates(WORK, &json!({ "sourceSnapshot": by_ref(&snapshot) })).fails_as(Code::SnapshotNotFound);
    stage.described(WORK).fails_as(Code::WorkspaceNotFound);
}

#[test]
fn get_or_create_makes_what_is_not_there_and_starts_what_is() {
    let stage = Stage::empty();
    let get = || stage.run(Operation::GetOrCreateWorkspace, &on(WORK, &json!({ "persistent": true }))).unwrap();
    assert_eq!(get()["how"], "empty");
    assert_eq!(get()["how"], "alive");
    stage.world.pass(MINUTE);
    stage.saves(WORK, "first");
    assert_eq!(get()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn get_or_create_changes_nothing_about_what_is_there_but_the_fingerprint() {
    let stage = Stage::with_work();
    let asked =
        json!({ "persistent": false, "env": { "A": "1" }, "dependsOn": { "fingerprint": "v2", "files": ["/a"] } });
    stage.run(Operation::GetOrCreateWorkspace, &on(WORK, &asked)).unwrap();
    let settings = stage.record(WORK).settings;
    assert!(settings.persistent && settings.env.is_empty() && settings.depends_on.files.is_empty());
    assert_eq!(settings.depends_on.fingerprint.unwrap(), "v2");
}

#[test]
fn get_or_create_begins_with_the_source_also_when_the_name_becomes_free_meanwhile() {
    let stage = Stage::with_work();
    stage.creates("gone", &json!({})).unwrap();
    let gate = stage.world.before(Method::Retire).nth(1).held();
    let delete = stage.begins(Operation::DeleteWorkspace, "gone", &json!({}));
    let create = stage.begins(Operation::GetOrCreateWorkspace, "gone", &json!({ "sourceWorkspace": WORK }));
    gate.open();
    delete.answer().unwrap();
    create.answer().unwrap();
    assert_eq!(stage.file("gone").unwrap(), "first");
    // The same, where the delete has not even begun.
    let gate = stage.world.before(Method::Halt).nth(1).held();
    stage.world.forget_calls();
    let stop = stage.begins(Operation::StopWorkspace, "gone", &json!({}));
    let delete = stage.begins(Operation::DeleteWorkspace, "gone", &json!({}));
    let create = stage.begins(Operation::GetOrCreateWorkspace, "gone", &json!({ "sourceWorkspace": WORK }));
    gate.open();
    stop.answer().unwrap();
    delete.answer().unwrap();
    create.answer().unwrap();
    assert_eq!(stage.file("gone").unwrap(), "first");
}

#[test]
fn the_lineage_of_a_copy_is_that_of_its_source() {
    let stage = Stage::empty();
    let long = "a".repeat(63);
    stage.creates(&long, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    stage.writes(&long, "first");
    let copy = stage.creates("copy", &json!({ "sourceWorkspace": long })).unwrap();
    assert_eq!(copy["workspace"]["ref"]["rootId"], json!(stage.sandbox_of(&long)));
    let known = stage.of(copy["sandboxId"].as_str().unwrap()).root().unwrap();
    assert_eq!(known, sandbox(&stage.sandbox_of(&long)));
}

#[test]
fn what_somebody_wrote_into_the_new_sandbox_is_not_lost_by_making_it() {
    let stage = Stage::empty();
    stage.world.after(Method::Stamp).nth(1).happens(|world| {
        let id = world.running().into_iter().next().unwrap();
        world.writes(&id, FILE, "early");
    });
    stage.creates(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "early");
}

#[test]
fn the_directory_of_the_source_may_be_named() {
    let stage = Stage::with_work();
    stage.creates("other", &json!({ "sourceWorkspace": WORK, "dir": "/workspace" })).unwrap();
    assert_eq!(stage.file("other").unwrap(), "first");
}
