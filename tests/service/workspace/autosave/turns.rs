//! Saves after the turns of an agent.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Failure;
use serde_json::{Value, json};

use super::{begin_alarm, lose_and_restart, saves, with};
use crate::support::{DAY, Fixture, MINUTE, Method, WORKSPACE, workspace_args};

fn after_turn() -> Value {
    with(json!({ "afterTurn": true }))
}

fn turn_ended(fixture: &Fixture) -> Value {
    fixture.run(Operation::TurnEnded, &workspace_args(WORKSPACE, &json!({}))).unwrap()
}

#[test]
fn ends_of_turns_share_one_save_soon() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    let due: Vec<Value> = (0..5).map(|_| turn_ended(&fixture)["saveDueAt"].clone()).collect();
    assert!(due[0].is_string() && due.iter().all(|at| *at == due[0]), "{due:?}");
    fixture.advance_with_alarms(5000);
    assert_eq!(saves(&fixture), 1);
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["lastSavedAt"], turn_ended(&fixture)["lastSavedAt"]);
    fixture.advance_with_alarms(DAY);
    assert_eq!(saves(&fixture), 1, "nothing changed, and time alone saves nothing");
}

#[test]
fn saves_after_turns_are_a_minute_apart() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    for number in 0..12 {
        fixture.write_workspace_file(WORKSPACE, &format!("turn {number}"));
        turn_ended(&fixture);
        fixture.advance_with_alarms(10_000);
    }
    assert!((2..=3).contains(&saves(&fixture)), "{}", saves(&fixture));
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "turn 11");
}

#[test]
fn end_of_a_turn_is_no_use_and_saves_only_where_it_is_set() {
    let fixture = Fixture::with_workspace_options(&json!({ "expiry": { "idleSeconds": 600 } }));
    for _ in 0..9 {
        assert_eq!(turn_ended(&fixture).get("saveDueAt"), None);
        fixture.advance_with_alarms(MINUTE);
    }
    fixture.advance_with_alarms(12 * MINUTE);
    assert_eq!((fixture.state(WORKSPACE), saves(&fixture)), ("stopped", 0));
    assert_eq!(turn_ended(&fixture)["state"], "stopped");
}

#[test]
fn no_save_is_announced_for_a_turn_that_ends_after_the_setting_is_off() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    turn_ended(&fixture);
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.update_workspace(WORKSPACE, &with(json!({ "afterTurn": false, "everySeconds": 3600 }))).unwrap();
    let gate = fixture.world.before(Method::HeadArchive).nth(1).block();
    fixture.world.advance_clock(5000);
    let alarm = begin_alarm(&fixture);
    assert!(gate.is_reached(), "the turn that ended before is saved");
    fixture.write_workspace_file(WORKSPACE, "third");
    assert_eq!(turn_ended(&fixture).get("saveDueAt"), None, "the save has begun without these files");
    gate.open();
    alarm.answer().unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!((saves(&fixture), lose_and_restart(&fixture).as_deref()), (1, Some("second")));
}

#[test]
fn end_of_a_turn_survives_a_crash() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    turn_ended(&fixture);
    fixture.crash_worker();
    fixture.advance_with_alarms(5000);
    assert_eq!(saves(&fixture), 1);
}

#[test]
fn turn_that_ends_during_a_save_is_saved_by_the_next_one() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    turn_ended(&fixture);
    let gate = fixture.world.before(Method::HeadArchive).nth(1).block();
    fixture.world.advance_clock(5000);
    let alarm = begin_alarm(&fixture);
    assert!(gate.is_reached());
    fixture.write_workspace_file(WORKSPACE, "second");
    let due = turn_ended(&fixture)["saveDueAt"].clone();
    assert!(due.is_string() && due != json!(fixture.world.current_time()), "{due}");
    gate.open();
    alarm.answer().unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(saves(&fixture), 2);
    assert_eq!(lose_and_restart(&fixture).unwrap(), "second");
}

#[test]
fn turn_is_saved_after_a_stop_that_fails() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    turn_ended(&fixture);
    fixture.world.before(Method::CreateBackup).nth(1).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.stop_workspace(WORKSPACE).unwrap_err();
    fixture.advance_with_alarms(5000);
    assert_eq!((fixture.state(WORKSPACE), saves(&fixture)), ("active", 1));
}

#[test]
fn turn_is_saved_after_a_stop_that_is_interrupted() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    turn_ended(&fixture);
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let stop = fixture.begin_in_workspace(Operation::StopWorkspace, WORKSPACE, &json!({}));
    assert!(gate.is_reached());
    fixture.crash_during(stop);
    fixture.advance_with_alarms(5 * MINUTE);
    assert_eq!((fixture.state(WORKSPACE), saves(&fixture)), ("active", 1));
}

#[test]
fn turn_is_saved_where_another_operation_has_the_sandbox() {
    let fixture = Fixture::with_workspace_options(&after_turn());
    turn_ended(&fixture);
    let save = fixture.world.before(Method::Autosave).nth(1).block();
    fixture.world.advance_clock(5000);
    let alarm = begin_alarm(&fixture);
    fixture.world.reset_calls();
    let start = fixture.world.before(Method::Probe).nth(2).block();
    let options = json!({ "fingerprint": "another" });
    let started = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &options);
    assert!(save.is_reached() && start.is_reached());
    save.open();
    alarm.answer().unwrap();
    start.open();
    started.answer().unwrap();
    assert_eq!(saves(&fixture), 0);
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(saves(&fixture), 1);
}
