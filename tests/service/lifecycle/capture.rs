//! Snapshots of a sandbox that stands for a name, which callers ask for themselves.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{Checked, DAY, FILE, HOUR, MINUTE, Method, Moment, Stage, WORK};

fn capture(stage: &Stage, further: &Value) -> sandbox_snapshotter::model::Result<Value> {
    let mut arguments = json!({ "sandboxId": stage.sandbox_of(WORK) });
    arguments.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    stage.run(Operation::Snapshot, &arguments)
}

#[test]
fn a_snapshot_while_it_is_active_is_what_the_next_start_gives() {
    let stage = Stage::with_work();
    let taken = capture(&stage, &json!({})).unwrap();
    stage.world.stops(&stage.sandbox_of(WORK));
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["restoredFrom"], taken["ref"]["snapshotId"]);
}

#[test]
fn a_container_counts_by_its_stamp_and_not_by_its_age() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    // Nothing else would tell that it is the one that was seen.
    stage.world.reconnects(&stage.sandbox_of(WORK));
    capture(&stage, &json!({})).unwrap();
}

#[test]
fn nothing_is_captured_while_the_sandbox_is_filled() {
    for method in [Method::Begin, Method::RestoreBackup, Method::Arrive, Method::RunHook] {
        for moment in Moment::BOTH {
            let stage = Stage::with_stopped_work_as(&json!({ "hooks": { "afterStart": { "command": "exit 0" } } }));
            let gate = stage.world.at(method, moment).nth(1).held();
            let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
            for wake in [false, true] {
                capture(&stage, &json!({ "wake": wake })).fails_as(Code::SandboxStarting);
            }
            gate.open();
            start.answer().unwrap();
            capture(&stage, &json!({})).unwrap();
        }
    }
}

#[test]
fn a_capture_that_began_before_the_sandbox_was_filled_is_not_the_workspaces() {
    // It is looked at while it is empty, and its files come before it is captured.
    let stage = Stage::with_stopped_work();
    stage.world.is_replaced(&stage.sandbox_of(WORK));
    let gate = stage.world.after(Method::Probe).nth(1).held();
    let snapshot = json!({ "sandboxId": stage.sandbox_of(WORK), "wake": true });
    let taking = stage.begin(Operation::Snapshot, &snapshot);
    stage.world.go_on_in_background();
    assert!(gate.is_reached());
    let filled = stage.world.before(Method::RestoreBackup).nth(1).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    gate.open();
    stage.world.go_on_in_background();
    drop(taking.answer());
    filled.open();
    start.answer().unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
    stage.world.stops(&stage.sandbox_of(WORK));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_container_without_a_stamp_that_is_ready_is_not_captured() {
    for prepare in [Stage::with_diverged_work, || {
        let stage = Stage::with_stopped_work();
        stage.starts(WORK, &json!({})).unwrap();
        stage.world.is_replaced(&stage.sandbox_of(WORK));
        stage
    }] {
        let stage = prepare();
        let stored = stage.world.stored().len();
        capture(&stage, &json!({})).fails_as(Code::SandboxReplaced);
        assert_eq!(stage.world.stored().len(), stored);
    }
}

#[test]
fn one_that_does_not_run_is_not_woken_to_be_captured() {
    let stage = Stage::with_stopped_work();
    let refused = capture(&stage, &json!({ "wake": true })).fails_as(Code::SandboxNotRunning);
    assert!(refused.remediation().contains("Start the workspace"), "{}", refused.remediation());
    assert!(stage.world.running().is_empty());
}

#[test]
fn what_is_captured_by_waking_it_is_aside() {
    let stage = Stage::with_diverged_work();
    let taken = capture(&stage, &json!({ "wake": true })).unwrap();
    stage.starts(WORK, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
    stage.goes_back(WORK, &taken["ref"]["snapshotId"]).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn a_container_that_an_earlier_start_may_still_fill_is_not_captured() {
    let stage = Stage::with_late_stamp();
    let id = stage.sandbox_of(WORK);
    stage.world.is_stamped_late(&id, 1);
    let stored = stage.world.stored().len();
    capture(&stage, &json!({ "wake": true })).fails_as(Code::SandboxStarting);
    assert_eq!(stage.world.stored().len(), stored);

    let started = stage.starts(WORK, &json!({ "onDiverged": "save" })).unwrap();
    stage.goes_back(WORK, &started["saved"]).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second", "the start takes a snapshot of it");
}

#[test]
fn a_capture_that_began_before_the_files_were_kept_is_refused() {
    let stage = Stage::with_diverged_work();
    let gate = stage.world.after(Method::CreateBackup).nth(1).held();
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": stage.sandbox_of(WORK) }));
    assert!(gate.is_reached());
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({ "onDiverged": "keep" }));
    stage.world.go_on_in_background();
    gate.open();
    taking.answer().fails_as(Code::SandboxReplaced);
    assert_eq!(start.answer().unwrap()["how"], "kept");
}

#[test]
fn a_capture_that_began_before_the_files_were_kept_is_not_adopted() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    let before = stage.snapshots_of(&id).len();
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": id }));
    assert!(gate.is_reached());
    stage.dies_during(taking);
    stage.world.goes_well();
    stage.world.before(Method::Metadata).fails_in_passing();
    assert_eq!(stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap()["how"], "kept");
    stage.world.goes_well();
    stage.passes(HOUR);
    assert_eq!(stage.snapshots_of(&id).len(), before);
}

#[test]
fn a_container_that_is_replaced_while_it_is_captured_is_no_snapshot() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    let id = stage.sandbox_of(WORK);
    stage.world.forget_calls();
    stage.world.before(Method::CreateBackup).nth(1).happens(move |world| world.is_replaced(&id));
    capture(&stage, &json!({})).fails_as(Code::SandboxReplaced);
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn partial_snapshots_are_never_started_from() {
    for partial in [json!({ "excludes": ["*.log"] }), json!({ "gitignore": true }), json!({ "dir": "/home" })] {
        let stage = Stage::with_stopped_work();
        stage.starts(WORK, &json!({})).unwrap();
        stage.world.writes(&stage.sandbox_of(WORK), "/home/x", "y");
        stage.writes(WORK, "second");
        stage.world.pass(MINUTE);
        let taken = capture(&stage, &partial).unwrap();
        stage.world.stops(&stage.sandbox_of(WORK));
        let started = stage.starts(WORK, &json!({})).unwrap();
        assert_ne!(started["restoredFrom"], taken["ref"]["snapshotId"], "{partial}");
        assert_eq!(stage.file(WORK).unwrap(), "first", "{partial}");
    }
}

#[test]
fn an_import_is_never_started_from_unasked() {
    let stage = Stage::with_stopped_work();
    stage.world.writes("agent-7", FILE, "imported");
    let backup = stage.world.backs_up("agent-7", None);
    stage.world.pass(MINUTE);
    let import = json!({ "sandboxId": stage.sandbox_of(WORK), "backup": backup });
    let imported = stage.run(Operation::Import, &import).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
    stage.goes_back(WORK, &imported["ref"]["snapshotId"]).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "imported");
}

