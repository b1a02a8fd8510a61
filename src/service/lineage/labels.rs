//! Finds a label among the snapshots of a sandbox, and of the other sandboxes of a named workspace, which has a new one after each
//! rollback or promotion.

use futures_util::future::join_all;

use super::{CONCURRENCY, MAX_SANDBOXES};
use crate::model::answer::SnapshotState;
use crate::model::named::binding::WorkspaceBinding;
use crate::model::named::label_search::{LabelSearch, LabeledSnapshot, RemovedSnapshot};
use crate::model::record::{SnapshotRecord, Stage};
use crate::model::{Label, Result, SandboxId, SnapshotId};
use crate::ports::{Ledger, Ports};
use crate::service::CloudflareSandboxSnapshotter;

/// The number of labels that the result of a search without success names.
const SUGGESTED: u32 = 5;

impl<P: Ports> CloudflareSandboxSnapshotter<P> {
    /// Searches for a label, and for a call with an idempotency key, in the ledger of this sandbox.
    pub async fn search_label(&self, label: &Label, key: Option<&str>) -> Result<LabelSearch> {
        self.prepare_call().await?;
        let found = self.ledger.snapshot_by_label(label)?.map(|snapshot| LabeledSnapshot {
            created_at: snapshot.created_at(),
            is_ready: matches!(snapshot.stage, Stage::Ready { .. }),
            snapshot_id: snapshot.snapshot_id,
        });
        let (newest, removed) = match found {
            Some(_) => (Vec::new(), None),
            None => (self.ledger.snapshot_page(None, None, SUGGESTED)?, self.ledger.deleted_snapshot_by_label(label)?),
        };
        let newest_labels = newest.into_iter().map(|snapshot| snapshot.label).collect();
        let removed = removed.and_then(|SnapshotRecord { snapshot_id, stage, .. }| match stage {
            Stage::Deleted { removal, .. } => Some(RemovedSnapshot { snapshot_id, removal }),
            _ => None,
        });
        let has_key = key.map_or(Ok(None), |key| self.ledger.idempotency_record(key))?.is_some();
        Ok(LabelSearch { found, newest_labels, removed, has_key })
    }

    /// Returns a snapshot with the label, and its sandbox: another one of the same workspace. A sandbox that does not answer,
    /// and those after the first 500 of the lineage, count as sandboxes without the label: a capture is worth more than a
    /// label that is unique.
    pub(in crate::service) async fn find_in_workspace(&self, label: &Label) -> Result<Option<(SandboxId, SnapshotId)>> {
        let record = self.sandbox_record()?;
        let has_others = |binding: &WorkspaceBinding| record.parent.is_some() || binding.superseded;
        let Some(binding) = record.binding.filter(has_others) else { return Ok(None) };
        let mut pending = vec![record.root_id];
        let mut asked = 0;
        while !pending.is_empty() && asked < MAX_SANDBOXES {
            let batch: Vec<_> = pending.drain(..pending.len().min(CONCURRENCY)).collect();
            asked += batch.len();
            let answers = join_all(batch.iter().map(|id| self.fetch_description(id))).await;
            for (id, answer) in batch.into_iter().zip(answers) {
                let Ok(lineage) = answer else { continue };
                let is_other = id != *self.id && lineage.workspace.as_ref() == Some(&binding.address);
                let ready = lineage.snapshots.into_iter().filter(|snapshot| snapshot.state == SnapshotState::Ready);
                let found = ready.filter(|_| is_other).find(|snapshot| snapshot.label.as_ref() == Some(label));
                if let Some(found) = found {
                    return Ok(Some((id, found.snapshot_id)));
                }
                pending.extend(lineage.derived.into_iter().map(|(_, derived)| derived.sandbox_id));
            }
        }
        Ok(None)
    }
}
