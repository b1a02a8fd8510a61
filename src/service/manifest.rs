//! Everything that is known about one snapshot.

use std::slice;

use super::select::{Selected, select};
use super::{CloudflareSandboxSnapshotter, list};
use crate::model::SCHEMA_VERSION;
use crate::model::answer::{Ancestor, Derived, Ended, Manifest};
use crate::model::record::{Derivation, Parent, Stage};
use crate::model::{Result, Selection};
use crate::ports::{BackupStore, Ledger, Ports};

/// The manifest, from the ledger alone.
pub(super) async fn manifest<P: Ports>(
    this: &CloudflareSandboxSnapshotter<P>,
    selection: &Selection,
) -> Result<Manifest> {
    let Selected { workspace, snapshot } = select(this, selection).await?;
    let derived = this.ports.ledger()?.derived_from(slice::from_ref(&snapshot.snapshot_id))?;
    let stored = snapshot.stored();
    let backups = this.ports.backups()?;
    let ended = match &snapshot.stage {
        Stage::Deleting { end, .. } | Stage::Deleted { end, .. } => {
            Some(Ended { at: end.at, reason: end.reason.clone() })
        }
        Stage::Making(_) | Stage::Ready { .. } => None,
    };
    Ok(Manifest {
        schema_version: SCHEMA_VERSION,
        summary: list::summary(this, &workspace, &snapshot)?,
        origin_id: workspace.sandbox_id.clone(),
        root_id: workspace.root_id.clone(),
        parent: workspace.parent.as_ref().map(ancestor),
        capture_began_at: snapshot.began_at,
        excludes: snapshot.excludes.clone(),
        gitignore: snapshot.gitignore.unwrap_or(false),
        compression: snapshot.compression,
        expiration_seconds: snapshot.expiration_seconds,
        usable_until: stored.map(|stored| stored.usable_until),
        checksum: stored.and_then(|stored| stored.checksum.clone()),
        objects: stored.map(|stored| backups.objects(stored.backup.id())).unwrap_or_default(),
        imported: stored.is_some_and(|stored| stored.imported),
        derived: derived.iter().filter(|row| row.loose().is_none()).map(shown).collect(),
        ended,
    })
}

/// A sandbox that was made from a snapshot, as it is shown.
pub(super) fn shown(derivation: &Derivation) -> Derived {
    Derived {
        sandbox_id: derivation.sandbox_id.clone(),
        lineage: derivation.lineage,
        began_at: derivation.began_at,
        holds: derivation.holds(),
    }
}

/// Where a sandbox came from, as it is shown.
pub(super) fn ancestor(parent: &Parent) -> Ancestor {
    Ancestor { origin_id: parent.origin_id.clone(), snapshot_id: parent.snapshot_id.clone() }
}
