//! Errors about commands of callers.

use crate::model::background::CommandId;
use crate::model::named::{Address, WorkspaceName};
use crate::model::{Code, Error, SandboxId};

impl Error {
    /// [`Code::InvalidArgument`], for environment variables that no process can have.
    pub fn invalid_env(most: usize) -> Self {
        Self::invalid_argument(
            "`env` has too many variables, an invalid name, or a value with a null byte",
            format!("Pass up to {most} variables, with names of letters, digits and _ that do not begin with a digit."),
        )
    }

    /// [`Code::InvalidArgument`], for a command that is too long for one argument of a shell.
    pub fn exec_too_long(most: usize) -> Self {
        Self::invalid_argument(
            format!("The command, its variables and its input are longer than {most} bytes"),
            "Send a longer input as a stream, or write the command to a file in the sandbox.",
        )
    }

    /// [`Code::InvalidArgument`], for a standard input both as an option and as a stream.
    pub fn exec_input_twice() -> Self {
        Self::invalid_argument(
            "The standard input is both in `stdin` and in a stream",
            "Pass the input as `stdin`, or as a stream.",
        )
    }

    /// [`Code::InvalidArgument`], for the options of a call whose input is the body of the request.
    pub fn exec_options_unreadable(why: &str) -> Self {
        Self::invalid_argument(
            format!("The parameter `options` of the URL can't be read: {why}"),
            "Pass the options as one JSON object in the parameter `options` of the URL, and the input as the body.",
        )
    }

    /// [`Code::InvalidDirectory`], for a working directory that does not exist, in a sandbox or in that of the named
    /// workspace `workspace`.
    pub fn cwd_not_found(id: &SandboxId, workspace: Option<&WorkspaceName>, path: &str) -> Self {
        let existing =
            "Pass the `cwd` of an existing directory: absolute, or relative to the directory of the workspace.";
        let way_back = workspace.map_or_else(String::new, |name| {
            format!(
                " If the directory of {:?} was deleted, go back to one of its snapshots with `rollback` (`workspaces/update` \
                 with `currentSnapshotId`).",
                name.as_str()
            )
        });
        Self::new(
            Code::InvalidDirectory,
            format!("In the sandbox {:?}, {path:?} is not a directory, or can't be entered.", id.as_str()),
            format!("{existing}{way_back}"),
        )
    }

    /// [`Code::SandboxNotRunning`], for a command in a sandbox that has no running container.
    pub fn exec_not_running(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!("The sandbox {:?} is not running, and a command in it would start an empty one.", id.as_str()),
            "Pass the `name` of its workspace, which is started then. Otherwise pass `revive: true` to restore its newest \
             snapshot first, or start the sandbox as the application does.",
        )
    }

    /// [`Code::SandboxBusy`], when the sandbox runs the maximum number of commands.
    pub fn too_many_commands(id: &SandboxId, most: usize) -> Self {
        Self::busy(&format!("{most} commands have been running in the sandbox {:?} for 10 seconds.", id.as_str()))
    }

    /// [`Code::OperationInterrupted`], when the output of a command ended before the command did.
    pub fn exec_interrupted(id: &SandboxId) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!(
                "The container of the sandbox {:?} ended while the command ran, or the connection to it was lost.",
                id.as_str()
            ),
            "If the container ended, the files that are in no snapshot are gone. If a second run of the command does no \
             harm, run it again: by the `name` of its workspace, which is started first with the files of its newest \
             snapshot, if there is one, or else with `revive: true`. `started` in the answer says what was restored, and \
             whether files may be lost.",
        )
    }

    /// [`Code::OperationInterrupted`], for a command that ran when its workspace was stopped.
    pub fn exec_stopped(id: &SandboxId, address: &Address) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!(
                "The workspace {:?} was stopped while the command ran, and with it the sandbox {:?}.",
                address.name.as_str(),
                id.as_str()
            ),
            "The command ended with the container. The snapshot of the stop, if it took one, may have what the command had \
             written by then. If a second run of the command does no harm, run it again: the workspace is started first.",
        )
    }

    /// [`Code::OperationInterrupted`], for a command that ran when its workspace continued in another sandbox.
    pub fn exec_moved(id: &SandboxId, address: &Address) -> Self {
        Self::new(
            Code::OperationInterrupted,
            format!(
                "The workspace {:?} continued in another sandbox while the command ran in {:?}, as after a rollback.",
                address.name.as_str(),
                id.as_str()
            ),
            "The command ended with its container. The snapshot of the files from before may have what it had written by then: it is \
             in the list of the workspace's snapshots. If the command is to run in the present files, run it again.",
        )
    }

    /// [`Code::WorkspaceNotFound`], for a command that ran when its workspace was deleted.
    pub fn exec_deleted(id: &SandboxId, address: &Address) -> Self {
        Self::new(
            Code::WorkspaceNotFound,
            format!(
                "The workspace {:?} was deleted while the command ran, and with it the sandbox {:?}.",
                address.name.as_str(),
                id.as_str()
            ),
            "The command ended with the container. Create a new workspace to run it in.",
        )
    }

    /// [`Code::Aborted`], for a command that was killed because its caller does not wait for it.
    pub fn exec_cancelled() -> Self {
        Self::new(
            Code::Aborted,
            "The caller cancelled the command, and it was killed.",
            "Run the command again, with a longer time limit of the caller if necessary.",
        )
    }

    /// [`Code::SandboxNotRunning`], for the background commands of a sandbox that has no running container.
    pub fn commands_not_running(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!(
                "The sandbox {:?} is not running, and its background commands ended with its container.",
                id.as_str()
            ),
            "Start the command again. With the `name` of a workspace, `commands.start` starts the workspace first.",
        )
    }

    /// [`Code::CommandNotFound`], for an id that no background command in the container has.
    pub fn command_not_found(id: &SandboxId, command_id: &CommandId) -> Self {
        Self::new(
            Code::CommandNotFound,
            format!(
                "The container of the sandbox {:?} has no background command {:?}.",
                id.as_str(),
                command_id.as_str()
            ),
            "List the background commands. They end with their container, and of those that ended, the newest 16 are kept.",
        )
    }

    /// [`Code::SandboxBusy`], when the sandbox runs the maximum number of background commands.
    pub fn too_many_background_commands(id: &SandboxId, most: usize) -> Self {
        Self::busy(&format!("{most} background commands run in the sandbox {:?}.", id.as_str()))
            .with_remediation("End one of them, or wait until one ends.")
    }

    /// [`Code::SandboxFailed`], when the container can't start a background command.
    pub fn background_command_failed(id: &SandboxId, output: &str) -> Self {
        Self::new(
            Code::SandboxFailed,
            format!("A background command can't be started in the sandbox {:?}: {output}", id.as_str()),
            "Free space in the container if its disk is full. The image needs bash, coreutils, flock and setsid.",
        )
    }
}
