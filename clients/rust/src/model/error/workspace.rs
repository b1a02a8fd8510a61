//! Errors about named workspaces.

use std::fmt::Display;

use crate::model::named::{Address, WorkspaceName};
use crate::model::{Code, Directory, Error, Label, SandboxId, SnapshotId, Timestamp};

impl Error {
    /// [`Code::WorkspaceNotFound`], for an address without a workspace.
    pub fn workspace_not_found(address: &Address) -> Self {
        Self::new(
            Code::WorkspaceNotFound,
            format!("The tenant {:?} has no workspace {:?}.", address.tenant.as_str(), address.name.as_str()),
            "Create it with `workspaces/create` or `workspaces/getOrCreate`. `workspaces/list` returns those that exist.",
        )
    }

    /// [`Code::SandboxNotRunning`], for an operation that requires the running container of a workspace.
    pub fn workspace_not_running(address: &Address) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!("The workspace {:?} is not running: it has no container.", address.name.as_str()),
            format!(
                "Start the workspace {:?} with `workspaces/start` or `workspaces/getOrCreate`, which restores its newest \
                 snapshot, then try again.",
                address.short()
            ),
        )
    }

    /// [`Code::WorkspaceNotFound`], for a sandbox that belongs to no named workspace.
    pub fn sandbox_without_workspace(id: &SandboxId) -> Self {
        Self::new(
            Code::WorkspaceNotFound,
            format!("The sandbox {:?} does not belong to a named workspace.", id.as_str()),
            "Create a named workspace.",
        )
    }

    /// [`Code::WorkspaceNotFound`], for a sandbox whose workspace was deleted.
    pub fn workspace_deleted(id: &SandboxId, at: Timestamp) -> Self {
        Self::new(
            Code::WorkspaceNotFound,
            format!("The workspace of the sandbox {:?} was deleted at {at}.", id.as_str()),
            "Create a new workspace.",
        )
    }

    /// [`Code::NameTaken`], for an address with a workspace, which is in the given state.
    pub fn name_taken(address: &Address, state: impl Display) -> Self {
        Self::new(
            Code::NameTaken,
            format!(
                "The tenant {:?} already has a workspace {:?}, which is {state}.",
                address.tenant.as_str(),
                address.name.as_str(),
            ),
            "Use another name, or delete the existing workspace. `workspaces/getOrCreate` continues it.",
        )
    }

    /// [`Code::NameTaken`], for forks that can't be created because a workspace has the name of each.
    pub fn fork_name_taken(address: &Address) -> Self {
        let Address { name, tenant } = address;
        Self::new(
            Code::NameTaken,
            format!("The tenant {:?} already has a workspace {:?}.", tenant.as_str(), name.as_str()),
            "Nothing was captured. Pass another name as `newName`, or omit it: then the fork gets a name of its own.",
        )
    }

    /// [`Code::NameTaken`], for a fork that is to have the name of its source.
    pub fn fork_is_own_source(name: &WorkspaceName) -> Self {
        Self::new(
            Code::NameTaken,
            format!("The fork of the workspace {:?} can't have the same name.", name.as_str()),
            "Pass another name as `newName`, or omit it: then the fork gets a name of its own.",
        )
    }

    /// [`Code::InvalidArgument`], for a workspace that is to be created from itself.
    pub fn workspace_is_own_source() -> Self {
        Self::invalid_argument(
            "A workspace can't be created from itself.",
            "Pass another workspace as `sourceWorkspace`.",
        )
    }

    /// [`Code::InvalidArgument`], for a workspace that is to be created from the id or the label of a snapshot alone.
    pub fn snapshot_without_lineage() -> Self {
        Self::invalid_argument(
            "The workspace does not exist, so it has no lineage in which to find a snapshot by its id or its label.",
            "Pass the short ref of the snapshot as `from`, or the snapshot as `sourceSnapshot`.",
        )
    }

    /// [`Code::InvalidArgument`], for a workspace that is to be promoted to itself.
    pub fn workspace_promotes_itself() -> Self {
        Self::invalid_argument(
            "A workspace can't be promoted to itself.",
            "Pass another workspace, or a snapshot, as `from`.",
        )
    }

    /// [`Code::OtherLineage`], for the promotion of a workspace of another lineage to the workspace `name`.
    pub fn source_of_other_lineage(name: &WorkspaceName) -> Self {
        Self::new(
            Code::OtherLineage,
            format!("The workspace to promote is of another lineage than {:?}.", name.as_str()),
            "Promote a fork of the workspace, or a workspace that has a common origin with it.",
        )
    }

    /// [`Code::InvalidArgument`], for a directory that differs from the one of the source.
    pub fn directory_differs_from_source(requested: &Directory, source: &Directory) -> Self {
        Self::invalid_argument(
            format!("`dir` is {:?}, but the directory of the source is {:?}.", requested.as_str(), source.as_str()),
            "Omit `dir`: a workspace has the same directory as its source.",
        )
    }

    /// [`Code::WorkspaceDiverged`], for a start of a sandbox that cold-started, when other files were written since.
    pub fn start_diverged(id: &SandboxId) -> Self {
        Self::new(
            Code::WorkspaceDiverged,
            format!(
                "The sandbox {:?} cold-started without its files, and other files were written since; or a file \
                 system was mounted over its files, or its restored files were unmounted. Nothing was changed.",
                id.as_str()
            ),
            "Pass `onDiverged`: \"rescue\" saves the present files as a rescue snapshot and restores the \
             newest snapshot; \"adopt\" continues with the present files; \"discard\" restores without them.",
        )
    }

    /// [`Code::WorkspaceDiverged`], for a fork of a workspace whose sandbox cold-started, when other files were written
    /// since.
    pub fn fork_diverged(name: &WorkspaceName) -> Self {
        Self::new(
            Code::WorkspaceDiverged,
            format!(
                "The sandbox of {:?} cold-started without the workspace's files, and other files were written since.",
                name.as_str()
            ),
            "Start the workspace with `onDiverged` to choose what happens to the new files.",
        )
    }

    /// [`Code::NothingRestorable`], for a fork of a workspace that is not running and has no snapshot.
    pub fn nothing_to_fork(address: &Address) -> Self {
        Self::new(
            Code::NothingRestorable,
            format!(
                "The workspace {:?} is not running and has no snapshot of all of its files.",
                address.name.as_str()
            ),
            format!(
                "To fork it from a snapshot that leaves out files, pass the id of that snapshot as `from`. Or start the workspace \
                 {:?} with `allowEmpty: true`, which starts it without files if no snapshot is left, and fork it while it is active.",
                address.short()
            ),
        )
    }

    /// [`Code::NothingRestorable`], for a fork from the newest snapshot of a workspace that has none.
    pub fn no_snapshot_to_fork(name: &WorkspaceName) -> Self {
        Self::new(
            Code::NothingRestorable,
            format!("The workspace {:?} has no snapshot of all of its files.", name.as_str()),
            "Omit `from` while the workspace is active: the fork takes a snapshot of the present files. To fork it from a snapshot \
             that leaves out files, pass the id of that snapshot as `from`.",
        )
    }

    /// [`Code::NothingRestorable`], for a start of a sandbox whose files were only in a platform snapshot, which cannot
    /// be restored. `older` is the newest archive before it.
    pub fn platform_snapshot_lost(id: &SandboxId, platform_id: &str, older: Option<&SnapshotId>) -> Self {
        let remediation = match older {
            Some(older) => format!(
                "If the image changed, deploy the former image. Update `currentSnapshotId` to {older} to continue with \
                 older files, or pass `allowEmpty: true` to `workspaces/start` to start without files."
            ),
            None => "If the image changed, deploy the former image. Pass `allowEmpty: true` to `workspaces/start` to \
             start without files."
                .to_owned(),
        };
        Self::new(
            Code::NothingRestorable,
            format!(
                "The files of the sandbox {:?} are only in the platform snapshot {platform_id:?}, which cannot be \
                 restored.",
                id.as_str()
            ),
            remediation,
        )
    }

    /// [`Code::Unsupported`], for an operation that continues in another sandbox or runtime, while the files are only
    /// in a platform snapshot.
    pub fn platform_snapshot_is_only_copy(id: &SandboxId, platform_id: &str) -> Self {
        Self::new(
            Code::Unsupported,
            format!(
                "The newest files of the sandbox {:?} are only in the platform snapshot {platform_id:?}, and in no \
                 archive.",
                id.as_str()
            ),
            "Start the workspace, and try again while it is active: then its files are stored in an archive.",
        )
    }

    /// [`Code::OperationInterrupted`], for a container that was started from a platform snapshot and does not have its
    /// files.
    pub fn platform_snapshot_not_in_container(id: &SandboxId, platform_id: &str) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!(
                "The container of the sandbox {:?} was started from the platform snapshot {platform_id:?}, but does \
                 not have its files: another container replaced it, or the platform no longer has the snapshot.",
                id.as_str()
            ),
            "Try again. If that fails too, update `currentSnapshotId` to continue with an older archive, or pass \
             `allowEmpty: true` to `workspaces/start` to start without files.",
        )
    }

    /// [`Code::NothingRestorable`], for a platform snapshot that cannot be refreshed before its expiration.
    pub fn platform_snapshot_not_refreshed(id: &SandboxId, reason: &str) -> Self {
        Self::new(
            Code::NothingRestorable,
            format!("The platform snapshot of the sandbox {:?} cannot be refreshed: {reason}.", id.as_str()),
            "Start the workspace with its former image, and use `storage: \"both\"`.",
        )
    }

    /// [`Code::Unsupported`], for a workspace with platform snapshots whose sandbox is of a class without them.
    pub fn platform_storage_unsupported(id: &SandboxId) -> Self {
        Self::new(
            Code::Unsupported,
            format!("The class of the sandbox {:?} has no platform snapshots, which `storage` requests.", id.as_str()),
            "Use `storage: \"archive\"`, or a class of sandbox-snapshotter-client/container whose application has the \
             scheduling policy \"durable_object\".",
        )
    }

    /// [`Code::NothingRestorable`], for a start of a workspace that has lost its files and has no snapshot.
    pub fn nothing_restorable(workspace: &Address) -> Self {
        Self::new(
            Code::NothingRestorable,
            format!(
                "The workspace {:?} has lost its files, and there is no snapshot to restore them from.",
                workspace.name.as_str()
            ),
            "Roll back to a snapshot of a former sandbox, if `list` by the name of the workspace has one: pass its id as \
             `currentSnapshotId` to `workspaces/update`. Otherwise pass `allowEmpty: true` to `workspaces/start` to start without \
             files.",
        )
    }

    /// [`Code::NothingRestorable`], for a start of a workspace that has lost its files and has only partial snapshots.
    pub fn only_partial_restorable(workspace: &Address, newest: &SnapshotId, label: &Label) -> Self {
        Self::new(
            Code::NothingRestorable,
            format!(
                "The workspace {:?} has lost its files, and each of its snapshots leaves out files, by `excludes`, `gitignore` or \
                 `secrets`. The newest one is {newest} ({:?}).",
                workspace.name.as_str(),
                label.as_str()
            ),
            "To continue without the files that it leaves out, pass its id as `currentSnapshotId` to `workspaces/update`. Otherwise \
             pass `allowEmpty: true` to `workspaces/start` to start without files.",
        )
    }
}
