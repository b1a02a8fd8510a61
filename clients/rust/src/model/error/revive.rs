//! Errors about sandboxes that are revived.

use crate::model::named::Address;
use crate::model::{Code, Directory, Error, SandboxId};

impl Error {
    /// [`Code::InvalidArgument`], for the sandbox of a named workspace.
    pub fn revive_of_workspace(id: &SandboxId, address: &Address) -> Self {
        Self::invalid_argument(
            format!(
                "`revive` is only for sandboxes without a named workspace, and {:?} belongs to the workspace {:?}.",
                id.as_str(),
                address.name.as_str()
            ),
            format!("Start the workspace {:?} with `workspaces/start` or `workspaces/getOrCreate`.", address.short()),
        )
    }

    /// [`Code::SandboxNotRunning`], for a sandbox that is not running and of which there is no record.
    pub fn revive_of_unknown(id: &SandboxId) -> Self {
        Self::sandbox_unknown(id).with_remediation(
            "Pass the id of a sandbox, not the name of a workspace. A sandbox can be revived after its first snapshot.",
        )
    }

    /// [`Code::NothingRestorable`], for a sandbox that has no snapshot and was not made from one.
    pub fn nothing_to_revive(id: &SandboxId) -> Self {
        Self::new(
            Code::NothingRestorable,
            format!("There is no snapshot to restore the files of the sandbox {:?} from.", id.as_str()),
            "Take snapshots while the sandbox is running.",
        )
    }

    /// [`Code::InvalidDirectory`], for the directory of a running sandbox that was deleted or moved.
    pub fn revived_without_directory(dir: &Directory) -> Self {
        Self::directory_missing(dir).with_remediation(
            "If it was moved, move it back with a command in the directory `/`. If it was deleted, restore a snapshot in a new \
             sandbox.",
        )
    }

    /// [`Code::SandboxStarting`], when a revival restores files into the sandbox, or did not finish.
    pub fn revive_unfinished(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxStarting,
            format!("A revival of the sandbox {:?} is running, or did not finish.", id.as_str()),
            "Revive the sandbox, then try again.",
        )
    }

    /// [`Code::SandboxUnresponsive`], for a sandbox in which late calls may still take effect.
    pub fn revive_unresponsive(id: &SandboxId, why: &str) -> Self {
        Self::new(
            Code::SandboxUnresponsive,
            format!("The sandbox {:?} does not answer. {why}", id.as_str()),
            "Restore its newest snapshot in a new sandbox. This one can be revived again after 2 hours, when no call to it is \
             late any more.",
        )
    }
}
