//! Errors about snapshots: absent, in use, stale, or with a label that is taken.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::output_note;
use crate::model::answer::Removal;
use crate::model::named::{Address, WorkspaceName};
use crate::model::similar::most_similar;
use crate::model::{Code, Directory, Error, Label, SandboxId, Selector, SnapshotId, Timestamp};

const USE_ANOTHER: &str = "Use another snapshot: `list` returns the existing ones.";

/// The number of labels that the error of an unknown label names.
const MAX_LABELS: usize = 5;

/// The remediation where a sandbox has another image than the snapshot.
const OTHER_IMAGE: &str = "Deploy the image of the snapshot, or pass `onImageChange: \"report\"` to restore it anyway.";

impl Error {
    /// [`Code::HookFailed`], for a freeze command that failed. The exit code is `None` where it exceeded its time limit.
    pub fn freeze_failed(id: &SandboxId, exit_code: Option<i32>, output: &str) -> Self {
        let how = match exit_code {
            Some(code) => format!("failed with exit code {code}"),
            None => "exceeded its time limit and was killed".to_owned(),
        };
        let output = output_note(output);
        Self::new(
            Code::HookFailed,
            format!("The command `freeze` in the sandbox {:?} {how}. No snapshot was taken.{output}", id.as_str()),
            "Fix the command. The files are thawed.",
        )
    }

