//! `restoredFrom` and `mayHaveLost`: every answer says which snapshot was restored, and whether newer files may be lost.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{
    CallPhase, CancellationSource, ExpectError, FILE, Fixture, HOUR, MINUTE, Method, WORKSPACE, workspace_args,
};

/// Starts the workspace, and returns `how` and `mayHaveLost`.
#[track_caller]
pub(super) fn start(fixture: &Fixture, name: &str) -> (String, Option<bool>) {
    outcome(&fixture.start_workspace(name, &json!({})).unwrap())
}

pub(super) fn outcome(started: &Value) -> (String, Option<bool>) {
    (started["how"].as_str().unwrap_or_default().to_owned(), started["mayHaveLost"].as_bool())
}

pub(super) fn restored(may_have_lost: bool) -> (String, Option<bool>) {
    ("restored".to_owned(), Some(may_have_lost))
}

pub(super) fn running(may_have_lost: Option<bool>) -> (String, Option<bool>) {
    ("running".to_owned(), may_have_lost)
}

/// The active workspace `work`, whose container ended by itself after a file was written that is in no snapshot.
pub(super) fn with_unsaved_file() -> Fixture {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.world.reset_calls();
    fixture
}

#[test]
fn start_after_stop_loses_nothing() {
    let fixture = Fixture::with_stopped_workspace();
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
    fixture.stop_with_content(WORKSPACE, "second");
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
}

#[test]
fn start_reports_the_age_of_the_snapshot() {
    let fixture = Fixture::with_stopped_workspace();
    let stopped = fixture.get_workspace(WORKSPACE).unwrap();
    fixture.world.advance_clock(HOUR);
    let from = fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["restoredFrom"].clone();
    assert_eq!(
        (&from["snapshotId"], &from["createdAt"]),
        (&stopped["lastSnapshot"]["id"], &stopped["lastSnapshot"]["createdAt"])
    );
    let age = from["ageSeconds"].as_u64().unwrap();
    assert!((3600..3700).contains(&age), "{age}");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["restoredFrom"], from, "the description has it too");
}

#[test]
fn start_reports_a_possible_loss_when_the_container_ended_without_a_stop() {
    assert_eq!(start(&with_unsaved_file(), WORKSPACE), restored(true));
}

#[test]
fn start_reports_a_possible_loss_although_nothing_is_known_to_be_written() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn get_or_create_reports_a_possible_loss() {
    let fixture = with_unsaved_file();
    let answer = fixture.begin_in_workspace(Operation::GetOrCreateWorkspace, WORKSPACE, &json!({})).answer().unwrap();
    assert_eq!(outcome(&answer), restored(true));
}

#[test]
fn running_workspace_reports_the_restore_of_its_container() {
    let fixture = with_unsaved_file();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), running(Some(true)));
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), running(Some(false)));
}

#[test]
fn start_says_what_it_restored_when_the_container_ends_after_the_probe() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.reset_calls();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::EnsureRunning).nth(1).run(move |world| world.end_container(&id));
    let started = fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2" })).unwrap();
    assert_eq!(outcome(&started), restored(true));
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["mayHaveLost"], true);
}

#[test]
fn update_says_what_it_restored_when_the_container_ends_after_the_probe() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.world.reset_calls();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::EnsureRunning).nth(1).run(move |world| world.end_container(&id));
    let updated = fixture.update_workspace(WORKSPACE, &json!({ "env": { "A": "1" } })).unwrap();
    assert_eq!(updated["mayHaveLost"], true);
}

#[test]
fn workspace_without_a_restore_reports_none() {
    let fixture = Fixture::with_workspace();
    assert_eq!(start(&fixture, WORKSPACE), running(None));
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["restoredFrom"], Value::Null);
}

#[test]
fn loss_is_reported_once_more_after_a_stop_that_no_caller_requested() {
    let fixture = Fixture::with_stopped_workspace_options(&json!({ "expiry": { "idleSeconds": 60 } }));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    // The answer of this start may have been lost, because no call follows it.
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    assert_eq!(start(&fixture, WORKSPACE), running(Some(true)));
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
}

