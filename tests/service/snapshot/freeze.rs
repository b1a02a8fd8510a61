//! The freeze of files during a capture.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Result, Runtime};
use serde_json::{Value, json};

use crate::support::{CancellationSource, CommandResult, ExpectError, FILE, Fixture, MINUTE, Method, World};

const ID: &str = "agent-42";

/// Returns the arguments of a snapshot with a freeze.
fn arguments(options: &Value) -> Value {
    let mut arguments = json!({ "sandboxId": ID, "freeze": { "freeze": "db freeze", "thaw": "db thaw" } });
    arguments.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    arguments
}

impl Fixture {
    fn snapshot_frozen(&self, options: &Value) -> Result<Value> {
        self.run(Operation::Snapshot, &arguments(options))
    }

    #[track_caller]
    fn expect_commands(&self, commands: &[&str]) {
        let run: Vec<String> = self.world.hook_calls().into_iter().map(|call| call.name).collect();
        assert_eq!(run, commands);
    }

    fn count_snapshots(&self) -> usize {
        let list = self.run(Operation::List, &json!({ "sandboxId": ID })).unwrap();
        list["snapshots"].as_array().unwrap().len()
    }
}

/// Returns a sandbox of each runtime, whose container runs for a minute.
fn sandboxes() -> [Fixture; 2] {
    Runtime::ALL.map(|runtime| {
        let fixture = Fixture::of_runtime(runtime);
        fixture.start_sandbox(ID);
        fixture.world.write_file(ID, FILE, "first");
        fixture.world.advance_clock(MINUTE);
        fixture
    })
}

fn plan_write(world: &World, command: &str, content: &'static str) {
    world.plan_command(command, move |world, _| {
        world.write_file(ID, FILE, content);
        CommandResult::success()
    });
}

#[test]
fn files_are_frozen_before_the_capture_and_thawed_after_it() {
    for fixture in sandboxes() {
        plan_write(&fixture.world, "db freeze", "flushed");
        plan_write(&fixture.world, "db thaw", "later");
        let taken = fixture.snapshot_frozen(&json!({})).unwrap();
        let calls = fixture.world.calls_about(ID);
        let at = |method| calls.iter().position(|call| *call == method).unwrap();
        assert!(at(Method::Freeze) < at(Method::WatchChanges) && at(Method::CreateBackup) < at(Method::Thaw));
        assert_eq!(taken["capture"]["freeze"], json!({ "consistent": true, "thawed": true }));
        assert_eq!(taken["capture"]["changedDuringCapture"], json!(false), "the freeze and the thaw do not count");
        let restored = fixture.run(Operation::Restore, &json!({ "ref": taken })).unwrap();
        assert_eq!(fixture.world.files(restored["ref"]["sandboxId"].as_str().unwrap()).unwrap()[FILE], "flushed");
        fixture.expect_commands(&["db freeze", "db thaw"]);
        assert_eq!(fixture.world.hook_calls()[0].dir, "/workspace");
    }
}

#[test]
fn snapshot_without_a_freeze_runs_no_command() {
    let fixture = Fixture::with_sandbox();
    let taken = fixture.run(Operation::Snapshot, &json!({ "sandboxId": ID })).unwrap();
    assert_eq!(taken["capture"].get("freeze"), None);
    fixture.expect_commands(&[]);
}

#[test]
fn freeze_that_fails_takes_no_snapshot() {
    for fixture in sandboxes() {
        for (result, how) in [
            (CommandResult::exit(3, "locked\n"), "failed with exit code 3. No snapshot was taken. Output: \"locked\"."),
            (CommandResult::timeout(), "exceeded its time limit"),
        ] {
            fixture.world.plan_command("db freeze", move |_, _| result.clone());
            let error = fixture.snapshot_frozen(&json!({})).expect_code(Code::HookFailed);
            assert!(error.message().contains(how), "{error}");
        }
        fixture.expect_commands(&["db freeze", "db thaw", "db freeze", "db thaw"]);
        assert_eq!((fixture.world.call_count(Method::CreateBackup), fixture.count_snapshots()), (0, 0));
    }
}

#[test]
fn capture_that_outlasts_the_freeze_says_so() {
    for fixture in sandboxes() {
        for (seconds, is_consistent) in [(61, false), (59, true)] {
            fixture.world.clear_faults();
            fixture.world.before(Method::CreateBackup).take_millis(seconds * 1000);
            let taken = fixture.snapshot_frozen(&json!({})).unwrap();
            assert_eq!(taken["capture"]["freeze"], json!({ "consistent": is_consistent, "thawed": true }), "{seconds}");
        }
    }
}

#[test]
fn files_are_thawed_once_after_a_failure() {
    for method in [Method::Freeze, Method::WatchChanges, Method::CreateBackup, Method::ChangedSinceWatch, Method::Thaw]
    {
        for fixture in sandboxes() {
            fixture.world.after(method).nth(1).fail_transiently();
            drop(fixture.snapshot_frozen(&json!({})));
            fixture.expect_commands(&["db freeze", "db thaw"]);
        }
    }
}

