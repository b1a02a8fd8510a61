//! Takes in a backup that the ledger does not know: one that the SDK made directly, or an earlier version of this product.
//!
//! What was not made by this workspace, stays whose it is: when such a snapshot goes, its objects in R2 stay.

use sha2::{Digest, Sha256};

use super::stored::look_up;
use super::{CloudflareSandboxSnapshotter, label};
use crate::model::record::{SnapshotRecord, SnapshotState, Stage};
use crate::model::request::ImportRequest;
use crate::model::{BackupHandle, Capture, Code, Error, Mark, Result, SnapshotId, Taken};
use crate::ports::{Clock, Ledger, Ports};

/// Takes the backup in. One that is known already is answered as it is.
pub(super) async fn import<P: Ports>(this: &CloudflareSandboxSnapshotter<P>, request: ImportRequest) -> Result<Taken> {
    let backup = &request.backup;
    backup.dir().check_restorable()?;
    let found = look_up(this, backup.id()).await?;
    let now = this.ports.clock().now();
    if found.metadata.is_expired(now) {
        return Err(Error::new(
            Code::BackupExpired,
            format!("The time to live of the backup {} is over: the SDK restores it no more.", backup.id()),
            "Import backups while they can be restored.",
        ));
    }
    if found.metadata.dir != backup.dir().as_str() {
        return Err(mismatch(backup, "was made of another directory"));
    }
    let ours = match &found.mark {
        Some(mark) if mark.origin_id != *this.id => return Err(mismatch(backup, "was made of another sandbox")),
        mark => mark.clone(),
    };
    let (workspace, seal) = this.founded()?;
    let ledger = this.ports.ledger()?;
    let snapshot_id = match &ours {
        Some(Mark { snapshot_id, .. }) => snapshot_id.clone(),
        None => by_backup(backup)?,
    };
    // What was not made here stays the application's, or another deployment's.
    let is_own = ours.is_some() && snapshot_id.is_minted_with(&seal);
    let snapshot = match ledger.snapshot(&snapshot_id)? {
        Some(known) if known.stored().is_some_and(|stored| stored.backup.id() != backup.id()) => {
            return Err(mismatch(backup, "is a copy of another one"));
        }
        Some(known @ SnapshotRecord { stage: Stage::Ready { .. }, .. }) => known,
        // What was made here goes with its snapshot, even if it was still there a moment ago.
        Some(other) if other.state() != SnapshotState::Deleted || is_own => {
            return Err(mismatch(backup, &format!("is of a snapshot in the state {:?}", other.state().as_str())));
        }
        // One that was deleted here may still be there, if it was not made here.
        _ => {
            let (label, takes) = label::choose(this, request.label.as_ref(), request.replace, now)?;
            let stored = found.keep(request.backup.clone(), !is_own, now);
            let mut snapshot = SnapshotRecord {
                snapshot_id,
                label,
                dir: request.backup.dir().clone(),
                excludes: Vec::new(),
                gitignore: None,
                compression: None,
                began_at: stored.created_at,
                last_used_at: now,
                expiration_seconds: request.expiration_seconds,
                expires_at: None,
                pinned: false,
                // Its files are not the workspace's own until somebody goes back to it.
                aside: true,
                rescue: false,
                suspect: None,
                dependencies: None,
                stage: Stage::Ready { stored },
            };
            if let Some(taken) = takes {
                label::take(this, &mut snapshot, taken)?;
            }
            let snapshot = this.keep(&workspace, snapshot)?;
            this.wake_by_policy(&workspace)?;
            snapshot
        }
    };
    let stored = snapshot.stored().map_or(0, |stored| stored.size_bytes);
    let capture = Capture {
        label: snapshot.label.clone(),
        size_bytes: stored,
        began_at: snapshot.began_at,
        shared: false,
        rescue: snapshot.rescue,
        suspect: None,
    };
    let taken = snapshot.to_ref(&workspace).ok_or_else(Error::defect)?;
    Ok(Taken { snapshot: taken, capture })
}

/// The id of a snapshot whose backup carries none: always the same one, so that importing twice is importing once.
fn by_backup(backup: &BackupHandle) -> Result<SnapshotId> {
    SnapshotId::draw(&Sha256::digest(backup.id().as_str())).ok_or_else(Error::defect)
}

fn mismatch(backup: &BackupHandle, how: &str) -> Error {
    Error::new(
        Code::RefMismatch,
        format!("The backup {} {how}.", backup.id()),
        "Give the handle exactly as createBackup() answered it, and the sandbox that it was made of.",
    )
}
