//! The ledger: rows that are misread, not stored, or stored in another form.

use std::num::NonZeroU32;

use sandbox_snapshotter::model::policy::Policy;
use sandbox_snapshotter::model::record::{
    Derivation, DerivedState, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord, Stage, Verification,
};
use sandbox_snapshotter::model::request::SnapshotCursor;
use sandbox_snapshotter::model::{Label, PendingTask, Result, SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::{Clock, Ledger, Ports};
use serde_json::json;

use super::ports::Place;
use super::{Bug, PlantedPorts};
use crate::memory::MemoryLedger;

/// The delay before a release is delivered, in milliseconds.
const RELEASE_DELAY_MILLIS: i64 = 60_000;

macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(#[track_caller]
        fn $name(&self, $($argument: $type),*) -> Result<$answer> {
            self.ledger_place();
            self.stored().$name($($argument),*)
        })*
    };
}

impl PlantedPorts {
    pub(super) fn stored(&self) -> &MemoryLedger {
        self.memory_ledger().expect("it is the object of a sandbox")
    }

    fn is_decommissioned(&self) -> bool {
        self.stored().sandbox().unwrap().is_some_and(|row| row.decommissioned_at.is_some())
    }

    /// Returns rows as a retention decision reads them.
    fn misread_candidates(&self, place: Place, mut rows: Vec<SnapshotRecord>) -> Vec<SnapshotRecord> {
        if place.is_in("retention/mod.rs") && !self.is_decommissioned() {
            for row in &mut rows {
                row.pinned &= !self.is_planted(Bug::PinsIgnored);
                row.rescue |= self.is_planted(Bug::NewestNotKept);
                row.autosave &= !self.is_planted(Bug::AutosavesCountedWithOthers);
            }
        }
        rows
    }

    /// Returns the row of a sandbox in the form in which it is stored.
    fn edit_sandbox(&self, row: &SandboxRecord) -> SandboxRecord {
        let stored = self.stored().sandbox().unwrap();
        let mut row = row.clone();
        if self.is_planted(Bug::UnverifiedNotStored) {
            row.unverified = None;
        }
        if let Some(policy) = stored.as_ref().map(|stored| &stored.policy)
            && self.is_planted(Bug::KeepLastOffByOne)
            && row.policy == keeping_one_fewer(policy)
        {
            row.policy.clone_from(policy);
        }
        if let Some(start) = row.start_state_mut()
            && self.is_planted(Bug::UnansweredDestroyNotStored)
        {
            start.destroy_unconfirmed = false;
        }
        let Some(binding) = &mut row.binding else { return row };
        let stored = stored.and_then(|stored| stored.binding);
        if self.is_planted(Bug::FirstStartNotStored) {
            binding.start.first_started_at = None;
        }
        if self.is_planted(Bug::AdoptedWithoutProbe)
            && binding.start.adopted_at != stored.as_ref().and_then(|stored| stored.start.adopted_at)
        {
            self.notes.is_adopting.set(true);
        }
        if self.is_planted(Bug::AdoptedImageKept)
            && let Some(stored) = &stored
            && binding.start.adopted_at != stored.start.adopted_at
        {
            binding.start.image.clone_from(&stored.start.image);
        }
        if binding.start.reconcile_task != stored.and_then(|stored| stored.start.reconcile_task)
            && self.notes.is_spared.take()
        {
            binding.start.reconcile_task = None;
        }
        row
    }

    /// Returns the row of a snapshot in the form in which it is stored; `None` if it is not stored.
    fn edit_snapshot(&self, place: Place, row: &SnapshotRecord) -> Result<Option<SnapshotRecord>> {
        let before = self.stored().snapshot(&row.snapshot_id)?;
        let mut row = row.clone();
        if self.is_planted(Bug::CaptureNotRecorded) && before.is_none() && matches!(row.stage, Stage::Creating(_)) {
            let has_backup = matches!(&row.stage, Stage::Creating(progress) if progress.backup.is_some());
            return Ok(has_backup.then_some(row));
        }
        row.rescue &= !self.is_planted(Bug::RescueReleasesReference) || !matches!(row.stage, Stage::Ready { .. });
        if let Some(before) = before
            && [Bug::PinsIgnored, Bug::NewestNotKept, Bug::AutosavesCountedWithOthers]
                .map(|bug| self.is_planted(bug))
                .contains(&true)
            && place.is_called_from("retention/")
        {
            row = SnapshotRecord { stage: row.stage, expires_at: row.expires_at, ..before };
        }
        if let Stage::Deleted { stored, removal } = &row.stage
            && !stored.backup.deltas().is_empty()
            && self.is_planted(Bug::BaseDeletedTooEarly)
        {
            let task = PendingTask { due_at: self.ports.clock().now(), attempt: 0 };
            row.stage = Stage::Deleting { stored: stored.clone(), removal: removal.clone(), task };
        }
        if let Stage::Deleting { stored, removal, task } = &row.stage
            && self.is_planted(Bug::DeletedTooEarly)
            && task.attempt > 0
        {
            row.stage = Stage::Deleted { stored: stored.clone(), removal: removal.clone() };
        }
        Ok(Some(row))
    }

