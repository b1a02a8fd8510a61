//! A sandbox gets its files, where they are not in place. What somebody wrote is never thrown away unasked.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Failure};
use serde_json::json;

use crate::support::{Checked, FILE, HOUR, MINUTE, Method, Moment, Running, Stage, WORK};

#[test]
fn a_sandbox_that_woke_by_itself_empty_is_ended_and_restored() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    stage.world.is_replaced(&stage.sandbox_of(WORK));
    let started = stage.starts(WORK, &json!({})).unwrap();
    assert_eq!((&started["how"], stage.file(WORK)), (&json!("restored"), Some("first".into())));
    assert!(started["history"][1]["cause"].as_str().unwrap().contains("woken by itself"), "{started}");
}

#[test]
fn a_stopped_workspace_whose_sandbox_woke_by_itself_is_restored() {
    let stage = Stage::with_stopped_work();
    stage.world.is_replaced(&stage.sandbox_of(WORK));
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn what_was_written_since_it_woke_is_not_touched_unasked() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    let error = stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceDiverged);
    assert!(["save", "keep", "discard"].iter().all(|choice| error.remediation().contains(choice)), "{error}");
    assert_eq!(stage.file(WORK).unwrap(), "second");
    let touching = [Method::Destroy, Method::RestoreBackup, Method::Stamp, Method::CreateBackup, Method::LeaveNote];
    let touched: Vec<_> = stage.world.calls_about(&id).into_iter().filter(|call| touching.contains(call)).collect();
    assert_eq!(touched, []);
    stage.passes(HOUR);
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn it_can_be_kept() {
    let stage = Stage::with_diverged_work();
    let started = stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap();
    assert_eq!((&started["how"], stage.file(WORK)), (&json!("kept"), Some("second".into())));
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn it_is_kept_only_behind_a_restore_that_its_worker_left_when_it_died() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    assert!(gate.is_reached());
    stage.dies_during(start);
    stage.world.goes_well();
    let id = stage.sandbox_of(WORK);
    stage.world.is_replaced(&id);
    stage.world.writes(&id, FILE, "second");
    stage.world.pass(1000);
    stage.world.forget_calls();
    assert_eq!(stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap()["how"], "kept");
    let steps = [Method::CreateBackup, Method::Stamp];
    let taken: Vec<_> = stage.world.calls_about(&id).into_iter().filter(|call| steps.contains(call)).collect();
    let until_handed_out = [Method::Stamp, Method::Stamp, Method::CreateBackup, Method::Stamp];
    assert_eq!(taken, until_handed_out, "a sandbox does one capture or restore after another");
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn what_is_kept_is_the_workspaces_although_a_look_took_it_for_lost() {
    let stage = Stage::with_diverged_work();
    let snapshot = json!({ "sandboxId": stage.sandbox_of(WORK) });
    stage.run(Operation::Snapshot, &snapshot).fails_as(Code::SandboxReplaced);
    stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap();
    stage.run(Operation::Snapshot, &snapshot).unwrap();
}

#[test]
fn it_can_be_saved_aside_and_the_files_before_restored() {
    let stage = Stage::with_diverged_work();
    let started = stage.starts(WORK, &json!({ "onDiverged": "save" })).unwrap();
    assert_eq!((&started["how"], stage.file(WORK)), (&json!("restored"), Some("first".into())));
    let saved = started["saved"].clone();
    stage.goes_back(WORK, &saved).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn it_can_be_discarded() {
    let stage = Stage::with_diverged_work();
    let started = stage.starts(WORK, &json!({ "onDiverged": "discard" })).unwrap();
    assert_eq!((&started["how"], stage.file(WORK)), (&json!("restored"), Some("first".into())));
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn what_cannot_be_saved_is_not_ended() {
    let stage = Stage::with_diverged_work();
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    stage.starts(WORK, &json!({ "onDiverged": "save" })).fails_as(Code::BackupFailed);
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn what_was_written_can_be_saved_right_after_a_start_that_failed() {
    let stage = Stage::with_stopped_work();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    stage.starts(WORK, &json!({})).fails_as(Code::SandboxUnavailable);
    stage.world.goes_well();
    stage.passes(5 * MINUTE);
    stage.writes(WORK, "second");
    stage.world.pass(1000);
    let started = stage.starts(WORK, &json!({ "onDiverged": "save" })).unwrap();
    assert_eq!((started["saved"].is_string(), stage.file(WORK)), (true, Some("first".into())));
}

#[test]
fn what_is_kept_is_not_lost_by_a_command_that_fails_after_it() {
    let stage = Stage::with_diverged_work();
    stage.updates(WORK, &json!({ "hooks": { "afterStart": { "command": "exit 3" } } })).unwrap();
    stage.starts(WORK, &json!({ "onDiverged": "keep" })).fails_as(Code::HookFailed);
    assert_eq!(stage.file(WORK).unwrap(), "second");
    stage.passes(HOUR);
    stage.updates(WORK, &json!({ "hooks": {} })).unwrap();
    stage.starts(WORK, &json!({ "onDiverged": "keep" })).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn what_is_kept_is_not_lost_wherever_the_worker_dies() {
    for moment in Moment::BOTH {
        for number in 1.. {
            let stage = Stage::with_diverged_work();
            let gate = stage.world.at_any_call(moment).nth(number).held();
            let start = stage.begins(Operation::StartWorkspace, WORK, &json!({ "onDiverged": "keep" }));
            if !gate.is_reached() {
                break;
            }
            stage.dies_during(start);
            stage.world.goes_well();
            stage.passes(HOUR);
            let kept = stage.starts(WORK, &json!({})).map(|_| stage.file(WORK).unwrap());
            let saved = stage.snapshots_of(&stage.sandbox_of(WORK)).len() > 1;
            assert!(saved || kept.is_err() || kept == Ok("second".into()), "{moment:?} {number}: {kept:?}");
        }
    }
}

#[test]
fn what_the_image_brings_is_nobodys_writing() {
    let stage = Stage::empty();
    stage.world.ships("/workspace/README", "hello");
    stage.creates(WORK, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    let id = stage.sandbox_of(WORK);
    stage.world.is_replaced(&id);
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
    stage.world.is_replaced(&id);
    stage.world.writes(&id, "/workspace/README", "changed");
    stage.starts(WORK, &json!({})).fails_as(Code::WorkspaceDiverged);
}

#[test]
fn what_is_outside_of_the_directory_is_not_the_workspaces() {
    let stage = Stage::with_stopped_work();
    stage.world.writes(&stage.sandbox_of(WORK), "/tmp/x", "y");
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
}

#[test]
fn a_workspace_that_lost_its_files_and_has_no_snapshot_says_so() {
    let stage = Stage::with_work();
    stage.world.stops(&stage.sandbox_of(WORK));
    let error = stage.starts(WORK, &json!({})).fails_as(Code::NothingRestorable);
    assert!(error.remediation().contains("allowEmpty"), "{error}");
    assert!(stage.world.running().is_empty());
    assert_eq!(stage.starts(WORK, &json!({ "allowEmpty": true })).unwrap()["how"], "empty");
}

#[test]
fn a_directory_that_was_empty_comes_back_empty() {
    let stage = Stage::empty();
    stage.creates(WORK, &json!({})).unwrap();
    stage.world.pass(MINUTE);
    stage.stops(WORK).unwrap();
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["how"], "restored");
}

#[test]
fn a_container_that_ends_while_it_is_filled_is_filled_again() {
    for method in [Method::Begin, Method::RestoreBackup, Method::Arrive, Method::RunHook] {
        for moment in Moment::BOTH {
            let stage = Stage::with_stopped_work_as(&json!({ "hooks": { "afterStart": { "command": "exit 0" } } }));
            let id = stage.sandbox_of(WORK);
            stage.world.at(method, moment).nth(1).happens(move |world| world.is_replaced(&id));
            let started =
                stage.starts(WORK, &json!({})).unwrap_or_else(|error| panic!("{method:?} {moment:?} {error}"));
            assert_eq!(started["how"], "restored", "{method:?} {moment:?}");
            assert_eq!(stage.file(WORK).unwrap(), "first", "{method:?} {moment:?}");
            stage.world.pass(MINUTE);
            stage.stops(WORK).unwrap();
        }
    }
}

#[test]
fn a_container_that_always_ends_while_it_is_filled_is_given_up() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.after(Method::RestoreBackup).happens(move |world| world.is_replaced(&id));
    stage.starts(WORK, &json!({})).fails_as(Code::OperationInterrupted);
    assert_eq!(stage.state(WORK), "stopped");
    assert!(stage.world.running().is_empty());
}

#[test]
fn a_restore_that_brings_nothing_is_not_taken_for_one() {
    let stage = Stage::with_stopped_work();
    let id = stage.sandbox_of(WORK);
    stage.world.after(Method::RestoreBackup).happens(move |world| world.removes(&id, FILE));
    stage.starts(WORK, &json!({})).fails_as(Code::RestoreFailed);
    assert!(stage.world.running().is_empty());
}

#[test]
fn a_capture_that_is_about_to_be_the_newest_is_waited_for() {
    let stage = Stage::with_work();
    let reading = stage.world.before(Method::Metadata).nth(1).held();
    let id = stage.sandbox_of(WORK);
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": id, "dir": "/workspace" }));
    assert!(reading.is_reached());
    stage.world.stops(&id);
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({ "allowEmpty": true }));
    stage.world.go_on_in_background();
    reading.open();
    taking.answer().unwrap();
    assert_eq!((&start.answer().unwrap()["how"], stage.file(WORK)), (&json!("restored"), Some("first".into())));
}

#[test]
fn a_capture_that_is_about_to_be_adopted_as_the_newest_is_waited_for() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let taking = stage.begin(Operation::Snapshot, &json!({ "sandboxId": id, "dir": "/workspace" }));
    assert!(gate.is_reached());
    stage.dies_during(taking);
    stage.world.goes_well();
    stage.world.before(Method::Metadata).fails_in_passing();
    drop(stage.run(Operation::List, &json!({ "sandboxId": id, "check": false })));
    stage.world.goes_well();
    stage.world.pass(10 * MINUTE);
    let reading = stage.world.before(Method::Metadata).held();
    let snapshots = stage.of(&id);
    let alarm = Running::start(async move { snapshots.alarm().await });
    assert!(reading.is_reached());
    stage.world.stops(&id);
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({ "allowEmpty": true }));
    stage.world.go_on_in_background();
    reading.open();
    alarm.answer().unwrap();
    assert_eq!(start.answer().unwrap()["how"], "restored");
}

#[test]
fn variables_that_are_taken_away_are_not_there_any_more() {
    let stage = Stage::with_work_as(&json!({ "env": { "A": "1", "B": "2" } }));
    stage.updates(WORK, &json!({ "env": { "B": "3" } })).unwrap();
    assert_eq!(stage.world.env_of(&stage.sandbox_of(WORK)), [("B".to_owned(), "3".to_owned())].into());
}

#[test]
fn variables_are_set_again_at_every_start() {
    let stage = Stage::with_stopped_work_as(&json!({ "env": { "A": "1" } }));
    stage.world.forgets_env(&stage.sandbox_of(WORK));
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.world.env_of(&stage.sandbox_of(WORK))["A"], "1");
}