#[test]
fn loss_of_an_earlier_start_is_reported_with_its_time_after_an_idle_stop() {
    let fixture = Fixture::with_stopped_workspace_options(&json!({ "expiry": { "idleSeconds": 60 } }));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    // The answer of this start may have been lost, because no call follows it.
    let first = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(first["lostSince"], first["restoredFrom"]["createdAt"]);
    fixture.advance_with_alarms(10 * MINUTE);
    let second = fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(outcome(&second), restored(true));
    assert_ne!(second["restoredFrom"], first["restoredFrom"], "the idle stop took a snapshot");
    assert_eq!(second["lostSince"], first["lostSince"]);
    let since = first["lostSince"].as_str().unwrap();
    assert!(second["history"][0]["cause"].as_str().unwrap().contains(since), "{second}");
    assert_eq!(start(&fixture, WORKSPACE), running(Some(true)));
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["lostSince"], Value::Null);
}

#[test]
fn loss_is_reported_once_more_after_a_start_that_adopted_files() {
    let fixture = with_unsaved_file();
    // The answer of this start may have been lost, because no call follows it.
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    fixture.world.advance_clock(MINUTE);
    fixture.world.write_file(&id, FILE, "adopted");
    fixture.world.advance_clock(MINUTE);
    let adopted = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    assert_eq!(outcome(&adopted), ("adopted".to_owned(), Some(true)), "the earlier loss");
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
}

