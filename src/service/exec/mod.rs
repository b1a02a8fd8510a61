//! Runs the commands of callers in sandboxes.
//!
//! - [`attempts`]: the attempts to run something in the container of a sandbox
//! - [`background`]: commands that run while no caller waits for them
//! - [`prepare`]: in which container of a sandbox a command may run
//! - [`running`]: a command that runs, and its end
//!
//! The entrypoint runs the command, so that its output does not pass through the objects of this Worker. They decide in
//! which container: a workspace that is not running is started first. The command checks the container before it does
//! anything: a container that ended in the meantime is reported.

pub(super) mod attempts;
pub mod background;
mod prepare;
mod running;

use std::collections::BTreeMap;
use std::rc::Rc;

pub use self::running::Execution;

use self::attempts::Destination;
use self::running::KillGuard;
use super::calls::failures::{During, from_sandbox};
use super::{CancellationToken, draw_random};
use crate::model::exec::{CollectedOutput, ExecEvent, ExecResult};
use crate::model::exec_call::{
    CommandEvent, CommandInput, CommandRefusal, ContainerCommand, ExecPurpose, MAX_COMMANDS, PreparedExec, Program,
};
use crate::model::named::WorkspaceName;
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::{ExecRequest, ReviveRequest, SandboxTarget};
use crate::model::required_container::RequiredContainer;
use crate::model::{Code, Directory, Error, Result, SandboxId, ShortId};
use crate::ports::{CallerCommands, InputOf, Ports, RunningCommand};

/// The prefix of the files with the inputs of commands. They are outside of every directory that can be captured.
pub(super) const INPUT_FILE: &str = "/run/sandbox-snapshotter.input.";

/// Runs a command to its end.
///
/// # Errors
/// [`Code::Aborted`] when the caller cancels the call. The command is killed then.
pub async fn exec<P: Ports>(ports: Rc<P>, request: ExecRequest, abort: CancellationToken) -> Result<ExecResult> {
    let mut output = CollectedOutput::new(request.max_output_bytes as usize);
    let work = async move {
        let mut execution = start(ports, request, None, CancellationToken::never()).await?;
        loop {
            match execution.next().await? {
                ExecEvent::Output(stream, bytes) => output.add(stream, &bytes),
                ExecEvent::Exit(exit) => return Ok(output.into_result(exit)),
                ExecEvent::Failed(_) => return Err(Error::internal()),
            }
        }
    };
    // The execution is dropped with the work, and so the command is killed.
    abort.unless_cancelled(work).await.unwrap_or_else(|| Err(Error::exec_cancelled()))
}

/// Starts a command, and returns it when it runs. `input` is its standard input, if the request contains none. Where the
/// caller cancels the call, the command is killed.
pub async fn start<P: Ports>(
    ports: Rc<P>,
    request: ExecRequest,
    mut input: Option<InputOf<P>>,
    abort: CancellationToken,
) -> Result<Execution<P>> {
    // A stream is read only once, so there is no second attempt.
    let destination =
        Destination { target: request.selection.target()?, revive: revive_request(&request), once: input.is_some() };
    let work = async |found: ResumedWorkspace| {
        let id = found.sandbox_id.clone();
        let started = start_in(&ports, &request, found, input.take(), &abort).await;
        if started.as_ref().is_err_and(|error| error.code() == Code::OperationInterrupted) {
            running::observe_end(&*ports, &id).await;
        }
        started
    };
    attempts::in_sandbox(&*ports, &destination, work).await
}

/// Returns the request to revive the sandbox of a command, if its caller wants that.
fn revive_request(request: &ExecRequest) -> Option<ReviveRequest> {
    let ExecRequest { selection, revive, .. } = request;
    let sandbox_id = selection.sandbox_id.clone().filter(|_| *revive)?;
    Some(ReviveRequest { lineage_scope: selection.lineage_scope.clone(), ..ReviveRequest::of(sandbox_id) })
}

/// Starts a command in the running container of a sandbox.
async fn start_in<P: Ports>(
    ports: &Rc<P>,
    request: &ExecRequest,
    sandbox: ResumedWorkspace,
    input: Option<InputOf<P>>,
    abort: &CancellationToken,
) -> Result<Execution<P>> {
    let ResumedWorkspace { sandbox_id: id, env, started } = sandbox;
    let prepared = attempts::prepare(&**ports, &id, &request.selection, ExecPurpose::Command).await?;
    let sandboxes = ports.sandboxes(prepared.runtime)?;
    let failed = |failure| from_sandbox(failure, &id, During::Exec);
    let mut command = container_command(&**ports, request, &prepared, env)?;
    if let Some(input) = input {
        let path = format!("{INPUT_FILE}{}", command.id);
        sandboxes.write_input(&id, &path, input).await.map_err(failed)?;
        command.stdin = CommandInput::File(path);
    }
    let attempt = async |required: &RequiredContainer| {
        let guard = KillGuard::new(ports, prepared.runtime, &id, &command.id, abort.clone());
        let mut running = sandboxes.run_command(&id, required, &command).await.map_err(failed)?;
        match running.next().await.map_err(failed)? {
            Some(CommandEvent::Started) => Ok(Ok((running, guard))),
            Some(CommandEvent::Refused(refusal)) => {
                guard.end();
                Ok(Err(refusal))
            }
            _ => Err(Error::exec_interrupted(&id)),
        }
    };
    match attempts::in_container(ports, &id, &prepared, attempt).await? {
        Ok((running, guard)) => {
            let workspace = match request.selection.target()? {
                SandboxTarget::Named(address) => Some(address),
                SandboxTarget::Sandbox(_) => None,
            };
            Ok(Execution::new(ports, (id, workspace), running, request.timeout_seconds, started, guard))
        }
        Err(refusal) => {
            let place = (&prepared.dir, request.cwd.as_deref());
            Err(refusal_error(&refusal, &id, request.selection.name.as_ref(), place))
        }
    }
}

/// Returns the error of a command that was refused in the required container of a sandbox, or of the workspace
/// `workspace`. Without a working directory of its own, it was to run in `dir`.
pub(super) fn refusal_error(
    refusal: &CommandRefusal,
    id: &SandboxId,
    workspace: Option<&WorkspaceName>,
    (dir, cwd): (&Directory, Option<&str>),
) -> Error {
    match refusal {
        CommandRefusal::TooMany => Error::too_many_commands(id, MAX_COMMANDS),
        CommandRefusal::Hidden => Error::unmounted_directory(dir),
        CommandRefusal::NoDirectory if workspace.is_some() && cwd.is_none() => Error::directory_missing(dir),
        CommandRefusal::NoDirectory => Error::cwd_not_found(id, workspace, cwd.unwrap_or(dir.as_str())),
        CommandRefusal::Cancelled => Error::exec_cancelled(),
    }
}

/// Returns the command of a request.
fn container_command<P: Ports>(
    ports: &P,
    request: &ExecRequest,
    prepared: &PreparedExec,
    mut env: BTreeMap<String, String>,
) -> Result<ContainerCommand> {
    env.extend(request.env.clone().unwrap_or_default());
    Ok(ContainerCommand {
        id: draw_random(ports, ShortId::from_random)?.as_str().to_owned(),
        program: Program::of(request.command.as_ref(), &request.argv),
        dir: prepared.dir.clone(),
        cwd: request.cwd.clone(),
        env,
        stdin: CommandInput::Text(request.stdin.clone().unwrap_or_default()),
        timeout_seconds: request.timeout_seconds,
    })
}
