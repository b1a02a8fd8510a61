//! What time asks for.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Failure;
use sandbox_snapshotter::ports::Home;
use serde_json::{Value, json};

use crate::support::{FILE, HOUR, MINUTE, Method, Ran, Running, Stage, WORK, address};

/// Arguments with time limits, in seconds.
fn limits(idle: u64, most: u64) -> Value {
    json!({ "expiry": { "idleSeconds": idle, "maxSeconds": most } })
}

#[test]
fn a_workspace_is_stopped_with_a_snapshot_when_nothing_happens_with_it() {
    let stage = Stage::with_work_as(&limits(600, 0));
    stage.passes(HOUR);
    assert_eq!(stage.state(WORK), "stopped");
    let described = stage.described(WORK).unwrap();
    assert!(described["history"][0]["cause"].as_str().unwrap().contains("600 seconds"), "{described}");
    assert!(described["lastSnapshot"].is_object());
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn it_is_told_when_it_will_be_stopped() {
    let stage = Stage::empty();
    let created = stage.creates(WORK, &limits(600, 300)).unwrap();
    let at = stage.record(WORK).started_at.unwrap().plus_millis(5 * MINUTE);
    assert_eq!(created["endsAt"], json!(at));
    assert!(stage.stops(WORK).unwrap().get("endsAt").is_none());
}

#[test]
fn it_is_not_stopped_a_moment_before() {
    let stage = Stage::empty();
    stage.creates(WORK, &limits(600, 0)).unwrap();
    stage.passes(10 * MINUTE - 1000);
    assert_eq!(stage.state(WORK), "active");
    stage.passes(2000);
    assert_eq!(stage.state(WORK), "stopped");
}

#[test]
fn changed_files_are_a_sign_of_life() {
    let stage = Stage::empty();
    stage.creates(WORK, &limits(600, 0)).unwrap();
    for minute in 0..30 {
        stage.writes(WORK, &format!("minute {minute}"));
        stage.passes(MINUTE);
    }
    assert_eq!(stage.state(WORK), "active");
    stage.passes(20 * MINUTE);
    assert_eq!(stage.state(WORK), "stopped");
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "minute 29");
}

#[test]
fn files_outside_of_the_directory_are_no_sign_of_life() {
    let stage = Stage::empty();
    stage.creates(WORK, &limits(600, 0)).unwrap();
    for _ in 0..12 {
        stage.world.writes(&stage.sandbox_of(WORK), "/tmp/log", &stage.world.moment().to_string());
        stage.passes(MINUTE);
    }
    assert_eq!(stage.state(WORK), "stopped");
}

#[test]
fn its_age_counts_whatever_happens() {
    let stage = Stage::empty();
    stage.creates(WORK, &limits(0, 600)).unwrap();
    for _ in 0..11 {
        stage.writes(WORK, &stage.world.moment().to_string());
        stage.passes(MINUTE);
    }
    assert_eq!(stage.state(WORK), "stopped");
    let described = stage.described(WORK).unwrap();
    assert!(described["history"][0]["cause"].as_str().unwrap().contains("since it was started"), "{described}");
}

#[test]
fn its_age_begins_again_with_every_start() {
    let stage = Stage::empty();
    stage.creates(WORK, &limits(0, 600)).unwrap();
    stage.passes(5 * MINUTE);
    stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    stage.passes(9 * MINUTE);
    assert_eq!(stage.state(WORK), "active");
}

#[test]
fn no_limit_is_never() {
    let stage = Stage::with_work();
    stage.passes(1000 * HOUR);
    assert_eq!(stage.state(WORK), "active");
    assert_eq!(stage.home(WORK).alarm().unwrap(), None);
}

#[test]
fn a_stopped_workspace_needs_no_alarm() {
    let stage = Stage::with_work_as(&limits(600, 3600));
    stage.stops(WORK).unwrap();
    stage.passes(2 * MINUTE);
    assert_eq!(stage.home(WORK).alarm().unwrap(), None);
}

#[test]
fn one_whose_sandbox_slept_is_noted_as_stopped() {
    let stage = Stage::with_work_as(&limits(600, 0));
    stage.world.stops(&stage.sandbox_of(WORK));
    stage.passes(HOUR);
    assert_eq!(stage.state(WORK), "stopped");
    assert!(!stage.is_up(WORK));
}

