//! Errors about the state of a sandbox and of its container.

use super::output_note;
use crate::model::named::Address;
use crate::model::{Code, Directory, Error, SandboxId};

/// The begin of a remediation that is to start the workspace of a sandbox.
const START: &str = "Start the workspace";

/// The remediation while a container starts, for a capture.
const WAIT_OR_WAKE: &str = "Try again when it is running, or pass `wake: true` to capture it as it starts.";

/// The remediation after the container of a sandbox without a workspace was replaced.
const REVIVE_OR_ADOPT: &str = "Revive the sandbox to continue with its newest snapshot, or pass `adopt: true` to \
     continue with the files of the present container.";

impl Error {
    /// Replaces the remediation of an error about the container of a sandbox with one for the sandbox of the workspace
    /// `address`: to start the workspace, by its name.
    #[must_use]
    pub fn of_workspace(self, address: &Address) -> Self {
        let start = format!("{START} {:?}", address.short());
        let rest = match self.remediation() {
            REVIVE_OR_ADOPT => Some(", which restores its newest snapshot, then try again.".to_owned()),
            text => text.strip_prefix(START).map(|rest| rest.trim_start_matches(" of the sandbox").to_owned()),
        };
        match rest {
            // The name is there already.
            Some(rest) if !rest.starts_with(" \"") => self.with_remediation(&format!("{start}{rest}")),
            _ => self,
        }
    }

    /// As [`of_workspace`](Self::of_workspace), for a workspace that has lost its files and has no snapshot: it starts
    /// only with `allowEmpty`.
    #[must_use]
    pub fn of_lost_workspace(self, address: &Address) -> Self {
        let start = format!("{START} {:?}", address.short());
        let error = self.of_workspace(address);
        if !error.remediation().starts_with(&start) || error.remediation().contains("onDiverged") {
            return error;
        }
        error.with_remediation(&format!(
            "{start} with `allowEmpty: true`, which starts it without files: they are lost, and no snapshot has them."
        ))
    }

    /// Removes the option of captures from the remediation while a container starts.
    #[must_use]
    pub fn without_wake(self) -> Self {
        if self.remediation() == WAIT_OR_WAKE { self.with_remediation("Try again when it is running.") } else { self }
    }