#[test]
fn a_sandbox_that_cannot_be_looked_at_is_left_as_it_is() {
    for method in [Method::State, Method::Probe] {
        let stage = Stage::with_work();
        stage.world.before(method).fails_in_passing();
        stage.starts(WORK, &json!({})).fails_as(Code::SandboxUnavailable);
        stage.world.goes_well();
        assert_eq!((stage.state(WORK), stage.file(WORK)), ("active", Some("first".into())), "{method:?}");
    }
}

#[test]
fn a_sandbox_that_stands_for_no_name_is_neither_started_nor_ended_for_one() {
    let stage = Stage::with_sandbox();
    let agent = stage.of("agent-42");
    futures_executor::block_on(agent.look()).fails_as(Code::WorkspaceNotFound);
    futures_executor::block_on(agent.stirred()).fails_as(Code::WorkspaceNotFound);
    assert!(stage.world.calls().is_empty());
}

#[test]
fn what_is_kept_is_that_which_was_seen_and_not_a_container_that_came_meanwhile() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    stage.world.before(Method::Stamp).nth(1).happens(move |world| world.is_replaced(&id));
    stage.starts(WORK, &json!({ "onDiverged": "keep" })).fails_as(Code::OperationInterrupted);
    assert_ne!(stage.state(WORK), "active");
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn a_container_that_was_started_to_set_variables_is_ended_before_it_is_filled() {
    let stage = Stage::with_work_as(&json!({ "env": { "TOKEN": "secret" } }));
    stage.stops(WORK).unwrap();
    let id = stage.sandbox_of(WORK);
    let target = id.clone();
    stage.world.before(Method::SetEnv).happens(move |world| world.writes(&target, "session", "opened too early"));
    stage.world.forget_calls();
    stage.starts(WORK, &json!({})).unwrap();
    let steps = [Method::SetEnv, Method::Destroy, Method::RestoreBackup];
    let taken: Vec<_> = stage.world.calls_about(&id).into_iter().filter(|call| steps.contains(call)).collect();
    let [.., set, ended, restored] = taken.as_slice() else { panic!("{taken:?}") };
    assert_eq!([*set, *ended, *restored], steps);
    assert_eq!(stage.world.files(&id).unwrap().get("session"), None);
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn nothing_is_ended_to_set_variables_where_no_container_was_started_for_that() {
    let stage = Stage::with_work_as(&json!({ "env": { "TOKEN": "secret" } }));
    stage.stops(WORK).unwrap();
    let id = stage.sandbox_of(WORK);
    stage.world.forget_calls();
    stage.starts(WORK, &json!({})).unwrap();
    let calls = stage.world.calls_about(&id);
    let set = calls.iter().position(|call| *call == Method::SetEnv).unwrap();
    assert!(!calls[set..].contains(&Method::Destroy), "{calls:?}");
}
