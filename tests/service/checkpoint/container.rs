//! The work is done in the container that the caller means, and in no other.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::json;

use super::super::support::{Checked, FILE, Method, Stage, WORK, World, on};
use super::{EVERY, of};

/// Carries out every operation on a sandbox with a checkpoint to which something happens. It must be refused, and the
/// container that took the place of another one must be as it was.
fn replaced_when(plan: impl Fn(&World)) {
    for operation in EVERY {
        let stage = Stage::with_checkpoint();
        plan(&stage.world);
        let error = stage.checkpoint(operation).fails_as(Code::SandboxReplaced);
        assert!(!error.remediation().contains("wake"), "{}", error.remediation());
        assert_eq!(stage.world.checkpoints_in("agent-42"), 0, "{operation:?}");
        assert!(stage.world.carries_note("agent-42"), "{operation:?}");
        stage.snapshot().fails_as(Code::SandboxReplaced);
    }
}

#[test]
fn a_sandbox_that_does_not_run_is_refused_and_not_started() {
    for operation in EVERY {
        for stage in [Stage::empty(), Stage::with_checkpoint()] {
            stage.world.stops("agent-42");
            let error = stage.checkpoint(operation).fails_as(Code::SandboxNotRunning);
            assert!(!error.remediation().contains("wake"), "{}", error.remediation());
            assert_eq!(stage.world.calls_about("agent-42"), [Method::State]);
        }
    }
}

#[test]
fn a_sandbox_that_is_starting_is_refused_for_now() {
    for operation in EVERY {
        let stage = Stage::empty();
        stage.world.is_starting("agent-42");
        let error = stage.checkpoint(operation).fails_as(Code::SandboxStarting);
        assert!(error.retryable() && !error.remediation().contains("wake"), "{error:?}");
        assert_eq!(stage.world.calls_about("agent-42"), [Method::State]);
    }
}

#[test]
fn a_usual_call_looks_at_the_state_and_asks_once() {
    for operation in EVERY {
        let stage = Stage::with_checkpoint();
        stage.checkpoint(operation).unwrap();
        assert_eq!(stage.world.calls_about("agent-42"), [Method::State, Method::Checkpoint, Method::State]);
    }
}

#[test]
fn a_container_that_died_unnoticed_is_found_out() {
    replaced_when(|world| world.dies_unnoticed("agent-42"));
}

#[test]
fn a_container_that_died_unnoticed_is_found_out_also_when_the_answer_is_lost() {
    replaced_when(|world| {
        world.dies_unnoticed("agent-42");
        world.after(Method::Checkpoint).nth(1).fails_in_passing();
    });
}

#[test]
fn a_container_that_was_replaced_after_the_look_is_found_out() {
    replaced_when(|world| world.before(Method::Checkpoint).nth(1).happens(|world| world.is_replaced("agent-42")));
}

#[test]
fn a_container_that_was_replaced_while_it_worked_is_found_out() {
    replaced_when(|world| world.after(Method::Checkpoint).nth(1).happens(|world| world.is_replaced("agent-42")));
}

#[test]
fn a_container_that_was_found_to_be_replaced_before_is_refused() {
    let stage = Stage::with_checkpoint();
    stage.world.dies_unnoticed("agent-42");
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.passes(600_000);
    for operation in EVERY {
        stage.checkpoint(operation).fails_as(Code::SandboxReplaced);
        assert_eq!(stage.world.checkpoints_in("agent-42"), 0);
    }
}

