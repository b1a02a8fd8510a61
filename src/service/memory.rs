//! What the workspace remembers as long as its object is in memory: what is under way.
//!
//! A row of the ledger in a passing state is somebody's work when it is known here; otherwise its worker died, and it is a
//! loose end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared, WeakShared};
use futures_util::lock::Mutex;

use super::guard::Guard;
use super::line::Line;
use crate::model::{SandboxId, SnapshotId};

/// How many sandboxes may be made of the snapshots of one sandbox at the same time, each of which takes a container.
const RESTORES: usize = 128;

/// What is under way.
pub(super) struct Memory {
    /// The captures of the sandbox.
    pub guard: Rc<Guard>,
    /// What follows up what a former object left.
    pub recovery: RefCell<Recovery>,
    /// Held by who starts or ends the sandbox of a name.
    pub lifecycle: Mutex<()>,
    /// Who works on the checkpoints in the sandbox, or waits for that.
    pub checkpoint_calls: Line,
    /// Held by who works on the checkpoints in the sandbox.
    pub checkpoints: Mutex<()>,
    /// The sandboxes that callers have made from its snapshots.
    pub restores: Line,
    /// Held while a capture is taken for made whose worker died.
    pub adopting: Mutex<()>,
    /// Held while the files go back to a checkpoint. No capture begins meanwhile.
    pub going_back: Mutex<()>,
    /// Held by everyone who looks into the sandbox, or captures it; how many have begun.
    pub looking: Rc<Cell<u64>>,
    work: RefCell<Vec<Work>>,
    keys: RefCell<Vec<(String, Shared<oneshot::Receiver<()>>)>>,
}

/// How far what a former object left has been followed up.
#[derive(Default)]
pub(super) enum Recovery {
    /// Not at all.
    #[default]
    Due,
    /// Those who wait for it see to it, and nobody else holds it: it holds this memory.
    Underway(WeakShared<LocalBoxFuture<'static, ()>>),
    /// It was gone through once.
    Done,
}

/// Something that only one may work on.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Work {
    /// A snapshot that is being made or deleted.
    Snapshot(SnapshotId),
    /// A sandbox that is being made or destroyed.
    Sandbox(SandboxId),
    /// Word for another workspace about a snapshot.
    Release(SnapshotId),
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            guard: Rc::default(),
            recovery: RefCell::default(),
            lifecycle: Mutex::default(),
            checkpoint_calls: Line::default(),
            checkpoints: Mutex::default(),
            restores: Line::of(RESTORES),
            adopting: Mutex::default(),
            going_back: Mutex::default(),
            looking: Rc::default(),
            work: RefCell::default(),
            keys: RefCell::default(),
        }
    }
}

impl Memory {
    /// Takes work on; `None` when somebody does it already.
    pub fn take(self: &Rc<Self>, work: Work) -> Option<Underway> {
        let mut known = self.work.borrow_mut();
        if known.contains(&work) {
            return None;
        }
        known.push(work.clone());
        Some(Underway { memory: Rc::clone(self), work })
    }

    /// Whether somebody does it.
    pub fn is_taken(&self, work: &Work) -> bool {
        self.work.borrow().contains(work)
    }

    /// Takes an idempotency key; where somebody has it, what to wait for.
    pub fn take_key(self: &Rc<Self>, key: &str) -> Result<TakenKey, Shared<oneshot::Receiver<()>>> {
        if let Some((_, is_done)) = self.keys.borrow().iter().find(|(held, _)| held == key) {
            return Err(is_done.clone());
        }
        let (done, is_done) = oneshot::channel();
        self.keys.borrow_mut().push((key.to_owned(), is_done.shared()));
        Ok(TakenKey { memory: Rc::clone(self), key: key.to_owned(), _done: done })
    }

    /// Whether a call with the key is under way.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.borrow().iter().any(|(held, _)| held == key)
    }
}

/// Work that was taken on, until this is dropped.
pub(super) struct Underway {
    memory: Rc<Memory>,
    work: Work,
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.memory.work.borrow_mut().retain(|work| *work != self.work);
    }
}

/// A key that was taken, until this is dropped; then whoever waits for it goes on.
pub(super) struct TakenKey {
    memory: Rc<Memory>,
    key: String,
    _done: oneshot::Sender<()>,
}

impl Drop for TakenKey {
    fn drop(&mut self) {
        self.memory.keys.borrow_mut().retain(|(key, _)| *key != self.key);
    }
}
