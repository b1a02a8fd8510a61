//! What callers do in the containers of sandboxes.

use std::future::Future;

use super::Ports;
use crate::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use crate::model::exec_call::{CommandEvent, ContainerCommand};
use crate::model::file_call::{FileCall, FileOutcome, FileRefusal};
use crate::model::file_part::{FileParts, PartOutcome, PartsRefusal};
use crate::model::required_container::{Refusal, RequiredContainer};
use crate::model::{ContainerIdentity, Directory, Failure, Result, SandboxId};

/// A command of a caller that runs in a container. Where it is dropped, the command continues.
pub trait RunningCommand {
    /// Returns the next event; `None` after the last one, and where the events end without it.
    fn next(&mut self) -> impl Future<Output = Result<Option<CommandEvent>, Failure>>;
}

/// A command of a caller in a sandbox of the ports `P`.
pub type RunningCommandOf<P> = <<P as Ports>::Sandboxes as CallerCommands>::RunningCommand;

/// The standard input of a command for sandboxes of the ports `P`.
pub type InputOf<P> = <<P as Ports>::Sandboxes as CallerCommands>::Input;

/// The commands of callers in the containers of sandboxes, and those behind the operations on files and checkpoints.
pub trait CallerCommands {
    /// See [`Self::run_command`].
    type RunningCommand: RunningCommand + 'static;
    /// See [`Self::write_input`].
    type Input;

    /// Writes parts of files, links and directories to the directory, and returns the outcome of each; or returns why one was
    /// refused, or all were. Creates missing directories, and follows no symbolic link. `required` is as for
    /// [`run_command`](Self::run_command).
    fn write_file_parts(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: &RequiredContainer,
        parts: &FileParts,
    ) -> impl Future<Output = Result<Result<Vec<PartOutcome>, Refusal<PartsRefusal>>, Failure>>;

    /// Runs a command of a caller, and returns its events. Refuses the command in a container that does not
    /// meet `required`. Starts the container if it is not running, unless `required` is an identity.
    fn run_command(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        command: &ContainerCommand,
    ) -> impl Future<Output = Result<Self::RunningCommand, Failure>>;

    /// Writes the standard input of a command to a file in the container. Starts the container if it is not running.
    fn write_input(&self, id: &SandboxId, path: &str, input: Self::Input) -> impl Future<Output = Result<(), Failure>>;

    /// Kills a command of a caller with all processes of its group, or prevents that it starts. With `expected`, fails in
    /// another container and starts none; otherwise starts the container if it is not running.
    fn kill_command(
        &self,
        id: &SandboxId,
        command_id: &str,
        expected: Option<ContainerIdentity>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// Starts, lists, reads or ends background commands, or returns why the call was refused. `required` is as
    /// for [`run_command`](Self::run_command).
    fn call_background(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &BackgroundCall,
    ) -> impl Future<Output = Result<Result<BackgroundOutcome, Refusal<BackgroundRefusal>>, Failure>>;

    /// Reads or changes files, or returns why the call was refused. `required` is as for
    /// [`run_command`](Self::run_command).
    fn call_files(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &FileCall,
    ) -> impl Future<Output = Result<Result<FileOutcome, Refusal<FileRefusal>>, Failure>>;

    /// Creates, lists, restores or compares checkpoints of the directory, or returns why the call was refused.
    /// `required` is as for [`run_command`](Self::run_command).
    fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: &RequiredContainer,
        call: &CheckpointCall,
    ) -> impl Future<Output = Result<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>, Failure>>;
}
