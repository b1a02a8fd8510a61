//! Containers with an identity that their runtime proves: identities are compared, and no command runs in the container.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::record::SnapshotRecord;
use sandbox_snapshotter::model::{ArchiveFormat, Code, Runtime, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, FILE, Fixture, MINUTE, Method, WORKSPACE, by_ref, no_expiry, sandbox};

/// Returns a sandbox of the class for containers, which has been running for 1 minute and has a file.
/// The calls of a capture of a container that its identity proves: there is no probe.
const IDENTIFIED_CALLS: [Method; 4] =
    [Method::Status, Method::WatchChanges, Method::CreateBackup, Method::ChangedSinceWatch];

fn with_sandbox() -> Fixture {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.start_sandbox("agent-42");
    fixture
}

/// Returns a sandbox of the class for containers with a snapshot that is 1 minute old. Calls are counted from here.
fn with_snapshot() -> Fixture {
    let fixture = with_sandbox();
    fixture.snapshot().unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.reset_calls();
    fixture
}

fn request_with(change: impl FnOnce(&mut SnapshotRequest)) -> SnapshotRequest {
    let mut request = SnapshotRequest::of(sandbox("agent-42"));
    change(&mut request);
    request
}

#[test]
fn snapshot_of_identified_container_needs_no_probe() {
    let fixture = with_sandbox();
    for _ in 0..3 {
        fixture.world.reset_calls();
        fixture.snapshot().unwrap();
        assert_eq!(fixture.world.calls_about("agent-42"), IDENTIFIED_CALLS);
    }
    assert_eq!(fixture.world.marker_on("agent-42"), None);
}

#[test]
fn snapshot_of_young_container_needs_no_age() {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.world.write_file("agent-42", FILE, "first");
    fixture.snapshot().unwrap();
}

#[test]
fn status_of_container_that_is_gone_is_corrected() {
    let fixture = with_sandbox();
    fixture.world.end_container_unnoticed("agent-42");
    fixture.snapshot().expect_code(Code::SandboxNotRunning);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn capture_of_another_container_is_refused_and_starts_none() {
    for is_replaced in [false, true] {
        let fixture = with_sandbox();
        fixture.world.before(Method::CreateBackup).run(move |world| {
            world.end_container("agent-42");
            if is_replaced {
                world.write_file("agent-42", FILE, "second");
            }
        });
        fixture.snapshot().expect_code(Code::SandboxReplaced);
        fixture.assert_nothing_stored();
        assert_eq!(fixture.world.running_sandboxes().contains("agent-42"), is_replaced);
    }
}

#[test]
fn refused_capture_leaves_next_container_of_the_application_acceptable() {
    let fixture = with_sandbox();
    fixture.world.before(Method::CreateBackup).nth(1).run(|world| world.end_container("agent-42"));
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.world.write_file("agent-42", FILE, "second");
    fixture.snapshot().unwrap();
}

#[test]
fn container_after_the_captured_one_is_refused_without_a_command() {
    let fixture = with_snapshot();
    fixture.world.replace_container("agent-42");
    fixture.world.reset_calls();
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.world.calls_about("agent-42"), [Method::Status]);
    assert!(!fixture.world.has_replaced_note("agent-42"));
}