#[test]
fn a_call_that_was_cut_off_leaves_doubt_about_the_container() {
    let stage = Stage::with_checkpoint();
    stage.world.dies_unnoticed("agent-42");
    let gate = stage.world.after(Method::Checkpoint).nth(1).held();
    let call = stage.begin(Operation::CreateCheckpoint, &of("agent-42", Operation::CreateCheckpoint));
    assert!(gate.is_reached());
    drop(call);
    stage.restart();
    stage.world.goes_well();
    // It is older than the next look.
    stage.world.pass(30_000);
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn a_container_in_its_first_seconds_is_measured_first() {
    for millis in [30, 100, 1_000, 10_000] {
        for operation in EVERY {
            let stage = Stage::empty();
            stage.world.writes("agent-42", FILE, "first");
            stage.world.pass(millis);
            stage.run(Operation::CreateCheckpoint, &json!({ "sandboxId": "agent-42", "name": "before" })).unwrap();
            stage.world.forget_calls();
            stage.checkpoint(operation).unwrap();
            let calls = [Method::State, Method::Checkpoint, Method::Checkpoint, Method::State];
            assert_eq!(stage.world.calls_about("agent-42"), calls);
        }
    }
}

#[test]
fn a_container_of_half_a_minute_is_asked_once() {
    let stage = Stage::empty();
    stage.world.writes("agent-42", FILE, "first");
    stage.world.pass(30_000);
    stage.checkpoint(Operation::CreateCheckpoint).unwrap();
    assert_eq!(stage.world.count(Method::Checkpoint), 1);
}

#[test]
fn a_container_that_is_too_young_to_tell_is_not_worked_in() {
    let stage = Stage::empty();
    stage.world.writes("agent-42", FILE, "first");
    stage.world.pass(5);
    stage.checkpoint(Operation::CreateCheckpoint).fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.checkpoints_in("agent-42"), 0);
}

#[test]
fn a_young_container_that_is_replaced_after_it_was_measured_is_not_worked_in() {
    let stage = Stage::empty();
    stage.world.writes("agent-42", FILE, "first");
    stage.world.pass(5_000);
    stage.world.before(Method::Checkpoint).nth(2).happens(|world| world.is_replaced("agent-42"));
    stage.checkpoint(Operation::CreateCheckpoint).fails_as(Code::SandboxReplaced);
    assert_eq!(stage.world.checkpoints_in("agent-42"), 0);
}

#[test]
fn a_failure_that_passes_says_so() {
    for operation in EVERY {
        let stage = Stage::with_checkpoint();
        stage.world.before(Method::Checkpoint).fails_in_passing();
        assert!(stage.checkpoint(operation).fails_as(Code::SandboxUnavailable).retryable());
    }
}

#[test]
fn a_sandbox_of_a_name_counts_by_its_stamp_and_not_by_its_age() {
    let stage = Stage::with_stopped_work();
    stage.starts(WORK, &json!({})).unwrap();
    let id = stage.sandbox_of(WORK);
    stage.world.forget_calls();
    stage.run(Operation::CreateCheckpoint, &of(&id, Operation::CreateCheckpoint)).unwrap();
    assert_eq!(stage.world.calls_about(&id), [Method::State, Method::Checkpoint]);
}

#[test]
fn a_sandbox_of_a_name_that_woke_without_its_files_is_refused() {
    let stage = Stage::with_diverged_work();
    let id = stage.sandbox_of(WORK);
    for operation in EVERY {
        stage.run(operation, &of(&id, operation)).fails_as(Code::SandboxReplaced);
        assert_eq!(stage.world.checkpoints_in(&id), 0);
    }
}

#[test]
fn a_sandbox_of_a_name_that_is_being_filled_is_refused_for_now() {
    let stage = Stage::with_stopped_work();
    let gate = stage.world.before(Method::RestoreBackup).nth(1).held();
    let start = stage.begins(Operation::StartWorkspace, WORK, &json!({}));
    let id = stage.sandbox_of(WORK);
    for operation in EVERY {
        stage.run(operation, &of(&id, operation)).fails_as(Code::SandboxStarting);
    }
    gate.open();
    start.answer().unwrap();
    stage.run(Operation::CreateCheckpoint, &of(&id, Operation::CreateCheckpoint)).unwrap();
}

#[test]
fn a_sandbox_whose_workspace_was_deleted_is_refused() {
    let stage = Stage::with_work();
    let id = stage.sandbox_of(WORK);
    stage.run(Operation::DeleteWorkspace, &on(WORK, &json!({}))).unwrap();
    stage.run(Operation::CreateCheckpoint, &of(&id, Operation::CreateCheckpoint)).fails_as(Code::WorkspaceNotFound);
}
