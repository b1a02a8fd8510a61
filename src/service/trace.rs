//! What is told of a piece of work beside its answer: who asked, how often something was tried, and what was done on the way.
//!
//! It stands beside the work and not in its arguments, since it changes nothing: whoever is polled within a trace finds it as
//! the [`current`](Trace::current) one. Work that goes on after the answer stays within its trace. What it does then is told
//! of later.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::model::{BackupId, SandboxId, SnapshotId};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Trace>>> = const { RefCell::new(None) };
}

/// A piece of work that is told of in one line of the log.
#[derive(Debug)]
pub struct Trace {
    /// Of the call that it is done for: the same in every object of this Worker, and in what the caller is told.
    pub correlation_id: String,
    deeds: RefCell<Deeds>,
    is_told: Cell<bool>,
    /// What was done since it was told.
    later: RefCell<Deeds>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Deeds {
    /// How often that was tried which took most attempts.
    pub attempts: u32,
    /// Snapshots that were let go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub let_go: Vec<SnapshotId>,
    /// Snapshots that somebody who died had made, and that were finished.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<SnapshotId>,
    /// Backups that were deleted from R2 because nobody is to use them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<BackupId>,
    /// Sandboxes that were ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<SandboxId>,
}

impl Deeds {
    /// Whether anything was done that nobody is told of otherwise.
    pub fn is_nothing(&self) -> bool {
        Self { attempts: 0, ..self.clone() } == Self::default()
    }

    fn add(&mut self, other: Self) {
        self.attempts = self.attempts.max(other.attempts);
        extend(&mut self.let_go, other.let_go);
        extend(&mut self.adopted, other.adopted);
        extend(&mut self.discarded, other.discarded);
        extend(&mut self.ended, other.ended);
    }
}

/// Adds what is not there yet: a deed may be told by more than one who took part in it.
fn extend<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if !known.contains(&one) {
            known.push(one);
        }
    }
}

impl Trace {
    /// That of work which is about to begin.
    pub fn new(correlation_id: impl Into<String>) -> Rc<Self> {
        Rc::new(Self {
            correlation_id: correlation_id.into(),
            deeds: RefCell::default(),
            is_told: Cell::default(),
            later: RefCell::default(),
        })
    }

    /// That of work which is about to begin for the same call, and whose outcome others may share.
    pub(super) fn of_shared_work() -> Rc<Self> {
        Self::new(Self::current().map(|trace| trace.correlation_id.clone()).unwrap_or_default())
    }

    /// That of the work which is being done.
    pub fn current() -> Option<Rc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Does `work` within this trace.
    pub async fn within<T>(self: &Rc<Self>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let _outer = Outer(CURRENT.replace(Some(Rc::clone(self))));
            work.as_mut().poll(context)
        })
        .await
    }

    /// What was done until now, to be told of. What is done from now on is told of [`later`](Self::take_later).
    pub fn tell(&self) -> Deeds {
        self.is_told.set(true);
        let deeds = self.deeds.borrow().clone();
        Deeds { attempts: deeds.attempts.max(1), ..deeds }
    }

    /// What was done since it was told, or was told later the last time.
    pub fn take_later(&self) -> Deeds {
        self.later.take()
    }

    /// What nobody has told yet.
    pub(super) fn tell_rest(&self) -> Deeds {
        if self.is_told.get() { self.take_later() } else { self.tell() }
    }

    fn note(&self, deeds: Deeds) {
        let bag = if self.is_told.get() { &self.later } else { &self.deeds };
        bag.borrow_mut().add(deeds);
    }
}

/// The trace that is current again afterwards, even when the work panics.
struct Outer(Option<Rc<Trace>>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Notes what was done, where somebody is going to tell of it.
pub fn note(deeds: Deeds) {
    if let Some(trace) = Trace::current() {
        trace.note(deeds);
    }
}

/// Notes that something was tried, so often until now.
pub(super) fn tried(attempts: u32) {
    note(Deeds { attempts, ..Deeds::default() });
}

/// Notes that a snapshot was let go.
pub(super) fn let_go(id: &SnapshotId) {
    note(Deeds { let_go: vec![id.clone()], ..Deeds::default() });
}

/// Notes that a snapshot was finished for somebody who died.
pub(super) fn adopted(id: &SnapshotId) {
    note(Deeds { adopted: vec![id.clone()], ..Deeds::default() });
}

/// Notes that a backup was deleted which nobody is to use.
pub(super) fn discarded(id: &BackupId) {
    note(Deeds { discarded: vec![id.clone()], ..Deeds::default() });
}

/// Notes that a sandbox was ended.
pub(super) fn ended(id: &SandboxId) {
    note(Deeds { ended: vec![id.clone()], ..Deeds::default() });
}
