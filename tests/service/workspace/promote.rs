//! `promote` continues a workspace with the files of another workspace or snapshot of its lineage.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{
    ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE, by_ref, no_expiry, sandbox, workspace_args,
};

/// The active workspace `work` with the content `first`, and its active forks `try-1` to `try-3` with their own content.
fn with_forks() -> Fixture {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try", "count": 3 })).unwrap();
    for name in ["try-1", "try-2", "try-3"] {
        fixture.write_workspace_file(name, name);
    }
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture
}

#[track_caller]
fn promote(fixture: &Fixture, from: &str) -> Value {
    fixture.promote_workspace(WORKSPACE, &json!({ "from": from })).unwrap()
}

/// Stops a workspace, and returns the id of its snapshot.
fn stop(fixture: &Fixture, name: &str) -> String {
    fixture.stop_workspace(name).unwrap()["lastSnapshot"]["id"].as_str().unwrap().to_owned()
}

/// As [`with_forks`], with a fork whose container ended before its files were saved: `try-2`.
fn with_lost_file() -> Fixture {
    let fixture = with_forks();
    stop(&fixture, "try-2");
    fixture.start_workspace("try-2", &json!({})).unwrap();
    fixture.write_workspace_file("try-2", "unsaved");
    fixture.world.end_container(&fixture.sandbox_of("try-2"));
    fixture
}

#[test]
fn promote_keeps_the_best_of_three_forks() {
    let fixture = with_forks();
    let promoted = promote(&fixture, "try-2");
    assert_eq!((&promoted["name"], &promoted["state"]), (&json!(WORKSPACE), &json!("active")));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("try-2"));
    assert_eq!(promoted["mayHaveLost"], false);
    assert_eq!(fixture.read_workspace_file("try-2").as_deref(), Some("try-2"), "the source stays as it is");
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn promote_of_a_stopped_workspace_uses_its_newest_snapshot() {
    let fixture = with_forks();
    let newest = stop(&fixture, "try-2");
    let promoted = promote(&fixture, "try-2");
    assert_eq!(promoted["restoredFrom"]["snapshotId"], newest);
    assert!(!fixture.has_container("try-2"), "the source is not started");
}

#[test]
fn promoted_stopped_workspace_stays_stopped_and_starts_with_the_files() {
    let fixture = with_forks();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(promote(&fixture, "try-3")["state"], "stopped");
    let started = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!((&started["how"], &started["mayHaveLost"]), (&json!("restored"), &json!(false)));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("try-3"));
}

#[test]
fn promote_captures_the_unsaved_files_of_the_target_first() {
    let fixture = with_forks();
    fixture.write_workspace_file(WORKSPACE, "unsaved");
    let old = fixture.sandbox_of(WORKSPACE);
    let before = fixture.snapshots_of(&old);
    fixture.world.before(Method::Reserve).nth(1).fail_with(Failure::new("Error", "no room"));
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try-1" })).unwrap_err();
    assert_eq!(fixture.snapshots_of(&old).len(), before.len() + 1, "the capture precedes the new sandbox");
    fixture.world.clear_faults();
    promote(&fixture, "try-1");
    let saved = fixture.snapshots_of(&old)[0].clone();
    fixture.revert_workspace(WORKSPACE, &json!(saved)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("unsaved"));
}

#[test]
fn promote_keeps_settings_and_history_of_the_target() {
    let settings = json!({
        "env": { "TOKEN": "secret" }, "hooks": { "afterStart": { "command": "exit 0" } },
        "expiry": { "idleSeconds": 0 }, "retention": { "keepDaily": 2 },
    });
    let fixture = Fixture::with_workspace_options(&settings);
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "try" })).unwrap();
    fixture.update_workspace("try", &json!({ "env": { "OTHER": "1" }, "hooks": {} })).unwrap();
    let before = fixture.record(WORKSPACE);
    promote(&fixture, "try");
    let after = fixture.record(WORKSPACE);
    assert_eq!((&after.settings, after.created_at), (&before.settings, before.created_at));
    assert!(after.history.ends_with(&before.history));
    assert_eq!(after.former_sandbox_ids[0], before.sandbox_id);
    assert!(after.history[0].cause.contains("of the workspace \"try\" was promoted"), "{}", after.history[0].cause);
    assert_eq!(fixture.world.env_of(&fixture.sandbox_of(WORKSPACE))["TOKEN"], "secret");
}

#[test]
fn update_accepts_a_snapshot_of_another_workspace_of_the_lineage() {
    let fixture = with_forks();
    let winner = stop(&fixture, "try-2");
    fixture.revert_workspace(WORKSPACE, &json!(winner)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("try-2"));
}

#[test]
fn promote_accepts_a_snapshot_of_any_generation_of_the_lineage() {
    let fixture = with_forks();
    fixture.fork_workspace("try-1", &json!({ "newName": "deep" })).unwrap();
    fixture.write_workspace_file("deep", "deep");
    let snapshot = stop(&fixture, "deep");
    assert_eq!(promote(&fixture, &snapshot)["restoredFrom"]["snapshotId"], snapshot);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("deep"));
}

