//! The Worker answers a caller that aborts at once, and rolls the running operation back in the background.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{
    Code, DerivationKind, RestoreRequest, Result, SnapshotRef, SnapshotRequest, WorkspaceRef,
};
use sandbox_snapshotter::service::CancellationToken;
use serde_json::json;

use crate::support::{
    CancellationSource, DAY, ExpectError, Fixture, Gate, HOUR, Method, PendingOperation, World, backup_id, by_label,
    sandbox,
};

fn cancelled() -> CancellationToken {
    CancellationToken::from_signal(async {})
}

fn snapshot(fixture: &Fixture, abort: CancellationToken) -> impl Future<Output = Result<SnapshotRef>> + use<> {
    snapshot_with(fixture, SnapshotRequest::of(sandbox("agent-42")), abort)
}

fn snapshot_with(
    fixture: &Fixture,
    request: SnapshotRequest,
    abort: CancellationToken,
) -> impl Future<Output = Result<SnapshotRef>> + use<> {
    let snapshotter = fixture.snapshotter("agent-42");
    async move { snapshotter.snapshot(request, abort).await.map(|taken| taken.snapshot) }
}

fn derive(
    fixture: &Fixture,
    lineage: DerivationKind,
    from: &SnapshotRef,
    abort: CancellationToken,
) -> impl Future<Output = Result<WorkspaceRef>> + use<> {
    let snapshotter = fixture.snapshotter("agent-42");
    let request = RestoreRequest::of(from.clone());
    async move {
        match lineage {
            DerivationKind::Restored => snapshotter.restore(request, abort).await,
            DerivationKind::Branch => snapshotter.branch(request, abort).await,
        }
    }
}

/// Cancels `work` while it waits at `gate`, and asserts that it answers at once. Then opens the gate and completes the
/// background work.
fn cancel_at<T: std::fmt::Debug + 'static>(
    fixture: &Fixture,
    gate: &Rc<Gate>,
    work: impl FnOnce(CancellationToken) -> PendingOperation<Result<T>>,
) {
    let (signal, abort) = CancellationSource::new();
    let mut running = work(abort);
    assert!(gate.is_reached() && !running.is_done(), "the operation must wait at the gate");
    signal.cancel();
    running.answer().expect_code(Code::Aborted);
    gate.open();
    fixture.world.finish_background();
}

/// Aborts a snapshot at the `nth` call of `method`, before the effect of that call.
fn cancel_snapshot_at(method: Method, nth: u32) -> Fixture {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(method).nth(nth).block();
    cancel_at(&fixture, &gate, |abort| PendingOperation::start(snapshot(&fixture, abort)));
    fixture
}

/// Aborts a restore at the first call of `method`, before the effect of that call.
fn cancel_restore_at(method: Method) -> Fixture {
    let (fixture, from) = Fixture::with_snapshot();
    let gate = fixture.world.before(method).nth(1).block();
    cancel_at(&fixture, &gate, |abort| {
        PendingOperation::start(derive(&fixture, DerivationKind::Restored, &from, abort))
    });
    fixture
}

