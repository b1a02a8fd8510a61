//! One capture of a sandbox at a time, shared by all who ask for the same.
//!
//! Captures that are asked for while another one is under way stand in line behind it. Whoever asks for what is under
//! way, or stands in line, gets its answer; whoever wrote after it began asks for a `fresh` one. A capture that nobody
//! waits for any more leaves the line at once, so that one which hangs holds nobody up, and is taken back when it ends.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::rc::{Rc, Weak};

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, WeakShared, select};

use super::line::{LONGEST, busy};
use super::planted::{Bug, planted};
use super::snapshot::{self, Made};
use super::trace::{self, Trace};
use super::{Abort, CloudflareSandboxSnapshotter};
use crate::model::{Capture, Error, Result, SnapshotId, SnapshotRequest, Taken, Timestamp};
use crate::ports::{Background, Clock, Ports};

/// The captures of one sandbox, in the order of their turns.
#[derive(Default)]
pub(super) struct Guard {
    line: RefCell<Vec<Rc<Turn>>>,
}

type Outcome = LocalBoxFuture<'static, Result<Made>>;

/// One capture.
struct Turn {
    request: SnapshotRequest,
    began_at: Cell<Option<Timestamp>>,
    snapshot_id: OnceCell<SnapshotId>,
    waiting: Cell<usize>,
    /// Tells the capture to stop; gone when it was told.
    stop: RefCell<Option<oneshot::Sender<()>>>,
    /// What the captures behind this one wait for: dropped when it leaves the line.
    behind: RefCell<Vec<oneshot::Sender<()>>>,
    /// Held by whoever carries it out or waits for it, and not from here, since it holds this turn.
    outcome: OnceCell<Option<WeakShared<Outcome>>>,
    /// Of the capture itself: each who waits for it tells of it.
    trace: Rc<Trace>,
}

impl Guard {
    /// Takes the snapshot, or shares the answer of another caller who asked for the same.
    ///
    /// # Errors
    /// Those of the capture, and [`Code::SandboxBusy`](crate::model::Code::SandboxBusy) when too many stand in line.
    pub(super) async fn capture<P: Ports>(
        this: &CloudflareSandboxSnapshotter<P>,
        request: SnapshotRequest,
        abort: Abort,
    ) -> Result<Taken> {
        abort.check()?;
        let dir = request.dir.unwrap_or_else(|| this.config.default_dir.clone());
        let request = SnapshotRequest { dir: Some(dir), ..request };
        let joined = this.memory.guard.find(&request);
        let shared = joined.is_some();
        let (turn, outcome) = match joined {
            Some(joined) => joined,
            None => Self::stand_in_line(this, request)?,
        };
        let waits = Waits::for_turn(&this.memory.guard, &turn);
        let made = match select(outcome, abort.fired().boxed_local()).await {
            Either::Left((outcome, _)) => {
                trace::note(turn.trace.tell());
                outcome?
            }
            Either::Right(((), _)) => {
                drop(waits);
                turn.was_aborted(this);
                return Err(Abort::error());
            }
        };
        drop(waits);
        Ok(Taken { snapshot: made.snapshot, capture: Capture { shared, ..made.capture } })
    }

    /// Waits until no capture is under way that somebody waits for.
    pub(super) async fn is_still(&self) {
        loop {
            let under_way = self.line.borrow().iter().find(|turn| turn.began_at.get().is_some()).cloned();
            let Some(turn) = under_way else { return };
            let (sender, leaves) = oneshot::channel();
            turn.behind.borrow_mut().push(sender);
            drop(turn);
            // Nothing is ever sent: it ends when that one has left the line.
            let _ = leaves.await;
        }
    }

    fn find(&self, request: &SnapshotRequest) -> Option<(Rc<Turn>, Shared<Outcome>)> {
        let turn = self.line.borrow().iter().find(|turn| turn.serves(request)).cloned()?;
        let outcome = turn.outcome.get()?.as_ref()?.upgrade()?;
        Some((turn, outcome))
    }

