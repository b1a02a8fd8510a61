//! `snapshot` never captures a directory that is empty by accident: it refuses a sandbox that does not run, unless the
//! caller passes `wake`, and a directory that does not exist.

use sandbox_snapshotter::model::{Code, Directory, Error, Failure, SnapshotRequest};

use crate::support::{ExpectError, FILE, Fixture, Method, sandbox};

fn wake_request() -> SnapshotRequest {
    SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) }
}

fn directory_request(dir: &str) -> SnapshotRequest {
    SnapshotRequest { dir: Some(Directory::parse(dir).unwrap()), ..SnapshotRequest::of(sandbox("agent-42")) }
}

/// Asserts that the snapshot fails with `InvalidDirectory` and leaves no backup.
fn expect_not_captured(fixture: &Fixture, request: SnapshotRequest) -> Error {
    let error = fixture.snapshot_with(request).expect_code(Code::InvalidDirectory);
    fixture.assert_nothing_stored();
    error
}

#[test]
fn snapshot_refuses_sandbox_that_never_ran_and_does_not_start_it() {
    let fixture = Fixture::empty();
    fixture.snapshot().expect_code(Code::SandboxNotRunning);
    assert_eq!(fixture.world.calls(), [(Method::Status, "agent-42".into())]);
}

#[test]
fn snapshot_refuses_sandbox_whose_container_ended_and_does_not_start_it() {
    let fixture = Fixture::with_sandbox();
    fixture.world.end_container("agent-42");
    fixture.snapshot().expect_code(Code::SandboxNotRunning);
    assert_eq!(fixture.world.calls(), [(Method::Status, "agent-42".into())]);
}

#[test]
fn files_are_reported_gone_only_of_sandbox_with_record() {
    let unknown = Fixture::empty().snapshot().expect_code(Code::SandboxNotRunning);
    assert!(unknown.message().starts_with("There is no record of a sandbox \"agent-42\""), "{}", unknown.message());
    assert!(unknown.remediation().starts_with("Pass the id of a sandbox"), "{}", unknown.remediation());
    let fixture = Fixture::with_sandbox();
    fixture.snapshot().unwrap();
    fixture.world.end_container("agent-42");
    let ended = fixture.snapshot().expect_code(Code::SandboxNotRunning);
    assert!(ended.message().contains("its files are gone"), "{}", ended.message());
    assert!(ended.remediation().contains("Revive the sandbox"), "{}", ended.remediation());
}

#[test]
fn snapshot_of_starting_sandbox_fails_with_retryable_error() {
    let fixture = Fixture::empty();
    fixture.world.set_starting("agent-42");
    let error = fixture.snapshot().expect_code(Code::SandboxStarting);
    assert!(error.is_retryable());
    assert_eq!(fixture.world.calls(), [(Method::Status, "agent-42".into())]);
}

#[test]
fn snapshot_succeeds_when_container_ends_after_capture() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::Probe).run(|world| world.end_container("agent-42"));
    fixture.snapshot().unwrap();
}

#[test]
fn unreachable_sandbox_is_reported_unavailable_instead_of_not_running() {
    for (method, calls) in [(Method::Status, 1..=1), (Method::Probe, 1..=3)] {
        let fixture = Fixture::with_sandbox();
        calls.for_each(|nth| fixture.world.before(method).nth(nth).fail_transiently());
        fixture.snapshot().expect_code(Code::SandboxUnavailable);
        fixture.assert_nothing_stored();
    }
}

#[test]
fn probe_is_retried_after_transient_failure() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::Probe).first(2).fail_transiently();
    fixture.snapshot().unwrap();
}

#[test]
fn snapshot_with_wake_starts_and_captures_sandbox_that_does_not_run() {
    let fixture = Fixture::empty();
    fixture.snapshot_with(wake_request()).unwrap();
    assert_eq!(
        fixture.world.calls_about("agent-42"),
        [
            Method::Status,
            Method::Probe,
            Method::Status,
            Method::UpdateMarker,
            Method::WatchChanges,
            Method::CreateBackup,
            Method::Status,
            Method::ChangedSinceWatch
        ]
    );
}

