//! The Worker detects a replaced container by its age and writes a note into it. Neither the call that detects it nor a
//! later one captures its empty directory as the files of the sandbox.

use sandbox_snapshotter::model::{Code, Directory, Error, SnapshotRequest};

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method, World, sandbox};

fn wake_request() -> SnapshotRequest {
    SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }
}

/// Asserts that a snapshot under the fault plan fails with `SandboxReplaced` and leaves nothing in R2.
fn expect_replaced(plan: impl FnOnce(&World)) -> (Fixture, Error) {
    let fixture = Fixture::with_sandbox();
    plan(&fixture.world);
    let error = fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.assert_nothing_stored();
    (fixture, error)
}

/// Returns a sandbox whose container was noted as a replacement 2 minutes ago.
fn with_noted_container() -> Fixture {
    let (fixture, _) = expect_replaced(|world| world.end_container_unnoticed("agent-42"));
    fixture.advance_with_alarms(2 * MINUTE);
    fixture.world.reset_calls();
    fixture
}

/// Returns a sandbox whose container is `millis` ms old.
fn with_container_age(millis: i64) -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.world.advance_clock(millis);
    fixture
}

#[test]
fn container_that_ended_unnoticed_is_detected() {
    let (fixture, error) = expect_replaced(|world| world.end_container_unnoticed("agent-42"));
    assert!(error.message().contains("was replaced"), "{error}");
    assert_eq!(fixture.world.calls_about("agent-42"), [Method::Status, Method::UpdateMarker, Method::AddReplacedNote]);
}

#[test]
fn replaced_container_is_noted_when_probe_that_started_it_is_interrupted() {
    let (fixture, _) = expect_replaced(|world| {
        world.end_container_unnoticed("agent-42");
        world.after(Method::Probe).nth(1).fail_transiently();
    });
    assert!(fixture.world.has_replaced_note("agent-42"));
}

#[test]
fn container_replaced_during_probe_is_detected() {
    expect_replaced(|world| world.before(Method::Probe).run(|world| world.replace_container("agent-42")));
}

#[test]
fn snapshot_succeeds_when_container_is_replaced_after_probe() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::Probe).run(|world| world.replace_container("agent-42"));
    fixture.snapshot().unwrap();
}

#[test]
fn container_that_ended_before_backup_is_detected() {
    expect_replaced(|world| world.before(Method::CreateBackup).run(|world| world.end_container("agent-42")));
}

#[test]
fn container_that_ended_unnoticed_before_backup_is_detected() {
    expect_replaced(|world| world.before(Method::CreateBackup).run(|world| world.end_container_unnoticed("agent-42")));
}

#[test]
fn container_replaced_before_backup_is_detected() {
    expect_replaced(|world| world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42")));
}

#[test]
fn container_replaced_during_backup_is_detected() {
    expect_replaced(|world| world.after(Method::CreateBackup).run(|world| world.replace_container("agent-42")));
}

#[test]
fn container_that_ended_after_backup_is_detected() {
    expect_replaced(|world| world.after(Method::CreateBackup).run(|world| world.end_container("agent-42")));
}

#[test]
fn container_replaced_after_wake_is_detected() {
    let fixture = Fixture::empty();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxReplaced);
    fixture.assert_nothing_stored();
}

#[test]
fn error_says_that_backup_of_replaced_container_was_deleted() {
    let (_, error) =
        expect_replaced(|world| world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42")));
    assert!(error.message().contains("6b1f0c1e-0000-4000-8000-000000000001 was deleted"), "{error}");
}

#[test]
fn replacement_error_is_not_retryable() {
    let (_, error) = expect_replaced(|world| world.end_container_unnoticed("agent-42"));
    assert!(!error.is_retryable());
}

#[test]
fn reconnection_is_not_a_replacement() {
    let moments = [(Method::Probe, "at the look"), (Method::CreateBackup, "at the backup")];
    for (method, moment) in moments {
        let fixture = Fixture::with_sandbox();
        fixture.world.before(method).nth(1).run(|world| world.reconnect("agent-42"));
        fixture.snapshot().unwrap();
        assert_eq!(fixture.world.backup_ids().len(), 1, "{moment}");
        assert_eq!(fixture.world.call_count(Method::AddReplacedNote), 0, "{moment}");
    }
}

#[test]
fn container_counts_as_older_only_by_more_than_ten_milliseconds() {
    // The container measures an age of 20 ms. The calls before the answer take 3 ms more.
    let snapshot_with_answer_after = |millis| {
        let fixture = with_container_age(20);
        fixture.world.after(Method::UpdateMarker).take_millis(millis);
        fixture.snapshot()
    };
    snapshot_with_answer_after(7).unwrap();
    snapshot_with_answer_after(8).expect_code(Code::SandboxReplaced);
}

#[test]
fn age_measured_too_slowly_is_measured_again() {
    let fixture = with_container_age(100);
    fixture.world.after(Method::UpdateMarker).first(2).take_millis(500);
    fixture.snapshot().unwrap();
    assert_eq!(fixture.world.call_count(Method::UpdateMarker), 3);
}

#[test]
fn inconclusive_age_counts_as_replacement() {
    let fixture = with_container_age(100);
    fixture.world.after(Method::UpdateMarker).take_millis(500);
    let error = fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert!(error.message().contains("may have been replaced"), "{error}");
    fixture.assert_nothing_stored();
}

#[test]
fn wake_captures_container_that_may_have_been_replaced() {
    let fixture = with_container_age(5);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.advance_with_alarms(2 * MINUTE);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.snapshot_with(SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }).unwrap();
    fixture.snapshot().unwrap();
}

