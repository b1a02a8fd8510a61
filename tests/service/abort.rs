//! A caller who wishes to stop is answered at once; what was under way is taken back in the background.

use std::future::Future;
use std::rc::Rc;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, Lineage, RestoreRequest, Result, SnapshotRef, SnapshotRequest, WorkspaceRef};
use sandbox_snapshotter::service::{Abort, Snapshotter};
use serde_json::json;

use super::support::{Checked, DAY, Gate, HOUR, Method, Running, Signal, Stage, World, backup_id, by_label, sandbox};

fn fired() -> Abort {
    Abort::when(async {})
}

fn snapshot(stage: &Stage, abort: Abort) -> impl Future<Output = Result<SnapshotRef>> + use<> {
    snapshot_as_asked(stage, SnapshotRequest::of(sandbox("agent-42")), abort)
}

fn snapshot_as_asked(
    stage: &Stage,
    request: SnapshotRequest,
    abort: Abort,
) -> impl Future<Output = Result<SnapshotRef>> + use<> {
    let snapshotter = stage.of("agent-42");
    async move { snapshotter.snapshot(request, abort).await.map(|taken| taken.snapshot) }
}

fn derive(
    stage: &Stage,
    lineage: Lineage,
    from: &SnapshotRef,
    abort: Abort,
) -> impl Future<Output = Result<WorkspaceRef>> + use<> {
    let snapshotter = stage.of("agent-42");
    let request = RestoreRequest::of(from.clone());
    async move {
        match lineage {
            Lineage::Restored => snapshotter.restore(request, abort).await,
            Lineage::Branch => snapshotter.branch(request, abort).await,
        }
    }
}

/// Fires while `work` waits at `gate`: it must answer at once. Then the gate opens, and the rest is done.
fn aborted_at<T: std::fmt::Debug + 'static>(
    stage: &Stage,
    gate: &Rc<Gate>,
    work: impl FnOnce(Abort) -> Running<Result<T>>,
) {
    let (signal, abort) = Signal::new();
    let mut running = work(abort);
    assert!(gate.is_reached() && !running.is_done(), "it should wait");
    signal.fire();
    running.answer().fails_as(Code::Aborted);
    gate.open();
    stage.world.finish_background();
}

/// Aborts a snapshot at the `nth` call of `method`, before it has its effect.
fn snapshot_aborted_at(method: Method, nth: u32) -> Stage {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(method).nth(nth).held();
    aborted_at(&stage, &gate, |abort| Running::start(snapshot(&stage, abort)));
    stage
}

/// Aborts a restore at the first call of `method`, before it has its effect.
fn restore_aborted_at(method: Method) -> Stage {
    let (stage, from) = Stage::with_snapshot();
    let gate = stage.world.before(method).nth(1).held();
    aborted_at(&stage, &gate, |abort| Running::start(derive(&stage, Lineage::Restored, &from, abort)));
    stage
}

#[test]
fn a_snapshot_that_is_aborted_before_it_begins_touches_nothing() {
    let stage = Stage::with_sandbox();
    Running::start(snapshot(&stage, fired())).answer().fails_as(Code::Aborted);
    stage.world.finish_background();
    assert!(stage.world.calls().is_empty());
}

#[test]
fn a_restore_or_branch_that_is_aborted_before_it_begins_touches_nothing() {
    for lineage in Lineage::ALL {
        let (stage, from) = Stage::with_snapshot();
        Running::start(derive(&stage, lineage, &from, fired())).answer().fails_as(Code::Aborted);
        stage.world.finish_background();
        assert!(stage.world.calls().is_empty(), "{lineage:?}");
    }
}

#[test]
fn a_snapshot_that_is_aborted_before_it_is_known_whether_the_sandbox_runs_makes_no_backup() {
    let stage = snapshot_aborted_at(Method::State, 1);
    assert_eq!(stage.world.calls_about("agent-42"), [Method::State]);
}

