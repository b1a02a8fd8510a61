//! The word `latest` in the place of a snapshot of a sandbox. In a workspace, the server finds it.

use sandbox_snapshotter_client::model::answer::{Page, SnapshotState};
use sandbox_snapshotter_client::model::request::{ForkFrom, LineageScope, ListRequest};
use sandbox_snapshotter_client::model::{Label, SandboxId, Selector, SnapshotId};

use super::context::Context;
use crate::failure::Result;

/// The number of newest snapshots among which a complete one is searched.
const SEARCHED: u32 = 10;

impl Context {
    /// Returns the newest snapshot of a sandbox. `None` if one has the word as its label, or if there is none.
    pub(super) fn latest_snapshot(&self, id: &SandboxId, lineage_scope: &LineageScope) -> Result<Option<SnapshotId>> {
        let selector = Selector::Label { sandbox_id: id.clone(), label: Label::parse(ForkFrom::LATEST)? };
        if self.find_summary(&selector, lineage_scope)?.is_some() {
            return Ok(None);
        }
        let request = ListRequest { limit: SEARCHED, check: false, ..ListRequest::of(id.clone()) };
        let page = self.call_read_only::<Page>("list", &request)?.value;
        let newest = page.snapshots.into_iter().find(|snapshot| snapshot.state == SnapshotState::Ready);
        Ok(newest.map(|newest| newest.snapshot_id))
    }
}
