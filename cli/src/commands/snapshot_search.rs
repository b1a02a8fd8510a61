//! The search of a snapshot by its id or label, and the report if it is not found.

use sandbox_snapshotter_client::model::answer::{Page, SnapshotState};
use sandbox_snapshotter_client::model::request::ListRequest;
use sandbox_snapshotter_client::model::similar::most_similar;
use sandbox_snapshotter_client::model::{Code, SandboxId};

use super::context::Context;
use crate::failure::Failure;
use crate::output::snapshots::names;

/// The search of a snapshot.
pub(super) struct SnapshotSearch {
    /// The argument that selects the sandboxes.
    pub(super) target: String,
    /// The id or the label.
    pub(super) snapshot: String,
    /// The sandboxes that the argument selects.
    pub(super) sandboxes: Vec<SandboxId>,
    /// Whether the user may mean a file with this name.
    pub(super) may_be_path: bool,
}

impl Context {
    /// Adds to the failure of a snapshot that was not found which sandboxes were searched, and what the user may mean.
    pub(super) fn explain_search(&self, failure: Failure) -> Failure {
        let search = self.snapshot_search.borrow();
        let Some(search) = search.as_ref().filter(|_| failure.code() == Some(Code::SnapshotNotFound.as_str())) else {
            return failure;
        };
        let SnapshotSearch { target, sandboxes, .. } = search;
        let failure = failure.with_remediation(self.remediation_of(search));
        let failure =
            sandboxes.iter().fold(failure, |failure, id| failure.with_term(&format!("{:?}", id.as_str()), target));
        if sandboxes.len() < 2 {
            return failure;
        }
        failure.with_sentence(&format!("Searched sandboxes of {target}: {}.", names(sandboxes)))
    }

    fn remediation_of(&self, search: &SnapshotSearch) -> String {
        let SnapshotSearch { target, snapshot, sandboxes, may_be_path } = search;
        if let Some(remediation) = self.workspace_without_at(target) {
            return remediation;
        }
        let labels: Vec<String> = sandboxes.iter().flat_map(|sandbox| self.labels_of(sandbox)).collect();
        match most_similar(snapshot, labels.iter().map(String::as_str)) {
            Some(label) => format!("Did you mean the snapshot {label:?}?"),
            None if *may_be_path => format!(
                "For a present file, write `{target}:{snapshot}`. `snapshotter snapshot list {target}` lists the snapshots."
            ),
            None => format!("Select another snapshot: `snapshotter snapshot list {target}` lists the existing ones."),
        }
    }

    /// Returns the labels of the newest snapshots of a sandbox; none if the server does not return them.
    fn labels_of(&self, sandbox: &SandboxId) -> Vec<String> {
        let request = ListRequest { limit: ListRequest::MAX_LIMIT, check: false, ..ListRequest::of(sandbox.clone()) };
        let Ok(page) = self.call_without_suggestions::<Page>("list", &request) else { return Vec::new() };
        let ready = page.value.snapshots.into_iter().filter(|snapshot| snapshot.state == SnapshotState::Ready);
        ready.map(|snapshot| snapshot.label.to_string()).collect()
    }
}