    /// Returns whether a capture that is complete now releases the snapshot that the sandbox was made from, although it
    /// must not.
    fn is_wrongly_released_by(&self, completed: &SnapshotRecord) -> Result<bool> {
        let before = self.stored().snapshot(&completed.snapshot_id)?;
        let is_new = before.is_some_and(|before| matches!(before.stage, Stage::Creating(_)))
            && matches!(completed.stage, Stage::Ready { .. });
        let binding = self.stored().sandbox()?.and_then(|row| row.binding);
        let is_partial = binding.is_some_and(|binding| !completed.rescue && !completed.is_whole(&binding.start.dir));
        Ok(is_new
            && ((completed.rescue && self.is_planted(Bug::RescueReleasesReference))
                || (is_partial && self.is_planted(Bug::PartialReleasesReference))))
    }

    /// Releases the snapshot that the sandbox was made from.
    fn release_parent(&self) -> Result<()> {
        let ledger = self.stored();
        let Some(mut sandbox) = ledger.sandbox()? else { return Ok(()) };
        let Some(parent) = sandbox.parent.as_mut().filter(|parent| parent.needs_snapshot) else { return Ok(()) };
        parent.needs_snapshot = false;
        let now = self.ports.clock().now();
        let due_at = now.plus_millis(RELEASE_DELAY_MILLIS);
        let (origin_id, snapshot_id) = (parent.origin_id.clone(), parent.snapshot_id.clone());
        let task = PendingTask { due_at, attempt: 0 };
        ledger.put_sandbox(&sandbox)?;
        ledger.put_release(&Release { origin_id, snapshot_id, task })?;
        ledger.set_alarm(Some(ledger.alarm()?.filter(|at| *at > now).map_or(due_at, |at| at.min(due_at))))
    }
}

impl Ledger for PlantedPorts {
    pass_on! {
        delete_snapshot(id: &SnapshotId) -> ();
        unfinished_snapshots() -> Vec<SnapshotRecord>;
        delete_tombstones(before: Timestamp) -> bool;
        unfinished_sandboxes() -> Vec<Derivation>;
        derived_sandboxes() -> Vec<Derivation>;
        put_derived_sandbox(derivation: &Derivation) -> ();
        delete_derived_sandbox(sandbox_id: &SandboxId) -> ();
        idempotency_record(key: &str) -> Option<IdempotencyRecord>;
        delete_idempotency_record(key: &str) -> ();
        unanswered_calls() -> Vec<IdempotencyRecord>;
        delete_answered_calls(before: Timestamp) -> bool;
        releases() -> Vec<Release>;
        put_release(release: &Release) -> ();
        delete_release(id: &SnapshotId) -> ();
        alarm() -> Option<Timestamp>;
        set_alarm(at: Option<Timestamp>) -> ();
    }

    #[track_caller]
    fn sandbox(&self) -> Result<Option<SandboxRecord>> {
        let place = self.ledger_place();
        let mut row = self.stored().sandbox()?;
        if self.is_planted(Bug::DecommissionedStillClaimed) && place.is_in("workspace/sandbox/decommission.rs") {
            let unclaimed = json!({ "sandboxId": self.own(), "rootId": self.own() });
            return Ok(row.or_else(|| serde_json::from_value(unclaimed).unwrap()));
        }
        if let Some(row) = row.as_mut().filter(|_| self.is_planted(Bug::KeepLastOffByOne)) {
            row.policy = keeping_one_fewer(&row.policy);
        }
        if let Some(row) = row.as_mut().filter(|_| self.is_planted(Bug::IdentityNotCompared)) {
            row.container = row.container.and(self.world().identity(self.own()));
        }
        if let Some(binding) = row.as_mut().and_then(|row| row.binding.as_mut())
            && self.is_planted(Bug::CapturedDuringRestore)
            && place.is_in("workspace/sandbox/mod.rs")
        {
            binding.start.reconcile_task = None;
        }
        Ok(row)
    }

    #[track_caller]
    fn put_sandbox(&self, sandbox: &SandboxRecord) -> Result<()> {
        self.ledger_place();
        let row = self.edit_sandbox(sandbox);
        self.stored().put_sandbox(&row)
    }

    #[track_caller]
    fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRecord>> {
        let place = self.ledger_place();
        let mut row = self.stored().snapshot(id)?;
        let is_unseen = (self.is_planted(Bug::SweepIgnoresLedger) && place.is_in("retention/sweep.rs"))
            || (self.is_planted(Bug::LabelChangeOverwritten) && place.is_in("snapshot/label.rs"))
            || (self.is_planted(Bug::ExpirationNotUpdated)
                && place.is_in("retention/references.rs")
                && place.is_called_from("restore/mod.rs"));
        if let Some(Stage::Creating(progress)) = row.as_mut().map(|row| &mut row.stage)
            && self.is_planted(Bug::UnverifiedCaptureLost)
            && place.is_in("snapshot/reconcile.rs")
            && progress.verification == Verification::DueUnverified
        {
            progress.verification = Verification::Due;
        }
        Ok(row.filter(|_| !is_unseen))
    }

