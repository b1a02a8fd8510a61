//! An in-memory `Ledger`.

use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::BTreeMap;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::record::{Derivation, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord};
use sandbox_snapshotter::model::request::SnapshotCursor;
use sandbox_snapshotter::model::{Error, Failure, Label, Result, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use super::alarm::Alarm;

/// A change of a row.
pub enum RowChange<'a> {
    /// The row of the sandbox was stored; with its former content.
    Sandbox(Option<&'a SandboxRecord>, &'a SandboxRecord),
    /// A snapshot was stored; with its former content.
    Snapshot(Option<&'a SnapshotRecord>, &'a SnapshotRecord),
    /// A snapshot was refused, because another one has its label.
    LabelTaken(&'a SnapshotRecord),
    /// A snapshot was deleted.
    SnapshotDeleted(&'a SnapshotRecord),
    /// A derived sandbox was stored; with its former content.
    Derivation(Option<&'a Derivation>, &'a Derivation),
    /// A derived sandbox was deleted.
    DerivationDeleted(&'a Derivation),
    /// The alarm was set to another time.
    Alarm(Timestamp),
}

type Observer = Box<dyn Fn(&RowChange<'_>)>;

/// A [`Ledger`] in memory, without persistence. It passes the same conformance suite as the SQL implementation.
#[derive(Default)]
pub struct MemoryLedger {
    sandbox: RefCell<Option<SandboxRecord>>,
    snapshots: RefCell<BTreeMap<SnapshotId, SnapshotRecord>>,
    derivations: RefCell<BTreeMap<SandboxId, Derivation>>,
    idempotency_records: RefCell<BTreeMap<String, IdempotencyRecord>>,
    releases: RefCell<BTreeMap<SnapshotId, Release>>,
    /// The alarm of the object.
    pub alarm: Alarm,
    observer: OnceCell<Observer>,
}

impl MemoryLedger {
    /// Calls `observer` after every change of a row.
    pub fn observe(&self, observer: impl Fn(&RowChange<'_>) + 'static) {
        self.observer.set(Box::new(observer)).ok().expect("a ledger has one observer");
    }

    /// Returns every snapshot that is not deleted, the newest first.
    pub fn live_snapshots(&self) -> Vec<SnapshotRecord> {
        self.snapshot_page(None, None, u32::MAX).unwrap()
    }

    /// Returns the deleted snapshots that deltas are based on.
    pub fn deleted_bases(&self) -> Vec<SnapshotRecord> {
        let is_base = |row: &SnapshotRecord| row.stored().is_some_and(|stored| !stored.backup.deltas().is_empty());
        self.filter_snapshots(|row| row.state() == SnapshotState::Deleted && is_base(row))
    }

    /// Drops all rows.
    pub fn clear(&self) {
        self.sandbox.take();
        self.snapshots.take();
        self.derivations.take();
        self.idempotency_records.take();
        self.releases.take();
    }

    fn report(&self, change: &RowChange<'_>) {
        if let Some(observer) = self.observer.get() {
            observer(change);
        }
    }

    /// Returns the matching snapshots, in the order of their ids.
    fn filter_snapshots(&self, matches: impl Fn(&SnapshotRecord) -> bool) -> Vec<SnapshotRecord> {
        self.snapshots.borrow().values().filter(|snapshot| matches(snapshot)).cloned().collect()
    }
}

impl Ledger for MemoryLedger {
    fn sandbox(&self) -> Result<Option<SandboxRecord>> {
        Ok(self.sandbox.borrow().clone())
    }

    fn put_sandbox(&self, sandbox: &SandboxRecord) -> Result<()> {
        let before = self.sandbox.replace(Some(sandbox.clone()));
        self.report(&RowChange::Sandbox(before.as_ref(), sandbox));
        Ok(())
    }

    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>> {
        Ok(self.snapshots.borrow().get(id).cloned())
    }

    fn snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        let snapshots = self.snapshots.borrow();
        Ok(snapshots.values().find(|snapshot| has_label(snapshot, label)).cloned())
    }

    fn deleted_snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        let snapshots = self.snapshots.borrow();
        let is_deleted = |row: &&SnapshotRecord| row.state() == SnapshotState::Deleted && row.label == *label;
        Ok(snapshots.values().filter(is_deleted).max_by_key(|row| (row.created_at(), &row.snapshot_id)).cloned())
    }

    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()> {
        let mut snapshots = self.snapshots.borrow_mut();
        let is_other = |other: &&SnapshotRecord| other.snapshot_id != snapshot.snapshot_id;
        if has_label(snapshot, &snapshot.label)
            && snapshots.values().filter(is_other).any(|other| has_label(other, &snapshot.label))
        {
            drop(snapshots);
            self.report(&RowChange::LabelTaken(snapshot));
            let message = format!("Two snapshots have the label {:?}.", snapshot.label.as_str());
            return Err(Error::ledger_unavailable(Failure::new("Error", &message)));
        }
        let before = snapshots.insert(snapshot.snapshot_id.clone(), snapshot.clone());
        drop(snapshots);
        self.report(&RowChange::Snapshot(before.as_ref(), snapshot));
        Ok(())
    }

    fn delete_snapshot(&self, id: &SnapshotId) -> Result<()> {
        let deleted = self.snapshots.borrow_mut().remove(id);
        if let Some(snapshot) = deleted {
            self.report(&RowChange::SnapshotDeleted(&snapshot));
        }
        Ok(())
    }

    fn snapshot_page(
        &self,
        after: Option<&SnapshotCursor>,
        prefix: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SnapshotRecord>> {
        let snapshots = self.snapshots.borrow();
        let position = |snapshot: &SnapshotRecord| (snapshot.created_at(), snapshot.snapshot_id.clone());
        let after = after.map(|after| (after.created_at, after.snapshot_id.clone()));
        let mut page: Vec<_> = snapshots
            .values()
            .filter(|snapshot| snapshot.state() != SnapshotState::Deleted)
            .filter(|snapshot| prefix.is_none_or(|prefix| snapshot.label.as_str().starts_with(prefix)))
            .filter(|snapshot| after.as_ref().is_none_or(|after| position(snapshot) < *after))
            .collect();
        page.sort_by_cached_key(|snapshot| Reverse(position(snapshot)));
        Ok(page.into_iter().take(limit as usize).cloned().collect())
    }

    fn unfinished_snapshots(&self) -> Result<Vec<SnapshotRecord>> {
        Ok(self
            .filter_snapshots(|snapshot| matches!(snapshot.state(), SnapshotState::Creating | SnapshotState::Deleting)))
    }

    fn expiring_snapshots(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>> {
        let mut expiring = self.filter_snapshots(|snapshot| {
            snapshot.state() == SnapshotState::Ready && snapshot.expires_at.is_some_and(|at| at <= until)
        });
        expiring.sort_by_key(|snapshot| snapshot.expires_at);
        expiring.truncate(limit as usize);
        Ok(expiring)
    }

    fn delete_tombstones(&self, before: Timestamp) -> Result<bool> {
        let mut snapshots = self.snapshots.borrow_mut();
        snapshots.retain(|_, snapshot| snapshot.ended_at().is_none_or(|at| at >= before));
        Ok(snapshots.values().any(|snapshot| snapshot.ended_at().is_some()))
    }

    fn derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>> {
        Ok(self.derivations.borrow().get(sandbox_id).cloned())
    }

    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>> {
        let derivations = self.derivations.borrow();
        Ok(derivations.values().filter(|derivation| ids.contains(&derivation.snapshot_id)).cloned().collect())
    }

    fn unfinished_sandboxes(&self) -> Result<Vec<Derivation>> {
        let derivations = self.derivations.borrow();
        Ok(derivations.values().filter(|derivation| derivation.task().is_some()).cloned().collect())
    }

    fn derived_sandboxes(&self) -> Result<Vec<Derivation>> {
        Ok(self.derivations.borrow().values().cloned().collect())
    }

    fn put_derived_sandbox(&self, derivation: &Derivation) -> Result<()> {
        let before = self.derivations.borrow_mut().insert(derivation.sandbox_id.clone(), derivation.clone());
        self.report(&RowChange::Derivation(before.as_ref(), derivation));
        Ok(())
    }

    fn delete_derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<()> {
        let deleted = self.derivations.borrow_mut().remove(sandbox_id);
        if let Some(derivation) = deleted {
            self.report(&RowChange::DerivationDeleted(&derivation));
        }
        Ok(())
    }

    fn idempotency_record(&self, key: &str) -> Result<Option<IdempotencyRecord>> {
        Ok(self.idempotency_records.borrow().get(key).cloned())
    }

    fn put_idempotency_record(&self, request: &IdempotencyRecord) -> Result<()> {
        self.idempotency_records.borrow_mut().insert(request.key.clone(), request.clone());
        Ok(())
    }

    fn delete_idempotency_record(&self, key: &str) -> Result<()> {
        self.idempotency_records.borrow_mut().remove(key);
        Ok(())
    }

    fn unanswered_calls(&self) -> Result<Vec<IdempotencyRecord>> {
        let requests = self.idempotency_records.borrow();
        Ok(requests.values().filter(|request| request.answer.is_none()).cloned().collect())
    }

    fn delete_answered_calls(&self, before: Timestamp) -> Result<bool> {
        let mut requests = self.idempotency_records.borrow_mut();
        requests.retain(|_, request| request.answer.is_none() || request.at >= before);
        Ok(requests.values().any(|request| request.answer.is_some()))
    }

    fn releases(&self) -> Result<Vec<Release>> {
        Ok(self.releases.borrow().values().cloned().collect())
    }

    fn put_release(&self, release: &Release) -> Result<()> {
        self.releases.borrow_mut().insert(release.snapshot_id.clone(), release.clone());
        Ok(())
    }

    fn delete_release(&self, id: &SnapshotId) -> Result<()> {
        self.releases.borrow_mut().remove(id);
        Ok(())
    }

    fn alarm(&self) -> Result<Option<Timestamp>> {
        Ok(self.alarm.stored())
    }

    fn set_alarm(&self, at: Option<Timestamp>) -> Result<()> {
        if self.alarm.set(at)
            && let Some(at) = at
        {
            self.report(&RowChange::Alarm(at));
        }
        Ok(())
    }
}

fn has_label(snapshot: &SnapshotRecord, label: &Label) -> bool {
    snapshot.label == *label && snapshot.state() != SnapshotState::Deleted
}