    /// [`Code::SandboxStarting`], while the container is starting.
    pub fn container_starting(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxStarting,
            format!("The sandbox {:?} is still starting, and has no files of its own yet.", id.as_str()),
            WAIT_OR_WAKE,
        )
    }

    /// [`Code::SandboxStarting`], when a start restores files into the sandbox, or did not finish.
    pub fn start_unfinished(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxStarting,
            format!("A start of the workspace of the sandbox {:?} is running, or did not finish.", id.as_str()),
            "Start the workspace, then try again.",
        )
    }

    /// [`Code::SandboxNotRunning`], for an operation that requires a running container, after it ended with its files.
    pub fn sandbox_not_running(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!(
                "The sandbox {:?} is not running, so its files are gone and a snapshot would be empty.",
                id.as_str()
            ),
            "Take snapshots while the sandbox is running. Revive the sandbox to continue with its newest snapshot, or \
             pass `wake: true` to start the sandbox and capture it as it starts.",
        )
    }

    /// [`Code::SandboxNotRunning`], for a sandbox whose workspace continued in another one, so it is not started again.
    pub fn former_sandbox(id: &SandboxId, address: &Address) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!(
                "The sandbox {:?} is a former one of the workspace {:?}, which continued in another one.",
                id.as_str(),
                address.short()
            ),
            "Select the workspace by its name. The snapshots of the former sandbox can still be restored.",
        )
    }

    /// [`Code::SandboxNotRunning`], for a sandbox that is not running and of which there is no record.
    pub fn sandbox_unknown(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!("There is no record of a sandbox {:?}, and it is not running.", id.as_str()),
            "Pass the id of a sandbox, not the name of a workspace. If it is \
             right, start the sandbox first, or pass `wake: true` to start it and capture the files of its image.",
        )
    }

    /// [`Code::SandboxReplaced`], for a container that is not the expected one.
    pub fn container_replaced(id: &SandboxId, how: &str) -> Self {
        Self::new(
            Code::SandboxReplaced,
            format!(
                "The container of the sandbox {:?} {how}. The files of the earlier container are gone.",
                id.as_str()
            ),
            REVIVE_OR_ADOPT,
        )
    }

    /// [`Code::SandboxReplaced`], when a start adopted the files of the container during the capture.
    pub fn adopted_during_capture(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxReplaced,
            format!("A start adopted the container of the sandbox {:?} after the capture began.", id.as_str()),
            "Take the snapshot again.",
        )
    }

    /// [`Code::SandboxEmpty`], for `adopt` of an empty directory.
    pub fn nothing_to_adopt(id: &SandboxId, dir: &Directory) -> Self {
        Self::new(
            Code::SandboxEmpty,
            format!(
                "The directory {:?} of the sandbox {:?} is empty: there is nothing to adopt.",
                dir.as_str(),
                id.as_str()
            ),
            "Restore the newest snapshot, and continue in the new sandbox.",
        )
    }

    /// [`Code::InvalidArgument`], for `adopt` of a sandbox that belongs to a named workspace.
    pub fn adopt_of_workspace(id: &SandboxId) -> Self {
        Self::invalid_argument(
            format!("`adopt` is only for sandboxes without a named workspace, and {:?} belongs to one.", id.as_str()),
            "Start the workspace with `onDiverged: \"adopt\"` to continue with the present files.",
        )
    }

    /// [`Code::InvalidDirectory`], for a path in the sandbox that is not a directory.
    pub fn not_a_directory(dir: &Directory, problem: &str) -> Self {
        Self::new(
            Code::InvalidDirectory,
            format!("In the sandbox, {:?} {problem}.", dir.as_str()),
            format!("Pass the path of an existing directory, without symbolic links. {}", way_back_of(dir)),
        )
    }

    /// [`Code::InvalidDirectory`], for the directory of a running workspace that was deleted or moved.
    pub fn directory_missing(dir: &Directory) -> Self {
        Self::new(
            Code::InvalidDirectory,
            format!("The container runs, but {:?} does not exist in it: it was deleted or moved.", dir.as_str()),
            way_back_of(dir),
        )
    }

    /// [`Code::InvalidDirectory`], for a directory that does not show the files that it had when the container became
    /// ready.
    pub fn unmounted_directory(dir: &Directory) -> Self {
        Self::new(
            Code::InvalidDirectory,
            format!(
                "In the sandbox, {:?} does not show its files any more: a file system was mounted over it, or the \
                 restored files were unmounted.",
                dir.as_str()
            ),
            format!(
                "If a file system hides the files, unmount it: the command `umount {}` with `cwd: \"/\"`, by the id of the sandbox \
                 if its workspace does not start. Otherwise go back to a snapshot. Files that were written since a mounted \
                 restore are in the upper directory of the overlay, in the container. To continue with what is in the \
                 directory now, start the workspace with `onDiverged: \"adopt\"`.",
                dir.as_str()
            ),
        )
    }

    /// [`Code::SandboxUnresponsive`], for a sandbox that does not answer and is abandoned.
    pub fn sandbox_unresponsive(id: &SandboxId, why: &str) -> Self {
        Self::new(
            Code::SandboxUnresponsive,
            format!("The sandbox {:?} does not answer and is abandoned. {why}", id.as_str()),
            "Start the workspace again: it continues in another sandbox, from its newest snapshot.",
        )
    }

    /// [`Code::SandboxTimeout`], when the end of a container was not confirmed.
    pub fn destroy_timed_out(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxTimeout,
            format!("The destroy of the container of {:?} timed out.", id.as_str()),
            "The alarm repeats the stop.",
        )
    }

    /// [`Code::HookFailed`], for a hook whose failure fails the operation.
    pub fn hook_failed(id: &SandboxId, hook: &str, how: &str, output: &str) -> Self {
        let output = output_note(output);
        Self::new(
            Code::HookFailed,
            format!("The hook `{hook}` of the sandbox {:?} {how}.{output}", id.as_str()),
            "Fix the command, or set `onFailure: \"warn\"` to continue despite its failure.",
        )
    }
}

/// Returns how the directory of a workspace comes back, also in a workspace without a snapshot.
fn way_back_of(dir: &Directory) -> String {
    format!(
        "If the directory of a workspace was moved, move it back, with a command with `cwd: \"/\"`. If it was deleted, go back to \
         one of the workspace's snapshots with `rollback` (`workspaces/update` with `currentSnapshotId`), or create it again: \
         the command `mkdir -p {}` with `cwd: \"/\"`.",
        dir.as_str()
    )
}