    /// [`Code::SnapshotNotFound`], for a selector that no row of the ledger matches.
    pub fn snapshot_not_found(selector: &Selector) -> Self {
        let origin = selector.origin_id().as_str();
        let what = match selector {
            Selector::Ref { r#ref } => format!("snapshot {} of {origin:?}", r#ref.snapshot_id()),
            Selector::Short { r#ref } => format!("snapshot {} of {origin:?}", r#ref.snapshot_id()),
            Selector::Id { snapshot_id, .. } => format!("snapshot {snapshot_id} of {origin:?}"),
            Selector::Label { label, .. } => format!("snapshot of {origin:?} with the label {:?}", label.as_str()),
        };
        Self::new(Code::SnapshotNotFound, format!("There is no {what}."), USE_ANOTHER)
    }

    /// [`Code::SnapshotNotFound`], for a label that no snapshot of a workspace has. `labels` are those of the newest ones.
    pub fn label_not_found<'a>(
        name: &WorkspaceName,
        label: &Label,
        labels: impl IntoIterator<Item = &'a Label>,
    ) -> Self {
        let mut seen = BTreeSet::new();
        let mut labels: Vec<_> = labels.into_iter().map(Label::as_str).filter(|label| seen.insert(*label)).collect();
        // The labels of automatic snapshots say least.
        labels.sort_by_key(|label| label.starts_with("snap-"));
        let (name, label) = (name.as_str(), label.as_str());
        let similar = most_similar(label, labels.iter().copied());
        let similar = similar.map(|similar| format!("Did you mean {similar:?}? ")).unwrap_or_default();
        let labels: Vec<_> = labels.iter().take(MAX_LABELS).map(|label| format!("{label:?}")).collect();
        let message = format!("No snapshot of the workspace {name:?} has the label {label:?}.");
        if labels.is_empty() {
            return Self::new(
                Code::SnapshotNotFound,
                message,
                "The workspace has no snapshot: take one with `snapshot`.",
            );
        }
        let remediation =
            format!("{similar}Pass another label, such as {}, or the id of a snapshot.", labels.join(", "));
        Self::new(Code::SnapshotNotFound, message, remediation)
    }

    /// [`Code::SnapshotNotFound`], for the newest snapshot of a workspace that has none.
    pub fn no_snapshot_of_workspace(name: &WorkspaceName) -> Self {
        Self::new(
            Code::SnapshotNotFound,
            format!("The workspace {:?} has no snapshot.", name.as_str()),
            "Take one with `snapshot`. A persistent workspace also takes one when it stops.",
        )
    }

    /// [`Code::SnapshotNotFound`], for a label that no snapshot has any more.
    pub fn labelled_snapshot_removed(label: &Label, id: &SnapshotId, removal: &Removal) -> Self {
        Self::new(
            Code::SnapshotNotFound,
            format!(
                "The snapshot {id} with the label {:?} was removed at {}: {}.",
                label.as_str(),
                removal.at,
                removal.reason
            ),
            USE_ANOTHER,
        )
    }

    /// [`Code::SnapshotNotFound`], for a message of another object about a snapshot that the ledger of `origin` does not
    /// list.
    pub fn snapshot_not_listed(origin: &SandboxId, id: &SnapshotId) -> Self {
        Self::new(
            Code::SnapshotNotFound,
            format!("The sandbox {:?} has no snapshot {id}.", origin.as_str()),
            USE_ANOTHER,
        )
    }

    /// [`Code::SnapshotNotFound`], for a snapshot that is being deleted or was deleted.
    pub fn snapshot_removed(id: &SnapshotId, removal: &Removal) -> Self {
        Self::new(
            Code::SnapshotNotFound,
            format!("The snapshot {id} was removed at {}: {}.", removal.at, removal.reason),
            USE_ANOTHER,
        )
    }

    /// [`Code::SnapshotNotFound`], for a snapshot that another call deleted before its restore was recorded.
    pub fn snapshot_deleted_during_call(id: &SnapshotId) -> Self {
        Self::new(Code::SnapshotNotFound, format!("The snapshot {id} was deleted during the call."), USE_ANOTHER)
    }

    /// [`Code::SnapshotNotFound`], for the snapshot that the sandbox `dependent` was made from.
    pub fn source_snapshot_missing(id: &SnapshotId, dependent: &SandboxId) -> Self {
        Self::new(
            Code::SnapshotNotFound,
            format!("The snapshot {id}, from which {:?} was made, no longer exists.", dependent.as_str()),
            "Use another snapshot.",
        )
    }

    /// [`Code::SnapshotNotFound`], for a snapshot that no sandbox of the workspace has.
    pub fn snapshot_not_of_workspace(name: &WorkspaceName, id: &SnapshotId) -> Self {
        Self::new(
            Code::SnapshotNotFound,
            format!(
                "Neither the workspace {:?} nor another sandbox of its lineage has the snapshot {id}.",
                name.as_str()
            ),
            "`list` with the `name` of the workspace returns its snapshots, and `lineage` those of the other sandboxes.",
        )
    }

    /// [`Code::OtherDirectory`], for a call that names another directory than that of the workspace.
    pub fn workspace_of_other_directory(name: &WorkspaceName, dir: &Directory, requested: &Directory) -> Self {
        Self::new(
            Code::OtherDirectory,
            format!(
                "The workspace {:?} has the directory {:?}, not {:?}.",
                name.as_str(),
                dir.as_str(),
                requested.as_str()
            ),
            "Pass no `dir`, or that of the workspace. Its directory can't be changed: create another workspace.",
        )
    }

    /// [`Code::OtherDirectory`], for a snapshot of another directory than the workspace's, `dir`.
    pub fn snapshot_of_other_directory(id: &SnapshotId, dir: &Directory) -> Self {
        Self::new(
            Code::OtherDirectory,
            format!("The snapshot {id} is not of the directory {:?}.", dir.as_str()),
            "Use a snapshot of the workspace's directory.",
        )
    }

    /// [`Code::OtherTenant`], for a snapshot that a workspace of another tenant owns.
    pub fn snapshot_of_other_tenant(id: &SnapshotId) -> Self {
        Self::new(
            Code::OtherTenant,
            format!("The snapshot {id} is not of the workspace's tenant."),
            "Use a snapshot of a workspace of the same tenant.",
        )
    }

    /// [`Code::Unsupported`], for a snapshot of a lineage that is too large to be searched.
    pub fn lineage_too_large(id: &SnapshotId, limit: usize) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "The snapshot {id} is not in the first {limit} sandboxes of the lineage, and the rest is not searched."
            ),
            "Promote the workspace that has the snapshot, by its name.",
        )
    }

    /// [`Code::InvalidArgument`], for arguments that select no snapshot, or more than one.
    pub fn not_one_snapshot() -> Self {
        Self::invalid_argument(
            "The arguments must select exactly one snapshot",
            "Pass its `ref`, or the `sandboxId` that it was taken of and its `snapshotId` or `label`, or the `name` of its \
             workspace and its `snapshotId` or `label`.",
        )
    }

    /// [`Code::InvalidArgument`], for a deletion of the snapshot that is the newest one now.
    pub fn deletion_of_latest(id: &SnapshotId) -> Self {
        Self::invalid_argument(
            "No snapshot has the label \"latest\", and `delete` does not take the newest one for it: a repeated call would delete another \
             one",
            format!("Pass the `snapshotId` of the snapshot. That of the newest one is {id}."),
        )
    }

    /// [`Code::SnapshotBusy`], for a use of a snapshot whose capture was interrupted before it had an archive. It is removed at
    /// about `until`.
    pub fn capture_interrupted(id: &SnapshotId, until: Timestamp) -> Self {
        Self::new(
            Code::SnapshotBusy,
            format!(
                "The capture of the snapshot {id} was interrupted, so it has no files. The Worker removes it at about {until}, after \
                 it has searched for an archive that arrives late."
            ),
            "Take another snapshot, which can have the same label.",
        )
    }

    /// [`Code::SnapshotBusy`], for a use of a snapshot that is being created.
    pub fn snapshot_being_created(id: &SnapshotId) -> Self {
        Self::new(
            Code::SnapshotBusy,
            format!("The snapshot {id} is still being created."),
            "Try again when it is ready.",
        )
    }

    /// [`Code::SnapshotBusy`], for the deletion of a snapshot that another call is creating or restoring.
    pub fn snapshot_in_use(id: &SnapshotId, reason: &str) -> Self {
        Self::new(
            Code::SnapshotBusy,
            format!("The snapshot {id} can't be deleted now: {reason}."),
            "Try again when that has finished.",
        )
    }

    /// [`Code::SnapshotHasDependents`], for the deletion of a snapshot that is pinned or has dependents.
    pub fn snapshot_has_dependents(id: &SnapshotId, pinned: bool, dependents: &[SandboxId]) -> Self {
        let names: Vec<_> = dependents.iter().map(|dependent| format!("{:?}", dependent.as_str())).collect();
        let (reason, remediation) = match (pinned, names.as_slice()) {
            (true, []) => ("is pinned".to_owned(), "Unpin it with `unpin`, or pass `force: true` to delete it anyway."),
            (false, names) => (
                format!("is needed by {}", names.join(", ")),
                "Take a snapshot of each of these sandboxes that is still used, or pass `force: true` to delete it anyway.",
            ),
            (true, names) => (
                format!("is pinned and needed by {}", names.join(", ")),
                "Unpin it with `unpin`, and take a snapshot of each sandbox that depends on it; or pass `force: true` to \
                 delete it anyway.",
            ),
        };
        Self::new(Code::SnapshotHasDependents, format!("The snapshot {id} {reason}."), remediation)
    }

    /// [`Code::SnapshotHasDependents`], for the deletion of the snapshot that alone has the files of a workspace.
    pub fn snapshot_is_only_copy(id: &SnapshotId, workspace: &Address) -> Self {
        Self::new(
            Code::SnapshotHasDependents,
            format!(
                "Only the snapshot {id} has the files of the workspace {:?}: no running container has them.",
                workspace.name.as_str()
            ),
            format!(
                "Start the workspace {:?} first, or roll it back to another snapshot. `force: true` deletes the snapshot anyway: \
                 the next start then restores an older one, if there is one.",
                workspace.short()
            ),
        )
    }

    /// [`Code::SnapshotHasDependents`], for the deletion of the only snapshot of an active workspace.
    pub fn snapshot_is_last(id: &SnapshotId, workspace: &Address) -> Self {
        Self::new(
            Code::SnapshotHasDependents,
            format!(
                "The snapshot {id} is the only one that the workspace {:?} can start from when its container ends, \
                 which can happen at any time.",
                workspace.name.as_str()
            ),
            "Take another snapshot of the workspace first. `force: true` deletes this one anyway.",
        )
    }

    /// [`Code::SnapshotStale`], for a start from a snapshot whose dependencies have changed.
    pub fn snapshot_stale(id: impl Display, changes: &[String]) -> Self {
        Self::new(
            Code::SnapshotStale,
            format!("The snapshot {id} is stale: {}.", changes.join("; ")),
            "Pass `acceptStale: true` to start from it anyway, update `currentSnapshotId` to revert to another \
             snapshot, or create a new workspace.",
        )
    }

    /// [`Code::SnapshotStale`], for a restore into a sandbox with another image.
    pub fn image_changed(id: &SnapshotId, changes: &[String]) -> Self {
        Self::new(Code::SnapshotStale, format!("The snapshot {id} is stale: {}.", changes.join("; ")), OTHER_IMAGE)
    }

    /// Replaces the remediation of [`Code::SnapshotStale`] with one for `revive`, which compares only the image.
    #[must_use]
    pub fn of_revival(self) -> Self {
        if self.code() == Code::SnapshotStale { self.with_remediation(OTHER_IMAGE) } else { self }
    }

    /// [`Code::LabelTaken`], for a label that the snapshot `taken_by` of the same sandbox has.
    pub fn label_taken(label: &Label, taken_by: &SnapshotId, id: &SandboxId) -> Self {
        Self::new(
            Code::LabelTaken,
            format!("The snapshot {taken_by} of {:?} already has the label {:?}.", id.as_str(), label.as_str()),
            "Use another label, or pass `replace: true`: the label then means the new snapshot.",
        )
    }
}