#[test]
fn what_was_written_since_it_woke_by_itself_is_saved_when_time_stops_it() {
    let stage = Stage::with_stopped_work();
    stage.updates(WORK, &limits(600, 0)).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    let id = stage.sandbox_of(WORK);
    stage.world.stops(&id);
    stage.world.writes(&id, FILE, "second");
    stage.passes(HOUR);
    assert_eq!(stage.state(WORK), "stopped");
    let saved = stage.snapshots_of(&id)[0].clone();
    assert!(stage.described(WORK).unwrap()["history"][0]["cause"].as_str().unwrap().contains(&saved));
    stage.goes_back(WORK, &json!(saved)).unwrap();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "second");
}

#[test]
fn a_command_runs_before_a_stop_by_time_and_by_time_only() {
    let stage = Stage::empty();
    let hooks = json!({ "onTimeout": { "command": "exit 0" }, "beforeStop": { "command": "exit 0" } });
    stage.creates(WORK, &json!({ "hooks": hooks, "expiry": { "idleSeconds": 600 } })).unwrap();
    stage.passes(HOUR);
    let run = |stage: &Stage| stage.world.hooks_run().into_iter().map(|hook| hook.name).collect::<Vec<_>>();
    assert_eq!(run(&stage), ["onTimeout", "beforeStop"]);
    stage.starts(WORK, &json!({})).unwrap();
    stage.stops(WORK).unwrap();
    assert_eq!(run(&stage), ["onTimeout", "beforeStop", "beforeStop"]);
}

#[test]
fn a_command_that_fails_postpones_the_stop() {
    let stage = Stage::empty();
    let hooks = json!({ "onTimeout": { "command": "busy?" } });
    stage.creates(WORK, &json!({ "hooks": hooks, "expiry": { "idleSeconds": 600 } })).unwrap();
    stage.world.command("busy?", |_, _| Ran::exits(1, "busy"));
    stage.passes(20 * MINUTE);
    assert_eq!(stage.state(WORK), "active");
    assert_eq!(stage.described(WORK).unwrap()["problem"]["code"], "HOOK_FAILED");
    let tries = stage.world.hooks_run().len();
    assert!((2..=11).contains(&tries), "once a minute: {tries}");
    stage.world.command("busy?", |_, _| Ran::well());
    stage.passes(2 * MINUTE);
    assert_eq!(stage.state(WORK), "stopped");
}

#[test]
fn a_stop_by_time_that_fails_is_tried_again() {
    let stage = Stage::with_work_as(&limits(600, 0));
    stage.world.before(Method::CreateBackup).fails_with(Failure::new("BackupCreateError", "no room"));
    stage.passes(HOUR);
    assert_eq!((stage.state(WORK), stage.file(WORK)), ("active", Some("first".into())));
    stage.world.goes_well();
    stage.passes(2 * MINUTE);
    assert_eq!(stage.state(WORK), "stopped");
}

#[test]
fn whoever_comes_while_time_stops_it_gets_it_started_again() {
    let stage = Stage::with_work_as(&limits(0, 600));
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    stage.world.pass(HOUR);
    let named = stage.named(WORK);
    let alarm = Running::start_in(&stage.world, async move { named.alarm().await });
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    gate.open();
    alarm.answer().unwrap();
    assert_eq!(start.answer().unwrap()["how"], "restored");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn an_alarm_without_a_workspace_does_nothing() {
    let stage = Stage::empty();
    let named = stage.named(WORK);
    Running::start_in(&stage.world, async move { named.alarm().await }).answer().unwrap();
    assert_eq!(stage.home(WORK).alarm().unwrap(), None);
    assert!(stage.world.calls().is_empty());
}

#[test]
fn what_is_left_to_be_done_is_not_put_off_by_callers() {
    let stage = Stage::with_work();
    let first = stage.saves(WORK, "first");
    stage.starts(WORK, &json!({})).unwrap();
    let old = stage.sandbox_of(WORK);
    stage.world.before(Method::Halt).nth(2).fails_in_passing();
    stage.world.before(Method::Halt).nth(1).fails_in_passing();
    stage.world.forget_calls();
    stage.goes_back(WORK, &first).unwrap();
    assert!(stage.world.running().contains(&old));
    stage.world.goes_well();
    for _ in 0..20 {
        stage.passes(20_000);
        stage.starts(WORK, &json!({})).unwrap();
    }
    assert!(!stage.world.running().contains(&old));
    assert_eq!(stage.record(WORK).address, address(WORK));
}
