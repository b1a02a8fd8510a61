//! The word `latest` in the place of a snapshot.

use sandbox_snapshotter_client::model::answer::{Page, SnapshotState};
use sandbox_snapshotter_client::model::request::{ForkFrom, LineageScope, ListRequest, SandboxTarget};
use sandbox_snapshotter_client::model::{Label, SandboxId, Selector, SnapshotId};

use super::context::Context;
use super::target::parse_target;
use crate::failure::Result;

/// The number of newest snapshots among which a complete one is searched.
const SEARCHED: u32 = 10;

impl Context {
    /// Returns the snapshot that `latest` selects: the newest one of the present files. If their sandbox has none yet, it is the one
    /// that it was restored from. `None` if a snapshot of the sandboxes has the word as its label, or if there is no such snapshot.
    pub(super) fn latest_snapshot(
        &self,
        target: &str,
        sandboxes: &[SandboxId],
        lineage_scope: &LineageScope,
    ) -> Result<Option<SnapshotId>> {
        for sandbox_id in sandboxes {
            let label = Label::parse(ForkFrom::LATEST)?;
            let selector = Selector::Label { sandbox_id: sandbox_id.clone(), label };
            if self.find_summary(&selector, lineage_scope)?.is_some() {
                return Ok(None);
            }
        }
        let Some(present) = sandboxes.first() else { return Ok(None) };
        let request = ListRequest { limit: SEARCHED, check: false, ..ListRequest::of(present.clone()) };
        let page = self.call_read_only::<Page>("list", &request)?.value;
        let mut ready = page.snapshots.into_iter().filter(|snapshot| snapshot.state == SnapshotState::Ready);
        match (ready.next(), parse_target(target)?) {
            (Some(newest), _) => Ok(Some(newest.snapshot_id)),
            (None, SandboxTarget::Named(address)) => {
                Ok(self.workspace(&address)?.restored_from.and_then(|from| from.snapshot_id))
            }
            (None, SandboxTarget::Sandbox(_)) => Ok(None),
        }
    }
}