#[test]
fn promote_to_a_fork_accepts_the_workspace_that_it_was_made_from() {
    let fixture = with_forks();
    fixture.promote_workspace("try-1", &json!({ "from": WORKSPACE })).unwrap();
    assert_eq!(fixture.read_workspace_file("try-1").as_deref(), Some("first"));
}

#[test]
fn source_snapshot_is_kept_until_the_target_has_its_own() {
    let fixture = with_forks();
    let snapshot = stop(&fixture, "try-2");
    let origin = fixture.sandbox_of("try-2");
    promote(&fixture, "try-2");
    let selection = json!({ "sandboxId": origin, "snapshotId": snapshot });
    fixture.run(Operation::Delete, &selection).expect_code(Code::SnapshotHasDependents);
    fixture.delete_workspace("try-2").unwrap();
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.snapshots_of(&origin), [snapshot.as_str()], "its own workspace is deleted");
    fixture.write_workspace_file(WORKSPACE, "own");
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(HOUR);
    assert!(fixture.snapshots_of(&origin).is_empty());
    fixture.assert_nothing_pending();
}

#[test]
fn promote_refuses_another_lineage() {
    let fixture = with_forks();
    fixture.create_workspace("stranger", &no_expiry()).unwrap();
    fixture.write_workspace_file("stranger", "strange");
    let error = fixture.promote_workspace(WORKSPACE, &json!({ "from": "stranger" })).expect_code(Code::OtherLineage);
    assert!(error.message().contains(WORKSPACE), "{error}");
    assert!(fixture.snapshots_of(&fixture.sandbox_of("stranger")).is_empty(), "a refused call captures nothing");
    let snapshot = stop(&fixture, "stranger");
    fixture.promote_workspace(WORKSPACE, &json!({ "from": snapshot })).expect_code(Code::SnapshotNotFound);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn promote_refuses_another_tenant_without_naming_its_workspace() {
    let (fixture, source) = Fixture::with_snapshot();
    let source = json!({ "sourceSnapshot": by_ref(&source) });
    fixture.create_workspace(WORKSPACE, &source).unwrap();
    let mut foreign = workspace_args("secret-plan", &source);
    foreign["tenant"] = json!("rival");
    fixture.run(Operation::CreateWorkspace, &foreign).unwrap();
    let foreign = json!({ "name": "secret-plan", "tenant": "rival" });
    let stopped = fixture.run(Operation::StopWorkspace, &foreign).unwrap();
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "secret-plan" })).expect_code(Code::WorkspaceNotFound);
    let from = json!({ "from": stopped["lastSnapshot"]["id"] });
    let error = fixture.promote_workspace(WORKSPACE, &from).expect_code(Code::OtherTenant);
    let text = format!("{error:?}");
    assert!(!text.contains("rival") && !text.contains("secret-plan"), "{text}");
    fixture.revert_workspace(WORKSPACE, &stopped["lastSnapshot"]["id"]).expect_code(Code::OtherTenant);
}

#[test]
fn promote_refuses_another_directory() {
    let fixture = with_forks();
    let id = fixture.sandbox_of("try-1");
    fixture.world.write_file(&id, "/workspace/part/file", "x");
    let partial = json!({ "sandboxId": id, "dir": "/workspace/part" });
    let taken = fixture.run(Operation::Snapshot, &partial).unwrap();
    let from = json!({ "from": taken["ref"]["snapshotId"] });
    fixture.promote_workspace(WORKSPACE, &from).expect_code(Code::OtherDirectory);
}

#[test]
fn promote_refuses_itself_and_an_unknown_source() {
    let fixture = with_forks();
    let refused = |from: &str, code| fixture.promote_workspace(WORKSPACE, &json!({ "from": from })).expect_code(code);
    refused(WORKSPACE, Code::InvalidArgument);
    let unknown = refused("unknown", Code::WorkspaceNotFound);
    assert!(unknown.remediation().contains("the name of another workspace"), "{unknown:?}");
    refused("snap-abcdefghij012345", Code::SnapshotNotFound);
    fixture.promote_workspace("unknown", &json!({ "from": "try-1" })).expect_code(Code::WorkspaceNotFound);
}

#[test]
fn snapshot_is_not_reported_as_missing_while_a_sandbox_of_the_lineage_does_not_answer() {
    let fixture = with_forks();
    fixture.world.before(Method::Describe).fail_with(Failure::new("Error", "Network connection lost."));
    let error = fixture.promote_workspace(WORKSPACE, &json!({ "from": "snap-abcdefghij012345" })).unwrap_err();
    assert_ne!(error.code(), Code::SnapshotNotFound, "{error}");
}

#[test]
fn repeated_promotion_with_a_key_promotes_nothing_again() {
    let fixture = with_forks();
    let keyed = json!({ "from": "try-2", "idempotencyKey": "k" });
    let first = fixture.promote_workspace(WORKSPACE, &keyed).unwrap();
    fixture.write_workspace_file(WORKSPACE, "newer");
    fixture.write_workspace_file("try-2", "changed");
    let second = fixture.promote_workspace(WORKSPACE, &keyed).unwrap();
    assert_eq!(first["sandboxId"], second["sandboxId"]);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("newer"));
    let other = json!({ "from": "try-3", "idempotencyKey": "k" });
    fixture.promote_workspace(WORKSPACE, &other).expect_code(Code::IdempotencyConflict);
}

