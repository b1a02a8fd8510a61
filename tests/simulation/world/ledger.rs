//! The ledgers. Every write is checked.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use sandbox_snapshotter::model::record::{
    Derivation, DerivedState, IdempotencyRecord, Release, SnapshotRecord, Stage, WorkspaceRecord,
};
use sandbox_snapshotter::model::request::SnapshotCursor;
use sandbox_snapshotter::model::{Label, Result, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::World;
use super::objects::ObjectKey;
use crate::ledger_store::MemoryLedger;
use crate::rules::{self, lifecycle};

/// The ledger of a workspace, which checks every change of a row.
pub struct CheckedLedger {
    inner: RefCell<MemoryLedger>,
    world: Weak<World>,
    id: SandboxId,
    /// The alarm of the platform. It is cleared when it fires; the ledger still stores its time.
    alarm: Cell<Option<Timestamp>>,
    was_alarm_cleared: Cell<bool>,
    crashed_at: Cell<i64>,
}

impl CheckedLedger {
    /// Returns the empty ledger of the workspace `id`.
    pub fn new(world: &Rc<World>, id: SandboxId) -> Self {
        let (inner, world) = (RefCell::default(), Rc::downgrade(world));
        Self {
            inner,
            world,
            id,
            alarm: Cell::default(),
            was_alarm_cleared: Cell::default(),
            crashed_at: Cell::default(),
        }
    }

    /// Clears the alarm because it fires.
    pub fn clear_fired_alarm(&self) {
        self.alarm.set(None);
        self.was_alarm_cleared.set(false);
    }

    /// Records a crash of the object.
    pub fn note_crash(&self, now: i64) {
        self.crashed_at.set(now);
    }

    /// Returns the time of the last crash of the object.
    pub fn crashed_at(&self) -> i64 {
        self.crashed_at.get()
    }

    /// Returns the time of the alarm.
    pub fn alarm_at(&self) -> Option<Timestamp> {
        self.alarm.get()
    }

    /// Returns whether the alarm was removed since it last fired.
    pub fn was_alarm_cleared(&self) -> bool {
        self.was_alarm_cleared.get()
    }

    /// Returns every snapshot that is not deleted, the newest first.
    pub fn live_snapshots(&self) -> Vec<SnapshotRecord> {
        self.inner.borrow().snapshot_page(None, None, u32::MAX).unwrap()
    }

    /// Drops the rows.
    pub fn clear(&self) {
        self.inner.take();
    }

    fn with_world(&self, check: impl FnOnce(&Rc<World>)) {
        if let Some(world) = self.world.upgrade() {
            check(&world);
        }
    }
}

impl Ledger for CheckedLedger {
    fn workspace(&self) -> Result<Option<WorkspaceRecord>> {
        self.inner.borrow().workspace()
    }

    fn put_workspace(&self, workspace: &WorkspaceRecord) -> Result<()> {
        let before = self.inner.borrow().workspace()?;
        self.with_world(|world| lifecycle::check_workspace_record(world, before.as_ref(), workspace));
        let put = self.inner.borrow().put_workspace(workspace);
        self.with_world(|world| lifecycle::update_source_snapshots(world, &self.id));
        put
    }

    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>> {
        self.inner.borrow().snapshot(id)
    }

    fn snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        self.inner.borrow().snapshot_by_label(label)
    }

    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()> {
        let before = self.inner.borrow().snapshot(&snapshot.snapshot_id)?;
        self.with_world(|world| {
            world.trace(&format_args!(
                "{}: {} {:?} is {}",
                self.id,
                snapshot.snapshot_id,
                snapshot.label.as_str(),
                snapshot.state().as_str()
            ));
            rules::check_snapshot_row(world, &self.id, before.as_ref(), snapshot);
        });
        let put = self.inner.borrow().put_snapshot(snapshot);
        if let Err(error) = &put {
            self.with_world(|world| world.report_violation("rule 9, labels are unique", &format_args!("{error}")));
        }
        self.with_world(|world| lifecycle::update_source_snapshots(world, &self.id));
        put
    }

    fn delete_snapshot(&self, id: &SnapshotId) -> Result<()> {
        if let Some(row) = self.inner.borrow().snapshot(id)? {
            self.with_world(|world| {
                world.trace(&format_args!("{}: the row of {id} is deleted", self.id));
                if let Stage::Ready { .. } = row.stage {
                    world
                        .report_violation("rule 1, a snapshot is listed", &format_args!("the row of {id} was deleted"));
                }
                if let Stage::Creating(_) = row.stage {
                    world.count("captures rolled back");
                }
                if matches!(row.stage, Stage::Creating(_)) && !world.backup_ids_of(id).is_empty() {
                    world.report_violation(
                        "rule 4, every backup in R2 has a row",
                        &format_args!("the row of {id} was deleted first"),
                    );
                }
            });
        }
        self.inner.borrow().delete_snapshot(id)
    }

    fn snapshot_page(
        &self,
        after: Option<&SnapshotCursor>,
        prefix: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SnapshotRecord>> {
        self.inner.borrow().snapshot_page(after, prefix, limit)
    }

    fn unfinished_snapshots(&self) -> Result<Vec<SnapshotRecord>> {
        self.inner.borrow().unfinished_snapshots()
    }

    fn expiring_snapshots(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>> {
        self.inner.borrow().expiring_snapshots(until, limit)
    }

    fn delete_tombstones(&self, before: Timestamp) -> Result<bool> {
        self.inner.borrow().delete_tombstones(before)
    }

    fn derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>> {
        self.inner.borrow().derived_sandbox(sandbox_id)
    }

    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>> {
        self.inner.borrow().derived_from(ids)
    }

    fn unfinished_sandboxes(&self) -> Result<Vec<Derivation>> {
        self.inner.borrow().unfinished_sandboxes()
    }

    fn derived_sandboxes(&self) -> Result<Vec<Derivation>> {
        self.inner.borrow().derived_sandboxes()
    }

    fn put_derived_sandbox(&self, derivation: &Derivation) -> Result<()> {
        let before = self.inner.borrow().derived_sandbox(&derivation.sandbox_id)?;
        self.with_world(|world| {
            world.trace(&format_args!("{}: {} is {:?}", self.id, derivation.sandbox_id, derivation.state));
            rules::check_derivation_row(world, before.as_ref(), derivation);
        });
        self.inner.borrow().put_derived_sandbox(derivation)
    }

    fn delete_derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<()> {
        if let Some(row) = self.inner.borrow().derived_sandbox(sandbox_id)? {
            self.with_world(|world| {
                world.trace(&format_args!("{}: the row of {sandbox_id} is deleted", self.id));
                if let DerivedState::Ready { .. } = row.state {
                    world.report_violation(
                        "rule 3, a returned sandbox has a ready row",
                        &format_args!("the row of {sandbox_id} was deleted"),
                    );
                }
                if matches!(row.state, DerivedState::Ending(_)) && world.files(sandbox_id).is_some() {
                    world.report_violation("rule 4, only returned sandboxes run", &format_args!("{sandbox_id}"));
                }
            });
        }
        self.inner.borrow().delete_derived_sandbox(sandbox_id)
    }

    fn idempotency_record(&self, key: &str) -> Result<Option<IdempotencyRecord>> {
        self.inner.borrow().idempotency_record(key)
    }

    fn put_idempotency_record(&self, request: &IdempotencyRecord) -> Result<()> {
        self.inner.borrow().put_idempotency_record(request)
    }

    fn delete_idempotency_record(&self, key: &str) -> Result<()> {
        self.inner.borrow().delete_idempotency_record(key)
    }

    fn unanswered_calls(&self) -> Result<Vec<IdempotencyRecord>> {
        self.inner.borrow().unanswered_calls()
    }

    fn delete_answered_calls(&self, before: Timestamp) -> Result<bool> {
        self.inner.borrow().delete_answered_calls(before)
    }

    fn releases(&self) -> Result<Vec<Release>> {
        self.inner.borrow().releases()
    }

    fn put_release(&self, release: &Release) -> Result<()> {
        self.inner.borrow().put_release(release)
    }

    fn delete_release(&self, id: &SnapshotId) -> Result<()> {
        self.inner.borrow().delete_release(id)
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        self.inner.borrow().alarm()
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        self.inner.borrow().set_alarm(at)?;
        self.alarm.set(at);
        self.with_world(|world| match at {
            Some(at) => world.set_alarm(ObjectKey::Sandbox(self.id.clone()), at),
            None => self.was_alarm_cleared.set(true),
        });
        Ok(())
    }
}
