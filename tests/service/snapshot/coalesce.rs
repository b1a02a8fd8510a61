//! One capture runs at a time; callers with equal requests share it.

use std::rc::Rc;

use sandbox_snapshotter::model::{Code, Directory, Failure, Label, Result, SnapshotRequest, TakenSnapshot};
use sandbox_snapshotter::service::CancellationToken;

use crate::support::{CancellationSource, ExpectError, Fixture, Gate, Method, PendingOperation, sandbox};

type Call = PendingOperation<Result<TakenSnapshot>>;

fn plain_request() -> SnapshotRequest {
    SnapshotRequest::of(sandbox("agent-42"))
}

fn fresh_request() -> SnapshotRequest {
    SnapshotRequest { fresh: true, ..plain_request() }
}

fn labeled_request(label: &str) -> SnapshotRequest {
    SnapshotRequest { label: Some(Label::parse(label).unwrap()), ..plain_request() }
}

fn start_cancellable(fixture: &Fixture, request: SnapshotRequest, abort: CancellationToken) -> Call {
    let snapshotter = fixture.snapshotter("agent-42");
    PendingOperation::start(async move { snapshotter.snapshot(request, abort).await })
}

fn start_snapshot(fixture: &Fixture, request: SnapshotRequest) -> Call {
    start_cancellable(fixture, request, CancellationToken::never())
}

/// Returns a fixture whose first capture is in flight, blocked in `createBackup`.
fn with_capture_in_flight() -> (Fixture, Rc<Gate>, Call) {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let first = start_snapshot(&fixture, plain_request());
    assert!(gate.is_reached());
    (fixture, gate, first)
}

fn backup_count(fixture: &Fixture) -> usize {
    fixture.world.call_count(Method::CreateBackup)
}

#[test]
fn equal_requests_share_one_backup() {
    let (fixture, gate, first) = with_capture_in_flight();
    let others: Vec<Call> = (0..49).map(|_| start_snapshot(&fixture, plain_request())).collect();
    gate.open();
    let first = first.answer().unwrap();
    for other in others {
        assert_eq!(other.answer().unwrap().snapshot, first.snapshot);
    }
    assert_eq!(backup_count(&fixture), 1);
}

#[test]
fn shared_answer_reports_shared_and_time_of_capture() {
    let (fixture, gate, first) = with_capture_in_flight();
    fixture.world.advance_clock(5_000);
    let second = start_snapshot(&fixture, plain_request());
    gate.open();
    let (first, second) = (first.answer().unwrap().capture, second.answer().unwrap().capture);
    assert_eq!((first.shared, second.shared), (false, true));
    assert_eq!(first.began_at, second.began_at);
}

#[test]
fn default_directory_equals_its_explicit_path() {
    let (fixture, gate, first) = with_capture_in_flight();
    let named = SnapshotRequest { dir: Some(Directory::parse("/workspace").unwrap()), ..plain_request() };
    let second = start_snapshot(&fixture, named);
    gate.open();
    assert_eq!(first.answer().unwrap().snapshot, second.answer().unwrap().snapshot);
}

#[test]
fn request_with_other_options_waits_for_running_capture() {
    let (fixture, gate, first) = with_capture_in_flight();
    let second = start_snapshot(&fixture, labeled_request("other"));
    assert_eq!(backup_count(&fixture), 1, "one at a time");
    gate.open();
    let (first, second) = (first.answer().unwrap(), second.answer().unwrap());
    assert_ne!(first.snapshot, second.snapshot);
    assert!(second.capture.began_at > first.capture.began_at && !second.capture.shared);
}

#[test]
fn fresh_capture_begins_after_running_capture() {
    let (fixture, gate, first) = with_capture_in_flight();
    let second = start_snapshot(&fixture, fresh_request());
    assert_eq!(backup_count(&fixture), 1);
    gate.open();
    let (first, second) = (first.answer().unwrap(), second.answer().unwrap());
    assert!(second.capture.began_at >= first.snapshot.created_at());
    assert!(!second.capture.shared);
}

#[test]
fn fresh_requests_share_a_queued_capture() {
    let (fixture, gate, first) = with_capture_in_flight();
    let (second, third) = (start_snapshot(&fixture, fresh_request()), start_snapshot(&fixture, fresh_request()));
    gate.open();
    first.answer().unwrap();
    assert_eq!(second.answer().unwrap().snapshot, third.answer().unwrap().snapshot);
    assert_eq!(backup_count(&fixture), 2);
}

#[test]
fn completed_capture_is_not_shared() {
    let fixture = Fixture::with_sandbox();
    let (first, second) = (
        start_snapshot(&fixture, plain_request()).answer().unwrap(),
        start_snapshot(&fixture, plain_request()).answer().unwrap(),
    );
    assert_ne!(first.snapshot, second.snapshot);
    assert!(!second.capture.shared);
}

