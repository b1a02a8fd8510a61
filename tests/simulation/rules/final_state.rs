//! Checks after all work has ended: the faults have stopped, and recovery and a sweep have run.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::settings::OnImageChange;
use sandbox_snapshotter::model::record::{DerivedState, SnapshotRecord, Stage};
use sandbox_snapshotter::model::request::{LineageScope, ListRequest, SnapshotCursor};
use sandbox_snapshotter::model::{RestoreRequest, SandboxId, Selection, Selector, SnapshotId, Timestamp, WorkspaceRef};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::CancellationToken;

use super::{answers, is_damaged, is_restorable, retention};
use crate::memory::Backup;
use crate::world::{SandboxService, World};

/// The time for which a snapshot may outlive its expiration, in milliseconds.
const GRACE_MILLIS: i64 = 3600 * 1000;

/// The number of snapshots of each sandbox that are restored.
const RESTORED_PER_WORKSPACE: usize = 3;

/// Checks all ledgers, the bucket and the sandboxes.
pub fn check_final_state(world: &Rc<World>) {
    let ids: Vec<SandboxId> = world.ledgers.borrow().keys().cloned().collect();
    for id in &ids {
        check_no_transient_rows(world, id);
        check_snapshots(world, id);
        check_references(world, id);
    }
    check_known_snapshots(world);
    check_bucket(world);
    check_sandboxes(world);
}

/// Rule 4: no row is in a transient state.
fn check_no_transient_rows(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let rule = "rule 4, no row is in a transient state";
    for row in ledger.unfinished_snapshots().unwrap() {
        world.report_violation(rule, &format_args!("{} is {}", row.snapshot_id, row.state().as_str()));
    }
    for row in ledger.unfinished_sandboxes().unwrap() {
        world.report_violation(rule, &format_args!("{} is {:?}", row.sandbox_id, row.state));
    }
    for request in ledger.unanswered_calls().unwrap() {
        world.report_violation(rule, &format_args!("the call {} has no answer", request.key));
    }
    if let Some(unverified) = ledger.sandbox().unwrap().and_then(|sandbox| sandbox.unverified) {
        world.report_violation(rule, &format_args!("the container of {id} is unverified since {}", unverified.since));
    }
    for release in ledger.releases().unwrap() {
        world.report_violation(rule, &format_args!("the release of {} is pending", release.snapshot_id));
    }
}

/// Rules 1 and 6: every snapshot can be restored, and the policy keeps it.
fn check_snapshots(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let sandbox = ledger.sandbox().unwrap();
    let is_decommissioned = sandbox.as_ref().is_some_and(|sandbox| sandbox.decommissioned_at.is_some());
    let keep_autosaves = sandbox.as_ref().and_then(|sandbox| sandbox.binding.as_ref()?.autosave_keep);
    let keep_autosaves = keep_autosaves.map_or(u32::MAX, NonZeroU32::get);
    let policy = sandbox.map(|sandbox| sandbox.policy).unwrap_or_default();
    let at = world.now() - GRACE_MILLIS;
    let rows = retention::candidates(world, id, at);
    let mut labels: Vec<String> = Vec::new();
    for row in ledger.live_snapshots() {
        let name = &row.snapshot_id;
        labels.push(row.label.to_string());
        let Stage::Ready { stored } = &row.stage else { continue };
        if !is_damaged(world, stored) && !is_restorable(world, stored) && !stored.imported {
            world.report_violation("rule 1, a snapshot can be restored", &format_args!("{name} is incomplete in R2"));
        }
        // A snapshot that cannot be restored is removed together with the next other work.
        let is_restorable = rows.iter().any(|row| row.id == *name && row.is_restorable);
        let must_stay = if row.autosave {
            retention::must_keep_autosave(&rows, name, &policy, keep_autosaves, at)
        } else {
            retention::retention_reason(&rows, name, &policy, at).is_some()
        };
        if is_restorable && !is_decommissioned && !must_stay {
            world.report_violation("rule 6, retention follows the policy", &format_args!("{name} still exists"));
        }
    }
    labels.sort_unstable();
    if labels.windows(2).any(|pair| pair[0] == pair[1]) {
        world.report_violation("rule 9, labels are unique", &format_args!("{labels:?}"));
    }
}