#[test]
fn a_snapshot_that_is_aborted_while_the_sandbox_wakes_makes_no_backup() {
    let stage = Stage::empty();
    let request = SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    let gate = stage.world.before(Method::Probe).held();
    aborted_at(&stage, &gate, |abort| Running::start(snapshot_as_asked(&stage, request, abort)));
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn an_abort_while_a_wake_waits_ends_the_attempts() {
    let stage = Stage::empty();
    let request = SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    stage.world.before(Method::Probe).fails_in_passing();
    let gate = stage.world.before(Method::Sleep).nth(1).held();
    aborted_at(&stage, &gate, |abort| Running::start(snapshot_as_asked(&stage, request, abort)));
    assert_eq!(stage.world.count(Method::Probe), 1);
}

#[test]
fn a_backup_that_is_being_made_when_the_caller_aborts_is_deleted() {
    let stage = snapshot_aborted_at(Method::CreateBackup, 1);
    assert_eq!(stage.world.count(Method::CreateBackup), 1);
    assert_eq!(stage.world.count(Method::Delete), 1);
    stage.assert_nothing_stored();
}

#[test]
fn a_backup_that_is_being_confirmed_when_the_caller_aborts_is_deleted() {
    for (method, nth) in [(Method::Metadata, 1), (Method::Archive, 1), (Method::Probe, 1)] {
        snapshot_aborted_at(method, nth).assert_nothing_stored();
    }
}

/// A snapshot with a label waits in the background, of which the caller was told that it is taken back.
fn given_up_at(method: Method) -> (Stage, Rc<Gate>) {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(method).nth(1).held();
    let (signal, abort) = Signal::new();
    let running = Running::start(snapshot_as_asked(&stage, labelled(), abort));
    assert!(gate.is_reached());
    signal.fire();
    running.answer().fails_as(Code::Aborted);
    (stage, gate)
}

fn labelled() -> SnapshotRequest {
    SnapshotRequest { label: Some("wanted".to_owned().try_into().unwrap()), ..SnapshotRequest::of(sandbox("agent-42")) }
}

#[test]
fn what_was_aborted_is_taken_back_also_where_the_object_dies_meanwhile() {
    for method in [Method::CreateBackup, Method::Metadata, Method::Archive] {
        let (stage, _) = given_up_at(method);
        stage.restart();
        stage.passes(DAY);
        stage.assert_nothing_stored();
        stage.assert_settled();
    }
}

#[test]
fn what_was_aborted_is_taken_back_also_where_the_sandbox_answers_before_the_object_dies() {
    let (stage, gate) = given_up_at(Method::CreateBackup);
    stage.world.before(Method::Metadata).nth(1).held();
    gate.open();
    stage.world.go_on_in_background();
    stage.restart();
    stage.world.goes_well();
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn the_label_of_what_was_aborted_is_free_at_once() {
    for method in [Method::CreateBackup, Method::Metadata] {
        let (stage, gate) = given_up_at(method);
        let again = Running::start(snapshot_as_asked(&stage, labelled(), Abort::never()));
        gate.open();
        let snapshot = again.answer().unwrap();
        stage.world.finish_background();
        let found = stage.run(Operation::Get, &by_label("wanted")).unwrap();
        assert_eq!(found["snapshotId"], json!(snapshot.snapshot_id()), "{method:?}");
        assert_eq!(stage.world.stored().len(), 1, "{method:?}");
    }
}

#[test]
fn what_one_caller_has_aborted_and_another_waits_for_stays_when_the_object_dies() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let (signal, abort) = Signal::new();
    let one = Running::start(snapshot_as_asked(&stage, labelled(), abort));
    let other = Running::start(snapshot_as_asked(&stage, labelled(), Abort::never()));
    assert!(gate.is_reached());
    signal.fire();
    one.answer().fails_as(Code::Aborted);
    stage.dies_during(other);
    stage.world.goes_well();
    stage.run(Operation::Restore, &by_label("wanted")).unwrap();
}

#[test]
fn until_the_background_is_done_the_backup_is_still_being_made() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::CreateBackup).held();
    let (signal, abort) = Signal::new();
    let running = Running::start(snapshot(&stage, abort));
    signal.fire();
    running.answer().fails_as(Code::Aborted);
    assert!(stage.world.stored().is_empty() && stage.world.count(Method::Delete) == 0);
    gate.open();
    stage.world.finish_background();
    assert_eq!(
        stage.world.calls_about(&backup_id(1)),
        [Method::Metadata, Method::Archive, Method::Metadata, Method::Delete]
    );
}

#[test]
fn an_abort_does_not_keep_a_failed_snapshot_from_being_taken_back() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    let gate = stage.world.before(Method::Delete).nth(1).held();
    stage.world.before(Method::Delete).first(2).fails_in_passing();
    aborted_at(&stage, &gate, |abort| Running::start(snapshot(&stage, abort)));
    stage.assert_nothing_stored();
}

