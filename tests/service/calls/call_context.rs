//! The side effects of an operation that the log line carries in addition to the answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{RestoreRequest, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::CancellationToken;
use sandbox_snapshotter::service::calls::call_context::{CallContext, SideEffects, record};
use serde_json::json;

use crate::support::{DAY, Fixture, Method, sandbox};

/// Runs `work` in a call context and returns its side effects.
fn side_effects<T>(work: impl Future<Output = T>) -> SideEffects {
    let context = CallContext::new("c0ffee");
    block_on(context.scope(work));
    context.effects_for_log()
}

fn attempt_effects(attempts: u32) -> SideEffects {
    SideEffects { attempts, ..SideEffects::default() }
}

#[test]
fn operation_that_succeeds_at_once_counts_one_attempt() {
    let fixture = Fixture::with_sandbox();
    let agent = fixture.snapshotter("agent-42");
    let snapshot = agent.snapshot(SnapshotRequest::of(sandbox("agent-42")), CancellationToken::never());
    assert_eq!(side_effects(snapshot), attempt_effects(1));
}

#[test]
fn attempts_are_the_maximum_over_all_calls() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::GetMetadata).first(2).fail_transiently();
    let agent = fixture.snapshotter("agent-42");
    let restore = agent.restore(RestoreRequest::of(snapshot), CancellationToken::never());
    assert_eq!(side_effects(restore).attempts, 3);
}

#[test]
fn effects_name_sandboxes_ended_by_failed_restore() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.before(Method::RestoreBackup).first(9).fail_transiently();
    let effects =
        side_effects(fixture.snapshotter("agent-42").restore(RestoreRequest::of(snapshot), CancellationToken::never()));
    assert_eq!(effects.ended.len(), 3);
    assert!(effects.ended.iter().all(|id| id.as_str().starts_with("agent-42-restored-")), "{effects:?}");
}

#[test]
fn effects_name_discarded_backup() {
    let fixture = Fixture::with_sandbox();
    fixture.world.after(Method::CreateBackup).run(|world| world.replace_container("agent-42"));
    let agent = fixture.snapshotter("agent-42");
    let snapshot = agent.snapshot(SnapshotRequest::of(sandbox("agent-42")), CancellationToken::never());
    assert_eq!(side_effects(snapshot).discarded.len(), 1);
}

#[test]
fn effects_name_snapshot_deleted_by_alarm() {
    let fixture = Fixture::with_sandbox();
    let old = fixture.snapshot_labelled("agent-42", "old");
    fixture.snapshot_labelled("agent-42", "new");
    fixture.world.advance_clock(31 * DAY);
    let effects = side_effects(fixture.snapshotter("agent-42").alarm());
    assert_eq!(effects.deleted, [old.snapshot_id().clone()]);
    assert!(!effects.is_empty());
}

#[test]
fn late_effects_are_logged_once() {
    let context = CallContext::new("c0ffee");
    let ended = |id: &str| SideEffects { ended: vec![sandbox(id)], ..SideEffects::default() };
    block_on(context.scope(async { record(ended("before")) }));
    assert_eq!(context.effects_for_log().ended, ended("before").ended);
    assert!(context.take_late_effects().is_empty());
    block_on(context.scope(async { record(ended("after")) }));
    assert_eq!(context.take_late_effects(), ended("after"));
    assert!(context.take_late_effects().is_empty());
}

#[test]
fn effects_recorded_twice_are_logged_once() {
    let ended = SideEffects { ended: vec![sandbox("one"), sandbox("two")], ..SideEffects::default() };
    assert_eq!(side_effects(async { [&ended, &ended].map(|effects| record(effects.clone())) }).ended, ended.ended);
}

#[test]
fn callers_that_share_a_capture_log_the_same_effects() {
    let fixture = Fixture::with_sandbox();
    fixture.world.before(Method::GetMetadata).first(2).fail_transiently();
    let [one, two] = ["one", "two"].map(CallContext::new);
    let agent = fixture.snapshotter("agent-42");
    let snapshot = || agent.snapshot(SnapshotRequest::of(sandbox("agent-42")), CancellationToken::never());
    let gate = fixture.world.before(Method::CreateBackup).block();
    let both = join(one.scope(snapshot()), two.scope(snapshot()));
    let (answers, ()) = block_on(join(both, async { gate.open() }));
    assert!(answers.0.is_ok() && answers.1.unwrap().capture.shared);
    fixture.world.finish_background();
    assert_eq!((one.effects_for_log(), two.effects_for_log()), (attempt_effects(3), attempt_effects(3)));
}

#[test]
fn concurrent_contexts_keep_separate_effects() {
    let [one, two] = ["1", "2"].map(CallContext::new);
    let work = async |attempts| {
        let (sender, receiver) = futures_channel::oneshot::channel();
        let wait = async { receiver.await.unwrap() };
        let run_until_stalled = async { sender.send(()).unwrap() };
        join(wait, run_until_stalled).await;
        record(SideEffects { attempts, ..SideEffects::default() });
    };
    block_on(join(one.scope(work(2)), two.scope(work(3))));
    assert_eq!((one.effects_for_log(), two.effects_for_log()), (attempt_effects(2), attempt_effects(3)));
}

#[test]
fn effects_outside_any_context_are_dropped() {
    record(attempt_effects(7));
    assert!(CallContext::current().is_none());
    assert_eq!(side_effects(async {}), attempt_effects(1));
}

#[test]
fn inner_context_replaces_outer_context_while_it_runs() {
    let (outer, inner) = (CallContext::new("outer"), CallContext::new("inner"));
    let current = || CallContext::current().unwrap().correlation_id.clone();
    block_on(outer.scope(async {
        assert_eq!(current(), "outer");
        inner.scope(async { assert_eq!(current(), "inner") }).await;
        assert_eq!(current(), "outer");
    }));
}

#[test]
fn panicking_work_leaves_no_current_context() {
    let context: Rc<CallContext> = CallContext::new("c0ffee");
    let work = context.scope(async { panic!("as it should here") });
    catch_unwind(AssertUnwindSafe(|| block_on(work))).unwrap_err();
    assert!(CallContext::current().is_none());
}

#[test]
fn effects_name_snapshot_recovered_after_worker_died() {
    let fixture = Fixture::with_sandbox();
    let gate = fixture.world.before(Method::GetMetadata).nth(1).block();
    let work = fixture.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    fixture.crash_during(work);
    fixture.world.clear_faults();
    let [lost] = fixture.ledger("agent-42").unfinished_snapshots().unwrap().try_into().unwrap();
    assert_eq!(side_effects(fixture.snapshotter("agent-42").alarm()).recovered, [lost.snapshot_id]);
}

#[test]
fn effects_with_only_attempts_are_empty() {
    assert!(attempt_effects(3).is_empty());
}
