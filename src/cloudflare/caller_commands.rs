//! What callers do in the containers of sandboxes: commands, and calls about files and checkpoints.

use std::time::Duration;

use serde_json::json;

use super::command_stream::CommandStream;
use super::input_writer::InputWriter;
use super::sandbox_command::{COMMAND_TIMEOUT_MILLIS, NO_SESSION, WORKING_DIRECTORY, redact_command, unreadable};
use super::sandbox_stubs::SandboxStubs;
use super::{checkpoints, scripts, stub};
use crate::model::background_call::{BackgroundCall, BackgroundOutcome, BackgroundRefusal};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use crate::model::exec::OutputStream;
use crate::model::exec_call::{CommandEvent, CommandRefusal, ContainerCommand};
use crate::model::file_call::{FileCall, FileOutcome, FileRefusal};
use crate::model::file_part::{FileParts, PartOutcome, PartsRefusal};
use crate::model::required_container::{Refusal, RequiredContainer};
use crate::model::{ContainerIdentity, Directory, Failure, SandboxId};
use crate::ports::{CallerCommands, RunningCommand};

/// The margin of the SDK over the time limit of a command of a caller, in milliseconds. Within it, the script kills the
/// command, and the caller reads the rest of its output.
const EXEC_MARGIN_MILLIS: u32 = 60_000;

impl CallerCommands for SandboxStubs {
    type RunningCommand = CommandStream;
    type Input = web_sys::ReadableStream;

    async fn write_file_parts(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: &RequiredContainer,
        parts: &FileParts,
    ) -> Result<Result<Vec<PartOutcome>, Refusal<PartsRefusal>>, Failure> {
        let script = scripts::write_file_parts(dir, required, parts);
        let stdout = self.run_in(id, &script, COMMAND_TIMEOUT_MILLIS, required.identity()).await?;
        let is_of_each = |outcomes: &Vec<_>| outcomes.len() == parts.parts.len();
        let outcomes = scripts::read_part_outcomes(&stdout).filter(|read| read.as_ref().map_or(true, is_of_each));
        outcomes.ok_or_else(|| unreadable("the output of a write"))
    }

    async fn run_command(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        command: &ContainerCommand,
    ) -> Result<CommandStream, Failure> {
        let millis = command.timeout_seconds.saturating_mul(1000).saturating_add(EXEC_MARGIN_MILLIS);
        // Only the class of the client reads the identity.
        let options = match required.identity() {
            Some(identity) => json!({ "cwd": WORKING_DIRECTORY, "timeout": millis, "expectedLastChange": identity }),
            None => json!({ "cwd": WORKING_DIRECTORY, "timeout": millis }),
        };
        let script = scripts::run_command(required, command);
        let arguments = stub::js_arguments(&[json!(script), json!(NO_SESSION), options])?;
        let sandbox = stub::get(&self.namespace, id.as_str())?;
        let stream = stub::call(&sandbox, "execStreamWithSessionToken", &arguments).await;
        CommandStream::new(stream.map_err(|failure| redact_command(&script, failure))?)
    }

    async fn write_input(&self, id: &SandboxId, path: &str, input: web_sys::ReadableStream) -> Result<(), Failure> {
        InputWriter::new(self, id, path).write(input.into()).await
    }

    async fn kill_command(
        &self,
        id: &SandboxId,
        command_id: &str,
        expected: Option<ContainerIdentity>,
    ) -> Result<(), Failure> {
        let script = scripts::kill_command(command_id);
        match self.run_in(id, &script, COMMAND_TIMEOUT_MILLIS, expected).await?.trim() {
            "done" => Ok(()),
            _ => Err(unreadable("the result of the kill command")),
        }
    }

    async fn call_files(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &FileCall,
    ) -> Result<Result<FileOutcome, Refusal<FileRefusal>>, Failure> {
        let output = self.output_of(id, required, &scripts::file_command(call), "a call about files").await?;
        match output {
            Err(refusal) => Ok(Err(refusal.map(FileRefusal::Command))),
            Ok(output) => scripts::read_file_outcome(&output, call)
                .map(|outcome| outcome.map_err(Refusal::Call))
                .ok_or_else(|| unreadable("the output of a call about files")),
        }
    }

    async fn call_background(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        call: &BackgroundCall,
    ) -> Result<Result<BackgroundOutcome, Refusal<BackgroundRefusal>>, Failure> {
        let what = "a call about background commands";
        match self.output_of(id, required, &scripts::background_command(call), what).await? {
            Err(refusal) => Ok(Err(refusal.map(BackgroundRefusal::Command))),
            Ok(output) => scripts::read_background_outcome(&output, call)
                .map(|outcome| outcome.map_err(Refusal::Call))
                .ok_or_else(|| unreadable("the output of a call about background commands")),
        }
    }

    async fn run_checkpoint(
        &self,
        id: &SandboxId,
        dir: &Directory,
        required: &RequiredContainer,
        call: &CheckpointCall,
    ) -> Result<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>, Failure> {
        let script = checkpoints::command(dir, required, call);
        let stdout = self.run_in(id, &script, checkpoints::TIMEOUT_MILLIS, required.identity()).await?;
        checkpoints::read_answer(&stdout, call)
    }
}

impl SandboxStubs {
    /// Runs a command to its end, and returns its standard output.
    async fn output_of(
        &self,
        id: &SandboxId,
        required: &RequiredContainer,
        command: &ContainerCommand,
        what: &str,
    ) -> Result<Result<Vec<u8>, Refusal<CommandRefusal>>, Failure> {
        let mut running = self.run_command(id, required, command).await?;
        let mut output = Vec::new();
        while let Some(event) = running.next().await? {
            match event {
                CommandEvent::Refused(refusal) => return Ok(Err(refusal)),
                CommandEvent::Output(OutputStream::Stdout, bytes) => scripts::collect_output(&mut output, &bytes)?,
                CommandEvent::Started | CommandEvent::Output(OutputStream::Stderr, _) => {}
                CommandEvent::Ended { timed_out: true, .. } => {
                    return Err(Failure::timed_out(what, Duration::from_secs(command.timeout_seconds.into())));
                }
                CommandEvent::Ended { .. } => return Ok(Ok(output)),
            }
        }
        Err(Failure::new("Error", "The container ended during the call.").with_code("OPERATION_INTERRUPTED"))
    }
}
