//! The ledgers, with an eye on what must never be written.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::record::{
    Derivation, DerivationState, Release, RequestRecord, SnapshotRecord, Stage, WorkspaceRecord,
};
use sandbox_snapshotter::model::request::Cursor;
use sandbox_snapshotter::model::{Label, Result, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::World;
use super::objects::Place;
use crate::memory::MemoryLedger;
use crate::rules::{self, lifecycle};

/// The ledger of a workspace, which every change of a row is checked on.
pub struct Watched {
    inner: RefCell<MemoryLedger>,
    world: Weak<World>,
    id: SandboxId,
    /// The alarm, as the platform knows it: it is gone when it has come, and the ledger still remembers it.
    alarm: Cell<Option<Timestamp>>,
    was_taken_away: Cell<bool>,
    left_at: Cell<i64>,
}

impl Watched {
    /// The ledger of the workspace `id`.
    pub fn new(world: &Rc<World>, id: SandboxId) -> Self {
        let (inner, world) = (RefCell::default(), Rc::downgrade(world));
        Self { inner, world, id, alarm: Cell::default(), was_taken_away: Cell::default(), left_at: Cell::default() }
    }

    /// The alarm comes: it is not set any more.
    pub fn comes(&self) {
        self.alarm.set(None);
        self.was_taken_away.set(false);
    }

    /// The object died that worked on it.
    pub fn is_left(&self, now: i64) {
        self.left_at.set(now);
    }

    /// When that was.
    pub fn left_at(&self) -> i64 {
        self.left_at.get()
    }

    /// When the alarm comes.
    pub fn alarm_at(&self) -> Option<Timestamp> {
        self.alarm.get()
    }

    /// Whether the alarm was taken away since it came.
    pub fn was_taken_away(&self) -> bool {
        self.was_taken_away.get()
    }

    /// Every snapshot that is not deleted, the newest first.
    pub fn all(&self) -> Vec<SnapshotRecord> {
        self.inner.borrow().page(None, None, u32::MAX).unwrap()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.inner.take();
    }

    fn check(&self, check: impl FnOnce(&Rc<World>)) {
        if let Some(world) = self.world.upgrade() {
            check(&world);
        }
    }
}

impl Ledger for Watched {
    fn workspace(&self) -> Result<Option<WorkspaceRecord>> {
        self.inner.borrow().workspace()
    }

    fn put_workspace(&self, workspace: &WorkspaceRecord) -> Result<()> {
        let before = self.inner.borrow().workspace()?;
        self.check(|world| lifecycle::is_noted(world, before.as_ref(), workspace));
        let put = self.inner.borrow().put_workspace(workspace);
        self.check(|world| lifecycle::may_be_filled_otherwise(world, &self.id));
        put
    }

    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>> {
        self.inner.borrow().snapshot(id)
    }

    fn labelled(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        self.inner.borrow().labelled(label)
    }

    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()> {
        let before = self.inner.borrow().snapshot(&snapshot.snapshot_id)?;
        self.check(|world| {
            world.trace(&format_args!(
                "{}: {} {:?} is {}",
                self.id,
                snapshot.snapshot_id,
                snapshot.label.as_str(),
                snapshot.state().as_str()
            ));
            rules::written(world, &self.id, before.as_ref(), snapshot);
        });
        let put = self.inner.borrow().put_snapshot(snapshot);
        if let Err(error) = &put {
            self.check(|world| world.violated("rule 9, labels do not collide", &format_args!("{error}")));
        }
        self.check(|world| lifecycle::may_be_filled_otherwise(world, &self.id));
        put
    }

    fn forget_snapshot(&self, id: &SnapshotId) -> Result<()> {
        if let Some(row) = self.inner.borrow().snapshot(id)? {
            self.check(|world| {
                world.trace(&format_args!("{}: {id} is forgotten", self.id));
                if let Stage::Ready { .. } = row.stage {
                    world.violated("rule 1, what was made is known", &format_args!("{id} was forgotten"));
                }
                if let Stage::Making(_) = row.stage {
                    world.count("captures taken back");
                }
                if matches!(row.stage, Stage::Making(_)) && !world.marked(id).is_empty() {
                    world.violated("rule 4, nothing is left in R2", &format_args!("{id} was forgotten before"));
                }
            });
        }
        self.inner.borrow().forget_snapshot(id)
    }

    fn page(&self, after: Option<&Cursor>, prefix: Option<&str>, limit: u32) -> Result<Vec<SnapshotRecord>> {
        self.inner.borrow().page(after, prefix, limit)
    }

    fn unfinished(&self) -> Result<Vec<SnapshotRecord>> {
        self.inner.borrow().unfinished()
    }

    fn expiring(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>> {
        self.inner.borrow().expiring(until, limit)
    }

    fn forget_deleted(&self, before: Timestamp) -> Result<bool> {
        self.inner.borrow().forget_deleted(before)
    }

    fn derivation(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>> {
        self.inner.borrow().derivation(sandbox_id)
    }

    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>> {
        self.inner.borrow().derived_from(ids)
    }

    fn unsettled(&self) -> Result<Vec<Derivation>> {
        self.inner.borrow().unsettled()
    }

    fn derivations(&self) -> Result<Vec<Derivation>> {
        self.inner.borrow().derivations()
    }

    fn put_derivation(&self, derivation: &Derivation) -> Result<()> {
        let before = self.inner.borrow().derivation(&derivation.sandbox_id)?;
        self.check(|world| {
            world.trace(&format_args!("{}: {} is {:?}", self.id, derivation.sandbox_id, derivation.state));
            rules::derived(world, before.as_ref(), derivation);
        });
        self.inner.borrow().put_derivation(derivation)
    }

    fn forget_derivation(&self, sandbox_id: &SandboxId) -> Result<()> {
        if let Some(row) = self.inner.borrow().derivation(sandbox_id)? {
            self.check(|world| {
                world.trace(&format_args!("{}: {sandbox_id} is forgotten", self.id));
                if let DerivationState::Ready { .. } = row.state {
                    world.violated("rule 3, a sandbox is somebody's", &format_args!("{sandbox_id} was forgotten"));
                }
                if matches!(row.state, DerivationState::Ending(_)) && world.files(sandbox_id).is_some() {
                    world.violated("rule 4, no sandbox runs that nobody got", &format_args!("{sandbox_id}"));
                }
            });
        }
        self.inner.borrow().forget_derivation(sandbox_id)
    }

    fn request(&self, key: &str) -> Result<Option<RequestRecord>> {
        self.inner.borrow().request(key)
    }

    fn put_request(&self, request: &RequestRecord) -> Result<()> {
        self.inner.borrow().put_request(request)
    }

    fn forget_request(&self, key: &str) -> Result<()> {
        self.inner.borrow().forget_request(key)
    }

    fn unanswered(&self) -> Result<Vec<RequestRecord>> {
        self.inner.borrow().unanswered()
    }

    fn forget_answered(&self, before: Timestamp) -> Result<bool> {
        self.inner.borrow().forget_answered(before)
    }

    fn releases(&self) -> Result<Vec<Release>> {
        self.inner.borrow().releases()
    }

    fn put_release(&self, release: &Release) -> Result<()> {
        self.inner.borrow().put_release(release)
    }

    fn forget_release(&self, id: &SnapshotId) -> Result<()> {
        self.inner.borrow().forget_release(id)
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        self.inner.borrow().alarm()
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.inner.borrow().set_alarm(at)?;
        self.alarm.set(at);
        self.check(|world| match at {
            Some(at) => world.set_alarm(Place::Sandbox(self.id.clone()), at),
            None => self.was_taken_away.set(true),
        });
        Ok(())
    }
}
