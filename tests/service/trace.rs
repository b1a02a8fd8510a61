//! What is told of an operation beside its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use sandbox_snapshotter::model::{RestoreRequest, SnapshotRequest};
use sandbox_snapshotter::service::trace::{Deeds, Trace, note};
use sandbox_snapshotter::service::{Abort, Snapshotter};

use super::support::{DAY, Method, Stage, sandbox};

/// What was done by `work`.
fn deeds<T>(work: impl Future<Output = T>) -> Deeds {
    let trace = Trace::new("c0ffee");
    block_on(trace.within(work));
    trace.deeds()
}

fn attempts(attempts: u32) -> Deeds {
    Deeds { attempts, ..Deeds::default() }
}

#[test]
fn what_went_well_at_once_was_tried_once() {
    let stage = Stage::with_sandbox();
    let agent = stage.of("agent-42");
    let snapshot = agent.snapshot(SnapshotRequest::of(sandbox("agent-42")), Abort::never());
    assert_eq!(deeds(snapshot), attempts(1));
}

#[test]
fn attempts_are_those_of_what_took_most() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::Metadata).first(2).fails_in_passing();
    let agent = stage.of("agent-42");
    let restore = agent.restore(RestoreRequest::of(snapshot), Abort::never());
    assert_eq!(deeds(restore).attempts, 3);
}

#[test]
fn the_sandbox_of_a_failed_restore_is_named() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).first(9).fails_in_passing();
    let deeds = deeds(stage.of("agent-42").restore(RestoreRequest::of(snapshot), Abort::never()));
    assert_eq!(deeds.ended.len(), 1);
    assert!(deeds.ended[0].as_str().starts_with("agent-42-restored-"), "{deeds:?}");
}

#[test]
fn a_discarded_backup_is_named() {
    let stage = Stage::with_sandbox();
    stage.world.after(Method::CreateBackup).happens(|world| world.is_replaced("agent-42"));
    let agent = stage.of("agent-42");
    let snapshot = agent.snapshot(SnapshotRequest::of(sandbox("agent-42")), Abort::never());
    assert_eq!(deeds(snapshot).discarded.len(), 1);
}

#[test]
fn what_an_alarm_lets_go_is_named() {
    let stage = Stage::with_sandbox();
    let old = stage.captures("agent-42", "old");
    stage.captures("agent-42", "new");
    stage.world.pass(31 * DAY);
    let deeds = deeds(stage.of("agent-42").alarm());
    assert_eq!(deeds.let_go, [old.snapshot_id().clone()]);
    assert!(!deeds.is_nothing());
}

#[test]
fn pieces_of_work_side_by_side_keep_their_own() {
    let [one, two] = ["1", "2"].map(Trace::new);
    let work = async |attempts| {
        let (sender, receiver) = futures_channel::oneshot::channel();
        let wait = async { receiver.await.unwrap() };
        let go_on = async { sender.send(()).unwrap() };
        join(wait, go_on).await;
        note(Deeds { attempts, ..Deeds::default() });
    };
    block_on(join(one.within(work(2)), two.within(work(3))));
    assert_eq!((one.deeds(), two.deeds()), (attempts(2), attempts(3)));
}

#[test]
fn nothing_is_noted_where_nobody_tells() {
    note(attempts(7));
    assert!(Trace::current().is_none());
    assert_eq!(deeds(async {}), attempts(1));
}

#[test]
fn a_trace_within_another_hides_it_for_its_time() {
    let (outer, inner) = (Trace::new("outer"), Trace::new("inner"));
    let current = || Trace::current().unwrap().correlation_id.clone();
    block_on(outer.within(async {
        assert_eq!(current(), "outer");
        inner.within(async { assert_eq!(current(), "inner") }).await;
        assert_eq!(current(), "outer");
    }));
}

#[test]
fn work_that_panics_leaves_no_trace_behind() {
    let trace: Rc<Trace> = Trace::new("c0ffee");
    let work = trace.within(async { panic!("as it should here") });
    catch_unwind(AssertUnwindSafe(|| block_on(work))).unwrap_err();
    assert!(Trace::current().is_none());
}
