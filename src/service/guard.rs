//! One capture of a sandbox at a time, shared by all who ask for the same.
//!
//! Captures that are asked for while another one is under way wait for it. Whoever asks for what is under way, or waits,
//! gets its answer; whoever wrote after it began asks for a `fresh` one. When nobody waits for a capture any more, it is
//! taken back.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::rc::{Rc, Weak};

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, select};

use super::{Abort, CloudflareSandboxSnapshotter, snapshot};
use crate::model::{Capture, Error, Result, SnapshotRef, SnapshotRequest, Taken, Timestamp};
use crate::ports::{Background, Clock, Ports};

type Outcome = Shared<LocalBoxFuture<'static, Result<SnapshotRef>>>;

/// The captures of one sandbox that are under way or wait, in the order of their turns.
#[derive(Default)]
pub(super) struct Guard {
    turns: RefCell<Vec<Rc<Turn>>>,
}

/// One capture.
struct Turn {
    request: SnapshotRequest,
    began_at: Cell<Option<Timestamp>>,
    waiting: Cell<usize>,
    give_up: RefCell<Option<oneshot::Sender<()>>>,
    outcome: Outcome,
}

impl Guard {
    /// Takes the snapshot, or shares the answer of another caller who asked for the same.
    pub(super) async fn capture<P: Ports>(
        this: &CloudflareSandboxSnapshotter<P>,
        request: SnapshotRequest,
        abort: Abort,
    ) -> Result<Taken> {
        abort.check()?;
        let dir = request.dir.unwrap_or_else(|| this.config.default_dir.clone());
        let request = SnapshotRequest { dir: Some(dir), ..request };
        let joined = this.guard.find(&request);
        let shared = joined.is_some();
        let turn = joined.unwrap_or_else(|| Self::queue(this, request));
        let snapshot = turn.answer(abort).await?;
        let began_at = turn.began_at.get().unwrap_or_else(|| snapshot.created_at());
        Ok(Taken { snapshot, capture: Capture { began_at, shared } })
    }

    fn find(&self, request: &SnapshotRequest) -> Option<Rc<Turn>> {
        self.turns.borrow().iter().find(|turn| turn.serves(request)).cloned()
    }

    /// Puts a new capture behind those that are there.
    fn queue<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: SnapshotRequest) -> Rc<Turn> {
        let before = this.guard.turns.borrow().last().map(|turn| turn.outcome.clone());
        let (give_up, stop) = oneshot::channel();
        let turn = Rc::new_cyclic(|turn| Turn {
            outcome: take_turn(this.clone(), turn.clone(), before, stop).boxed_local().shared(),
            request,
            began_at: Cell::new(None),
            waiting: Cell::new(0),
            give_up: RefCell::new(Some(give_up)),
        });
        this.guard.turns.borrow_mut().push(Rc::clone(&turn));
        this.ports.background().run(turn.outcome.clone().map(drop).boxed_local());
        turn
    }

    fn remove(&self, turn: &Weak<Turn>) {
        self.turns.borrow_mut().retain(|other| !turn.ptr_eq(&Rc::downgrade(other)));
    }
}

/// Waits for the capture before this one, whatever comes of it, and does its own.
async fn take_turn<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    turn: Weak<Turn>,
    before: Option<Outcome>,
    stop: oneshot::Receiver<()>,
) -> Result<SnapshotRef> {
    if let Some(before) = before {
        drop(before.await);
    }
    let outcome = match turn.upgrade().map(|turn| (turn.request.clone(), turn)) {
        Some((request, turn)) => {
            turn.began_at.set(Some(this.ports.clock().now()));
            let work = snapshot::snapshot(this.clone(), request, Abort::when(fires(stop)));
            // Whoever shares this answer, or waits for its end, must not fall with a panic of ours.
            AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()))
        }
        None => Err(Abort::error()),
    };
    this.guard.remove(&turn);
    outcome
}

/// Resolves when something is sent, and never when the sender is dropped without.
async fn fires(receiver: oneshot::Receiver<()>) {
    if receiver.await.is_err() {
        pending::<()>().await;
    }
}

impl Turn {
    /// Whether a caller who asks now may share this capture's answer.
    fn serves(&self, request: &SnapshotRequest) -> bool {
        let is_kept = self.give_up.borrow().is_some();
        let is_early_enough = !request.fresh || self.began_at.get().is_none();
        is_kept && is_early_enough && self.request.asks_the_same(request)
    }

    /// Waits for the answer, but no longer than until `abort` fires. Who waits last and goes gives the capture up.
    async fn answer(&self, abort: Abort) -> Result<SnapshotRef> {
        self.waiting.set(self.waiting.get() + 1);
        let answer = match select(self.outcome.clone(), abort.fired().boxed_local()).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), _)) => Err(Abort::error()),
        };
        self.waiting.set(self.waiting.get() - 1);
        if self.waiting.get() == 0
            && let Some(give_up) = self.give_up.take()
        {
            // It is too late when this fails: the capture is done.
            let _ = give_up.send(());
        }
        answer
    }
}