#[test]
fn a_restore_that_is_aborted_while_the_backup_is_looked_up_makes_no_sandbox() {
    let stage = restore_aborted_at(Method::Metadata);
    assert_eq!(stage.world.calls(), [(Method::Metadata, backup_id(1)), (Method::Archive, backup_id(1))]);
}

#[test]
fn a_sandbox_that_is_being_made_when_the_caller_aborts_is_destroyed() {
    for method in [Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive] {
        let stage = restore_aborted_at(method);
        assert_eq!(
            stage.world.calls_about(&stage.minted()),
            [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Arrive, Method::Destroy],
            "{method:?}"
        );
        stage.assert_no_minted_sandbox_runs();
    }
}

#[test]
fn a_sandbox_whose_id_is_being_claimed_when_the_caller_aborts_is_not_made() {
    let stage = restore_aborted_at(Method::Claim);
    assert_eq!(stage.world.calls_about(&stage.minted()), [Method::Claim, Method::Destroy]);
}

#[test]
fn a_branch_that_is_being_made_when_the_caller_aborts_is_destroyed() {
    let (stage, from) = Stage::with_snapshot();
    let gate = stage.world.before(Method::RestoreBackup).held();
    aborted_at(&stage, &gate, |abort| Running::start(derive(&stage, Lineage::Branch, &from, abort)));
    assert_eq!(stage.world.count(Method::Destroy), 1);
    stage.assert_no_minted_sandbox_runs();
}

#[test]
fn an_abort_while_it_waits_ends_the_attempts() {
    let (stage, from) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).fails_in_passing();
    let gate = stage.world.before(Method::Sleep).nth(1).held();
    aborted_at(&stage, &gate, |abort| Running::start(derive(&stage, Lineage::Restored, &from, abort)));
    assert_eq!(
        stage.world.calls_about(&stage.minted()),
        [Method::Claim, Method::Name, Method::Stamp, Method::RestoreBackup, Method::Destroy]
    );
}

#[test]
fn an_abort_does_not_keep_a_failed_restore_from_being_taken_back() {
    let (stage, from) = Stage::with_snapshot();
    stage.world.before(Method::Arrive).happens(lose_minted);
    let gate = stage.world.before(Method::Destroy).nth(1).held();
    stage.world.before(Method::Destroy).first(2).fails_in_passing();
    aborted_at(&stage, &gate, |abort| Running::start(derive(&stage, Lineage::Restored, &from, abort)));
    assert_eq!(stage.world.count(Method::Destroy), 3);
    stage.assert_no_minted_sandbox_runs();
}

fn lose_minted(world: &World) {
    world.running().iter().filter(|id| *id != "agent-42").for_each(|id| world.stops(id));
}

#[test]
fn an_abort_after_a_snapshot_is_done_has_no_effect() {
    let stage = Stage::with_sandbox();
    let (signal, abort) = Signal::new();
    Running::start(snapshot(&stage, abort)).answer().unwrap();
    signal.fire();
    stage.world.finish_background();
    assert_eq!(stage.world.stored(), [backup_id(1)]);
}

#[test]
fn an_abort_after_a_restore_is_done_has_no_effect() {
    let (stage, from) = Stage::with_snapshot();
    let (signal, abort) = Signal::new();
    let restored = Running::start(derive(&stage, Lineage::Restored, &from, abort)).answer().unwrap();
    signal.fire();
    stage.world.finish_background();
    assert!(stage.world.running().contains(restored.sandbox_id().as_str()));
}

#[test]
fn a_signal_that_never_fires_changes_nothing() {
    let stage = Stage::with_sandbox();
    let (_signal, abort) = Signal::new();
    let taken = Running::start(snapshot(&stage, abort)).answer().unwrap();
    let (_signal, abort) = Signal::new();
    Running::start(derive(&stage, Lineage::Restored, &taken, abort)).answer().unwrap();
}

#[test]
fn a_container_that_was_woken_is_captured_although_a_capture_of_another_one_goes_on_that_nobody_waits_for() {
    let stage = Stage::with_sandbox();
    let _gate = stage.world.before(Method::CreateBackup).nth(1).held();
    let (signal, abort) = Signal::new();
    let running = Running::start(snapshot(&stage, abort));
    signal.fire();
    running.answer().fails_as(Code::Aborted);
    stage.world.is_replaced("agent-42");
    stage.world.pass(60_000);
    let waking = SnapshotRequest { wake: true, ..SnapshotRequest::of(sandbox("agent-42")) };
    stage.snapshot_as_asked(waking).unwrap();
    stage.snapshot().unwrap();
}