#[test]
fn files_are_thawed_at_once_after_a_canceled_call() {
    for method in [Method::Freeze, Method::CreateBackup] {
        for fixture in sandboxes() {
            let gate = fixture.world.after(method).nth(1).block();
            let (signal, abort) = CancellationSource::new();
            let call = fixture.begin_cancellable(Operation::Snapshot, &arguments(&json!({})), abort);
            assert!(gate.is_reached(), "{method:?}");
            signal.cancel();
            call.answer().expect_code(Code::Aborted);
            fixture.world.run_background();
            let is_archived = method == Method::CreateBackup;
            fixture.expect_commands(if is_archived { &["db freeze", "db thaw"] } else { &["db freeze"] });
            gate.open();
            fixture.world.finish_background();
            fixture.expect_commands(&["db freeze", "db thaw"]);
            assert_eq!(fixture.world.call_count(Method::CreateBackup) > 0, is_archived);
            assert_eq!(fixture.count_snapshots(), 0);
        }
    }
}

#[test]
fn thaw_that_fails_is_reported_and_the_snapshot_is_kept() {
    for fixture in sandboxes() {
        fixture.world.plan_command("db thaw", |_, _| CommandResult::exit(1, ""));
        let taken = fixture.snapshot_frozen(&json!({})).unwrap();
        assert_eq!(taken["capture"]["freeze"], json!({ "consistent": true, "thawed": false }));
        fixture.world.after(Method::Thaw).fail_transiently();
        let taken = fixture.snapshot_frozen(&json!({})).unwrap();
        assert_eq!(taken["capture"]["freeze"], json!({ "consistent": false, "thawed": false }), "its answer was lost");
    }
}

#[test]
fn container_that_ends_while_frozen_is_not_replaced_by_the_thaw() {
    for fixture in sandboxes() {
        fixture.world.before(Method::CreateBackup).run(|world| world.end_container(ID));
        fixture.world.before(Method::CreateBackup).fail_transiently();
        fixture.snapshot_frozen(&json!({})).unwrap_err();
        assert!(fixture.world.running_sandboxes().is_empty());
        fixture.expect_commands(&["db freeze"]);
    }
}

#[test]
fn freeze_in_another_container_reports_the_replacement() {
    for fixture in sandboxes() {
        fixture.run(Operation::Snapshot, &json!({ "sandboxId": ID })).unwrap();
        fixture.world.plan_command("db freeze", |_, _| CommandResult::exit(127, "db: not found"));
        fixture.world.before(Method::Freeze).run(|world| world.end_container(ID));
        fixture.snapshot_frozen(&json!({})).expect_code(Code::SandboxReplaced);
    }
}

#[test]
fn each_capture_of_a_settled_snapshot_is_frozen() {
    for fixture in sandboxes() {
        fixture.world.after(Method::CreateBackup).nth(1).run(|world| world.write_file(ID, "/workspace/log", "line"));
        let taken = fixture.snapshot_frozen(&json!({ "consistency": "settled" })).unwrap();
        assert_eq!(taken["capture"]["changedDuringCapture"], json!(false));
        fixture.expect_commands(&["db freeze", "db thaw", "db freeze", "db thaw"]);
    }
}

#[test]
fn repeated_call_with_the_same_key_freezes_nothing() {
    let fixture = Fixture::with_sandbox();
    let first = fixture.snapshot_frozen(&json!({ "idempotencyKey": "k" })).unwrap();
    assert_eq!(fixture.snapshot_frozen(&json!({ "idempotencyKey": "k" })).unwrap(), first);
    fixture.expect_commands(&["db freeze", "db thaw"]);
    let other = json!({ "idempotencyKey": "k", "freeze": { "freeze": "db freeze", "thaw": "true" } });
    fixture.snapshot_frozen(&other).expect_code(Code::IdempotencyConflict);
}

#[test]
fn capture_without_a_freeze_is_not_shared_with_one_that_requires_it() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let plain = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": ID }));
    let frozen = fixture.begin(Operation::Snapshot, &arguments(&json!({})));
    gate.open();
    assert_eq!(plain.answer().unwrap()["capture"].get("freeze"), None);
    assert_eq!(frozen.answer().unwrap()["capture"]["freeze"]["consistent"], json!(true));
}

#[test]
fn capture_that_recovery_completed_is_not_consistent() {
    for fixture in sandboxes() {
        fixture.world.before(Method::Thaw).hang();
        let call = fixture.begin(Operation::Snapshot, &arguments(&json!({ "idempotencyKey": "k" })));
        fixture.crash_during(call);
        fixture.world.clear_faults();
        let taken = fixture.snapshot_frozen(&json!({ "idempotencyKey": "k" })).unwrap();
        assert_eq!(taken["capture"]["freeze"], json!({ "consistent": false, "thawed": false }));
    }
}

#[test]
fn invalid_freeze_is_refused() {
    let fixture = Fixture::with_sandbox();
    for (freeze, named) in [
        (json!("db freeze"), "`freeze`"),
        (json!({ "freeze": "a" }), "thaw"),
        (json!({ "freeze": "a", "thaw": " " }), "`freeze.thaw`"),
        (json!({ "freeze": "a\u{0}", "thaw": "b" }), "`freeze.freeze`"),
        (json!({ "freeze": "a".repeat(8193), "thaw": "b" }), "got 8193"),
        (json!({ "freeze": "a", "thaw": "b", "timeoutSeconds": 61 }), "must be 2–60, got 61"),
        (json!({ "freeze": "a", "thaw": "b", "timeoutSeconds": 1 }), "must be 2–60, got 1"),
        (json!({ "freeze": "a", "thaw": "b", "seconds": 1 }), "seconds"),
    ] {
        let error = fixture.snapshot_frozen(&json!({ "freeze": freeze })).expect_code(Code::InvalidArgument);
        assert!(error.message().contains(named), "{error}");
    }
    fixture.expect_commands(&[]);
}