#[test]
fn failed_promotion_changes_nothing() {
    let fixture = with_forks();
    let before = fixture.record(WORKSPACE);
    fixture.world.before(Method::RestoreBackup).fail_with(Failure::new("BackupRestoreError", "no room"));
    fixture.promote_workspace(WORKSPACE, &json!({ "from": "try-1" })).expect_code(Code::RestoreFailed);
    let after = fixture.record(WORKSPACE);
    assert_eq!((&after.sandbox_id, after.state, &after.history), (&before.sandbox_id, before.state, &before.history));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
    fixture.world.clear_faults();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.assert_nothing_pending();
}

#[test]
fn two_workspaces_can_promote_each_other_at_the_same_time() {
    let fixture = with_forks();
    let begin = |name: &'static str, from: &str| {
        fixture.begin_in_workspace(Operation::PromoteWorkspace, name, &json!({ "from": from }))
    };
    let (one, other) = (begin(WORKSPACE, "try-1"), begin("try-1", WORKSPACE));
    one.answer().unwrap();
    other.answer().unwrap();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_pending();
}

#[test]
fn promotion_of_a_workspace_with_a_possible_loss_reports_it() {
    let fixture = with_lost_file();
    assert_eq!(promote(&fixture, "try-2")["mayHaveLost"], true);
    let row = fixture.ledger(&fixture.sandbox_of(WORKSPACE)).sandbox().unwrap().unwrap();
    assert_eq!(row.parent.unwrap().origin_id, sandbox(&fixture.sandbox_of("try-2")));
    assert_ne!(fixture.world.files(&fixture.sandbox_of(WORKSPACE)).unwrap()[FILE], "unsaved");
}

#[test]
fn start_reports_the_loss_of_a_workspace_that_was_promoted_before() {
    let fixture = with_lost_file();
    stop(&fixture, WORKSPACE);
    assert_eq!(promote(&fixture, "try-2")["state"], "stopped");
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["mayHaveLost"], true);
}

#[test]
fn loss_that_a_promotion_reported_is_not_reported_after_a_stop() {
    let fixture = with_lost_file();
    assert_eq!(promote(&fixture, "try-2")["mayHaveLost"], true);
    stop(&fixture, WORKSPACE);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["mayHaveLost"], false);
}

#[test]
fn promote_saves_the_present_files_in_the_directory_of_the_workspace() {
    let fixture = Fixture::with_workspace_options(&json!({ "dir": "/home/me" }));
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.world.write_file(&old, "/home/me/notes", "first");
    fixture.world.advance_clock(MINUTE);
    let first = stop(&fixture, WORKSPACE);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.write_file(&old, "/home/me/notes", "second");
    promote(&fixture, &first);
    let listed = fixture.run(Operation::List, &json!({ "sandboxId": old })).unwrap();
    let dirs = listed["snapshots"].as_array().unwrap().iter().map(|snapshot| &snapshot["dir"]);
    assert_eq!(dirs.collect::<Vec<_>>(), vec!["/home/me"; 2], "at the stop, and before the promotion");
}

#[test]
fn promote_saves_files_that_were_written_during_another_capture() {
    let fixture = with_forks();
    let old = fixture.sandbox_of(WORKSPACE);
    let gate = fixture.world.after(Method::CreateBackup).nth(1).block();
    let capture = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": old }));
    fixture.write_workspace_file(WORKSPACE, "written meanwhile");
    fixture.world.before(Method::Reserve).nth(1).fail_with(Failure::new("Error", "no room"));
    let promotion = fixture.begin_in_workspace(Operation::PromoteWorkspace, WORKSPACE, &json!({ "from": "try-1" }));
    gate.open();
    capture.answer().unwrap();
    promotion.answer().unwrap_err();
    fixture.world.clear_faults();
    let saved = fixture.snapshots_of(&old)[0].clone();
    fixture.write_workspace_file(WORKSPACE, "later");
    fixture.revert_workspace(WORKSPACE, &json!(saved)).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("written meanwhile"));
}

#[test]
fn promote_replaces_a_sandbox_that_does_not_answer() {
    let fixture = with_forks();
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.world.hang_sandbox(&old);
    promote(&fixture, "try-1");
    assert_ne!(fixture.sandbox_of(WORKSPACE), old);
}

#[test]
fn promote_fails_if_it_is_not_known_whether_the_present_files_are_saved() {
    let fixture = with_forks();
    let (old, best) = (fixture.sandbox_of(WORKSPACE), stop(&fixture, "try-1"));
    fixture.world.before(Method::CheckCondition).fail_transiently();
    fixture.promote_workspace(WORKSPACE, &json!({ "from": best })).expect_err("it fails");
    assert_eq!(fixture.sandbox_of(WORKSPACE), old);
}
