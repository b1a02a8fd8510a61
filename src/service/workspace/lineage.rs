//! Finds the snapshot from which a workspace continues: one of its own, or one of another sandbox of its lineage.

use super::NamedWorkspace;
use crate::model::named::messages::SnapshotKey;
use crate::model::named::{NamedRecord, PlatformSnapshot};
use crate::model::request::SnapshotText;
use crate::model::{Code, Error, Result, SandboxId, Selection, SnapshotId};
use crate::ports::{Ports, SandboxLedgerClient, WorkspaceStore};
use crate::service::lineage::locate::find_origin;

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the key of the snapshot that a caller selects to continue from.
    ///
    /// # Errors
    /// Those of `find_snapshot`.
    pub(super) async fn find_selected(&self, record: &NamedRecord, snapshot: &SnapshotText) -> Result<SnapshotKey> {
        match snapshot {
            SnapshotText::Id(id) => self.find_snapshot(record, id).await,
            SnapshotText::Short(short) => self.find_snapshot(record, short.snapshot_id()).await,
            SnapshotText::Label(label) => {
                let key = self.find_labeled(record, label, None).await?;
                self.check_source(record, key).await
            }
        }
    }

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
        match self.only_copy(record).await? {
            Some(platform) => Err(Error::platform_snapshot_is_only_copy(&record.sandbox_id, &platform.id)),
            None => Ok(()),
        }
    }

    /// Returns the platform snapshot that has the newest stored files of the workspace's sandbox, if no archive has them.
    /// The record does not know of it if the answer to its stop was lost.
    pub(super) async fn only_copy(&self, record: &NamedRecord) -> Result<Option<PlatformSnapshot>> {
        let platform = self.ports.sandbox_ledgers()?.platform_snapshot(&record.sandbox_id).await?;
        Ok(platform.filter(|platform| platform.same_archive().is_none()))
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
        root.map_err(|failure| Error::other_ledger_failed(id, failure))
    }

    /// Returns the sandbox of this lineage whose ledger lists the snapshot.
    async fn locate_in_lineage(&self, record: &NamedRecord, snapshot_id: &SnapshotId) -> Result<SandboxId> {
        let origin = find_origin(&*self.ports, &record.sandbox_id, snapshot_id).await?;
        let Some(origin) = origin else { return Err(self.missing_snapshot(record, snapshot_id).await) };
        match origin.tenant {
            Some(tenant) if tenant != self.address.tenant => Err(Error::snapshot_of_other_tenant(snapshot_id)),
            _ => Ok(origin.sandbox_id),
        }
    }

    /// Returns the error for a snapshot that no sandbox of the lineage has. A sandbox of the workspace says for a while when and why
    /// it was removed.
    async fn missing_snapshot(&self, record: &NamedRecord, snapshot_id: &SnapshotId) -> Error {
        let unknown = Error::snapshot_not_of_workspace(&self.address.name, snapshot_id);
        let Ok(ledgers) = self.ports.sandbox_ledgers() else { return unknown };
        for id in record.sandboxes() {
            let selection = Selection::by_id(id.clone(), snapshot_id.clone());
            let never_known = Error::snapshot_not_found(&selection.selector);
            match ledgers.locate_snapshot(&selection).await {
                Err(error) if error.code() == Code::SnapshotNotFound && error.message() != never_known.message() => {
                    return error.with_remediation(unknown.remediation());
                }
                _ => {}
            }
        }
        unknown
    }
}
