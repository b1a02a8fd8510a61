//! Single-flight captures: one capture of a sandbox at a time, shared by all callers that make the same request.
//!
//! A capture that is requested while another one runs is queued behind it. A request that matches a running or queued
//! capture shares its answer; a caller that wrote files after the capture began requests a `fresh` one. A capture
//! without waiters leaves the queue at once, so that it does not block others if it hangs, and is rolled back when it
//! ends.

use std::cell::{Cell, OnceCell, RefCell};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::rc::{Rc, Weak};

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, WeakShared, select};

use crate::model::{Capture, Error, Result, SnapshotId, SnapshotRequest, TakenSnapshot, Timestamp};
use crate::ports::{Background, Ports};
use crate::service::calls::call_context::{self, CallContext};
use crate::service::calls::queue::MAX_QUEUE_LENGTH;
use crate::service::{CancellationToken, CloudflareSandboxSnapshotter};

/// The captures of one sandbox, in the order in which they run.
#[derive(Default)]
pub(in crate::service) struct SnapshotCoalescer {
    queue: RefCell<Vec<Rc<InFlight>>>,
}

type CaptureFuture = LocalBoxFuture<'static, Result<TakenSnapshot>>;

/// One capture, queued or running.
struct InFlight {
    request: SnapshotRequest,
    began_at: Cell<Option<Timestamp>>,
    snapshot_id: OnceCell<SnapshotId>,
    waiters: Cell<usize>,
    /// Cancels the capture; `None` once it is cancelled.
    cancel: RefCell<Option<oneshot::Sender<()>>>,
    /// The senders that the captures behind this one wait for. They are dropped when this one leaves the queue.
    successors: RefCell<Vec<oneshot::Sender<()>>>,
    /// Weak, because the future owns this capture. The background task and the callers that wait own the future.
    outcome: OnceCell<Option<WeakShared<CaptureFuture>>>,
    /// The context of the capture itself. Every caller that waits for it records its side effects.
    context: Rc<CallContext>,
}

impl SnapshotCoalescer {
    /// Waits until no capture that has waiters is running.
    pub(in crate::service) async fn wait_until_idle(&self) {
        loop {
            let running = self.queue.borrow().iter().find(|capture| capture.began_at.get().is_some()).cloned();
            let Some(capture) = running else { return };
            let (sender, left) = oneshot::channel();
            capture.successors.borrow_mut().push(sender);
            drop(capture);
            // Nothing is sent: the receiver resolves when that capture leaves the queue and drops the sender.
            let _ = left.await;
        }
    }

    fn find_in_flight(&self, request: &SnapshotRequest) -> Option<(Rc<InFlight>, Shared<CaptureFuture>)> {
        let in_flight = self.queue.borrow().iter().find(|in_flight| in_flight.can_serve(request)).cloned()?;
        let outcome = in_flight.outcome.get()?.as_ref()?.upgrade()?;
        Some((in_flight, outcome))
    }

