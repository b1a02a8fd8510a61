//! Finds the snapshot of a workspace with a label, in all its sandboxes.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::NamedWorkspace;
use crate::model::named::NamedRecord;
use crate::model::named::label_search::{LabelSearch, RemovedSnapshot};
use crate::model::named::messages::SnapshotKey;
use crate::model::request::ForkFrom;
use crate::model::{Code, Error, Label, Result, SandboxId};
use crate::ports::{Ports, SandboxLedgerClient};

/// The number of sandboxes that are asked at the same time.
const CONCURRENCY: usize = 6;

impl<P: Ports> NamedWorkspace<P> {
    /// Returns the snapshot with a label. A label is unique in a sandbox; of the snapshots of several sandboxes that have it, the
    /// newest one is meant, and a complete one rather than a capture in progress. If none has the label `latest`, it is the newest
    /// snapshot of the present files.
    ///
    /// A call with an idempotency key `key` that uses the snapshot runs where the first one with this key ran, although the label
    /// may mean a snapshot of another sandbox by now: so it takes effect once.
    ///
    /// # Errors
    /// [`Code::SnapshotNotFound`]; [`Code::IdempotencyConflict`] if the label does not mean a snapshot of the sandbox where the first
    /// call ran any more; those of a sandbox that does not answer.
    pub async fn find_label(&self, label: &Label, key: Option<&str>) -> Result<SnapshotKey> {
        self.ensure_configured()?;
        self.find_labeled(&self.existing()?, label, key).await
    }

    /// As [`find_label`](Self::find_label), by the record.
    pub(super) async fn find_labeled(
        &self,
        record: &NamedRecord,
        label: &Label,
        key: Option<&str>,
    ) -> Result<SnapshotKey> {
        let mut searches = self.search_label(record, label, key).await?;
        let first_call = searches.iter().position(|(_, search)| search.has_key).map(|at| searches.swap_remove(at));
        if let Some(first_call) = &first_call {
            searches = vec![first_call.clone()];
        }
        let found = searches.iter().rev().filter_map(|(id, search)| search.found.as_ref().map(|found| (id, found)));
        // Of equally old ones, that of the newest sandbox, which is the last one here.
        if let Some((id, found)) = found.max_by_key(|(_, found)| (found.is_ready, found.created_at)) {
            return Ok(SnapshotKey { origin_id: id.clone(), snapshot_id: found.snapshot_id.clone() });
        }
        let found = self.find_without_label(record, label, &searches).await;
        let (Some((id, _)), Some(key)) = (first_call, key) else { return found };
        match found {
            Ok(found) if found.origin_id == id => Ok(found),
            Err(error) if error.code() != Code::SnapshotNotFound => Err(error),
            _ => Err(Error::idempotency_conflict(key)),
        }
    }

    /// Returns the newest snapshot of the present files, for the label `latest`.
    async fn find_without_label(
        &self,
        record: &NamedRecord,
        label: &Label,
        searches: &[(SandboxId, LabelSearch)],
    ) -> Result<SnapshotKey> {
        let name = &self.address.name;
        if label.as_str() != ForkFrom::LATEST {
            let labels = searches.iter().flat_map(|(_, search)| &search.newest_labels);
            let error = Error::label_not_found(name, label, labels);
            let removed = searches.iter().filter_map(|(_, search)| search.removed.as_ref());
            return Err(match removed.max_by_key(|removed| removed.removal.at) {
                Some(RemovedSnapshot { snapshot_id, removal }) => {
                    Error::labelled_snapshot_removed(label, snapshot_id, removal).with_remediation(error.remediation())
                }
                None => error,
            });
        }
        let newest = self.ports.sandbox_ledgers()?.newest_snapshot(&record.sandbox_id).await?;
        let newest = newest.ok_or_else(|| Error::no_snapshot_of_workspace(name))?.snapshot;
        Ok(SnapshotKey { origin_id: newest.origin_id, snapshot_id: newest.id })
    }

    /// Searches for a label and an idempotency key in the sandboxes of the workspace, the present one first.
    async fn search_label(
        &self,
        record: &NamedRecord,
        label: &Label,
        key: Option<&str>,
    ) -> Result<Vec<(SandboxId, LabelSearch)>> {
        let ledgers = &self.ports.sandbox_ledgers()?;
        let search = |id: SandboxId| async move {
            let search = ledgers.search_label(&id, label, key).await?;
            Ok((id, search))
        };
        stream::iter(record.sandboxes().cloned()).map(search).buffered(CONCURRENCY).try_collect().await
    }
}
