//! What must always hold, as far as it can be seen from outside of the service. Each violation begins with the rule.
//!
//! - here: what is checked on every change of a row
//! - `answers`: what is checked on every answer
//! - `lifecycle`: what is checked on every effect on a sandbox that stands for a name
//! - `names`: what is checked on every answer about named workspaces
//! - `rest`: what is checked of named workspaces when everything has come to rest
//! - `retention`: what a policy says, worked out once more
//! - `aftermath`: what is checked when everything has come to rest

pub mod aftermath;
pub mod answers;
pub mod lifecycle;
pub mod names;
pub mod rest;
pub mod retention;

use std::rc::Rc;

use sandbox_snapshotter::model::named::Stamp;
use sandbox_snapshotter::model::record::{Derivation, DerivationState, End, SnapshotRecord, Stage, Stored};
use sandbox_snapshotter::model::{SandboxId, SnapshotId, Timestamp};
use sandbox_snapshotter::ports::Ledger;

use crate::world::{Own, Watched, World};

/// How exactly the age of a container can be measured, in milliseconds.
const RESOLUTION: i64 = 10;

/// Checks the change of a snapshot's row in the ledger of `id`.
pub fn written(world: &Rc<World>, id: &SandboxId, before: Option<&SnapshotRecord>, after: &SnapshotRecord) {
    let name = &after.snapshot_id;
    match (before.map(|before| &before.stage), &after.stage) {
        (Some(Stage::Making(making)), Stage::Ready { stored }) => {
            world.count("snapshots");
            if world.ledger(id).left_at() > after.began_at.as_millis() {
                world.count("snapshots adopted");
            }
            let standing = world.ledger(id).workspace().unwrap().and_then(|workspace| workspace.standing);
            if !after.rescue && standing.is_none_or(|standing| lifecycle::is_whole(after, &standing.dir)) {
                world.book.borrow_mut().captured.insert(id.clone());
            }
            captured(world, id, making.sighting.since, after, stored);
            continues(world, id, making.adopts, after, stored);
        }
        (Some(Stage::Ready { stored: before }), Stage::Ready { stored }) => {
            let is_whole = whole(world, stored);
            if before.damage.is_none() && stored.damage.is_some() && is_whole {
                world.violated("rule 7, only damage is recorded", &format_args!("{name}: {:?}", stored.damage));
            }
        }
        (Some(Stage::Ready { .. }), Stage::Deleting { end, .. }) => let_go(world, id, after, end),
        // What was let go of an application's own backup can be imported again.
        (Some(Stage::Deleted { .. }), Stage::Ready { stored }) if stored.imported => {
            world.book.borrow_mut().came_back.insert(name.clone());
        }
        (Some(Stage::Deleting { .. } | Stage::Deleted { .. }), Stage::Ready { .. } | Stage::Making(_)) => {
            world.violated("rule 1, what is gone stays gone", &format_args!("{name} is back"));
        }
        (Some(Stage::Deleting { .. }), Stage::Deleted { stored, .. }) => {
            let bucket = world.bucket.borrow();
            if bucket.get(stored.backup.id()).is_some_and(|backup| backup.mark().is_some()) {
                world.violated("rule 4, what was let go is gone from R2", &format_args!("{name} is still there"));
            }
        }
        _ => {}
    }
}

/// Checks the change of the row of a sandbox that is made from a snapshot.
pub fn derived(world: &Rc<World>, before: Option<&Derivation>, after: &Derivation) {
    let id = &after.sandbox_id;
    match (before.map(|before| before.state), after.state) {
        // It is made by its own workspace.
        (None, DerivationState::Ready { holds: true }) => {
            world.book.borrow_mut().parents.insert(id.clone(), after.snapshot_id.clone());
        }
        (Some(DerivationState::Pending(_)), DerivationState::Ready { .. }) => {
            world.count("sandboxes made");
            world.with(id, |sandbox, _| sandbox.is_somebodys = true);
        }
        (Some(DerivationState::Ready { .. }), DerivationState::Pending(_) | DerivationState::Ending(_)) => {
            world.violated("rule 3, a sandbox is somebody's", &format_args!("{id} is taken back"));
        }
        (Some(DerivationState::Ending(_)), DerivationState::Ready { .. }) => {
            world.violated("rule 4, no sandbox runs that nobody got", &format_args!("{id} was given up"));
        }
        (Some(DerivationState::Pending(_)), DerivationState::Ending(_)) => world.count("sandboxes taken back"),
        _ => {}
    }
}

