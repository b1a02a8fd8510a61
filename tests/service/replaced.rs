//! A container that took the place of another one is found out, by its age, and marked: neither the call that notices nor
//! a later one takes its emptiness for somebody's work.

use sandbox_snapshotter::model::{Code, Directory, Error, SnapshotRequest};

use super::support::{Checked, FILE, MINUTE, Method, Stage, World, sandbox};

fn waking() -> SnapshotRequest {
    SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }
}

/// Takes a snapshot of a sandbox to which something happens, which must fail and leave nothing in R2.
fn replaced_when(plan: impl FnOnce(&World)) -> (Stage, Error) {
    let stage = Stage::with_sandbox();
    plan(&stage.world);
    let error = stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.assert_nothing_stored();
    (stage, error)
}

/// A sandbox whose container was found to have taken the place of another one, a minute ago.
fn noted() -> Stage {
    let (stage, _) = replaced_when(|world| world.dies_unnoticed("agent-42"));
    stage.passes(2 * MINUTE);
    stage.world.forget_calls();
    stage
}

/// A sandbox whose container is so old when a call begins.
fn aged(millis: i64) -> Stage {
    let stage = Stage::empty();
    stage.world.writes("agent-42", FILE, "first");
    stage.world.pass(millis);
    stage
}

#[test]
fn a_container_that_died_unnoticed_is_found_out() {
    let (stage, error) = replaced_when(|world| world.dies_unnoticed("agent-42"));
    assert!(error.message().contains("was replaced"), "{error}");
    assert_eq!(stage.world.calls_about("agent-42"), [Method::State, Method::Stamp, Method::LeaveNote]);
}

#[test]
fn a_container_that_died_unnoticed_is_found_out_and_noted_also_when_the_look_that_starts_another_is_interrupted() {
    let (stage, _) = replaced_when(|world| {
        world.dies_unnoticed("agent-42");
        world.after(Method::Probe).nth(1).fails_in_passing();
    });
    assert!(stage.world.carries_note("agent-42"));
}

#[test]
fn a_container_that_was_replaced_during_the_look_is_found_out() {
    replaced_when(|world| world.before(Method::Probe).happens(|world| world.is_replaced("agent-42")));
}

#[test]
fn a_container_that_is_replaced_after_the_look_was_captured_before() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::Probe).happens(|world| world.is_replaced("agent-42"));
    stage.snapshot().unwrap();
}

#[test]
fn a_container_that_died_between_the_look_and_the_backup_is_found_out() {
    replaced_when(|world| world.before(Method::CreateBackup).happens(|world| world.stops("agent-42")));
}

#[test]
fn a_container_that_died_unnoticed_between_the_look_and_the_backup_is_found_out() {
    replaced_when(|world| world.before(Method::CreateBackup).happens(|world| world.dies_unnoticed("agent-42")));
}

#[test]
fn a_container_that_was_replaced_between_the_look_and_the_backup_is_found_out() {
    replaced_when(|world| world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42")));
}

#[test]
fn a_container_that_was_replaced_during_the_backup_is_found_out() {
    replaced_when(|world| world.after(Method::CreateBackup).happens(|world| world.is_replaced("agent-42")));
}

#[test]
fn a_container_that_stopped_after_the_backup_is_found_out() {
    replaced_when(|world| world.after(Method::CreateBackup).happens(|world| world.stops("agent-42")));
}

#[test]
fn a_container_of_a_woken_sandbox_that_was_replaced_is_found_out() {
    let stage = Stage::empty();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxReplaced);
    stage.assert_nothing_stored();
}

#[test]
fn the_backup_of_a_replaced_container_is_said_to_be_deleted() {
    let (_, error) =
        replaced_when(|world| world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42")));
    assert!(error.message().contains("6b1f0c1e-0000-4000-8000-000000000001 was deleted"), "{error}");
}

#[test]
fn a_replacement_is_no_reason_to_try_again() {
    let (_, error) = replaced_when(|world| world.dies_unnoticed("agent-42"));
    assert!(!error.retryable());
}

#[test]
fn a_mere_reconnection_is_no_replacement() {
    let moments = [(Method::Probe, "at the look"), (Method::CreateBackup, "at the backup")];
    for (method, moment) in moments {
        let stage = Stage::with_sandbox();
        stage.world.before(method).nth(1).happens(|world| world.reconnects("agent-42"));
        stage.snapshot().unwrap();
        assert_eq!(stage.world.stored().len(), 1, "{moment}");
        assert_eq!(stage.world.count(Method::LeaveNote), 0, "{moment}");
    }
}

#[test]
fn a_container_is_older_only_with_ten_milliseconds_to_spare() {
    // The answer takes a millisecond more than the measurement.
    aged(11).snapshot().unwrap();
    aged(10).snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn an_age_that_was_measured_too_slowly_is_measured_again() {
    let stage = aged(100);
    stage.world.after(Method::Stamp).first(2).takes(500);
    stage.snapshot().unwrap();
    assert_eq!(stage.world.count(Method::Stamp), 3);
}

#[test]
fn an_age_that_stays_too_close_to_tell_counts_as_a_replacement() {
    let stage = aged(100);
    stage.world.after(Method::Stamp).takes(500);
    let error = stage.snapshot().fails_as(Code::SandboxReplaced);
    assert!(error.message().contains("may have been replaced"), "{error}");
    stage.assert_nothing_stored();
}

#[test]
fn what_may_have_been_replaced_is_captured_when_the_caller_says_that_it_was_not() {
    let stage = aged(5);
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.passes(2 * MINUTE);
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.snapshot_as_asked(SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }).unwrap();
    stage.snapshot().unwrap();
}

#[test]
fn a_younger_container_is_told_by_one_look() {
    let (stage, _) =
        replaced_when(|world| world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42")));
    assert_eq!(stage.world.count(Method::Probe), 1);
}

#[test]
fn a_backup_whose_container_cannot_be_looked_into_is_deleted() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::Probe).fails_in_passing();
    stage.snapshot().fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.count(Method::CreateBackup), 1);
    stage.assert_nothing_stored();
}