#[test]
fn snapshot_with_wake_captures_starting_sandbox_when_it_is_healthy() {
    let fixture = Fixture::empty();
    fixture.world.set_starting("agent-42");
    fixture.world.before(Method::Probe).run(|world| world.set_healthy("agent-42"));
    fixture.snapshot_with(wake_request()).unwrap();
}

#[test]
fn snapshot_with_wake_does_not_start_running_sandbox() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_with(wake_request()).unwrap();
    assert_eq!(
        fixture.world.calls_about("agent-42"),
        [
            Method::Status,
            Method::Probe,
            Method::UpdateMarker,
            Method::WatchChanges,
            Method::CreateBackup,
            Method::Status,
            Method::ChangedSinceWatch
        ]
    );
}

#[test]
fn snapshot_with_wake_waits_for_slowly_starting_sandbox() {
    let fixture = Fixture::empty();
    fixture.world.set_starting("agent-42");
    fixture.world.after(Method::Sleep).nth(2).run(|world| world.set_healthy("agent-42"));
    fixture.snapshot_with(wake_request()).unwrap();
}

#[test]
fn snapshot_with_wake_waits_for_a_limited_time() {
    let fixture = Fixture::empty();
    fixture.world.set_starting("agent-42");
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxStarting);
    assert_eq!(fixture.world.sleeps().len(), 2);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn snapshot_with_wake_retries_after_transient_failure() {
    let fixture = Fixture::empty();
    fixture.world.before(Method::Probe).first(2).fail_transiently();
    fixture.snapshot_with(wake_request()).unwrap();
}

#[test]
fn snapshot_with_wake_retries_when_container_does_not_start() {
    let fixture = Fixture::empty();
    let not_started = Failure::new("SandboxError", "Container failed to start: it exited").with_code("INTERNAL_ERROR");
    fixture.world.before(Method::Probe).nth(1).fail_with(not_started);
    fixture.snapshot_with(wake_request()).unwrap();
}

#[test]
fn snapshot_with_wake_fails_when_sandbox_cannot_start() {
    let fixture = Fixture::empty();
    let no_room = Failure::new("Error", "There is no container instance that can be provided to this Durable Object");
    fixture.world.before(Method::Probe).fail_with(no_room);
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn snapshot_with_wake_starts_nothing_when_status_is_unknown() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::Status).fail_transiently();
    fixture.snapshot_with(wake_request()).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.call_count(Method::Probe), 0);
}

#[test]
fn snapshot_of_missing_directory_is_refused_and_leaves_no_backup() {
    let error = expect_not_captured(&Fixture::with_sandbox(), directory_request("/workspace/app"));
    assert!(error.message().contains("\"/workspace/app\" does not exist"), "{error}");
}

#[test]
fn snapshot_of_directory_behind_symlink_is_refused_and_leaves_no_backup() {
    for dir in ["/workspace/current", "/workspace/current/app"] {
        let fixture = Fixture::with_sandbox();
        fixture.world.create_symlink("agent-42", "/workspace/current");
        fixture.world.write_file("agent-42", "/workspace/current/app/main.rs", "there, by the link");
        let error = expect_not_captured(&fixture, directory_request(dir));
        assert!(error.message().contains("symbolic link"), "{error}");
    }
}

#[test]
fn snapshot_of_file_is_refused_and_leaves_no_backup() {
    let error = expect_not_captured(&Fixture::with_sandbox(), directory_request(FILE));
    assert!(error.message().contains("is not a directory"), "{error}");
}

#[test]
fn invalid_directory_is_neither_retried_nor_reason_to_start_sandbox() {
    let fixture = Fixture::with_sandbox();
    let error = expect_not_captured(&fixture, SnapshotRequest { wake: true, ..directory_request("/workspace/app") });
    assert!(!error.is_retryable());
    assert_eq!(fixture.world.call_count(Method::Probe), 1);
}

#[test]
fn snapshot_with_wake_refuses_directory_missing_in_started_sandbox() {
    expect_not_captured(&Fixture::empty(), SnapshotRequest { wake: true, ..directory_request("/workspace/app") });
}
