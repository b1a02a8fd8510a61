//! Finds the snapshot from which a workspace continues: one of its own, or one of another sandbox of its lineage.

use std::collections::BTreeSet;

use futures_util::{StreamExt, stream};

use super::NamedWorkspace;
use crate::model::answer::WorkspaceLineage;
use crate::model::named::NamedRecord;
use crate::model::named::record::SnapshotKey;
use crate::model::{Code, Error, Failure, Result, SandboxId, Selection, SnapshotId};
use crate::ports::{Ports, SandboxLedgerClient, WorkspaceStore};

/// The maximum number of sandboxes of a lineage that are asked for a snapshot.
const MAX_SANDBOXES: usize = 500;

/// The number of sandboxes that are asked at the same time.
const CONCURRENCY: usize = 6;

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the key of a snapshot of this workspace or of its lineage: the id of the snapshot, and the sandbox whose
    /// ledger contains it.
    ///
    /// # Errors
    /// [`Code::SnapshotNotFound`]; [`Code::OtherTenant`], [`Code::OtherDirectory`].
    pub(super) async fn find_snapshot(&self, record: &NamedRecord, snapshot_id: &SnapshotId) -> Result<SnapshotKey> {
        let source = record.source.as_ref().filter(|source| source.snapshot_id == *snapshot_id);
        let own = record.sandboxes().chain(source.map(|source| &source.origin_id));
        for origin_id in own {
            let key = SnapshotKey { origin_id: origin_id.clone(), snapshot_id: snapshot_id.clone() };
            match self.check_source(record, key).await {
                Err(error) if error.code() == Code::SnapshotNotFound => {}
                found => return found,
            }
        }
        let origin_id = self.locate_in_lineage(record, snapshot_id).await?;
        self.check_source(record, SnapshotKey { origin_id, snapshot_id: snapshot_id.clone() }).await
    }

    /// Returns the sandbox of a snapshot of this workspace or of its lineage.
    ///
    /// # Errors
    /// Those of `find_snapshot`.
    pub async fn origin_of(&self, snapshot_id: &SnapshotId) -> Result<SandboxId> {
        self.ensure_configured()?;
        Ok(self.find_snapshot(&self.existing()?, snapshot_id).await?.origin_id)
    }

    /// Returns the sandbox of the snapshot that the workspace was created from; `None` if it was created empty, if a
    /// workspace with this name never existed, or if the sandbox `of` is not one of this workspace.
    pub fn creation_source(&self, of: Option<&SandboxId>) -> Result<Option<SandboxId>> {
        let is_own = |record: &NamedRecord| of.is_none_or(|id| record.sandboxes().any(|own| own == id));
        let record = self.store.record()?.filter(is_own);
        Ok(record.and_then(|record| record.source).map(|source| source.origin_id))
    }

    /// Verifies that the workspace can continue from a snapshot of its lineage.
    pub(super) async fn check_source(&self, record: &NamedRecord, key: SnapshotKey) -> Result<SnapshotKey> {
        let selection = Selection::by_id(key.origin_id, key.snapshot_id);
        let found = self.ports.sandbox_ledgers()?.find_snapshot(&selection, &self.address.tenant).await?.snapshot;
        if found.dir != record.settings.dir {
            return Err(Error::snapshot_of_other_directory(&found.id, &record.settings.dir));
        }
        Ok(SnapshotKey { origin_id: found.origin_id, snapshot_id: found.id })
    }

    /// Verifies that the newest files of the workspace's sandbox, which does not run, are not only in a platform snapshot.
    /// No other sandbox is made from it.
    ///
    /// # Errors
    /// [`Code::Unsupported`].
    pub(super) async fn ensure_in_archive(&self, record: &NamedRecord) -> Result<()> {
        match self.ports.sandbox_ledgers()?.platform_snapshot(&record.sandbox_id).await? {
            Some(platform) if platform.same_archive().is_none() => {
                Err(Error::platform_snapshot_is_only_copy(&record.sandbox_id, &platform.id))
            }
            _ => Ok(()),
        }
    }

    /// Verifies that the sandbox `id` is of the lineage of this workspace.
    ///
    /// # Errors
    /// [`Code::OtherLineage`].
    pub(super) async fn check_same_lineage(&self, record: &NamedRecord, id: &SandboxId) -> Result<()> {
        if self.root_of(id).await? == self.root_of(&record.sandbox_id).await? {
            return Ok(());
        }
        Err(Error::source_of_other_lineage(&self.address.name))
    }

    async fn root_of(&self, id: &SandboxId) -> Result<SandboxId> {
        let root = self.ports.sandbox_ledgers()?.root_id(id).await;
        root.map_err(|failure| Error::other_workspace_failed(id, failure))
    }

    /// Returns the sandbox of this lineage whose ledger lists the snapshot. The search begins at the root.
    async fn locate_in_lineage(&self, record: &NamedRecord, snapshot_id: &SnapshotId) -> Result<SandboxId> {
        let mut level = vec![self.root_of(&record.sandbox_id).await?];
        let mut asked = BTreeSet::new();
        let mut failed = None;
        while !level.is_empty() {
            asked.extend(level.iter().cloned());
            if asked.len() > MAX_SANDBOXES {
                return Err(Error::lineage_too_large(snapshot_id, MAX_SANDBOXES));
            }
            let answers: Vec<_> =
                stream::iter(level).map(|id| self.describe_sandbox(id)).buffered(CONCURRENCY).collect().await;
            level = Vec::new();
            for (id, answer) in answers {
                let lineage = match answer {
                    Ok(lineage) => lineage,
                    Err(failure) => {
                        failed.get_or_insert(Error::other_workspace_failed(&id, failure));
                        continue;
                    }
                };
                if lineage.snapshots.iter().any(|snapshot| snapshot.snapshot_id == *snapshot_id) {
                    let tenant = lineage.workspace.map(|address| address.tenant);
                    let is_same_tenant = tenant.is_none_or(|tenant| tenant == self.address.tenant);
                    return is_same_tenant.then_some(id).ok_or_else(|| Error::snapshot_of_other_tenant(snapshot_id));
                }
                let derived = lineage.derived.into_iter().map(|(_, derived)| derived.sandbox_id);
                level.extend(derived.filter(|id| !asked.contains(id)));
            }
        }
        // "Not found" requires an answer of every sandbox.
        Err(failed.unwrap_or_else(|| Error::snapshot_not_of_workspace(&self.address.name, snapshot_id)))
    }

    async fn describe_sandbox(&self, id: SandboxId) -> (SandboxId, Result<WorkspaceLineage, Failure>) {
        let answer = match self.ports.sandbox_ledgers() {
            Ok(ledgers) => ledgers.describe(&id).await,
            Err(error) => Err(Failure::new(error.code().as_str(), error.message())),
        };
        (id, answer)
    }
}
