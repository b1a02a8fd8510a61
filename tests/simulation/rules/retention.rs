//! The decision of a policy for each snapshot, computed independently of the product and in another way.

use std::collections::BTreeSet;
use std::rc::Rc;

use sandbox_snapshotter::model::policy::Policy;
use sandbox_snapshotter::model::record::{SnapshotRecord, Stage};
use sandbox_snapshotter::model::{SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Ledger;

use super::sources::can_restore;
use crate::memory::MemoryLedger;
use crate::world::World;

const DAY: i64 = 24 * 3600 * 1000;

/// Monday, 1969-12-29.
const MONDAY: i64 = -3 * DAY;

/// A snapshot, as the input of a policy.
#[allow(clippy::struct_excessive_bools)] // They are independent of each other.
pub struct Candidate {
    /// Its id.
    pub id: SnapshotId,
    created_at: i64,
    used_at: i64,
    expiration_seconds: Option<u64>,
    /// Whether it can be restored.
    pub is_restorable: bool,
    /// Whether an automatic save took it.
    pub is_autosave: bool,
    is_retained: bool,
    /// Whether the workspace of the sandbox continues in another one.
    is_superseded: bool,
}

/// Returns the snapshots that exist or are removed at `now`, the newest first.
pub fn candidates(world: &Rc<World>, id: &SandboxId, now: i64) -> Vec<Candidate> {
    let ledger = world.ledger(id);
    let binding = ledger.sandbox().unwrap().and_then(|sandbox| sandbox.binding);
    // A base that deltas need is deleted at once, and its archive later.
    let mut rows = [ledger.live_snapshots(), ledger.deleted_bases()].concat();
    rows.sort_by_key(|row| std::cmp::Reverse((row.created_at(), row.snapshot_id.clone())));
    let snapshot_exists = |row: &&SnapshotRecord| match &row.stage {
        Stage::Ready { .. } => true,
        Stage::Deleting { removal, .. } | Stage::Deleted { removal, .. } => removal.at.as_millis() == now,
        Stage::Creating(_) => false,
    };
    let row = |row: &SnapshotRecord| Candidate {
        id: row.snapshot_id.clone(),
        created_at: row.created_at().as_millis(),
        used_at: row.last_used_at.as_millis(),
        expiration_seconds: row.expiration_seconds,
        is_restorable: !row.rescue
            && binding.as_ref().is_none_or(|binding| can_restore(row, &binding.start.dir))
            && row
                .stored()
                .is_some_and(|stored| stored.known_damage().is_none() && stored.usable_until.as_millis() > now)
            && !has_damaged_base(&ledger, row),
        is_autosave: row.autosave,
        is_superseded: binding.as_ref().is_some_and(|binding| binding.superseded),
        is_retained: row.pinned || super::has_dependents(world, &ledger, &row.snapshot_id),
    };
    rows.iter().filter(snapshot_exists).map(row).collect()
}

/// Returns whether the base of a delta is known to be damaged.
fn has_damaged_base(ledger: &MemoryLedger, row: &SnapshotRecord) -> bool {
    let base = row.base_id().and_then(|id| ledger.snapshot(id).unwrap());
    base.is_some_and(|base| base.stored().is_some_and(|stored| stored.known_damage().is_some()))
}

/// Returns whether an automatic snapshot must stay: it is needed, it is the newest restorable snapshot of all, or it is
/// among the newest automatic ones and has not expired.
pub fn must_keep_autosave(rows: &[Candidate], id: &SnapshotId, policy: &Policy, keep: u32, now: i64) -> bool {
    let Some(at) = rows.iter().position(|row| row.id == *id) else { return false };
    let (newer, row) = (&rows[..at], &rows[at]);
    let is_newest = row.is_restorable && !row.is_superseded && !newer.iter().any(|row| row.is_restorable);
    let newer_autosaves = newer.iter().filter(|row| row.is_restorable && row.is_autosave).count();
    let seconds = i64::try_from(policy.expiration_seconds).unwrap();
    let is_over = seconds > 0 && row.used_at + seconds * 1000 <= now;
    row.is_retained || is_newest || (newer_autosaves < keep as usize && !is_over)
}

/// Returns the reason why a snapshot of a caller stays; `None` if it is removed. Automatic snapshots do not count.
pub fn retention_reason(rows: &[Candidate], id: &SnapshotId, policy: &Policy, now: i64) -> Option<&'static str> {
    let at = rows.iter().position(|row| row.id == *id)?;
    let row = &rows[at];
    let newer: Vec<&Candidate> = rows[..at].iter().filter(|row| !row.is_autosave).collect();
    let restorable_before = newer.iter().filter(|row| row.is_restorable).count();
    if row.is_retained {
        return Some("it is needed or pinned");
    }
    if row.is_restorable && !row.is_superseded && restorable_before == 0 {
        return Some("it is the newest restorable snapshot");
    }
    let rule = policy.keep_last;
    let is_counted = rule.is_none_or(|rule| restorable_before < rule.count.get() as usize);
    let counted_seconds = rule.and_then(|rule| rule.expiration_seconds).filter(|_| is_counted);
    let seconds = row.expiration_seconds.or(counted_seconds).unwrap_or(policy.expiration_seconds);
    let is_over = seconds > 0 && row.used_at + i64::try_from(seconds * 1000).unwrap() <= now;
    if row.expiration_seconds.is_some() && is_over {
        return None;
    }
    let first_of = |length: i64, count: u32| {
        let bucket = |row: &Candidate| (row.created_at - MONDAY).div_euclid(length);
        let newer: BTreeSet<i64> = newer.iter().filter(|row| row.is_restorable).map(|row| bucket(row)).collect();
        row.is_restorable && newer.len() < count as usize && !newer.contains(&bucket(row))
    };
    if first_of(DAY, policy.keep_daily) || first_of(7 * DAY, policy.keep_weekly) {
        return Some("it is the newest of its day or week");
    }
    if rule.is_some_and(|rule| rule.delete_evicted) && !is_counted {
        return None;
    }
    if is_over { None } else { Some("it is counted or has not expired") }
}