#[test]
fn the_new_container_is_refused_from_then_on_whenever_the_old_one_ended() {
    let plans: [fn(&World); 3] = [
        |world| world.dies_unnoticed("agent-42"),
        |world| world.before(Method::CreateBackup).happens(|world| world.dies_unnoticed("agent-42")),
        |world| world.after(Method::CreateBackup).happens(|world| world.is_replaced("agent-42")),
    ];
    for (number, plan) in plans.into_iter().enumerate() {
        let (stage, _) = replaced_when(plan);
        stage.world.goes_well();
        stage.passes(2 * MINUTE);
        assert!(stage.snapshot().is_err_and(|error| error.code() == Code::SandboxReplaced), "plan {number}");
    }
}

#[test]
fn a_container_that_took_the_place_of_another_is_refused_from_then_on() {
    let stage = noted();
    for _ in 0..2 {
        stage.snapshot().fails_as(Code::SandboxReplaced);
        stage.world.pass(60_000);
    }
    stage.assert_nothing_stored();
}

#[test]
fn a_noted_container_is_refused_also_when_somebody_wrote_into_it() {
    let stage = noted();
    stage.world.writes("agent-42", FILE, "not what was lost");
    stage.snapshot().fails_as(Code::SandboxReplaced);
}

#[test]
fn what_a_noted_container_lacks_is_told_as_lost_with_the_other_one() {
    let dir = Some(Directory::parse("/workspace/app").unwrap());
    let request = SnapshotRequest { dir, ..SnapshotRequest::of(sandbox("agent-42")) };
    noted().snapshot_as_asked(request).fails_as(Code::SandboxReplaced);
}

#[test]
fn the_note_goes_with_its_container() {
    let stage = noted();
    stage.world.is_replaced("agent-42");
    stage.world.pass(60_000);
    stage.snapshot().unwrap();
}

#[test]
fn a_noted_container_is_captured_where_the_caller_says_wake() {
    let stage = noted();
    stage.snapshot_as_asked(waking()).unwrap();
    assert_eq!(stage.world.stored().len(), 1);
}

#[test]
fn a_container_that_was_captured_by_a_wake_is_captured_without_it_too() {
    let stage = noted();
    stage.snapshot_as_asked(waking()).unwrap();
    stage.snapshot().unwrap();
}

#[test]
fn a_container_that_died_unnoticed_is_woken_and_captured_where_the_caller_says_wake() {
    let stage = Stage::with_sandbox();
    stage.world.dies_unnoticed("agent-42");
    stage.snapshot_as_asked(waking()).unwrap();
    assert!(!stage.world.carries_note("agent-42"));
}

#[test]
fn where_there_is_no_note_none_is_removed() {
    let stage = Stage::empty();
    stage.snapshot_as_asked(waking()).unwrap();
    assert_eq!(stage.world.count(Method::RemoveNote), 0);
}

#[test]
fn removing_the_note_is_tried_again_when_it_fails_in_passing() {
    let stage = noted();
    stage.world.before(Method::RemoveNote).first(2).fails_in_passing();
    stage.snapshot_as_asked(waking()).unwrap();
    assert!(!stage.world.carries_note("agent-42"));
}

#[test]
fn a_note_that_cannot_be_removed_fails_the_wake() {
    let stage = noted();
    stage.world.before(Method::RemoveNote).fails_in_passing();
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn a_wake_that_is_refused_leaves_the_note() {
    let stage = noted();
    let dir = Some(Directory::parse("/workspace/app").unwrap());
    stage.snapshot_as_asked(SnapshotRequest { dir, ..waking() }).fails_as(Code::InvalidDirectory);
    assert!(stage.world.carries_note("agent-42"));
}

#[test]
fn a_container_that_cannot_be_noted_is_said_to_be_replaced_and_not_marked() {
    let (_, error) = replaced_when(|world| {
        world.dies_unnoticed("agent-42");
        world.before(Method::LeaveNote).fails_in_passing();
    });
    assert!(error.message().contains("could not be marked"), "{error}");
}

#[test]
fn a_container_that_could_be_noted_is_not_said_to_be_unmarked() {
    let (_, error) = replaced_when(|world| world.dies_unnoticed("agent-42"));
    assert!(!error.message().contains("could not be marked"), "{error}");
}
