//! The in-memory state of a Workspace object: the work in progress.
//!
//! A row of the ledger in a transient state belongs to running work if that work is leased here. Otherwise its Worker
//! ended, and recovery completes the row or rolls it back.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared, WeakShared};
use futures_util::lock::Mutex;

use super::calls::queue::Queue;
use super::snapshot::coalesce::SnapshotCoalescer;
use crate::model::named::settings::{OnDiverged, OnImageChange};
use crate::model::revive::RevivedSandbox;
use crate::model::{Error, SandboxId, SnapshotId};

/// The maximum number of concurrent restores and branches of one sandbox. Each of them starts a container.
const MAX_CONCURRENT_RESTORES: usize = 128;

/// The work in progress.
pub(super) struct SandboxInProcessState {
    /// The captures of the sandbox.
    pub coalescer: Rc<SnapshotCoalescer>,
    /// The recovery of what an earlier instance of this object left.
    pub recovery: RefCell<Recovery>,
    /// Locked while a sandbox is started or ended.
    pub lifecycle_lock: Mutex<()>,
    /// The revivals of the sandbox that run, each for the callers that treat written files in the same way.
    pub revivals: Revivals,
    /// Locked while an automatic save checks and captures the sandbox.
    pub save_lock: Mutex<()>,
    /// The calls that work on the checkpoints in the sandbox, or wait to do so.
    pub checkpoint_queue: Queue,
    /// Locked by the call that works on the checkpoints in the sandbox.
    pub checkpoint_lock: Mutex<()>,
    /// The restores and branches that run.
    pub restore_queue: Queue,
    /// Locked while recovery completes a capture whose Worker ended.
    pub completion_lock: Mutex<()>,
    /// Locked while the files are restored to a checkpoint. No capture begins before it is unlocked.
    pub checkpoint_restore_lock: Mutex<()>,
    /// The number of probes and captures that have begun. Each of them owns a clone of this `Rc` while it runs.
    pub probes_started: Rc<Cell<u64>>,
    leased: RefCell<Vec<WorkKey>>,
    keys: RefCell<Vec<(String, Shared<oneshot::Receiver<()>>)>>,
}

/// The revivals of a sandbox that run. Weak, because a revival owns this state; only its callers own it.
pub(super) type Revivals = RefCell<Vec<(RevivalChoices, WeakShared<Revival>)>>;

/// What the caller of a revival chose.
pub(super) type RevivalChoices = (OnDiverged, OnImageChange);

/// A revival of the sandbox.
pub(super) type Revival = LocalBoxFuture<'static, Result<RevivedSandbox, Error>>;

/// The progress of the recovery of what an earlier instance of this object left.
#[derive(Default)]
pub(super) enum Recovery {
    /// It has not begun.
    #[default]
    Due,
    /// It runs. Weak, because the future owns this state; only the callers that wait for it own the future.
    Running(WeakShared<LocalBoxFuture<'static, ()>>),
    /// It ran once.
    Done,
}

/// Work that only one task may do at a time.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum WorkKey {
    /// The creation or deletion of a snapshot.
    Snapshot(SnapshotId),
    /// The creation or destruction of a sandbox.
    Sandbox(SandboxId),
    /// The message to another ledger that its snapshot is no longer needed.
    Release(SnapshotId),
}

impl Default for SandboxInProcessState {
    fn default() -> Self {
        Self {
            coalescer: Rc::default(),
            recovery: RefCell::default(),
            lifecycle_lock: Mutex::default(),
            revivals: Revivals::default(),
            save_lock: Mutex::default(),
            checkpoint_queue: Queue::default(),
            checkpoint_lock: Mutex::default(),
            restore_queue: Queue::with_capacity(MAX_CONCURRENT_RESTORES),
            completion_lock: Mutex::default(),
            checkpoint_restore_lock: Mutex::default(),
            probes_started: Rc::default(),
            leased: RefCell::default(),
            keys: RefCell::default(),
        }
    }
}

impl SandboxInProcessState {
    /// Leases the work. Returns `None` if it is leased already.
    pub fn try_acquire(self: &Rc<Self>, work: WorkKey) -> Option<WorkLease> {
        let mut leased = self.leased.borrow_mut();
        if leased.contains(&work) {
            return None;
        }
        leased.push(work.clone());
        Some(WorkLease { state: Rc::clone(self), key: work })
    }

    /// Returns whether the work is leased.
    pub fn is_leased(&self, work: &WorkKey) -> bool {
        self.leased.borrow().contains(work)
    }

    /// Leases an idempotency key. If it is leased already, returns the future that resolves when it is released.
    pub fn try_acquire_key(self: &Rc<Self>, key: &str) -> Result<KeyLease, Shared<oneshot::Receiver<()>>> {
        if let Some((_, released)) = self.keys.borrow().iter().find(|(leased, _)| leased == key) {
            return Err(released.clone());
        }
        let (done, released) = oneshot::channel();
        self.keys.borrow_mut().push((key.to_owned(), released.shared()));
        Ok(KeyLease { state: Rc::clone(self), key: key.to_owned(), _done: done })
    }

    /// Returns whether a call with the key is running.
    pub fn is_key_leased(&self, key: &str) -> bool {
        self.keys.borrow().iter().any(|(leased, _)| leased == key)
    }
}

/// The lease of work, released on drop.
pub(super) struct WorkLease {
    state: Rc<SandboxInProcessState>,
    key: WorkKey,
}

impl Drop for WorkLease {
    fn drop(&mut self) {
        self.state.leased.borrow_mut().retain(|work| *work != self.key);
    }
}

/// The lease of an idempotency key, released on drop. Then the calls that wait for the key continue.
pub(super) struct KeyLease {
    state: Rc<SandboxInProcessState>,
    key: String,
    _done: oneshot::Sender<()>,
}

impl Drop for KeyLease {
    fn drop(&mut self) {
        self.state.keys.borrow_mut().retain(|(key, _)| *key != self.key);
    }
}