#[test]
fn snapshot_aborted_before_it_begins_makes_no_calls() {
    let fixture = Fixture::with_sandbox();
    PendingOperation::start(snapshot(&fixture, cancelled())).answer().expect_code(Code::Aborted);
    fixture.world.finish_background();
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn restore_or_branch_aborted_before_it_begins_makes_no_calls() {
    for lineage in DerivationKind::ALL {
        let (fixture, from) = Fixture::with_snapshot();
        PendingOperation::start(derive(&fixture, lineage, &from, cancelled())).answer().expect_code(Code::Aborted);
        fixture.world.finish_background();
        assert!(fixture.world.calls().is_empty(), "{lineage:?}");
    }
}

#[test]
fn snapshot_aborted_during_status_check_makes_no_backup() {
    let fixture = cancel_snapshot_at(Method::Status, 1);
    assert_eq!(fixture.world.calls_about("agent-42"), [Method::Status]);
}

#[test]
fn snapshot_aborted_while_sandbox_starts_makes_no_backup() {
    let fixture = Fixture::empty();
    let request = SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    let gate = fixture.world.before(Method::Probe).block();
    cancel_at(&fixture, &gate, |abort| PendingOperation::start(snapshot_with(&fixture, request, abort)));
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn abort_between_attempts_to_start_sandbox_ends_the_attempts() {
    let fixture = Fixture::empty();
    let request = SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    fixture.world.before(Method::Probe).fail_transiently();
    let gate = fixture.world.before(Method::Sleep).nth(1).block();
    cancel_at(&fixture, &gate, |abort| PendingOperation::start(snapshot_with(&fixture, request, abort)));
    assert_eq!(fixture.world.call_count(Method::Probe), 1);
}

#[test]
fn abort_during_backup_deletes_the_backup() {
    let fixture = cancel_snapshot_at(Method::CreateBackup, 1);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 1);
    assert_eq!(fixture.world.call_count(Method::Delete), 1);
    fixture.assert_nothing_stored();
}

#[test]
fn abort_during_confirmation_deletes_the_backup() {
    for (method, nth) in [(Method::GetMetadata, 1), (Method::HeadArchive, 1), (Method::Probe, 1)] {
        cancel_snapshot_at(method, nth).assert_nothing_stored();
    }
}

/// Aborts a labeled snapshot at the first call of `method`. The caller has received `Aborted`; the capture is still
/// blocked at the returned gate.
fn abandon_snapshot_at(method: Method) -> (Fixture, Rc<Gate>) {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(method).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let running = PendingOperation::start(snapshot_with(&fixture, labeled_request(), abort));
    assert!(gate.is_reached());
    signal.cancel();
    running.answer().expect_code(Code::Aborted);
    (fixture, gate)
}

fn labeled_request() -> SnapshotRequest {
    SnapshotRequest { label: Some("wanted".to_owned().try_into().unwrap()), ..SnapshotRequest::of(sandbox("agent-42")) }
}

#[test]
fn aborted_snapshot_is_rolled_back_when_object_dies() {
    for method in [Method::CreateBackup, Method::GetMetadata, Method::HeadArchive] {
        let (fixture, _) = abandon_snapshot_at(method);
        fixture.crash_worker();
        fixture.advance_with_alarms(DAY);
        fixture.assert_nothing_stored();
        fixture.assert_nothing_pending();
    }
}

#[test]
fn aborted_snapshot_is_rolled_back_when_sandbox_answers_before_object_dies() {
    let (fixture, gate) = abandon_snapshot_at(Method::CreateBackup);
    fixture.world.before(Method::GetMetadata).nth(1).block();
    gate.open();
    fixture.world.run_background();
    fixture.crash_worker();
    fixture.world.clear_faults();
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn label_of_aborted_snapshot_is_free_at_once() {
    for method in [Method::CreateBackup, Method::GetMetadata] {
        let (fixture, gate) = abandon_snapshot_at(method);
        let again = PendingOperation::start(snapshot_with(&fixture, labeled_request(), CancellationToken::never()));
        gate.open();
        let snapshot = again.answer().unwrap();
        fixture.world.finish_background();
        let found = fixture.run(Operation::Get, &by_label("wanted")).unwrap();
        assert_eq!(found["snapshotId"], json!(snapshot.snapshot_id()), "{method:?}");
        assert_eq!(fixture.world.backup_ids().len(), 1, "{method:?}");
    }
}

#[test]
fn shared_snapshot_aborted_by_one_caller_survives_death_of_the_object() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let first = PendingOperation::start(snapshot_with(&fixture, labeled_request(), abort));
    let second = PendingOperation::start(snapshot_with(&fixture, labeled_request(), CancellationToken::never()));
    assert!(gate.is_reached());
    signal.cancel();
    first.answer().expect_code(Code::Aborted);
    fixture.crash_during(second);
    fixture.world.clear_faults();
    fixture.run(Operation::Restore, &by_label("wanted")).unwrap();
}

#[test]
fn aborted_backup_is_deleted_only_after_createbackup_returns() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::CreateBackup).block();
    let (signal, abort) = CancellationSource::new();
    let running = PendingOperation::start(snapshot(&fixture, abort));
    signal.cancel();
    running.answer().expect_code(Code::Aborted);
    assert!(fixture.world.backup_ids().is_empty() && fixture.world.call_count(Method::Delete) == 0);
    gate.open();
    fixture.world.finish_background();
    assert_eq!(
        fixture.world.calls_about(&backup_id(1)),
        [Method::GetMetadata, Method::HeadArchive, Method::GetMetadata, Method::Delete]
    );
}

#[test]
fn abort_does_not_interrupt_rollback_of_failed_snapshot() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    let gate = fixture.world.before(Method::Delete).nth(1).block();
    fixture.world.before(Method::Delete).first(2).fail_transiently();
    cancel_at(&fixture, &gate, |abort| PendingOperation::start(snapshot(&fixture, abort)));
    fixture.assert_nothing_stored();
}

#[test]
fn restore_aborted_during_head_of_backup_makes_no_sandbox() {
    let fixture = cancel_restore_at(Method::GetMetadata);
    assert_eq!(fixture.world.calls(), [(Method::GetMetadata, backup_id(1)), (Method::HeadArchive, backup_id(1))]);
}

