//! One capture at a time; who asks for the same shares it.

use std::rc::Rc;

use sandbox_snapshotter::model::{Code, Directory, Failure, Label, Result, SnapshotRequest, Taken};
use sandbox_snapshotter::service::{Abort, Snapshotter};

use super::support::{Checked, Gate, Method, Running, Signal, Stage, sandbox};

type Call = Running<Result<Taken>>;

fn plain() -> SnapshotRequest {
    SnapshotRequest::of(sandbox("agent-42"))
}

fn fresh() -> SnapshotRequest {
    SnapshotRequest { fresh: true, ..plain() }
}

fn labelled(label: &str) -> SnapshotRequest {
    SnapshotRequest { label: Some(Label::parse(label).unwrap()), ..plain() }
}

fn ask_with(stage: &Stage, request: SnapshotRequest, abort: Abort) -> Call {
    let snapshotter = stage.of("agent-42");
    Running::start(async move { snapshotter.snapshot(request, abort).await })
}

fn ask(stage: &Stage, request: SnapshotRequest) -> Call {
    ask_with(stage, request, Abort::never())
}

/// A first capture is under way, and held in `createBackup`.
fn with_capture_under_way() -> (Stage, Rc<Gate>, Call) {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let first = ask(&stage, plain());
    assert!(gate.is_reached());
    (stage, gate, first)
}

fn backups(stage: &Stage) -> usize {
    stage.world.count(Method::CreateBackup)
}

#[test]
fn callers_who_ask_for_the_same_share_one_backup() {
    let (stage, gate, first) = with_capture_under_way();
    let others: Vec<Call> = (0..49).map(|_| ask(&stage, plain())).collect();
    gate.open();
    let first = first.answer().unwrap();
    for other in others {
        assert_eq!(other.answer().unwrap().snapshot, first.snapshot);
    }
    assert_eq!(backups(&stage), 1);
}

#[test]
fn a_shared_answer_says_so_and_when_its_capture_began() {
    let (stage, gate, first) = with_capture_under_way();
    stage.world.pass(5_000);
    let second = ask(&stage, plain());
    gate.open();
    let (first, second) = (first.answer().unwrap().capture, second.answer().unwrap().capture);
    assert_eq!((first.shared, second.shared), (false, true));
    assert_eq!(first.began_at, second.began_at);
}

#[test]
fn the_default_directory_is_the_same_by_its_name() {
    let (stage, gate, first) = with_capture_under_way();
    let named = SnapshotRequest { dir: Some(Directory::parse("/workspace").unwrap()), ..plain() };
    let second = ask(&stage, named);
    gate.open();
    assert_eq!(first.answer().unwrap().snapshot, second.answer().unwrap().snapshot);
}

#[test]
fn other_options_wait_for_their_turn() {
    let (stage, gate, first) = with_capture_under_way();
    let second = ask(&stage, labelled("other"));
    assert_eq!(backups(&stage), 1, "one at a time");
    gate.open();
    let (first, second) = (first.answer().unwrap(), second.answer().unwrap());
    assert_ne!(first.snapshot, second.snapshot);
    assert!(second.capture.began_at > first.capture.began_at && !second.capture.shared);
}

#[test]
fn a_fresh_capture_begins_after_the_one_under_way() {
    let (stage, gate, first) = with_capture_under_way();
    let second = ask(&stage, fresh());
    assert_eq!(backups(&stage), 1);
    gate.open();
    let (first, second) = (first.answer().unwrap(), second.answer().unwrap());
    assert!(second.capture.began_at >= first.snapshot.created_at());
    assert!(!second.capture.shared);
}

#[test]
fn a_capture_that_waits_is_fresh_enough_to_be_shared() {
    let (stage, gate, first) = with_capture_under_way();
    let (second, third) = (ask(&stage, fresh()), ask(&stage, fresh()));
    gate.open();
    first.answer().unwrap();
    assert_eq!(second.answer().unwrap().snapshot, third.answer().unwrap().snapshot);
    assert_eq!(backups(&stage), 2);
}

#[test]
fn a_capture_that_is_done_is_shared_no_more() {
    let stage = Stage::with_sandbox();
    let (first, second) = (ask(&stage, plain()).answer().unwrap(), ask(&stage, plain()).answer().unwrap());
    assert_ne!(first.snapshot, second.snapshot);
    assert!(!second.capture.shared);
}