    /// Removes a capture from the queue. The captures behind it run; if it had not begun, they wait for the one in
    /// front of it.
    fn remove(&self, in_flight: &Rc<InFlight>, has_begun: bool) {
        let mut queue = self.queue.borrow_mut();
        let Some(index) = queue.iter().position(|other| Rc::ptr_eq(other, in_flight)) else { return };
        let removed = queue.remove(index);
        let predecessor = index.checked_sub(1).and_then(|index| queue.get(index)).filter(|_| !has_begun).cloned();
        drop(queue);
        let successors = removed.successors.take();
        if let Some(predecessor) = predecessor {
            predecessor.successors.borrow_mut().extend(successors);
        }
    }
}

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Takes the snapshot, or shares the answer of another caller that made the same request.
    ///
    /// # Errors
    /// Those of the capture, and [`Code::SandboxBusy`](crate::model::Code::SandboxBusy) if the queue is full.
    pub(in crate::service) async fn share_capture(
        &self,
        request: SnapshotRequest,
        abort: CancellationToken,
    ) -> Result<TakenSnapshot> {
        abort.check()?;
        let dir = self.directory(request.dir)?;
        let request = SnapshotRequest { dir: Some(dir), ..request };
        let joined = self.in_process.coalescer.find_in_flight(&request);
        let shared = joined.is_some();
        let (in_flight, outcome) = match joined {
            Some(joined) => joined,
            None => self.enqueue_capture(request)?,
        };
        let waiter = Waiter::new(&self.in_process.coalescer, &in_flight);
        let taken = match select(outcome, abort.cancelled().boxed_local()).await {
            Either::Left((outcome, _)) => {
                call_context::record(in_flight.context.effects_for_log());
                outcome?
            }
            Either::Right(((), _)) => {
                drop(waiter);
                self.on_waiter_cancelled(&in_flight);
                return Err(Error::cancelled());
            }
        };
        drop(waiter);
        Ok(TakenSnapshot { capture: Capture { shared, ..taken.capture }, ..taken })
    }

    fn enqueue_capture(&self, request: SnapshotRequest) -> Result<(Rc<InFlight>, Shared<CaptureFuture>)> {
        let queue = &self.in_process.coalescer.queue;
        let last = queue.borrow().last().cloned();
        if queue.borrow().len() >= MAX_QUEUE_LENGTH {
            let id = request.sandbox_id.as_str();
            let why = format!(
                "{MAX_QUEUE_LENGTH} snapshots of the sandbox {id:?} with other options are already running or queued."
            );
            return Err(Error::busy(&format!("{why} Calls with the same options share one snapshot.")));
        }
        let predecessor_left = last.map(|last| {
            let (sender, receiver) = oneshot::channel();
            last.successors.borrow_mut().push(sender);
            receiver
        });
        let (cancel, cancelled) = oneshot::channel();
        let context = CallContext::for_shared_work();
        let in_flight = Rc::new(InFlight {
            outcome: OnceCell::new(),
            context: Rc::clone(&context),
            request,
            began_at: Cell::new(None),
            snapshot_id: OnceCell::new(),
            waiters: Cell::new(0),
            cancel: RefCell::new(Some(cancel)),
            successors: RefCell::default(),
        });
        let (this, capture, scope) = (self.clone(), Rc::downgrade(&in_flight), Rc::clone(&context));
        let work = async move { scope.scope(this.run_capture(capture, predecessor_left, cancelled)).await };
        let outcome = work.boxed_local().shared();
        in_flight.outcome.get_or_init(|| outcome.downgrade());
        queue.borrow_mut().push(Rc::clone(&in_flight));
        let completion = outcome.clone();
        let run_to_completion = async move {
            drop(completion.await);
            call_context::record(context.unlogged_effects());
        };
        self.ports.background().run(run_to_completion.boxed_local());
        Ok((in_flight, outcome))
    }

    /// Waits for the captures in front, whatever their outcome, and runs this one.
    async fn run_capture(
        &self,
        in_flight: Weak<InFlight>,
        predecessor_left: Option<oneshot::Receiver<()>>,
        cancelled: oneshot::Receiver<()>,
    ) -> Result<TakenSnapshot> {
        if let Some(predecessor_left) = predecessor_left {
            // Nothing is sent: the receiver resolves when the capture in front leaves the queue.
            let _ = predecessor_left.await;
        }
        let in_flight = in_flight.upgrade().ok_or_else(Error::cancelled)?;
        drop(self.in_process.checkpoint_restore_lock.lock().await);
        in_flight.began_at.set(Some(self.now()));
        let token = CancellationToken::from_signal(resolve_on_send(cancelled));
        let work = self.capture(in_flight.request.clone(), token, &in_flight.snapshot_id);
        // A panic of the capture must not propagate to the callers that share the outcome.
        let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal()));
        self.in_process.coalescer.remove(&in_flight, true);
        outcome
    }

    /// Handles the cancellation of a waiter. If it was the last one, marks the capture as discarded in the ledger.
    fn on_waiter_cancelled(&self, in_flight: &InFlight) {
        if in_flight.waiters.get() == 0
            && let Some(id) = in_flight.snapshot_id.get()
        {
            // If this write fails, the capture is rolled back anyway, unless the object ends before that.
            drop(self.mark_discarded(id));
        }
    }
}

/// Resolves when a value is sent, and never if the sender is dropped without one.
async fn resolve_on_send(receiver: oneshot::Receiver<()>) {
    if receiver.await.is_err() {
        pending::<()>().await;
    }
}

impl InFlight {
    /// Returns whether a request that arrives now may share this capture's answer.
    fn can_serve(&self, request: &SnapshotRequest) -> bool {
        let is_fresh_enough = !request.fresh || self.began_at.get().is_none();
        is_fresh_enough && self.request.is_same_capture(request)
    }
}

/// A caller that waits for a capture. When the last waiter is dropped, for any reason, the capture is cancelled.
struct Waiter {
    coalescer: Rc<SnapshotCoalescer>,
    in_flight: Rc<InFlight>,
}

impl Waiter {
    fn new(coalescer: &Rc<SnapshotCoalescer>, in_flight: &Rc<InFlight>) -> Self {
        in_flight.waiters.set(in_flight.waiters.get() + 1);
        Self { coalescer: Rc::clone(coalescer), in_flight: Rc::clone(in_flight) }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.in_flight.waiters.set(self.in_flight.waiters.get() - 1);
        if self.in_flight.waiters.get() > 0 {
            return;
        }
        if let Some(cancel) = self.in_flight.cancel.take() {
            // A failure means that the capture has already finished.
            let _ = cancel.send(());
            self.coalescer.remove(&self.in_flight, self.in_flight.began_at.get().is_some());
        }
    }
}
