//! `restoredFrom` and `mayHaveLost` where the files come from another workspace, or from another sandbox of the workspace.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Runtime;
use serde_json::json;

use super::loss::{outcome, restored, running, start, with_unsaved_file};
use crate::support::{Fixture, MINUTE, Method, WORKSPACE};

#[test]
fn new_workspace_loses_nothing_of_the_snapshot_that_it_is_created_from() {
    let fixture = with_unsaved_file();
    let snapshot_id = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    let source = json!({ "sandboxId": fixture.sandbox_of(WORKSPACE), "snapshotId": snapshot_id });
    let created = fixture.create_workspace("copy", &json!({ "sourceSnapshot": source })).unwrap();
    assert_eq!(outcome(&created), restored(false));
    assert_eq!(created["restoredFrom"]["snapshotId"], snapshot_id);
}

#[test]
fn workspace_created_from_another_one_reports_the_loss_of_that_one() {
    let source = json!({ "sourceWorkspace": WORKSPACE });
    let created = with_unsaved_file().create_workspace("copy", &source).unwrap();
    assert_eq!(outcome(&created), restored(true));
    let created = Fixture::with_stopped_workspace().create_workspace("copy", &source).unwrap();
    assert_eq!(outcome(&created), restored(false));
    let created = Fixture::with_workspace().create_workspace("copy", &source).unwrap();
    assert_eq!(outcome(&created), restored(false), "the files of a running workspace are captured first");
}

#[test]
fn fork_reports_the_loss_of_the_forked_workspace() {
    let fork = |fixture: Fixture| fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
    assert_eq!(fork(with_unsaved_file())["mayHaveLost"], true);
    let forked = fork(Fixture::with_workspace());
    assert_eq!(forked["mayHaveLost"], false);
    assert_eq!(outcome(&forked["forks"][0]["value"]), restored(false));
    assert_eq!(forked["forks"][0]["value"]["restoredFrom"]["snapshotId"], forked["snapshotId"]);
}

#[test]
fn loss_that_only_repeated_forks_reported_is_reported_again() {
    let fixture = Fixture::with_workspace_options(&json!({ "expiry": { "idleSeconds": 60 } }));
    let fork = || fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy", "idempotencyKey": "k" })).unwrap();
    fork();
    fixture.write_workspace_file("copy", "second");
    fixture.world.end_container(&fixture.sandbox_of("copy"));
    // The copy has answered to the workspace that forks. The answers to the caller may have been lost.
    assert_eq!(outcome(&fork()["forks"][0]["value"]), restored(true));
    assert_eq!(outcome(&fork()["forks"][0]["value"]), running(Some(true)));
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(fixture.state("copy"), "stopped");
    assert_eq!(start(&fixture, "copy"), restored(true));
}

#[test]
fn revert_reports_the_restore_and_loses_nothing_if_the_newer_files_are_in_a_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    let first = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    let reverted = fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!((&reverted["restoredFrom"]["snapshotId"], &reverted["mayHaveLost"]), (&first, &json!(false)));
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false), "a stopped workspace is restored by its next start");
}

#[test]
fn revert_reports_a_loss_of_the_former_sandbox() {
    let fixture = with_unsaved_file();
    let first = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    let reverted = fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!((&reverted["state"], &reverted["mayHaveLost"]), (&json!("stopped"), &json!(true)));
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["mayHaveLost"], json!(true));
    assert_eq!(start(&fixture, WORKSPACE), restored(true), "the answer to the rollback may have been lost");
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false), "it is reported by one start");
}

#[test]
fn loss_that_two_answers_have_reported_is_not_repeated_after_a_revert() {
    let fixture = with_unsaved_file();
    let first = fixture.get_workspace(WORKSPACE).unwrap()["lastSnapshot"]["id"].clone();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    assert_eq!(start(&fixture, WORKSPACE), running(Some(true)));
    fixture.world.advance_clock(MINUTE);
    let reverted = fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert_eq!(reverted["mayHaveLost"], json!(false), "the present files were captured before");
    assert_eq!(start(&fixture, WORKSPACE), running(Some(false)));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
}

#[test]
fn promotion_of_a_fork_whose_container_ended_reports_its_loss_for_a_stopped_workspace() {
    let fixture = Fixture::with_workspace();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "copy" })).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.write_workspace_file("copy", "second");
    fixture.world.end_container(&fixture.sandbox_of("copy"));
    let promoted = fixture.promote_workspace(WORKSPACE, &json!({ "from": "copy" })).unwrap();
    assert_eq!((&promoted["state"], &promoted["mayHaveLost"]), (&json!("stopped"), &json!(true)));
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn start_in_another_sandbox_reports_a_possible_loss() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.before(Method::RestoreBackup).nth(1).hang();
    fixture.world.before(Method::Destroy).nth(1).hang();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn workspace_that_migrates_to_another_runtime_loses_nothing() {
    let fixture = Fixture::with_workspace();
    fixture.deploy_both_runtimes(Runtime::Sdk012);
    let arguments = json!({ "runtime": "container" });
    fixture.begin_in_workspace(Operation::MigrateWorkspace, WORKSPACE, &arguments).answer().unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
    assert_eq!(fixture.read_workspace_file(WORKSPACE).as_deref(), Some("first"));
}

#[test]
fn fork_of_a_workspace_whose_files_may_be_lost_says_so_itself() {
    for from in [json!(null), json!("latest")] {
        let fixture = Fixture::with_workspace();
        fixture.stop_workspace(WORKSPACE).unwrap();
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
        let mut options = json!({ "newName": "fork" });
        if !from.is_null() {
            options["from"] = from;
        }
        let forked = fixture.fork_workspace(WORKSPACE, &options).unwrap();
        let fork = &forked["forks"][0]["value"];
        assert_eq!((&forked["mayHaveLost"], &fork["mayHaveLost"]), (&json!(true), &json!(true)), "{options}");
        assert_eq!(fixture.get_workspace("fork").unwrap()["mayHaveLost"], json!(true), "{options}");
    }
}