#[test]
fn neither_partial_nor_aside_snapshots_take_the_place_of_the_newest_whole_one_in_retention() {
    for policy in
        [json!({ "keepLast": { "count": 1 }, "expirationSeconds": 3600 }), json!({ "expirationSeconds": 3600 })]
    {
        let stage = Stage::with_stopped_work();
        stage.updates(WORK, &json!({ "retention": policy })).unwrap();
        stage.starts(WORK, &json!({})).unwrap();
        capture(&stage, &json!({ "excludes": ["*.log"] })).unwrap();
        let id = stage.sandbox_of(WORK);
        stage.world.stops(&id);
        stage.world.writes(&id, FILE, "second");
        stage.stops(WORK).unwrap();
        stage.passes(40 * DAY);
        stage.starts(WORK, &json!({})).unwrap();
        assert_eq!(stage.file(WORK).unwrap(), "first", "{policy}");
    }
}

#[test]
fn a_partial_snapshot_releases_nothing_that_the_workspace_was_made_from() {
    let stage = Stage::with_work();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    let id = stage.sandbox_of("other");
    stage.world.pass(MINUTE);
    stage.run(Operation::Snapshot, &json!({ "sandboxId": id, "excludes": ["*.log"] })).unwrap();
    stage.world.finish_background();
    let selection = json!({ "sandboxId": forked["originId"], "snapshotId": forked["snapshotId"] });
    assert_eq!(stage.run(Operation::Get, &selection).unwrap()["holders"], json!([id]));
}

#[test]
fn each_snapshot_is_kept_with_what_it_depends_on() {
    let depends = json!({ "dependsOn": { "files": ["lock", "/etc/none"], "fingerprint": "v1" } });
    let stage = Stage::with_work_as(&depends);
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, "/workspace/lock", "1");
    capture(&stage, &json!({})).unwrap();
    let row = stage.ledger(&id).page(None, None, 1).unwrap().remove(0);
    let dependencies = row.dependencies.unwrap();
    assert_eq!((dependencies.files["lock"].len(), dependencies.files["/etc/none"].as_str()), (64, ""));
    assert_eq!(dependencies.fingerprint.as_deref(), Some("v1"));
    assert!(dependencies.image.unwrap().starts_with("0.12.10"));
}

#[test]
fn what_was_saved_aside_is_of_the_workspaces_directory() {
    let stage = Stage::empty();
    let further = json!({ "dir": "/home", "expiry": { "idleSeconds": 0, "maxSeconds": 0 } });
    stage.creates(WORK, &further).unwrap();
    let id = stage.sandbox_of(WORK);
    stage.world.writes(&id, "/home/notes.txt", "first");
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    stage.world.writes(&id, "/home/notes.txt", "second");
    stage.world.pass(MINUTE);
    let saved = stage.stops(WORK).unwrap()["saved"].clone();
    stage.goes_back(WORK, &saved).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.world.files(&stage.sandbox_of(WORK)).unwrap()["/home/notes.txt"], "second");
}
