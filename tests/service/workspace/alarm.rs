//! Alarms of named workspaces: stops by idle time or age, and due tasks.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Failure;
use sandbox_snapshotter::ports::WorkspaceStore;
use serde_json::{Value, json};

use crate::support::{CommandResult, FILE, Fixture, HOUR, MINUTE, Method, PendingOperation, WORKSPACE, address};

/// Returns arguments with time limits, in seconds.
fn expiry_args(idle_seconds: u64, max_seconds: u64) -> Value {
    json!({ "expiry": { "idleSeconds": idle_seconds, "maxSeconds": max_seconds } })
}

#[test]
fn idle_workspace_is_stopped_with_a_snapshot() {
    let fixture = Fixture::with_workspace_options(&expiry_args(600, 0));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert!(described["history"][0]["cause"].as_str().unwrap().contains("600 seconds"), "{described}");
    assert!(described["lastSnapshot"].is_object());
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn create_returns_the_time_of_the_stop() {
    let fixture = Fixture::empty();
    let created = fixture.create_workspace(WORKSPACE, &expiry_args(600, 300)).unwrap();
    let at = fixture.record(WORKSPACE).started_at.unwrap().plus_millis(5 * MINUTE);
    assert_eq!(created["endsAt"], json!(at));
    assert!(fixture.stop_workspace(WORKSPACE).unwrap().get("endsAt").is_none());
}

#[test]
fn workspace_is_not_stopped_before_its_idle_limit() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &expiry_args(600, 0)).unwrap();
    fixture.advance_with_alarms(10 * MINUTE - 1000);
    assert_eq!(fixture.state(WORKSPACE), "active");
    fixture.advance_with_alarms(2000);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn changed_files_postpone_the_idle_stop() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &expiry_args(600, 0)).unwrap();
    for minute in 0..30 {
        fixture.write_workspace_file(WORKSPACE, &format!("minute {minute}"));
        fixture.advance_with_alarms(MINUTE);
    }
    assert_eq!(fixture.state(WORKSPACE), "active");
    fixture.advance_with_alarms(20 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "minute 29");
}

#[test]
fn files_outside_the_directory_do_not_postpone_the_idle_stop() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &expiry_args(600, 0)).unwrap();
    for _ in 0..12 {
        fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/tmp/log", &fixture.world.current_time().to_string());
        fixture.advance_with_alarms(MINUTE);
    }
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn age_limit_stops_workspace_despite_activity() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &expiry_args(0, 600)).unwrap();
    for _ in 0..11 {
        fixture.write_workspace_file(WORKSPACE, &fixture.world.current_time().to_string());
        fixture.advance_with_alarms(MINUTE);
    }
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    let described = fixture.get_workspace(WORKSPACE).unwrap();
    assert!(described["history"][0]["cause"].as_str().unwrap().contains("its time limit of"), "{described}");
}

#[test]
fn age_limit_restarts_with_every_start() {
    let fixture = Fixture::empty();
    fixture.create_workspace(WORKSPACE, &expiry_args(0, 600)).unwrap();
    fixture.advance_with_alarms(5 * MINUTE);
    fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.advance_with_alarms(9 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "active");
}

#[test]
fn workspace_without_limits_is_never_stopped() {
    let fixture = Fixture::with_workspace();
    fixture.advance_with_alarms(1000 * HOUR);
    assert_eq!(fixture.state(WORKSPACE), "active");
    assert_eq!(fixture.workspace_store(WORKSPACE).alarm().unwrap(), None);
}

#[test]
fn stopped_workspace_has_no_alarm() {
    let fixture = Fixture::with_workspace_options(&expiry_args(600, 3600));
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(fixture.workspace_store(WORKSPACE).alarm().unwrap(), None);
}

#[test]
fn alarm_marks_workspace_with_ended_container_as_stopped() {
    let fixture = Fixture::with_workspace_options(&expiry_args(600, 0));
    fixture.world.end_container(&fixture.sandbox_of(WORKSPACE));
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    assert!(!fixture.has_container(WORKSPACE));
}