#[test]
fn younger_container_is_detected_with_one_probe() {
    let (fixture, _) =
        expect_replaced(|world| world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42")));
    assert_eq!(fixture.world.call_count(Method::Probe), 1);
}

#[test]
fn backup_is_deleted_when_container_cannot_be_probed() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::Probe).fail_transiently();
    fixture.snapshot().expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
    fixture.assert_nothing_stored();
}

#[test]
fn replacement_container_stays_refused_whenever_previous_one_ended() {
    let plans: [fn(&World); 3] = [
        |world| world.end_container_unnoticed("agent-42"),
        |world| world.before(Method::CreateBackup).run(|world| world.end_container_unnoticed("agent-42")),
        |world| world.after(Method::CreateBackup).run(|world| world.replace_container("agent-42")),
    ];
    for (number, plan) in plans.into_iter().enumerate() {
        let (fixture, _) = expect_replaced(plan);
        fixture.world.clear_faults();
        fixture.advance_with_alarms(2 * MINUTE);
        assert!(fixture.snapshot().is_err_and(|error| error.code() == Code::SandboxReplaced), "plan {number}");
    }
}

#[test]
fn noted_container_is_refused_by_every_later_snapshot() {
    let fixture = with_noted_container();
    for _ in 0..2 {
        fixture.snapshot().expect_code(Code::SandboxReplaced);
        fixture.world.advance_clock(60_000);
    }
    fixture.assert_nothing_stored();
}

#[test]
fn noted_container_with_new_files_is_refused() {
    let fixture = with_noted_container();
    fixture.world.write_file("agent-42", FILE, "not what was lost");
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn missing_directory_in_noted_container_is_reported_as_replacement() {
    let dir = Some(Directory::parse("/workspace/app").unwrap());
    let request = SnapshotRequest { dir, ..SnapshotRequest::of(sandbox("agent-42")) };
    with_noted_container().snapshot_with(request).expect_code(Code::SandboxReplaced);
}

#[test]
fn note_ends_with_its_container() {
    let fixture = with_noted_container();
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(60_000);
    fixture.snapshot().unwrap();
}

#[test]
fn snapshot_with_wake_captures_noted_container() {
    let fixture = with_noted_container();
    fixture.snapshot_with(wake_request()).unwrap();
    assert_eq!(fixture.world.backup_ids().len(), 1);
}

#[test]
fn container_captured_with_wake_is_captured_without_it_later() {
    let fixture = with_noted_container();
    fixture.snapshot_with(wake_request()).unwrap();
    fixture.snapshot().unwrap();
}

#[test]
fn snapshot_with_wake_captures_container_after_unnoticed_end() {
    let fixture = Fixture::with_sandbox();
    fixture.world.end_container_unnoticed("agent-42");
    fixture.snapshot_with(wake_request()).unwrap();
    assert!(!fixture.world.has_replaced_note("agent-42"));
}

#[test]
fn snapshot_with_wake_removes_no_note_when_none_exists() {
    let fixture = Fixture::empty();
    fixture.snapshot_with(wake_request()).unwrap();
    assert_eq!(fixture.world.call_count(Method::RemoveReplacedNote), 0);
}

#[test]
fn removal_of_note_is_retried_after_transient_failure() {
    let fixture = with_noted_container();
    fixture.world.before(Method::RemoveReplacedNote).first(2).fail_transiently();
    fixture.snapshot_with(wake_request()).unwrap();
    assert!(!fixture.world.has_replaced_note("agent-42"));
}

#[test]
fn snapshot_with_wake_fails_when_note_cannot_be_removed() {
    let fixture = with_noted_container();
    fixture.world.before(Method::RemoveReplacedNote).fail_transiently();
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn refused_snapshot_with_wake_keeps_the_note() {
    let fixture = with_noted_container();
    let dir = Some(Directory::parse("/workspace/app").unwrap());
    fixture.snapshot_with(SnapshotRequest { dir, ..wake_request() }).expect_code(Code::InvalidDirectory);
    assert!(fixture.world.has_replaced_note("agent-42"));
}

#[test]
fn error_says_when_replaced_container_could_not_be_marked() {
    let (_, error) = expect_replaced(|world| {
        world.end_container_unnoticed("agent-42");
        world.before(Method::AddReplacedNote).fail_transiently();
    });
    assert!(error.message().contains("could not be marked"), "{error}");
}

#[test]
fn error_does_not_mention_marking_when_note_was_written() {
    let (_, error) = expect_replaced(|world| world.end_container_unnoticed("agent-42"));
    assert!(!error.message().contains("could not be marked"), "{error}");
}