#[test]
fn loss_is_reported_after_a_stop_that_failed_although_it_took_effect() {
    let fixture = with_unsaved_file();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    fixture.world.after(Method::StopSandbox).fail_transiently();
    fixture.stop_workspace(WORKSPACE).unwrap_err();
    fixture.world.clear_faults();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn stop_without_a_restore_to_report_leaves_the_report_to_the_next_start() {
    let fixture = with_unsaved_file();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    fixture.world.after(Method::StopSandbox).fail_transiently();
    fixture.stop_workspace(WORKSPACE).unwrap_err();
    fixture.world.clear_faults();
    fixture.world.before(Method::EnsureRunning).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap_err();
    fixture.world.clear_faults();
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["mayHaveLost"], Value::Null);
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn loss_is_reported_after_the_workspace_object_crashed_during_the_start() {
    for phase in CallPhase::BOTH {
        for method in [Method::RestoreBackup, Method::CompleteRestore, Method::EnsureRunning] {
            let fixture = with_unsaved_file();
            let gate = fixture.world.at(method, phase).nth(1).block();
            let work = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
            assert!(gate.is_reached(), "{method:?}");
            fixture.crash_during(work);
            fixture.world.clear_faults();
            // The alarm captures and ends the container that the start left.
            fixture.advance_with_alarms(5 * MINUTE);
            assert_eq!(start(&fixture, WORKSPACE), restored(true), "{method:?} {phase:?}");
        }
    }
}

#[test]
fn loss_is_reported_after_a_stop_whose_caller_stopped_waiting() {
    let fixture = with_unsaved_file();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
    let gate = fixture.world.at(Method::StopSandbox, CallPhase::After).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let stop = fixture.begin_cancellable(Operation::StopWorkspace, &workspace_args(WORKSPACE, &json!({})), abort);
    assert!(gate.is_reached());
    signal.cancel();
    stop.answer().expect_code(Code::Aborted);
    gate.open();
    fixture.world.finish_background();
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn report_of_an_earlier_restore_does_not_count_for_a_later_one() {
    let fixture = Fixture::with_stopped_workspace_options(&json!({ "expiry": { "idleSeconds": 60 } }));
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    start(&fixture, WORKSPACE);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.world.reset_calls();
    let id = fixture.sandbox_of(WORKSPACE);
    // The container ends after the probe, and the object before it records the restore.
    fixture.world.before(Method::EnsureRunning).nth(1).run(move |world| world.end_container(&id));
    let gate = fixture.world.at(Method::EnsureRunning, CallPhase::After).nth(1).block();
    let work = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({ "fingerprint": "v2" }));
    assert!(gate.is_reached());
    fixture.crash_during(work);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(10 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn loss_is_reported_after_a_crash_during_a_change_of_the_active_workspace() {
    for (operation, change) in [
        (Operation::StartWorkspace, json!({ "fingerprint": "v2" })),
        (Operation::UpdateWorkspace, json!({ "env": { "A": "1" } })),
    ] {
        let fixture = Fixture::with_stopped_workspace_options(&json!({ "expiry": { "idleSeconds": 60 } }));
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        fixture.write_workspace_file(WORKSPACE, "second");
        fixture.world.reset_calls();
        let id = fixture.sandbox_of(WORKSPACE);
        // The container ends after the probe, and the object before it records the restore.
        fixture.world.before(Method::EnsureRunning).nth(1).run(move |world| world.end_container(&id));
        let gate = fixture.world.at(Method::EnsureRunning, CallPhase::After).nth(1).block();
        let work = fixture.begin_in_workspace(operation, WORKSPACE, &change);
        assert!(gate.is_reached());
        fixture.crash_during(work);
        fixture.world.clear_faults();
        assert_eq!(start(&fixture, WORKSPACE), running(Some(true)), "{operation:?}");
        // The answer of this start, the first report, may have been lost.
        fixture.advance_with_alarms(HOUR);
        assert_eq!(start(&fixture, WORKSPACE), restored(true), "{operation:?}");
    }
}

#[test]
fn answer_to_a_start_that_completes_a_crashed_one_is_the_first_report() {
    let fixture = with_unsaved_file();
    let gate = fixture.world.at(Method::EnsureRunning, CallPhase::After).nth(1).block();
    let work = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(work);
    fixture.world.clear_faults();
    assert_eq!(start(&fixture, WORKSPACE), running(Some(true)));
    fixture.world.after(Method::StopSandbox).fail_transiently();
    fixture.stop_workspace(WORKSPACE).unwrap_err();
    fixture.world.clear_faults();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn command_in_the_sandbox_of_a_stopped_workspace_counts_as_a_possible_loss() {
    let fixture = Fixture::with_stopped_workspace();
    let id = fixture.sandbox_of(WORKSPACE);
    // The application starts an empty container, which ends by itself.
    fixture.world.write_file(&id, FILE, "stray");
    fixture.world.advance_clock(10 * MINUTE);
    fixture.world.end_container(&id);
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn discarded_and_rescued_files_count_as_a_possible_loss() {
    for on_diverged in ["rescue", "discard"] {
        let fixture = Fixture::with_diverged_workspace();
        let started = fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": on_diverged })).unwrap();
        assert_eq!(outcome(&started), restored(true), "{on_diverged}");
    }
}

#[test]
fn adopted_files_count_as_a_possible_loss_when_their_container_ends() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), FILE, "adopted");
    fixture.start_workspace(WORKSPACE, &json!({ "onDiverged": "adopt" })).unwrap();
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn files_that_change_during_every_capture_of_a_stop_count_as_a_possible_loss() {
    let fixture = Fixture::with_workspace();
    for capture in 1..=3 {
        let id = fixture.sandbox_of(WORKSPACE);
        let write = move |world: &crate::support::World| world.write_file(&id, FILE, &capture.to_string());
        fixture.world.after(Method::CreateBackup).nth(capture).run(write);
    }
    assert_eq!(fixture.stop_workspace(WORKSPACE).unwrap()["changedDuringCapture"], true);
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}

#[test]
fn failed_start_does_not_turn_into_a_loss() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.world.before(Method::RestoreBackup).first(3).fail_transiently();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap_err();
    fixture.world.clear_faults();
    assert_eq!(start(&fixture, WORKSPACE), restored(false));
}

#[test]
fn workspace_that_is_not_persistent_reports_a_possible_loss() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.update_workspace(WORKSPACE, &json!({ "persistent": false })).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(start(&fixture, WORKSPACE), restored(true));
}
