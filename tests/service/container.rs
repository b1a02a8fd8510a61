//! Nothing empty by accident is captured: a sandbox that is not up is refused, unless it is to be woken, and so is a
//! directory that is not there.

use sandbox_snapshotter::model::{Code, Directory, Error, Failure, SnapshotRequest};

use super::support::{Checked, FILE, Method, Stage, sandbox};

fn waking() -> SnapshotRequest {
    SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }
}

fn directory(dir: &str) -> SnapshotRequest {
    SnapshotRequest { dir: Some(Directory::parse(dir).unwrap()), ..SnapshotRequest::of(sandbox("agent-42")) }
}

/// Takes a snapshot of a directory that can't be captured: no backup may be left.
fn not_captured(stage: &Stage, request: SnapshotRequest) -> Error {
    let error = stage.snapshot_as_asked(request).fails_as(Code::InvalidDirectory);
    stage.assert_nothing_stored();
    error
}

#[test]
fn a_sandbox_that_never_ran_is_refused_and_not_started() {
    let stage = Stage::empty();
    stage.snapshot().fails_as(Code::SandboxNotRunning);
    assert_eq!(stage.world.calls(), [(Method::State, "agent-42".into())]);
}

#[test]
fn a_sandbox_that_stopped_is_refused_and_not_started() {
    let stage = Stage::with_sandbox();
    stage.world.stops("agent-42");
    stage.snapshot().fails_as(Code::SandboxNotRunning);
    assert_eq!(stage.world.calls(), [(Method::State, "agent-42".into())]);
}

#[test]
fn a_sandbox_that_is_starting_is_refused_for_now() {
    let stage = Stage::empty();
    stage.world.is_starting("agent-42");
    let error = stage.snapshot().fails_as(Code::SandboxStarting);
    assert!(error.retryable());
    assert_eq!(stage.world.calls(), [(Method::State, "agent-42".into())]);
}

#[test]
fn a_sandbox_that_stops_when_its_files_were_captured_was_captured() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::Probe).happens(|world| world.stops("agent-42"));
    stage.snapshot().unwrap();
}

#[test]
fn a_sandbox_that_cannot_be_looked_at_is_not_said_to_be_stopped() {
    for (method, calls) in [(Method::State, 1..=1), (Method::Probe, 1..=3)] {
        let stage = Stage::with_sandbox();
        calls.for_each(|nth| stage.world.before(method).nth(nth).fails_in_passing());
        stage.snapshot().fails_as(Code::SandboxUnavailable);
        stage.assert_nothing_stored();
    }
}

#[test]
fn a_sandbox_that_cannot_be_looked_into_in_passing_is_looked_into_again() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::Probe).first(2).fails_in_passing();
    stage.snapshot().unwrap();
}

#[test]
fn a_stopped_sandbox_is_started_and_captured_where_the_caller_says_wake() {
    let stage = Stage::empty();
    stage.snapshot_as_asked(waking()).unwrap();
    assert_eq!(
        stage.world.calls_about("agent-42"),
        [Method::State, Method::Probe, Method::State, Method::Stamp, Method::CreateBackup, Method::State]
    );
}

#[test]
fn a_starting_sandbox_is_captured_when_it_is_up_where_the_caller_says_wake() {
    let stage = Stage::empty();
    stage.world.is_starting("agent-42");
    stage.world.before(Method::Probe).happens(|world| world.is_up("agent-42"));
    stage.snapshot_as_asked(waking()).unwrap();
}

#[test]
fn a_running_sandbox_is_not_woken() {
    let stage = Stage::with_sandbox();
    stage.snapshot_as_asked(waking()).unwrap();
    assert_eq!(
        stage.world.calls_about("agent-42"),
        [Method::State, Method::Probe, Method::Stamp, Method::CreateBackup, Method::State]
    );
}

#[test]
fn a_sandbox_that_starts_slowly_is_waited_for_where_the_caller_says_wake() {
    let stage = Stage::empty();
    stage.world.is_starting("agent-42");
    stage.world.after(Method::Sleep).nth(2).happens(|world| world.is_up("agent-42"));
    stage.snapshot_as_asked(waking()).unwrap();
}

#[test]
fn a_sandbox_that_does_not_get_up_is_not_waited_for_without_end() {
    let stage = Stage::empty();
    stage.world.is_starting("agent-42");
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxStarting);
    assert_eq!(stage.world.waits().len(), 2);
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn waking_is_tried_again_when_it_fails_in_passing() {
    let stage = Stage::empty();
    stage.world.before(Method::Probe).first(2).fails_in_passing();
    stage.snapshot_as_asked(waking()).unwrap();
}

#[test]
fn waking_is_tried_again_when_the_container_did_not_start() {
    let stage = Stage::empty();
    let not_started = Failure::new("SandboxError", "Container failed to start: it exited").with_code("INTERNAL_ERROR");
    stage.world.before(Method::Probe).nth(1).fails_with(not_started);
    stage.snapshot_as_asked(waking()).unwrap();
}

#[test]
fn a_sandbox_that_does_not_wake_fails_the_snapshot() {
    let stage = Stage::empty();
    let no_room = Failure::new("Error", "There is no container instance that can be provided to this Durable Object");
    stage.world.before(Method::Probe).fails_with(no_room);
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn a_failure_to_see_the_state_is_no_reason_to_wake() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::State).fails_in_passing();
    stage.snapshot_as_asked(waking()).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.count(Method::Probe), 0);
}

#[test]
fn a_directory_that_is_not_there_is_told_and_no_backup_is_left() {
    let error = not_captured(&Stage::with_sandbox(), directory("/workspace/app"));
    assert!(error.message().contains("\"/workspace/app\" is not there"), "{error}");
}

#[test]
fn a_directory_that_is_reached_by_a_link_is_told_and_no_backup_is_left() {
    for dir in ["/workspace/current", "/workspace/current/app"] {
        let stage = Stage::with_sandbox();
        stage.world.links("agent-42", "/workspace/current");
        stage.world.writes("agent-42", "/workspace/current/app/main.rs", "there, by the link");
        let error = not_captured(&stage, directory(dir));
        assert!(error.message().contains("symbolic link"), "{error}");
    }
}

#[test]
fn a_file_is_no_directory_and_told_and_no_backup_is_left() {
    let error = not_captured(&Stage::with_sandbox(), directory(FILE));
    assert!(error.message().contains("is not a directory"), "{error}");
}

#[test]
fn a_directory_that_cannot_be_captured_is_no_reason_to_try_again_or_to_wake() {
    let stage = Stage::with_sandbox();
    let error = not_captured(&stage, SnapshotRequest { wake: true, ..directory("/workspace/app") });
    assert!(!error.retryable());
    assert_eq!(stage.world.count(Method::Probe), 1);
}

#[test]
fn a_directory_that_a_woken_sandbox_does_not_have_is_told_and_no_backup_is_left() {
    not_captured(&Stage::empty(), SnapshotRequest { wake: true, ..directory("/workspace/app") });
}