#[test]
fn a_failure_is_shared_and_then_over() {
    let (stage, gate, first) = with_capture_under_way();
    stage.world.after(Method::CreateBackup).nth(1).fails_with(Failure::new("BackupCreateError", "no room"));
    let second = ask(&stage, plain());
    gate.open();
    first.answer().fails_as(Code::BackupFailed);
    second.answer().fails_as(Code::BackupFailed);
    ask(&stage, plain()).answer().unwrap();
}

#[test]
fn a_failure_does_not_stop_those_who_wait_for_their_turn() {
    let (stage, gate, first) = with_capture_under_way();
    stage.world.after(Method::CreateBackup).nth(1).fails_with(Failure::new("BackupCreateError", "no room"));
    let second = ask(&stage, labelled("other"));
    gate.open();
    first.answer().fails_as(Code::BackupFailed);
    second.answer().unwrap();
}

#[test]
fn a_caller_who_goes_leaves_the_capture_to_the_others() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let (signal, abort) = Signal::new();
    let (goes, stays) = (ask_with(&stage, plain(), abort), ask(&stage, plain()));
    signal.fire();
    goes.answer().fails_as(Code::Aborted);
    gate.open();
    stays.answer().unwrap();
    assert_eq!(backups(&stage), 1);
}

#[test]
fn a_capture_that_everybody_left_is_taken_back() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let (signal, abort) = Signal::new();
            (signal, ask_with(&stage, plain(), abort))
        })
        .collect();
    for (signal, call) in callers {
        signal.fire();
        call.answer().fails_as(Code::Aborted);
    }
    gate.open();
    stage.world.finish_background();
    stage.assert_nothing_stored();
}

#[test]
fn a_caller_who_comes_after_everybody_left_gets_a_capture_of_its_own() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let (signal, abort) = Signal::new();
    let left = ask_with(&stage, plain(), abort);
    signal.fire();
    left.answer().fails_as(Code::Aborted);
    let late = ask(&stage, plain());
    assert!(!late.answer().unwrap().capture.shared);
    gate.open();
    stage.world.finish_background();
    assert_eq!(stage.world.stored().len(), 1, "only the late one's backup is kept");
}

#[test]
fn a_capture_that_hangs_holds_nobody_up_once_everybody_left_it() {
    let stage = Stage::with_sandbox();
    let _never_opened = stage.world.before(Method::CreateBackup).nth(1).held();
    let (signal, abort) = Signal::new();
    let left = ask_with(&stage, plain(), abort);
    let behind = ask(&stage, labelled("other"));
    signal.fire();
    left.answer().fails_as(Code::Aborted);
    behind.answer().unwrap();
}

#[test]
fn who_stands_behind_a_capture_that_left_the_line_still_waits_for_the_one_in_front() {
    let (stage, gate, first) = with_capture_under_way();
    let (signal, abort) = Signal::new();
    let second = ask_with(&stage, labelled("second"), abort);
    let mut third = ask(&stage, labelled("third"));
    signal.fire();
    second.answer().fails_as(Code::Aborted);
    assert!(!third.is_done());
    assert_eq!(backups(&stage), 1, "one at a time");
    gate.open();
    first.answer().unwrap();
    third.answer().unwrap();
}

#[test]
fn a_caller_who_vanishes_has_left_too() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).nth(1).held();
    drop(ask(&stage, plain()));
    gate.open();
    stage.world.finish_background();
    stage.assert_nothing_stored();
}

#[test]
fn a_line_that_is_too_long_takes_nobody_more() {
    let (stage, gate, first) = with_capture_under_way();
    let line: Vec<Call> = (1..32).map(|place| ask(&stage, labelled(&format!("place {place}")))).collect();
    ask(&stage, labelled("one too many")).answer().fails_as(Code::SandboxBusy);
    let shares = ask(&stage, labelled("place 7"));
    gate.open();
    first.answer().unwrap();
    for call in line {
        call.answer().unwrap();
    }
    assert!(shares.answer().unwrap().capture.shared);
}

#[test]
fn a_capture_that_everybody_left_before_its_turn_touches_nothing() {
    let (stage, gate, first) = with_capture_under_way();
    let (signal, abort) = Signal::new();
    let second = ask_with(&stage, labelled("other"), abort);
    signal.fire();
    second.answer().fails_as(Code::Aborted);
    gate.open();
    first.answer().unwrap();
    stage.world.finish_background();
    assert_eq!(backups(&stage), 1);
}
