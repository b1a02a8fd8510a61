//! What is checked when everything has come to rest: nothing fails any more, and recovery and sweep have run.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::record::{DerivedState, SnapshotRecord, SnapshotState, Stage};
use sandbox_snapshotter::model::request::{LineageScope, ListRequest, SnapshotCursor};
use sandbox_snapshotter::model::{RestoreRequest, SandboxId, Selection, Selector, SnapshotId, Timestamp, WorkspaceRef};
use sandbox_snapshotter::ports::Ledger;
use sandbox_snapshotter::service::{CancellationToken, Snapshotter as _};

use super::{answers, is_restorable, retention};
use crate::world::{SandboxService, World};

/// How long what is to go may still be there, in milliseconds.
const GRACE_MILLIS: i64 = 3600 * 1000;

/// How many snapshots of a workspace are restored.
const RESTORED_PER_WORKSPACE: usize = 3;

/// Checks what is at rest.
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

/// Rule 4: no row is in a passing state.
fn check_no_transient_rows(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let rule = "rule 4, no row is in a passing state";
    for row in ledger.unfinished_snapshots().unwrap() {
        world.report_violation(rule, &format_args!("{} is {}", row.snapshot_id, row.state().as_str()));
    }
    for row in ledger.unfinished_sandboxes().unwrap() {
        world.report_violation(rule, &format_args!("{} is {:?}", row.sandbox_id, row.state));
    }
    for request in ledger.unanswered_calls().unwrap() {
        world.report_violation(rule, &format_args!("the call {} has no answer", request.key));
    }
    if let Some(doubt) = ledger.workspace().unwrap().and_then(|workspace| workspace.unverified) {
        world.report_violation(rule, &format_args!("the container of {id} is doubted since {}", doubt.since));
    }
    for release in ledger.releases().unwrap() {
        world.report_violation(rule, &format_args!("{} was not passed on", release.snapshot_id));
    }
}

/// Rules 1 and 6: the snapshots that are there can be restored, and are those that the policy keeps.
fn check_snapshots(world: &Rc<World>, id: &SandboxId) {
    let ledger = world.ledger(id);
    let workspace = ledger.workspace().unwrap();
    let is_retired = workspace.as_ref().is_some_and(|workspace| workspace.decommissioned_at.is_some());
    let policy = workspace.map(|workspace| workspace.policy).unwrap_or_default();
    let rows = retention::candidates(world, id, world.now() - GRACE_MILLIS);
    let mut labels: Vec<String> = Vec::new();
    for row in ledger.live_snapshots() {
        let name = &row.snapshot_id;
        labels.push(row.label.to_string());
        let Stage::Ready { stored } = &row.stage else { continue };
        let has_damaged_snapshot = world.history.borrow().damaged_backups.contains(stored.backup.id());
        if !has_damaged_snapshot && !is_restorable(world, stored) && !stored.imported {
            world.report_violation("rule 1, what was made can be restored", &format_args!("{name} is not whole in R2"));
        }
        // What can't be restored goes when there is something else to do.
        let is_restorable = rows.iter().any(|row| row.id == *name && row.is_restorable);
        if is_restorable
            && !is_retired
            && retention::retention_reason(&rows, name, &policy, world.now() - GRACE_MILLIS).is_none()
        {
            world.report_violation(
                "rule 6, retention lets go what the policy says",
                &format_args!("{name} is still there"),
            );
        }
    }
    labels.sort_unstable();
    if labels.windows(2).any(|pair| pair[0] == pair[1]) {
        world.report_violation("rule 9, labels are unique", &format_args!("{labels:?}"));
    }
}

/// Rule 6: who needs a snapshot is known where that snapshot is.
fn check_references(world: &Rc<World>, id: &SandboxId) {
    for row in world.ledger(id).derived_sandboxes().unwrap() {
        let DerivedState::Ready { needs_snapshot: holds } = row.state else { continue };
        let parent = world.ledger(&row.sandbox_id).workspace().unwrap().and_then(|workspace| workspace.parent);
        let is_needed = parent.as_ref().is_some_and(|parent| parent.needs_snapshot);
        if parent.is_none_or(|parent| parent.snapshot_id != row.snapshot_id) {
            world.report_violation("rule 8, a sandbox knows its lineage", &format_args!("{} does not", row.sandbox_id));
        } else if holds != is_needed {
            let what = format_args!("{} needs {}: {is_needed}, and holds: {holds}", row.sandbox_id, row.snapshot_id);
            world.report_violation("rule 6, holds are given up in the end", &what);
        }
    }
}

/// Rule 1: what was reported as made is known, unless it was let go. Rule 6: what was pinned is pinned.
fn check_known_snapshots(world: &Rc<World>) {
    let all = world.history.borrow().known_snapshots.clone();
    for known in all {
        let row = world.ledger(&known.origin).snapshot(&known.id).unwrap();
        let is_ready = row.as_ref().is_some_and(|row| row.state() == SnapshotState::Ready);
        let was_let_go = world.history.borrow().evicted.contains(&known.id);
        if !is_ready && !was_let_go {
            world.report_violation("rule 1, what was made is known", &format_args!("{} is not", known.id));
        }
        let pins = world.history.borrow().pin_requests.get(&known.id).copied().unwrap_or_default();
        let reimported = world.history.borrow().reimported.contains(&known.id);
        if is_ready && !reimported && pins.pinned && !pins.unpin_requested && row.is_some_and(|row| !row.pinned) {
            world.report_violation("rule 6, what is pinned stays pinned", &format_args!("{}", known.id));
        }
    }
}

