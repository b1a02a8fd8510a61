//! The warning about files that are missing after a workspace got the files of a snapshot that leaves them out.

use sandbox_snapshotter_client::model::answer::{Manifest, Summary};
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::request::LineageScope;
use sandbox_snapshotter_client::model::{SandboxId, Selection, Selector, SnapshotId, SnapshotRef};

use super::context::Context;
use crate::output::print_warning;
use crate::output::secrets::left_out_of_snapshot;

impl Context {
    /// Warns if the snapshot of the lineage of a sandbox left out files. In JSON mode, `manifest` has them.
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
        let secrets = manifest.secrets.as_ref().and_then(|report| left_out_of_snapshot(snapshot_id, report));
        secrets.or_else(|| left_out_by_name(snapshot_id, &manifest.excludes, manifest.gitignore))
    }
}

/// Returns the note about the files that the options of a capture left out.
fn left_out_by_name(snapshot_id: &SnapshotId, excludes: &[String], gitignore: bool) -> Option<String> {
    let ignored = gitignore.then_some("what git ignores");
    let names: Vec<_> = excludes.iter().map(String::as_str).chain(ignored).collect();
    (!names.is_empty())
        .then(|| format!("the snapshot {snapshot_id} leaves out files, which are missing: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_has_what_the_options_of_the_capture_left_out() {
        let id = SnapshotId::parse("snap-aaaaaaaaaaaaaaaa").unwrap();
        let note = |excludes: &[&str], gitignore| {
            let excludes: Vec<_> = excludes.iter().map(|&name| name.to_owned()).collect();
            left_out_by_name(&id, &excludes, gitignore)
        };
        assert_eq!(
            note(&["node_modules", "*.log"], true).unwrap(),
            "the snapshot snap-aaaaaaaaaaaaaaaa leaves out files, which are missing: node_modules, *.log, what git ignores"
        );
        assert_eq!(note(&[], false), None);
    }
}