#[test]
fn failure_is_shared_only_with_concurrent_callers() {
    let (fixture, gate, first) = with_capture_in_flight();
    fixture.world.after(Method::CreateBackup).nth(1).fail_with(Failure::new("BackupCreateError", "no room"));
    let second = start_snapshot(&fixture, plain_request());
    gate.open();
    first.answer().expect_code(Code::BackupFailed);
    second.answer().expect_code(Code::BackupFailed);
    start_snapshot(&fixture, plain_request()).answer().unwrap();
}

#[test]
fn failure_does_not_stop_queued_captures() {
    let (fixture, gate, first) = with_capture_in_flight();
    fixture.world.after(Method::CreateBackup).nth(1).fail_with(Failure::new("BackupCreateError", "no room"));
    let second = start_snapshot(&fixture, labeled_request("other"));
    gate.open();
    first.answer().expect_code(Code::BackupFailed);
    second.answer().unwrap();
}

#[test]
fn capture_continues_for_other_callers_when_one_aborts() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let (leaving, staying) =
        (start_cancellable(&fixture, plain_request(), abort), start_snapshot(&fixture, plain_request()));
    signal.cancel();
    leaving.answer().expect_code(Code::Aborted);
    gate.open();
    staying.answer().unwrap();
    assert_eq!(backup_count(&fixture), 1);
}

#[test]
fn capture_is_rolled_back_when_all_callers_abort() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (signal, abort) = CancellationSource::new();
            (signal, start_cancellable(&fixture, plain_request(), abort))
        })
        .collect();
    for (signal, call) in callers {
        signal.cancel();
        call.answer().expect_code(Code::Aborted);
    }
    gate.open();
    fixture.world.finish_background();
    fixture.assert_nothing_stored();
}

#[test]
fn caller_after_all_others_aborted_gets_own_capture() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let first = start_cancellable(&fixture, plain_request(), abort);
    signal.cancel();
    first.answer().expect_code(Code::Aborted);
    let second = start_snapshot(&fixture, plain_request());
    assert!(!second.answer().unwrap().capture.shared);
    gate.open();
    fixture.world.finish_background();
    assert_eq!(fixture.world.backup_ids().len(), 1, "only the backup of the second capture is kept");
}

#[test]
fn hung_capture_does_not_block_queue_after_its_callers_abort() {
    let fixture = Fixture::with_sandbox();
    let _never_opened = fixture.world.before(Method::CreateBackup).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let first = start_cancellable(&fixture, plain_request(), abort);
    let second = start_snapshot(&fixture, labeled_request("other"));
    signal.cancel();
    first.answer().expect_code(Code::Aborted);
    second.answer().unwrap();
}

#[test]
fn queued_capture_waits_for_running_one_when_the_one_between_is_aborted() {
    let (fixture, gate, first) = with_capture_in_flight();
    let (signal, abort) = CancellationSource::new();
    let second = start_cancellable(&fixture, labeled_request("second"), abort);
    let mut third = start_snapshot(&fixture, labeled_request("third"));
    signal.cancel();
    second.answer().expect_code(Code::Aborted);
    assert!(!third.is_done());
    assert_eq!(backup_count(&fixture), 1, "one at a time");
    gate.open();
    first.answer().unwrap();
    third.answer().unwrap();
}

#[test]
fn dropped_caller_counts_as_aborted() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    drop(start_snapshot(&fixture, plain_request()));
    gate.open();
    fixture.world.finish_background();
    fixture.assert_nothing_stored();
}

#[test]
fn full_queue_refuses_new_captures_but_shares_queued_ones() {
    let (fixture, gate, first) = with_capture_in_flight();
    let queued: Vec<Call> =
        (1..32).map(|place| start_snapshot(&fixture, labeled_request(&format!("place {place}")))).collect();
    start_snapshot(&fixture, labeled_request("one too many")).answer().expect_code(Code::SandboxBusy);
    let sharing = start_snapshot(&fixture, labeled_request("place 7"));
    gate.open();
    first.answer().unwrap();
    for call in queued {
        call.answer().unwrap();
    }
    assert!(sharing.answer().unwrap().capture.shared);
}

#[test]
fn queued_capture_aborted_by_all_callers_makes_no_calls() {
    let (fixture, gate, first) = with_capture_in_flight();
    let (signal, abort) = CancellationSource::new();
    let second = start_cancellable(&fixture, labeled_request("other"), abort);
    signal.cancel();
    second.answer().expect_code(Code::Aborted);
    gate.open();
    first.answer().unwrap();
    fixture.world.finish_background();
    assert_eq!(backup_count(&fixture), 1);
}
