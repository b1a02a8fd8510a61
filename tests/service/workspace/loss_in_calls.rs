//! Losses that commands and calls for files report: the call that started the workspace, also if it fails, and one further
//! call, because the first answer may have been lost.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::exec::StartedForExec;
use sandbox_snapshotter::model::named::answer::StartOutcome;
use sandbox_snapshotter::model::{Code, Error};
use sandbox_snapshotter::ports::{NamedWorkspaceClient, Ports};
use serde_json::{Value, json};

use super::loss::{outcome, restored, running, start, with_unsaved_file};
use crate::support::{ExpectError, FILE, Fixture, MINUTE, PendingOperation, WORKSPACE};

fn call(fixture: &Fixture, operation: Operation, options: &Value) -> Result<Value, Error> {
    let mut options = options.clone();
    options["name"] = json!(WORKSPACE);
    fixture.run(operation, &options)
}

fn exec(fixture: &Fixture) -> Value {
    call(fixture, Operation::Exec, &json!({ "command": "true" })).unwrap()
}

/// Returns the error of a call that is refused in the container.
fn refused(fixture: &Fixture) -> Error {
    call(fixture, Operation::ReadFile, &json!({ "path": "missing" })).expect_code(Code::FileNotFound)
}

#[test]
fn call_that_fails_after_a_start_says_that_files_may_be_lost() {
    for (operation, options, code) in [
        (Operation::ReadFile, json!({ "path": "missing" }), Code::FileNotFound),
        (Operation::ListFiles, json!({ "path": "missing" }), Code::FileNotFound),
        (Operation::Exec, json!({ "command": "true", "cwd": "missing" }), Code::InvalidDirectory),
        (Operation::StartCommand, json!({ "command": "true", "cwd": "missing" }), Code::InvalidDirectory),
    ] {
        let fixture = with_unsaved_file();
        let error = call(&fixture, operation, &options).expect_code(code);
        let StartedForExec { how, may_have_lost, restored_from, .. } = error.started().cloned().unwrap();
        assert_eq!((how, may_have_lost, restored_from.is_some()), (StartOutcome::Restored, Some(true), true));
        assert!(error.message().ends_with("changes that are in no snapshot may be lost."), "{error}");
    }
}

#[test]
fn call_that_fails_in_a_running_sandbox_does_not_say_that_it_was_started_for_it() {
    let fixture = with_unsaved_file();
    assert!(refused(&fixture).message().contains("The sandbox was started for this call"));
    let again = refused(&fixture);
    assert_eq!(again.started().unwrap().how, StartOutcome::Running);
    assert!(again.message().ends_with("An earlier start may have lost changes that are in no snapshot."), "{again}");
    assert_eq!(refused(&fixture).started(), None, "it was reported twice");
}

#[test]
fn call_that_fails_after_a_start_without_a_loss_says_only_how_it_was_started() {
    let fixture = Fixture::with_stopped_workspace();
    let error = refused(&fixture);
    assert_eq!(error.started().unwrap().may_have_lost, Some(false));
    assert!(!error.message().contains("lost"), "{error}");
    assert_eq!(refused(&fixture).started(), None, "it was running");
}

#[test]
fn loss_is_reported_by_one_further_call() {
    let fixture = with_unsaved_file();
    assert_eq!(outcome(&exec(&fixture)["started"]), restored(true));
    assert_eq!(outcome(&exec(&fixture)["started"]), running(Some(true)), "the first answer may have been lost");
    assert_eq!(exec(&fixture).get("started"), None);
}

#[test]
fn loss_of_a_start_by_a_call_that_failed_is_reported_by_the_next_one() {
    let fixture = with_unsaved_file();
    refused(&fixture);
    let started = exec(&fixture)["started"].clone();
    assert_eq!(outcome(&started), running(Some(true)));
    assert!(started["restoredFrom"]["snapshotId"].is_string(), "{started}");
}

#[test]
fn loss_that_a_call_with_a_stream_reports_is_in_its_answer() {
    let fixture = with_unsaved_file();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let resume = || {
        let (entrypoint, address) = (fixture.entrypoint(), fixture.record(WORKSPACE).address);
        let work = async move { entrypoint.named_workspaces()?.resume(&address, true).await };
        PendingOperation::start_with_background(&fixture.world, work).answer().unwrap().started
    };
    assert_eq!(resume().and_then(|started| started.may_have_lost), Some(true));
    assert_eq!(resume(), None);
}

#[test]
fn empty_start_of_a_workspace_that_had_files_reports_their_loss() {
    let fixture = Fixture::with_workspace();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::NothingRestorable);
    let empty = |may_have_lost| ("empty".to_owned(), may_have_lost);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    assert_eq!(outcome(&started), empty(Some(true)));
    assert_eq!(started["history"][0]["cause"], "it was started empty; its earlier files may be lost");
    for _ in 0..3 {
        assert_eq!(start(&fixture, WORKSPACE), running(Some(true)), "answers repeat it while the workspace runs");
    }
    assert_eq!(exec(&fixture).get("started"), None, "two answers reported it to those that run commands");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["mayHaveLost"], true);
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false), "two answers reported it");
}

#[test]
fn start_that_adopts_files_reports_those_of_the_container_before() {
    let adopt = |fixture: &Fixture| {
        fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), FILE, "adopted");
        fixture.world.advance_clock(MINUTE);
        let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
        outcome(&started)
    };
    let adopted = |may_have_lost| ("adopted".to_owned(), may_have_lost);
    assert_eq!(adopt(&with_unsaved_file()), adopted(Some(true)));
    let stopped = Fixture::with_stopped_workspace();
    assert_eq!(adopt(&stopped), adopted(None), "the stop took a snapshot");
    stopped.world.end_container(&stopped.sandbox_of(WORKSPACE));
    assert_eq!(adopt(&stopped), adopted(Some(true)), "no snapshot has the files that were adopted first");
}

#[test]
fn loss_of_an_empty_start_is_reported_once_more_after_a_stop() {
    let fixture = Fixture::with_workspace();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
}

#[test]
fn first_start_of_a_workspace_and_the_empty_start_of_one_that_is_not_persistent_lose_nothing() {
    let fixture = Fixture::empty();
    let created = fixture.create_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    assert_eq!(created.get("mayHaveLost"), None);
    fixture.stop_workspace(WORKSPACE).unwrap();
    let started = fixture.start_workspace(WORKSPACE, &json!({ "allowEmpty": true })).unwrap();
    assert_eq!(outcome(&started), ("empty".to_owned(), None));
}