#[test]
fn snapshot_with_wake_of_another_container_is_a_rescue_snapshot() {
    let fixture = with_snapshot();
    fixture.world.replace_container("agent-42");
    let taken = fixture.capture(request_with(|request| request.wake = true)).unwrap();
    assert!(taken.capture.rescue);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn adopted_container_is_captured_without_a_probe_from_then_on() {
    let fixture = with_snapshot();
    fixture.world.replace_container("agent-42");
    fixture.world.write_file("agent-42", FILE, "second");
    fixture.world.advance_clock(MINUTE);
    fixture.capture(request_with(|request| request.adopt = true)).unwrap();
    fixture.world.reset_calls();
    fixture.snapshot().unwrap();
    assert_eq!(fixture.world.calls_about("agent-42"), IDENTIFIED_CALLS);
}

#[test]
fn restored_sandbox_is_recognized_by_its_marker_first_and_by_its_identity_from_then_on() {
    let fixture = with_sandbox();
    let restored = fixture.restore(&fixture.snapshot().unwrap()).unwrap();
    let request = || SnapshotRequest::of(restored.sandbox_id().clone());
    for expected in [
        &[Method::Status, Method::WatchChanges, Method::CreateBackup, Method::Probe, Method::ChangedSinceWatch][..],
        &IDENTIFIED_CALLS,
    ] {
        fixture.world.reset_calls();
        fixture.snapshot_with(request()).unwrap();
        assert_eq!(fixture.world.calls_about(restored.sandbox_id().as_str()), expected);
    }
}

#[test]
fn capture_is_recovered_although_its_container_has_ended() {
    let fixture = with_sandbox();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let call = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    fixture.crash_during(call);
    fixture.world.end_container("agent-42");
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * MINUTE);
    let rows = fixture.ledger("agent-42").live_snapshots();
    assert_eq!(rows.iter().map(SnapshotRecord::state).collect::<Vec<_>>(), [SnapshotState::Ready]);
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn container_after_the_one_of_an_unfinished_capture_is_refused() {
    let fixture = with_sandbox();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let call = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    fixture.crash_during(call);
    fixture.world.clear_faults();
    fixture.world.replace_container("agent-42");
    fixture.world.write_file("agent-42", FILE, "second");
    fixture.world.before(Method::GetMetadata).fail_transiently(); // The recovery.
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.world.clear_faults();
    fixture.advance_with_alarms(2 * MINUTE);
    assert_eq!(fixture.ledger("agent-42").live_snapshots().len(), 1);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}

#[test]
fn container_that_a_command_of_the_worker_may_have_started_is_refused() {
    let fixture = with_sandbox();
    fixture.world.before(Method::IgnoredNames).run(|world| world.end_container("agent-42"));
    fixture.snapshot_with(request_with(|request| request.gitignore = Some(true))).expect_code(Code::SandboxReplaced);
    assert!(fixture.world.running_sandboxes().contains("agent-42"));
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    assert_eq!(fixture.ledger("agent-42").sandbox().unwrap().unwrap().unverified, None);
}

#[test]
fn directory_that_is_none_is_reported_as_invalid() {
    let fixture = with_sandbox();
    fixture.world.create_symlink("agent-42", "/workspace/link");
    let dir = sandbox_snapshotter::model::Directory::parse("/workspace/link").unwrap();
    fixture.snapshot_with(request_with(|request| request.dir = Some(dir))).expect_code(Code::InvalidDirectory);
    fixture.assert_nothing_stored();
    fixture.advance_with_alarms(10 * MINUTE);
    fixture.snapshot().unwrap();
}

#[test]
fn archive_of_tar_is_verified_and_restored() {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.world.set_archive_format(ArchiveFormat::TarZstd);
    fixture.start_sandbox("agent-42");
    let snapshot = fixture.snapshot().unwrap();
    assert_eq!(fixture.run(Operation::Verify, &by_ref(&snapshot)).unwrap()["ok"], true);
    let restored = fixture.restore(&snapshot).unwrap();
    assert_eq!(fixture.world.files(restored.sandbox_id().as_str()), fixture.world.files("agent-42"));
}

#[test]
fn archive_of_tar_is_refused_by_the_sdk() {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.world.set_archive_format(ArchiveFormat::TarZstd);
    fixture.start_sandbox("agent-42");
    let snapshot = fixture.snapshot().unwrap();
    fixture.world.runtime.set(Runtime::Sdk012);
    fixture.restore(&snapshot).expect_code(Code::RestoreFailed);
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn second_snapshot_of_a_sandbox_needs_no_probe() {
    let fixture = Fixture::of_runtime(Runtime::Container);
    fixture.create_workspace(WORKSPACE, &no_expiry()).unwrap();
    fixture.world.advance_clock(MINUTE);
    let id = fixture.record(WORKSPACE).sandbox_id;
    fixture.snapshot_with(SnapshotRequest::of(id.clone())).unwrap();
    fixture.world.reset_calls();
    fixture.snapshot_with(SnapshotRequest::of(id.clone())).unwrap();
    assert_eq!(fixture.world.calls_about(id.as_str()), IDENTIFIED_CALLS);
}