    fn stand_in_line<P: Ports>(
        this: &CloudflareSandboxSnapshotter<P>,
        request: SnapshotRequest,
    ) -> Result<(Rc<Turn>, Shared<Outcome>)> {
        let last = this.memory.guard.line.borrow().last().cloned();
        if this.memory.guard.line.borrow().len() >= LONGEST {
            let id = request.sandbox_id.as_str();
            let why = format!(
                "{LONGEST} snapshots of the sandbox {id:?} with other options are under way or in line already."
            );
            return Err(busy(&format!("{why} Callers who ask for the same share one.")));
        }
        let turn_comes = last.map(|last| {
            let (sender, receiver) = oneshot::channel();
            last.behind.borrow_mut().push(sender);
            receiver
        });
        let (stop, stops) = oneshot::channel();
        let trace = Trace::of_shared_work();
        let turn = Rc::new(Turn {
            outcome: OnceCell::new(),
            trace: Rc::clone(&trace),
            request,
            began_at: Cell::new(None),
            snapshot_id: OnceCell::new(),
            waiting: Cell::new(0),
            stop: RefCell::new(Some(stop)),
            behind: RefCell::default(),
        });
        let work = take_turn(this.clone(), Rc::downgrade(&turn), turn_comes, stops);
        let outcome = within(Rc::clone(&trace), work).boxed_local().shared();
        turn.outcome.get_or_init(|| outcome.downgrade());
        this.memory.guard.line.borrow_mut().push(Rc::clone(&turn));
        let carried_out = outcome.clone();
        let to_the_end = async move {
            drop(carried_out.await);
            trace::note(trace.tell_rest());
        };
        this.ports.background().run(to_the_end.boxed_local());
        Ok((turn, outcome))
    }

    /// Takes a capture out of the line. Those behind it go on; where it still had to wait itself, they wait for the one in front.
    fn leave(&self, turn: &Rc<Turn>, has_had_its_turn: bool) {
        let mut line = self.line.borrow_mut();
        let Some(place) = line.iter().position(|other| Rc::ptr_eq(other, turn)) else { return };
        let left = line.remove(place);
        let in_front = place.checked_sub(1).and_then(|place| line.get(place)).filter(|_| !has_had_its_turn).cloned();
        drop(line);
        let behind = left.behind.take();
        if let Some(in_front) = in_front {
            in_front.behind.borrow_mut().extend(behind);
        }
    }
}

async fn within<T>(trace: Rc<Trace>, work: impl Future<Output = T>) -> T {
    trace.within(work).await
}

/// Waits for the captures in front, whatever comes of them, and does this one.
async fn take_turn<P: Ports>(
    this: CloudflareSandboxSnapshotter<P>,
    turn: Weak<Turn>,
    turn_comes: Option<oneshot::Receiver<()>>,
    stops: oneshot::Receiver<()>,
) -> Result<Made> {
    if let Some(turn_comes) = turn_comes {
        // Nothing is ever sent: it ends when the one in front is gone.
        let _ = turn_comes.await;
    }
    let turn = turn.upgrade().ok_or_else(Abort::error)?;
    drop(this.memory.going_back.lock().await);
    turn.began_at.set(Some(this.ports.clock().now()));
    let stop = Abort::when(fires(stops));
    let work = snapshot::snapshot(this.clone(), turn.request.clone(), stop, &turn.snapshot_id);
    // Whoever shares this answer must not fall with a panic of ours.
    let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::defect()));
    this.memory.guard.leave(&turn, true);
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
        let is_early_enough = !request.fresh || self.began_at.get().is_none() || planted(Bug::FreshShared);
        is_early_enough && self.request.asks_the_same(request)
    }

    /// One of those who waited for it has aborted. The last one is told that it is taken back.
    fn was_aborted<P: Ports>(&self, this: &CloudflareSandboxSnapshotter<P>) {
        if self.waiting.get() == 0
            && let Some(id) = self.snapshot_id.get()
        {
            // What is not noted now is taken back all the same, unless the object dies before that.
            drop(snapshot::note_unwanted(this, id));
        }
    }
}

/// Somebody waits for a capture. When the last one goes, however that is, the capture is given up.
struct Waits {
    guard: Rc<Guard>,
    turn: Rc<Turn>,
}

impl Waits {
    fn for_turn(guard: &Rc<Guard>, turn: &Rc<Turn>) -> Self {
        turn.waiting.set(turn.waiting.get() + 1);
        Self { guard: Rc::clone(guard), turn: Rc::clone(turn) }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.turn.waiting.set(self.turn.waiting.get() - 1);
        if self.turn.waiting.get() > 0 {
            return;
        }
        if let Some(stop) = self.turn.stop.take() {
            // It is too late when this fails: the capture is done.
            let _ = stop.send(());
            self.guard.leave(&self.turn, self.turn.began_at.get().is_some());
        }
    }
}