/// Rule 6: the ledger of a snapshot lists every sandbox that needs it.
fn check_references(world: &Rc<World>, id: &SandboxId) {
    for row in world.ledger(id).derived_sandboxes().unwrap() {
        let DerivedState::Ready { needs_snapshot: is_listed } = row.state else { continue };
        let parent = world.ledger(&row.sandbox_id).sandbox().unwrap().and_then(|sandbox| sandbox.parent);
        let is_needed = parent.as_ref().is_some_and(|parent| parent.needs_snapshot);
        if parent.is_none_or(|parent| parent.snapshot_id != row.snapshot_id) {
            world
                .report_violation("rule 8, a sandbox records its parent", &format_args!("{} does not", row.sandbox_id));
        } else if is_listed != is_needed {
            let what = format_args!("{} needs {}: {is_needed}, listed: {is_listed}", row.sandbox_id, row.snapshot_id);
            world.report_violation("rule 6, unneeded references are released", &what);
        }
    }
}

/// Rule 1: every returned snapshot is listed, unless it was removed. Rule 6: a pinned snapshot stays pinned.
fn check_known_snapshots(world: &Rc<World>) {
    let all = world.history.borrow().known_snapshots.clone();
    for known in all {
        let row = world.ledger(&known.origin).snapshot(&known.id).unwrap();
        let is_ready = row.as_ref().is_some_and(|row| row.state() == SnapshotState::Ready);
        let was_removed = world.history.borrow().evicted.contains(&known.id);
        if !is_ready && !was_removed {
            world.report_violation("rule 1, a snapshot is listed", &format_args!("{} is not", known.id));
        }
        let pins = world.history.borrow().pin_requests.get(&known.id).copied().unwrap_or_default();
        let reimported = world.history.borrow().reimported.contains(&known.id);
        if is_ready && !reimported && pins.pinned && !pins.unpin_requested && row.is_some_and(|row| !row.pinned) {
            world.report_violation("rule 6, a pinned snapshot stays pinned", &format_args!("{}", known.id));
        }
    }
}

/// Rule 4: a ledger lists every backup that has an owner. Rule 9: backups without an owner are not deleted.
pub fn check_bucket(world: &Rc<World>) {
    for (id, backup) in &*world.bucket.borrow() {
        let Some(owner) = backup.owner() else { continue };
        let row = world.ledger(&owner.origin_id).snapshot(&owner.snapshot_id).unwrap();
        let is_listed = |row: &SnapshotRecord| {
            let is_base = |row: &SnapshotRecord| row.stored().is_some_and(|stored| !stored.backup.deltas().is_empty());
            let stored = row.stored().filter(|_| row.state() == SnapshotState::Ready || is_base(row));
            stored.is_some_and(|stored| *stored.backup.location() == backup.location())
        };
        if !row.as_ref().is_some_and(is_listed) {
            world.report_violation(
                "rule 4, every backup in R2 has a row",
                &format_args!("{id} of {}", owner.snapshot_id),
            );
        }
    }
    let history = world.history.borrow();
    for (_, handle) in &history.app_backups {
        let is_complete = world.bucket.borrow().get(handle.id()).is_some_and(Backup::is_complete);
        if !is_complete && !history.damaged_backups.contains_key(handle.id()) {
            world.report_violation(
                "rule 9, a backup without an owner is not deleted",
                &format_args!("{} is gone", handle.id()),
            );
        }
    }
}