/// A capture is made: it must be of the container that was seen before.
fn captured(world: &Rc<World>, id: &SandboxId, since: Timestamp, row: &SnapshotRecord, stored: &Stored) {
    let name = &row.snapshot_id;
    let truths = world.truths.borrow();
    let truth = &truths[stored.backup.id()];
    if truth.sandbox != *id || truth.captured_at < row.began_at.as_millis() {
        world.violated("rule 1, a snapshot is of its sandbox and time", &format_args!("{name} of {id}"));
    }
    let is_spoiled = world.book.borrow().spoiled.contains(stored.backup.id());
    if !is_spoiled && !whole(world, stored) {
        world.violated("rule 1, what was made is whole in R2", &format_args!("{name}"));
    }
    let is_half_filled = matches!(truth.stamp, Some(Stamp::Filling(_) | Stamp::Filled(_)));
    let is_ready = matches!(truth.stamp, Some(Stamp::Ready(_)));
    // Of a container that woke by itself, and that a start has kept since.
    let is_kept = || world.with(id, |sandbox, _| sandbox.kept.contains(&truth.started_at));
    if is_half_filled || (world.stands(id) && !row.aside && !is_ready && !is_kept()) {
        world.violated(
            "rule 10, only the workspace's own files are captured",
            &format_args!("{name}: {:?}", truth.stamp),
        );
    }
    // What is woken is taken as it is, up to the moment at which its capture begins; and what stands for a name is known by
    // its stamp.
    let since = if world.stands(id) || world.book.borrow().woken.contains(id) { row.began_at } else { since };
    if truth.started_at > since.as_millis() + RESOLUTION {
        let late = truth.started_at - since.as_millis();
        let about = format_args!("{name} of {id}, of a container that was started {late} ms after the sighting");
        world.violated("rule 5, a replaced container is not captured", &about);
    }
    if truth.is_accident && !row.aside && !world.book.borrow().woken.contains(id) {
        world.violated("rule 5, nothing empty by accident", &format_args!("{name} of {id}"));
    }
}

/// A capture of a sandbox without a name is made: it must be of the container that was captured or restored before, or be set aside.
fn continues(world: &Rc<World>, id: &SandboxId, adopts: bool, row: &SnapshotRecord, stored: &Stored) {
    if world.stands(id) {
        return;
    }
    let started_at = world.truths.borrow()[stored.backup.id()].started_at;
    let own = world.with(id, |sandbox, _| {
        // A capture that began before may end later.
        let own = sandbox.own.filter(|own| own.since <= row.began_at);
        if (!row.rescue || adopts) && own == sandbox.own {
            sandbox.own = Some(Own { started_at, since: row.began_at });
        }
        own
    });
    if row.rescue {
        world.count("rescue snapshots");
    } else if own.is_some_and(|own| own.started_at != started_at) {
        world.violated("rule 11, a capture continues the one before", &format_args!("{} of {id}", row.snapshot_id));
    }
}

/// A snapshot is let go: somebody must have asked for it, or the policy says so.
fn let_go(world: &Rc<World>, id: &SandboxId, row: &SnapshotRecord, end: &End) {
    let name = &row.snapshot_id;
    let ledger = world.ledger(id);
    world.book.borrow_mut().let_go.insert(name.clone());
    let derivations = ledger.derived_from(std::slice::from_ref(name)).unwrap();
    let is_underway = derivations.iter().any(|row| matches!(row.state, DerivationState::Pending(_)));
    let is_held = is_underway || is_held(world, &ledger, name);
    if end.reason == "deleted by a caller" {
        world.count("deletions");
        let asked = world.book.borrow().deletes.get(name).copied();
        match asked {
            None => world.violated("rule 1, nothing goes unasked", &format_args!("{name}")),
            Some(_) if is_underway => {
                world.violated("rule 6, what is being restored stays", &format_args!("{name}"));
            }
            Some(false) if row.pinned || is_held => {
                world.violated("rule 6, what is held or pinned is not deleted", &format_args!("{name}"));
            }
            Some(_) => {}
        }
        return;
    }
    world.count("evictions");
    if row.pinned || is_held {
        return world.violated("rule 6, what is held or pinned is not let go", &format_args!("{name}"));
    }
    if ledger.workspace().unwrap().is_some_and(|workspace| workspace.retired_at.is_some()) {
        return;
    }
    let policy = ledger.workspace().unwrap().map(|workspace| workspace.policy).unwrap_or_default();
    // Whether those that go at the same moment count is open.
    let mut rows = retention::rows(world, id, world.now());
    let with_others = retention::stays(&rows, name, &policy, world.now());
    rows.retain(|row| row.id == *name || !world.book.borrow().let_go.contains(&row.id));
    let without = retention::stays(&rows, name, &policy, world.now());
    if let Some(why) = with_others.and(without) {
        world.violated("rule 6, retention lets go what the policy says", &format_args!("{name}: {why}"));
    }
}

/// Whether somebody got a sandbox from a snapshot, and has no snapshot of that sandbox yet; or may have got one whose answer
/// was lost.
pub fn is_held(world: &World, ledger: &Watched, id: &SnapshotId) -> bool {
    let book = world.book.borrow();
    let is_retired = |sandbox: &SandboxId| {
        let ledger = world.ledgers.borrow().get(sandbox).cloned();
        ledger.is_some_and(|own| own.workspace().unwrap().is_some_and(|workspace| workspace.retired_at.is_some()))
    };
    book.parents
        .iter()
        .any(|(sandbox, parent)| parent == id && !book.captured.contains(sandbox) && !is_retired(sandbox))
        || ledger
            .derived_from(std::slice::from_ref(id))
            .unwrap()
            .iter()
            .any(|row| row.holds() && !book.parents.contains_key(&row.sandbox_id))
}

/// Whether both objects of a backup are there, and the SDK restores them.
pub fn whole(world: &World, stored: &Stored) -> bool {
    let bucket = world.bucket.borrow();
    let now = Timestamp::from_millis(world.now());
    bucket.get(stored.backup.id()).is_some_and(|backup| {
        backup.is_whole() && backup.metadata.as_ref().is_some_and(|metadata| !metadata.is_expired(now))
    })
}
