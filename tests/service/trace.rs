//! What is told of an operation beside its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use futures_executor::block_on;
use futures_util::future::join;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{RestoreRequest, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::trace::{Deeds, Trace, note};
use sandbox_snapshotter::service::{Abort, Snapshotter};
use serde_json::json;

use super::support::{DAY, Method, Stage, sandbox};

/// What was done by `work`.
fn deeds<T>(work: impl Future<Output = T>) -> Deeds {
    let trace = Trace::new("c0ffee");
    block_on(trace.within(work));
    trace.tell()
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
fn the_sandboxes_of_a_failed_restore_are_named() {
    let (stage, snapshot) = Stage::with_snapshot();
    stage.world.before(Method::RestoreBackup).first(9).fails_in_passing();
    let deeds = deeds(stage.of("agent-42").restore(RestoreRequest::of(snapshot), Abort::never()));
    assert_eq!(deeds.ended.len(), 3);
    assert!(deeds.ended.iter().all(|id| id.as_str().starts_with("agent-42-restored-")), "{deeds:?}");
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
fn what_is_told_already_is_told_of_later_once() {
    let trace = Trace::new("c0ffee");
    let ends = |id: &str| Deeds { ended: vec![sandbox(id)], ..Deeds::default() };
    block_on(trace.within(async { note(ends("before")) }));
    assert_eq!(trace.tell().ended, ends("before").ended);
    assert!(trace.take_later().is_nothing());
    block_on(trace.within(async { note(ends("after")) }));
    assert_eq!(trace.take_later(), ends("after"));
    assert!(trace.take_later().is_nothing());
}

#[test]
fn what_two_took_part_in_is_told_once() {
    let ended = Deeds { ended: vec![sandbox("one"), sandbox("two")], ..Deeds::default() };
    assert_eq!(deeds(async { [&ended, &ended].map(|deeds| note(deeds.clone())) }).ended, ended.ended);
}

#[test]
fn all_who_share_a_capture_tell_the_same_of_it() {
    let stage = Stage::with_sandbox();
    stage.world.before(Method::Metadata).first(2).fails_in_passing();
    let [one, two] = ["one", "two"].map(Trace::new);
    let agent = stage.of("agent-42");
    let snapshot = || agent.snapshot(SnapshotRequest::of(sandbox("agent-42")), Abort::never());
    let gate = stage.world.before(Method::CreateBackup).held();
    let both = join(one.within(snapshot()), two.within(snapshot()));
    let (answers, ()) = block_on(join(both, async { gate.open() }));
    assert!(answers.0.is_ok() && answers.1.unwrap().capture.shared);
    stage.world.finish_background();
    assert_eq!((one.tell(), two.tell()), (attempts(3), attempts(3)));
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
    assert_eq!((one.tell(), two.tell()), (attempts(2), attempts(3)));
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

#[test]
fn what_is_finished_for_a_worker_that_died_is_named() {
    let stage = Stage::with_sandbox();
    let gate = stage.world.before(Method::Metadata).nth(1).held();
    let work = stage.begin(Operation::Snapshot, &json!({ "sandboxId": "agent-42" }));
    assert!(gate.is_reached());
    stage.dies_during(work);
    stage.world.goes_well();
    let [lost] = stage.ledger("agent-42").unfinished().unwrap().try_into().unwrap();
    assert_eq!(deeds(stage.of("agent-42").alarm()).adopted, [lost.snapshot_id]);
}

#[test]
fn attempts_alone_are_nothing_that_has_to_be_told() {
    assert!(attempts(3).is_nothing());
}
