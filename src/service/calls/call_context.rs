//! The context of a call, for the log: its correlation id, its number of attempts, and the side effects that its answer
//! does not show.
//!
//! The context is not an argument, because it does not change what the work does: code that is polled within a context
//! finds it as the [`current`](CallContext::current) one. Work that continues after the answer stays within its
//! context, and its later side effects are logged separately.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::model::{BackupId, SandboxId, SnapshotId};

thread_local! {
    static CURRENT: RefCell<Option<Rc<CallContext>>> = const { RefCell::new(None) };
}

/// The context of one call, which is logged as one line.
#[derive(Debug)]
pub struct CallContext {
    /// The correlation id of the call: the same in every object of this Worker, and in the answer to the caller.
    pub correlation_id: String,
    side_effects: RefCell<SideEffects>,
    is_logged: Cell<bool>,
    /// The side effects since [`effects_for_log`](Self::effects_for_log) was called.
    late_effects: RefCell<SideEffects>,
}

/// The side effects of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SideEffects {
    /// The number of attempts of the step that took the most attempts.
    pub attempts: u32,
    /// The snapshots that were deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "letGo")]
    pub deleted: Vec<SnapshotId>,
    /// The snapshots that recovery completed after their Worker ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(alias = "adopted")]
    pub recovered: Vec<SnapshotId>,
    /// The backups that were deleted from R2 because they must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<BackupId>,
    /// The sandboxes whose container was ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<SandboxId>,
}

impl SideEffects {
    /// Returns whether there is no side effect. The number of attempts does not count.
    pub fn is_empty(&self) -> bool {
        Self { attempts: 0, ..self.clone() } == Self::default()
    }

    fn merge(&mut self, other: Self) {
        self.attempts = self.attempts.max(other.attempts);
        extend_unique(&mut self.deleted, other.deleted);
        extend_unique(&mut self.recovered, other.recovered);
        extend_unique(&mut self.discarded, other.discarded);
        extend_unique(&mut self.ended, other.ended);
    }
}

/// Adds the items that `known` does not contain: several objects may report the same side effect.
fn extend_unique<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

impl CallContext {
    /// Returns the context of a new call.
    pub fn new(correlation_id: impl Into<String>) -> Rc<Self> {
        Rc::new(Self {
            correlation_id: correlation_id.into(),
            side_effects: RefCell::default(),
            is_logged: Cell::default(),
            late_effects: RefCell::default(),
        })
    }

    /// Returns a new context with the current correlation id, for work whose outcome several callers may share.
    pub(in crate::service) fn for_shared_work() -> Rc<Self> {
        Self::new(Self::current().map(|context| context.correlation_id.clone()).unwrap_or_default())
    }

    /// Returns the context of the work that is being polled, if there is one.
    pub fn current() -> Option<Rc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` within this context.
    pub async fn scope<T>(self: &Rc<Self>, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            let _outer = OuterContext(CURRENT.replace(Some(Rc::clone(self))));
            work.as_mut().poll(context)
        })
        .await
    }

    /// Returns the side effects so far, for the log. [`take_late_effects`](Self::take_late_effects) returns later ones.
    pub fn effects_for_log(&self) -> SideEffects {
        self.is_logged.set(true);
        let effects = self.side_effects.borrow().clone();
        SideEffects { attempts: effects.attempts.max(1), ..effects }
    }

    /// Returns the side effects since the call of [`effects_for_log`](Self::effects_for_log) or the last call of this
    /// function.
    pub fn take_late_effects(&self) -> SideEffects {
        self.late_effects.take()
    }

    /// Returns the side effects that are not logged yet.
    pub(in crate::service) fn unlogged_effects(&self) -> SideEffects {
        if self.is_logged.get() { self.take_late_effects() } else { self.effects_for_log() }
    }

    fn record(&self, effects: SideEffects) {
        let target = if self.is_logged.get() { &self.late_effects } else { &self.side_effects };
        target.borrow_mut().merge(effects);
    }
}

/// The outer context. It becomes current again on drop, even if the work panics.
struct OuterContext(Option<Rc<CallContext>>);

impl Drop for OuterContext {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Records side effects in the current context, if there is one.
pub fn record(effects: SideEffects) {
    if let Some(context) = CallContext::current() {
        context.record(effects);
    }
}

/// Records the number of attempts so far.
pub(super) fn record_attempts(attempts: u32) {
    record(SideEffects { attempts, ..SideEffects::default() });
}

/// Records that a snapshot was deleted.
pub(in crate::service) fn record_deleted(id: &SnapshotId) {
    record(SideEffects { deleted: vec![id.clone()], ..SideEffects::default() });
}

/// Records that recovery completed a snapshot after its Worker ended.
pub(in crate::service) fn record_recovered(id: &SnapshotId) {
    record(SideEffects { recovered: vec![id.clone()], ..SideEffects::default() });
}

/// Records that a backup was deleted because it must not be used.
pub(in crate::service) fn record_discarded(id: &BackupId) {
    record(SideEffects { discarded: vec![id.clone()], ..SideEffects::default() });
}

/// Records that the container of a sandbox was ended.
pub(in crate::service) fn record_ended(id: &SandboxId) {
    record(SideEffects { ended: vec![id.clone()], ..SideEffects::default() });
}
