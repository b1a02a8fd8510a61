//! Suspect snapshots: snapshots that are much smaller than their predecessor.
//!
//! The container is the sandbox's own, so the files were deleted in it, and the snapshot counts. The deletion may be a
//! mistake that retention must not make final: it protects the predecessor until there is another snapshot, or for 7
//! days.

use crate::model::answer::SnapshotState;
use crate::model::record::{ProtectedSnapshot, SandboxRecord, SnapshotRecord, StoredBackup};
use crate::model::{Result, SizeDrop};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// How long the predecessor is protected, in milliseconds.
const PROTECTED_MILLIS: i64 = 7 * 24 * 3600 * 1000;

/// How many of the newest snapshots are searched for the predecessor.
const SEARCH_ROWS: u32 = 5;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Compares a snapshot that is about to be ready with its predecessor, and protects that one when the snapshot is
    /// suspect.
    pub(super) fn compare_with_predecessor(
        &self,
        sandbox: &mut SandboxRecord,
        snapshot: &mut SnapshotRecord,
        size_bytes: u64,
    ) -> Result<()> {
        if snapshot.rescue {
            return Ok(());
        }
        let predecessor = self.predecessor_of(snapshot)?;
        let size = |row: &SnapshotRecord| row.stored().map_or(0, StoredBackup::estimated_full_bytes);
        snapshot.suspect = predecessor.as_ref().and_then(|row| SizeDrop::detect(size(row), size_bytes));
        if snapshot.autosave && snapshot.suspect.is_none() {
            // No caller looks at the files between two automatic saves, so these end no protection.
            return Ok(());
        }
        let until = self.now().plus_millis(PROTECTED_MILLIS);
        let protected = match snapshot.suspect {
            // Files may disappear in several steps: the one with the most files stays.
            Some(_) => self.protected_row(sandbox)?.into_iter().chain(predecessor).max_by_key(size),
            None => None,
        };
        let protected = protected.map(|row| ProtectedSnapshot { snapshot_id: row.snapshot_id, until });
        self.set_protected(sandbox, protected)
    }

    /// Returns the snapshot that is protected now.
    fn protected_row(&self, sandbox: &SandboxRecord) -> Result<Option<SnapshotRecord>> {
        let Some(protected) = sandbox.protected.as_ref().filter(|it| it.until > self.now()) else { return Ok(None) };
        Ok(self.ledger.snapshot(&protected.snapshot_id)?.filter(|row| row.state() == SnapshotState::Ready))
    }

    /// Ends a protection that has expired.
    pub(in crate::service) fn end_expired_protection(&self) -> Result<()> {
        let mut sandbox = self.sandbox_record()?;
        let now = self.now();
        if sandbox.protected.as_ref().is_some_and(|protected| protected.until <= now) {
            self.set_protected(&mut sandbox, None)?;
        }
        Ok(())
    }

    /// Returns the newest ready snapshot of the same directory with the same exclusions.
    fn predecessor_of(&self, snapshot: &SnapshotRecord) -> Result<Option<SnapshotRecord>> {
        let rows = self.ledger.snapshot_page(None, None, SEARCH_ROWS)?;
        let has_same_scope = |row: &SnapshotRecord| {
            (&row.dir, &row.excludes, row.gitignore) == (&snapshot.dir, &snapshot.excludes, snapshot.gitignore)
        };
        Ok(rows.into_iter().find(|row| row.state() == SnapshotState::Ready && !row.foreign && has_same_scope(row)))
    }

    /// Protects another snapshot, or none. Recalculates when the former and the new one expire.
    fn set_protected(&self, sandbox: &mut SandboxRecord, protected: Option<ProtectedSnapshot>) -> Result<()> {
        if sandbox.protected == protected {
            return Ok(());
        }
        let former = std::mem::replace(&mut sandbox.protected, protected);
        self.ledger.put_sandbox(sandbox)?;
        for protected in former.iter().chain(&sandbox.protected) {
            if let Some(row) =
                self.ledger.snapshot(&protected.snapshot_id)?.filter(|row| row.state() == SnapshotState::Ready)
            {
                self.save_snapshot(sandbox, row)?;
            }
            self.schedule_alarm(protected.until)?;
        }
        Ok(())
    }
}