/// Rule 4: a ledger owns whatever carries the product's mark. Rule 9: the rest is the application's.
pub fn check_bucket(world: &Rc<World>) {
    for (id, backup) in &*world.bucket.borrow() {
        let Some(mark) = backup.parse_mark() else { continue };
        let row = world.ledger(&mark.origin_id).snapshot(&mark.snapshot_id).unwrap();
        if !row.is_some_and(|row| row.state() == SnapshotState::Ready && row.may_own(id)) {
            world.report_violation("rule 4, nothing is left in R2", &format_args!("{id} of {}", mark.snapshot_id));
        }
    }
    let book = world.history.borrow();
    for (_, handle) in &book.app_backups {
        let snapshot_exists = world.bucket.borrow().get(handle.id()).is_some_and(crate::world::Backup::is_complete);
        if !snapshot_exists && !book.damaged_backups.contains(handle.id()) {
            world.report_violation(
                "rule 9, what has no mark is the application's",
                &format_args!("{} is gone", handle.id()),
            );
        }
    }
}

/// Rule 4: no minted sandbox runs that nobody got, apart from those whose answers were lost for good.
fn check_sandboxes(world: &Rc<World>) {
    let book = world.history.borrow();
    let mut lost = book.lost_restore_answers.clone();
    let mut made: BTreeMap<SandboxId, SandboxId> = BTreeMap::new();
    for (origin, ledger) in &*world.ledgers.borrow() {
        made.extend(ledger.derived_sandboxes().unwrap().into_iter().map(|row| (row.sandbox_id, origin.clone())));
    }
    for id in &world.running_sandboxes() {
        let is_in_use = world.has_binding(id)
            || book.roots.contains(id)
            || book.returned_sandboxes.contains_key(id)
            || book.foreign_sandboxes.contains(id);
        if is_in_use {
            continue;
        }
        let left = made.get(id).and_then(|origin| lost.get_mut(origin));
        match left {
            Some(left) if *left > 0 => *left -= 1,
            _ => world.report_violation("rule 4, no sandbox runs that nobody got", &format_args!("{id}")),
        }
    }
}

/// Rules 1 and 9: every list is complete, and what is there is restored. Calls the service.
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

/// Everything that a workspace lists, by pages.
async fn list_all(world: &Rc<World>, id: &SandboxId) -> Option<Vec<SnapshotId>> {
    let mut listed = Vec::new();
    let mut cursor = None;
    loop {
        let request = ListRequest {
            sandbox_id: id.clone(),
            cursor,
            limit: 3,
            label_prefix: None,
            check: true,
            lineage_scope: LineageScope::UNRESTRICTED,
        };
        let page =
            world.call_sandbox(id, |workspace: SandboxService| async move { workspace.list(request).await }).await;
        let page = page.ok()?.ok()?;
        listed.extend(page.snapshots.into_iter().map(|summary| summary.snapshot_id));
        let Some(next) = page.cursor else { return Some(listed) };
        cursor = Some(SnapshotCursor::parse(&next).unwrap());
    }
}

async fn check_restore(world: &Rc<World>, id: &SandboxId, row: &SnapshotRecord) {
    let Stage::Ready { stored } = &row.stage else { return };
    let check_usable = stored.usable_until > Timestamp::from_millis(world.now());
    if !check_usable || world.history.borrow().damaged_backups.contains(stored.backup.id()) {
        return;
    }
    let name = row.snapshot_id.clone();
    let selector = Selector::Id { sandbox_id: id.clone(), snapshot_id: name.clone() };
    let selection = Selection { selector, lineage_scope: LineageScope::UNRESTRICTED };
    let request = RestoreRequest { selection: selection.clone(), idempotency_key: None };
    let restored = world
        .call_sandbox(id, |workspace: SandboxService| async move {
            let verified = workspace.verify(selection).await;
            (verified, workspace.restore(request, CancellationToken::never()).await)
        })
        .await;
    let Ok((verified, restored)) = restored else {
        return world.report_violation("rule 3, calls are answered", &format_args!("the restore of {name} is not"));
    };
    // It may have expired meanwhile.
    if world.history.borrow().evicted.contains(&name) {
        return;
    }
    if !verified.as_ref().is_ok_and(|verified| verified.ok) {
        world.report_violation("rule 1, what was made can be restored", &format_args!("{name}: {verified:?}"));
    }
    match restored {
        Ok(workspace) => check_restored_files(world, id, &workspace),
        Err(error) => world.report_violation("rule 1, what was made can be restored", &format_args!("{name}: {error}")),
    }
}

fn check_restored_files(world: &Rc<World>, origin: &SandboxId, workspace: &WorkspaceRef) {
    world.count("restored in the end");
    answers::check_files(world, origin, workspace.sandbox_id());
}