#[test]
fn stop_by_time_rescues_files_written_after_cold_start() {
    let fixture = Fixture::with_stopped_workspace();
    fixture.update_workspace(WORKSPACE, &expiry_args(600, 0)).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let id = fixture.sandbox_of(WORKSPACE);
    fixture.world.end_container(&id);
    fixture.world.write_file(&id, FILE, "second");
    fixture.advance_with_alarms(HOUR);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
    let rescue_snapshot_id = fixture.snapshots_of(&id)[0].clone();
    assert!(
        fixture.get_workspace(WORKSPACE).unwrap()["history"][0]["cause"]
            .as_str()
            .unwrap()
            .contains(&rescue_snapshot_id)
    );
    fixture.revert_workspace(WORKSPACE, &json!(rescue_snapshot_id)).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
}

#[test]
fn on_timeout_hook_runs_only_before_a_stop_by_time() {
    let fixture = Fixture::empty();
    let hooks = json!({ "onTimeout": { "command": "exit 0" }, "beforeStop": { "command": "exit 0" } });
    fixture.create_workspace(WORKSPACE, &json!({ "hooks": hooks, "expiry": { "idleSeconds": 600 } })).unwrap();
    fixture.advance_with_alarms(HOUR);
    let hook_names =
        |fixture: &Fixture| fixture.world.hook_calls().into_iter().map(|hook| hook.name).collect::<Vec<_>>();
    assert_eq!(hook_names(&fixture), ["onTimeout", "beforeStop"]);
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    assert_eq!(hook_names(&fixture), ["onTimeout", "beforeStop", "beforeStop"]);
}

#[test]
fn failing_on_timeout_hook_postpones_the_stop() {
    let fixture = Fixture::empty();
    let hooks = json!({ "onTimeout": { "command": "busy?" } });
    fixture.create_workspace(WORKSPACE, &json!({ "hooks": hooks, "expiry": { "idleSeconds": 600 } })).unwrap();
    fixture.world.plan_command("busy?", |_, _| CommandResult::exit(1, "busy"));
    fixture.advance_with_alarms(20 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "active");
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["problem"]["code"], "HOOK_FAILED");
    let attempts = fixture.world.hook_calls().len();
    assert!((2..=11).contains(&attempts), "once a minute: {attempts}");
    fixture.world.plan_command("busy?", |_, _| CommandResult::success());
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn failed_stop_by_time_is_retried() {
    let fixture = Fixture::with_workspace_options(&expiry_args(600, 0));
    fixture.world.before(Method::CreateBackup).fail_with(Failure::new("BackupCreateError", "no room"));
    fixture.advance_with_alarms(HOUR);
    assert_eq!((fixture.state(WORKSPACE), fixture.read_workspace_file(WORKSPACE)), ("active", Some("first".into())));
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(fixture.state(WORKSPACE), "stopped");
}

#[test]
fn start_during_stop_by_time_restores_the_workspace() {
    let fixture = Fixture::with_workspace_options(&expiry_args(0, 600));
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    fixture.world.advance_clock(HOUR);
    let named = fixture.named_workspace(WORKSPACE);
    let alarm = PendingOperation::start_with_background(&fixture.world, async move { named.alarm().await });
    let start = fixture.begin_in_workspace(Operation::StartWorkspace, WORKSPACE, &json!({}));
    gate.open();
    alarm.answer().unwrap();
    assert_eq!(start.answer().unwrap()["how"], "restored");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn alarm_without_a_workspace_does_nothing() {
    let fixture = Fixture::empty();
    let named = fixture.named_workspace(WORKSPACE);
    PendingOperation::start_with_background(&fixture.world, async move { named.alarm().await }).answer().unwrap();
    assert_eq!(fixture.workspace_store(WORKSPACE).alarm().unwrap(), None);
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn calls_do_not_postpone_due_tasks() {
    let fixture = Fixture::with_workspace();
    let first = fixture.stop_with_content(WORKSPACE, "first");
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    let old = fixture.sandbox_of(WORKSPACE);
    fixture.world.before(Method::StopSandbox).nth(2).fail_transiently();
    fixture.world.before(Method::StopSandbox).nth(1).fail_transiently();
    fixture.world.reset_calls();
    fixture.revert_workspace(WORKSPACE, &first).unwrap();
    assert!(fixture.world.running_sandboxes().contains(&old));
    fixture.world.clear_faults();
    for _ in 0..20 {
        fixture.advance_with_alarms(20_000);
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    }
    assert!(!fixture.world.running_sandboxes().contains(&old));
    assert_eq!(fixture.record(WORKSPACE).address, address(WORKSPACE));
}
