//! `manifest`: everything that the ledger records about one snapshot.

use std::slice;

use super::select::Selected;
use crate::model::answer::{DerivedSandbox, Manifest, ParentSnapshot, Removal};
use crate::model::record::{Derivation, ParentLink, Stage};
use crate::model::{Result, SCHEMA_VERSION, Selection};
use crate::ports::{BackupStore, Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Returns everything that the ledger records about one snapshot.
    pub async fn manifest(&self, selection: Selection) -> Result<Manifest> {
        self.prepare_call().await?;
        let Selected { sandbox, snapshot } = self.select(&selection).await?;
        let derived = self.ledger.derived_from(slice::from_ref(&snapshot.snapshot_id))?;
        let stored = snapshot.stored();
        let backups = self.backups()?;
        let removal = match &snapshot.stage {
            Stage::Deleting { removal, .. } | Stage::Deleted { removal, .. } => {
                Some(Removal { at: removal.at, reason: removal.reason.clone() })
            }
            Stage::Creating(_) | Stage::Ready { .. } => None,
        };
        Ok(Manifest {
            schema_version: SCHEMA_VERSION,
            summary: self.summary(&sandbox, &snapshot)?,
            origin_id: sandbox.sandbox_id.clone(),
            root_id: sandbox.root_id.clone(),
            parent: sandbox.parent.as_ref().map(to_ancestor),
            capture_began_at: snapshot.began_at,
            excludes: snapshot.excludes.clone(),
            gitignore: snapshot.gitignore.unwrap_or(false),
            secrets: snapshot.secrets.clone(),
            compression: snapshot.compression,
            expiration_seconds: snapshot.expiration_seconds,
            usable_until: stored.map(|stored| stored.usable_until),
            checksum: stored.and_then(|stored| stored.checksum.clone()),
            objects: stored.map(|stored| backups.object_keys(stored.backup.location())).unwrap_or_default(),
            imported: stored.is_some_and(|stored| stored.imported),
            derived: derived.iter().filter(|row| row.task().is_none()).map(to_derived).collect(),
            removal,
        })
    }
}

/// Returns a sandbox that was made from a snapshot, in the form that the API returns.
pub(in crate::service) fn to_derived(derivation: &Derivation) -> DerivedSandbox {
    DerivedSandbox {
        sandbox_id: derivation.sandbox_id.clone(),
        lineage: derivation.kind,
        began_at: derivation.began_at,
        needs_snapshot: derivation.needs_snapshot(),
    }
}

/// Returns the snapshot that a sandbox was made from, in the form that the API returns.
pub(in crate::service) fn to_ancestor(parent: &ParentLink) -> ParentSnapshot {
    ParentSnapshot { origin_id: parent.origin_id.clone(), snapshot_id: parent.snapshot_id.clone() }
}