#[test]
fn abort_during_restore_destroys_the_new_sandbox() {
    for method in [Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::CompleteRestore] {
        let fixture = cancel_restore_at(method);
        assert_eq!(
            fixture.world.calls_about(&fixture.minted_sandbox()),
            [
                Method::Claim,
                Method::SetName,
                Method::UpdateMarker,
                Method::RestoreBackup,
                Method::CompleteRestore,
                Method::Destroy
            ],
            "{method:?}"
        );
        fixture.assert_no_minted_sandbox_runs();
    }
}

#[test]
fn abort_during_claim_of_id_makes_no_sandbox() {
    let fixture = cancel_restore_at(Method::Claim);
    assert_eq!(fixture.world.calls_about(&fixture.minted_sandbox()), [Method::Claim, Method::Destroy]);
}

#[test]
fn abort_during_branch_destroys_the_new_sandbox() {
    let (fixture, from) = Fixture::with_snapshot();
    let gate = fixture.world.before(Method::RestoreBackup).block();
    cancel_at(&fixture, &gate, |abort| PendingOperation::start(derive(&fixture, DerivationKind::Branch, &from, abort)));
    assert_eq!(fixture.world.call_count(Method::Destroy), 1);
    fixture.assert_no_minted_sandbox_runs();
}

#[test]
fn abort_between_restore_attempts_ends_the_attempts() {
    let (fixture, from) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).fail_transiently();
    let gate = fixture.world.before(Method::Sleep).nth(1).block();
    cancel_at(&fixture, &gate, |abort| {
        PendingOperation::start(derive(&fixture, DerivationKind::Restored, &from, abort))
    });
    assert_eq!(
        fixture.world.calls_about(&fixture.minted_sandbox()),
        [Method::Claim, Method::SetName, Method::UpdateMarker, Method::RestoreBackup, Method::Destroy]
    );
}

#[test]
fn abort_does_not_interrupt_rollback_of_failed_restore() {
    let (fixture, from) = Fixture::with_snapshot();
    fixture.world.before(Method::CompleteRestore).run(end_minted);
    let gate = fixture.world.before(Method::Destroy).nth(1).block();
    fixture.world.before(Method::Destroy).first(2).fail_transiently();
    cancel_at(&fixture, &gate, |abort| {
        PendingOperation::start(derive(&fixture, DerivationKind::Restored, &from, abort))
    });
    assert_eq!(fixture.world.call_count(Method::Destroy), 3);
    fixture.assert_no_minted_sandbox_runs();
}

fn end_minted(world: &World) {
    world.running_sandboxes().iter().filter(|id| *id != "agent-42").for_each(|id| world.end_container(id));
}

#[test]
fn abort_after_completed_snapshot_has_no_effect() {
    let fixture = Fixture::with_sandbox();
    let (signal, abort) = CancellationSource::new();
    PendingOperation::start(snapshot(&fixture, abort)).answer().unwrap();
    signal.cancel();
    fixture.world.finish_background();
    assert_eq!(fixture.world.backup_ids(), [backup_id(1)]);
}

#[test]
fn abort_after_completed_restore_has_no_effect() {
    let (fixture, from) = Fixture::with_snapshot();
    let (signal, abort) = CancellationSource::new();
    let restored = PendingOperation::start(derive(&fixture, DerivationKind::Restored, &from, abort)).answer().unwrap();
    signal.cancel();
    fixture.world.finish_background();
    assert!(fixture.world.running_sandboxes().contains(restored.sandbox_id().as_str()));
}

#[test]
fn signal_that_never_fires_changes_nothing() {
    let fixture = Fixture::with_sandbox();
    let (_signal, abort) = CancellationSource::new();
    let taken = PendingOperation::start(snapshot(&fixture, abort)).answer().unwrap();
    let (_signal, abort) = CancellationSource::new();
    PendingOperation::start(derive(&fixture, DerivationKind::Restored, &taken, abort)).answer().unwrap();
}

#[test]
fn new_container_is_captured_while_abandoned_capture_of_previous_one_runs() {
    let fixture = Fixture::with_sandbox();
    let _gate = fixture.world.before(Method::CreateBackup).nth(1).block();
    let (signal, abort) = CancellationSource::new();
    let running = PendingOperation::start(snapshot(&fixture, abort));
    signal.cancel();
    running.answer().expect_code(Code::Aborted);
    fixture.world.replace_container("agent-42");
    fixture.world.advance_clock(60_000);
    let request = SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    fixture.snapshot_with(request).unwrap();
    fixture.snapshot().unwrap();
}
