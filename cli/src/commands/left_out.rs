//! The warning about files with secrets that are missing after a workspace got the files of a snapshot that left them out.

use sandbox_snapshotter_client::model::answer::{Manifest, Summary};
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::request::LineageScope;
use sandbox_snapshotter_client::model::{SandboxId, Selection, Selector, SnapshotId, SnapshotRef};

use super::context::Context;
use crate::output::print_warning;
use crate::output::secrets::left_out_of_snapshot;

impl Context {
    /// Warns if the snapshot of the lineage of a sandbox left out files with secrets. In JSON mode, `manifest` has them.
    pub(super) fn warn_of_left_out(&self, sandbox_id: &SandboxId, snapshot_id: &SnapshotId) {
        if !self.output.json
            && let Some(note) = self.left_out(sandbox_id, snapshot_id)
        {
            print_warning(&note);
        }
    }

    /// As [`warn_of_left_out`](Self::warn_of_left_out), for the snapshot from which a workspace was restored.
    pub(super) fn warn_of_left_out_of(&self, described: &WorkspaceDescription) {
        if let Some(id) = described.restored_from.as_ref().and_then(|from| from.snapshot_id.as_ref()) {
            self.warn_of_left_out(&described.sandbox_id, id);
        }
    }

    /// Returns the warning; `None` also if the server does not tell.
    fn left_out(&self, sandbox_id: &SandboxId, snapshot_id: &SnapshotId) -> Option<String> {
        let select = |sandbox_id: &SandboxId| Selection {
            selector: Selector::Id { sandbox_id: sandbox_id.clone(), snapshot_id: snapshot_id.clone() },
            lineage_scope: LineageScope::UNRESTRICTED,
        };
        // Only `get` finds an id in the whole lineage.
        let summary = self.call_without_suggestions::<Summary>("get", &select(sandbox_id)).ok()?.value;
        let origin = summary.snapshot.as_ref().map(SnapshotRef::origin_id)?;
        let manifest = self.call_without_suggestions::<Manifest>("manifest", &select(origin)).ok()?.value;
        left_out_of_snapshot(snapshot_id, manifest.secrets.as_ref()?)
    }
}
