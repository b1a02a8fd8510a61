//! What a start restores, computed independently of the product.

use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::PlatformSnapshot;
use sandbox_snapshotter::model::record::{SandboxRecord, SnapshotRecord};
use sandbox_snapshotter::model::{Directory, SandboxId, SnapshotId};
use sandbox_snapshotter::ports::Ledger;

use crate::world::{Files, SourceSnapshot, World};

/// Records the expected source of a restore for the duration of the restore. The source may change before the service
/// selects it.
pub fn update_source_snapshots(world: &Rc<World>, id: &SandboxId) {
    let sandbox = world.ledger(id).sandbox().unwrap().filter(SandboxRecord::is_restoring);
    let sources = sandbox.map(|_| expected_sources(world, id));
    world.with_sandbox(id, |sandbox, now| match sources {
        None => sandbox.notes.source_snapshots.clear(),
        Some(sources) if sandbox.notes.source_snapshots.last().is_some_and(|(_, last)| *last == sources) => {}
        Some(sources) => sandbox.notes.source_snapshots.push((now, sources)),
    });
}

/// Returns the expected sources of a restore, computed independently of the product: the platform snapshot, unless an archive is
/// newer; and the newest archive, unless it has other files than the platform snapshot.
pub fn expected_sources(world: &Rc<World>, id: &SandboxId) -> Vec<SourceSnapshot> {
    let archive = expected_archive(world, id);
    let Some(sandbox) = world.ledger(id).sandbox().unwrap() else { return vec![archive] };
    let Some(binding) = &sandbox.binding else { return vec![archive] };
    let disk_files = |platform: &PlatformSnapshot| {
        let files = world.disk_files.borrow()[&platform.id].clone();
        Some((platform.same_archive().cloned(), files))
    };
    if let Some(platform) = current_platform(world, id) {
        let same = platform.same_archive();
        return vec![disk_files(&platform), archive.filter(|(id, _)| same.is_some() && id.as_ref() == same)];
    }
    let is_own = world.ledger(id).live_snapshots().iter().any(|row| can_restore(row, &binding.start.dir));
    // A removed snapshot no longer leads to its platform snapshot.
    let parent = sandbox.parent.filter(|_| !is_own && archive.is_some()).map(|parent| parent.snapshot_id);
    let rows = world.platform_rows.borrow();
    let of_parent = rows.values().filter(|row| parent.is_some() && row.same_archive() == parent.as_ref());
    of_parent.map(disk_files).chain([archive]).collect()
}

/// Returns the platform snapshot of a sandbox, unless one of its archives is newer.
pub fn current_platform(world: &Rc<World>, id: &SandboxId) -> Option<PlatformSnapshot> {
    let binding = world.ledger(id).sandbox().unwrap()?.binding?;
    let made_at =
        |row: SnapshotRecord| row.stored().filter(|_| can_restore(&row, &binding.start.dir)).map(|row| row.created_at);
    let ready = world.ledger(id).live_snapshots().into_iter().filter(|row| row.state() == SnapshotState::Ready);
    let newest = ready.filter_map(made_at).max();
    binding.platform_snapshot.filter(|platform| {
        newest.is_none_or(|newest| platform.archive.as_ref().is_some_and(|archive| newest <= archive.created_at))
    })
}

/// Returns the newest restorable archive of a sandbox, or the one that it was made from.
fn expected_archive(world: &Rc<World>, id: &SandboxId) -> SourceSnapshot {
    let ledger = world.ledger(id);
    let sandbox = ledger.sandbox().unwrap()?;
    // A sandbox without a name is revived from any snapshot of its own files.
    let is_source = |row: &SnapshotRecord| match &sandbox.binding {
        Some(binding) => can_restore(row, &binding.start.dir),
        None => !row.foreign,
    };
    let own = ledger.live_snapshots().into_iter().find(|row| row.state() == SnapshotState::Ready && is_source(row));
    let row = match (own, sandbox.parent) {
        (Some(row), _) => row,
        (None, Some(parent)) => {
            let row = world.ledger(&parent.origin_id).snapshot(&parent.snapshot_id).unwrap()?;
            (row.state() == SnapshotState::Ready).then_some(row)?
        }
        (None, None) => return None,
    };
    let files = world.ground_truths.borrow()[row.stored()?.backup.id()].files.clone();
    Some((Some(row.snapshot_id), files))
}

/// Returns the files of a snapshot from which a sandbox can be restored.
pub fn files_of(world: &Rc<World>, id: &SandboxId, snapshot: &SnapshotId) -> Option<Files> {
    let parent = world.ledger(id).sandbox().unwrap().and_then(|sandbox| sandbox.parent);
    let ledgers = [Some(id.clone()), parent.map(|parent| parent.origin_id)];
    let mut rows = ledgers.iter().flatten().filter_map(|id| world.ledger(id).snapshot(snapshot).unwrap());
    let row = rows.find(|row| row.stored().is_some())?;
    Some(world.ground_truths.borrow()[row.stored()?.backup.id()].files.clone())
}

/// Returns the snapshots that are being removed, and the removed parent. A restore that began before may still use them.
pub fn evicted_sources(world: &Rc<World>, id: &SandboxId) -> Vec<SourceSnapshot> {
    let ledger = world.ledger(id);
    let parent = ledger.sandbox().unwrap().and_then(|sandbox| sandbox.parent);
    let parents = parent.and_then(|parent| world.ledger(&parent.origin_id).snapshot(&parent.snapshot_id).unwrap());
    let own = ledger.live_snapshots().into_iter().filter(|row| row.state() == SnapshotState::Deleting);
    let own = own.chain(ledger.deleted_bases());
    let truths = world.ground_truths.borrow();
    let source = |row: SnapshotRecord| {
        let files = truths[row.stored()?.backup.id()].files.clone();
        Some((Some(row.snapshot_id), files))
    };
    own.chain(parents.filter(|row| row.state() != SnapshotState::Ready)).map(source).collect()
}

/// Returns whether a workspace can be started from a snapshot, computed independently of the product.
pub fn can_restore(row: &SnapshotRecord, dir: &Directory) -> bool {
    row.excludes.is_empty() && row.gitignore != Some(true) && !row.foreign && row.dir == *dir
}