    #[track_caller]
    fn snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        let place = self.ledger_place();
        let is_unseen = self.is_planted(Bug::LabelNotUnique) && place.is_in("snapshot/label.rs");
        Ok(self.stored().snapshot_by_label(label)?.filter(|_| !is_unseen))
    }

    fn deleted_snapshot_by_label(&self, label: &Label) -> Result<Option<SnapshotRecord>> {
        self.stored().deleted_snapshot_by_label(label)
    }

    #[track_caller]
    fn put_snapshot(&self, snapshot: &SnapshotRecord) -> Result<()> {
        let place = self.ledger_place();
        let Some(row) = self.edit_snapshot(place, snapshot)? else { return Ok(()) };
        let is_wrongly_released = self.is_wrongly_released_by(snapshot)?;
        self.stored().put_snapshot(&row)?;
        if is_wrongly_released { self.release_parent() } else { Ok(()) }
    }

    #[track_caller]
    fn snapshot_page(
        &self,
        after: Option<&SnapshotCursor>,
        prefix: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SnapshotRecord>> {
        let place = self.ledger_place();
        let mut page = self.stored().snapshot_page(after, prefix, limit)?;
        // The search for the newest snapshot of a kind.
        if place.is_in("ledger.rs") {
            for row in &mut page {
                row.foreign &= !self.is_planted(Bug::StartedFromRescue);
            }
            if self.is_planted(Bug::DamagedSnapshotSkipped) {
                page.retain(|row| row.stored().is_none_or(|stored| stored.damage.is_none()));
            }
        }
        Ok(self.misread_candidates(place, page))
    }

    #[track_caller]
    fn expiring_snapshots(&self, until: Timestamp, limit: u32) -> Result<Vec<SnapshotRecord>> {
        let place = self.ledger_place();
        if !self.is_planted(Bug::ExpirationMissed) || !place.is_in("tasks/") {
            return Ok(self.misread_candidates(place, self.stored().expiring_snapshots(until, limit)?));
        }
        let mut rows = self.stored().expiring_snapshots(until, u32::MAX)?;
        let now = self.ports.clock().now();
        rows.retain(|row| row.expires_at.is_some_and(|at| at > now));
        rows.truncate(limit as usize);
        Ok(rows)
    }

    #[track_caller]
    fn derived_sandbox(&self, sandbox_id: &SandboxId) -> Result<Option<Derivation>> {
        let place = self.begin_operation();
        let Some(mut row) = self.stored().derived_sandbox(sandbox_id)? else { return Ok(None) };
        if place.is_in("restore/rollback.rs") {
            match &mut row.state {
                DerivedState::Pending(_) if self.is_planted(Bug::PendingNotReconciled) => return Ok(None),
                DerivedState::Ending(task) if self.is_planted(Bug::RecheckedTooEarly) => {
                    task.due_at = Timestamp::from_millis(0);
                }
                _ => {}
            }
        }
        if place.is_in("workspace/sandbox/reserve.rs") {
            if self.is_planted(Bug::RepeatedReservationRefused) {
                row.state = DerivedState::Ready { needs_snapshot: false };
            }
            if self.notes.claimed.borrow_mut().take_if(|claimed| claimed == sandbox_id).is_some() {
                return Ok(None);
            }
        }
        Ok(Some(row))
    }

    #[track_caller]
    fn derived_from(&self, ids: &[SnapshotId]) -> Result<Vec<Derivation>> {
        let place = self.ledger_place();
        let mut rows = self.stored().derived_from(ids)?;
        if place.is_in("retention/delete.rs") && self.is_planted(Bug::DeletedDuringRestore) {
            rows.retain(|row| !matches!(row.state, DerivedState::Pending(_)));
        }
        if place.is_in("retention/references.rs") {
            let is_ignored = if self.is_decommissioned() {
                self.is_planted(Bug::DecommissionIgnoresDependents)
            } else {
                self.is_planted(Bug::DependentsIgnored) && place.is_called_from("retention/mod.rs")
            };
            rows.retain(|row| !is_ignored || !row.needs_snapshot());
        }
        Ok(rows)
    }

    #[track_caller]
    fn put_idempotency_record(&self, request: &IdempotencyRecord) -> Result<()> {
        self.ledger_place();
        if self.is_planted(Bug::AnswerNotStored) && request.answer.is_some() {
            return self.stored().delete_idempotency_record(&request.key);
        }
        let is_answered = || {
            self.stored()
                .idempotency_record(&request.key)
                .is_ok_and(|known| known.is_some_and(|it| it.answer.is_some()))
        };
        if self.is_planted(Bug::FirstCaptureAnswered) && request.answer.is_some() && is_answered() {
            return Ok(());
        }
        self.stored().put_idempotency_record(request)
    }
}

/// Returns a policy that keeps one snapshot fewer.
fn keeping_one_fewer(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    if let Some(rule) = &mut policy.keep_last {
        rule.count = NonZeroU32::new(rule.count.get() - 1).unwrap_or(rule.count);
    }
    policy
}