/// Rule 4: only returned sandboxes run, and those whose answers no caller can request again.
fn check_sandboxes(world: &Rc<World>) {
    let history = world.history.borrow();
    let mut lost = history.lost_restore_answers.clone();
    let mut made: BTreeMap<SandboxId, SandboxId> = BTreeMap::new();
    for (origin, ledger) in &*world.ledgers.borrow() {
        made.extend(ledger.derived_sandboxes().unwrap().into_iter().map(|row| (row.sandbox_id, origin.clone())));
    }
    for id in &world.running_sandboxes() {
        let is_in_use = world.has_binding(id)
            || history.roots.contains(id)
            || history.returned_sandboxes.contains_key(id)
            || history.foreign_sandboxes.contains(id);
        if is_in_use {
            continue;
        }
        let left = made.get(id).and_then(|origin| lost.get_mut(origin));
        match left {
            Some(left) if *left > 0 => *left -= 1,
            _ => world.report_violation("rule 4, only returned sandboxes run", &format_args!("{id}")),
        }
    }
}

/// Rules 1 and 9: every list is complete, and snapshots can be restored. Calls the service.
pub async fn check_usable(world: Rc<World>) {
    let ids: Vec<SandboxId> = world.ledgers.borrow().keys().cloned().collect();
    for id in ids {
        let rows = world.ledger(&id).live_snapshots();
        if rows.is_empty() {
            continue;
        }
        let listed = list_all(&world, &id).await;
        let expected: Vec<SnapshotId> = rows.iter().map(|row| row.snapshot_id.clone()).collect();
        if listed.as_ref() != Some(&expected) {
            world.report_violation("rule 1, lists are complete", &format_args!("{id}: {listed:?}, not {expected:?}"));
        }
        for row in rows.iter().take(RESTORED_PER_WORKSPACE) {
            check_restore(&world, &id, row).await;
        }
    }
}

/// Lists all snapshots of a sandbox, page by page.
async fn list_all(world: &Rc<World>, id: &SandboxId) -> Option<Vec<SnapshotId>> {
    let mut listed = Vec::new();
    let mut cursor = None;
    loop {
        let request = ListRequest {
            target: id.clone().into(),
            cursor,
            limit: 3,
            label_prefix: None,
            check: true,
            lineage_scope: LineageScope::UNRESTRICTED,
        };
        let page = world.call_sandbox(id, |sandbox: SandboxService| async move { sandbox.list(request).await }).await;
        let page = page.ok()?.ok()?;
        listed.extend(page.snapshots.into_iter().map(|summary| summary.snapshot_id));
        let Some(next) = page.cursor else { return Some(listed) };
        cursor = Some(SnapshotCursor::parse(&next).unwrap());
    }
}

async fn check_restore(world: &Rc<World>, id: &SandboxId, row: &SnapshotRecord) {
    let Stage::Ready { stored } = &row.stage else { return };
    let is_usable = stored.usable_until > Timestamp::from_millis(world.now());
    if !is_usable || is_damaged(world, stored) {
        return;
    }
    let name = row.snapshot_id.clone();
    let selector = Selector::Id { sandbox_id: id.clone(), snapshot_id: name.clone() };
    let selection = Selection { selector, lineage_scope: LineageScope::UNRESTRICTED };
    let request = RestoreRequest {
        selection: selection.clone(),
        runtime: None,
        on_image_change: OnImageChange::Report,
        idempotency_key: None,
    };
    let restored = world
        .call_sandbox(id, |sandbox: SandboxService| async move {
            let verified = sandbox.verify(selection).await;
            (verified, sandbox.restore(request, CancellationToken::never()).await)
        })
        .await;
    let Ok((verified, restored)) = restored else {
        return world.report_violation("rule 3, every call is answered", &format_args!("the restore of {name} is not"));
    };
    // The snapshot may have expired in the meantime.
    if world.history.borrow().evicted.contains(&name) {
        return;
    }
    if !verified.as_ref().is_ok_and(|verified| verified.ok) {
        world.report_violation("rule 1, a snapshot can be restored", &format_args!("{name}: {verified:?}"));
    }
    match restored {
        Ok(workspace) => check_restored_files(world, id, &workspace),
        Err(error) => world.report_violation("rule 1, a snapshot can be restored", &format_args!("{name}: {error}")),
    }
}

fn check_restored_files(world: &Rc<World>, origin: &SandboxId, workspace: &WorkspaceRef) {
    world.count("final restores");
    answers::check_files(world, origin, workspace.sandbox_id());
}
