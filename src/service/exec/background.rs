//! Background commands. A short command in the container starts, lists, reads or ends them, so they need no connection and
//! no object of this Worker.

use std::rc::Rc;

use super::attempts::{Destination, in_container, in_sandbox, prepare};
use super::refusal_error;
use crate::model::background::{BackgroundCommand, CommandDescription, CommandId, CommandList, CommandOutput};
use crate::model::background_call::{
    BackgroundAction, BackgroundCall, BackgroundOutcome, BackgroundRefusal, BackgroundStart, MAX_BACKGROUND, OutputPart,
};
use crate::model::exec::StartedForExec;
use crate::model::exec_call::{ExecPurpose, PreparedExec, Program};
use crate::model::named::WorkspaceName;
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::{
    CommandOutputRequest, EndCommandRequest, SandboxSelection, SandboxTarget, StartCommandRequest,
};
use crate::model::required_container::RequiredContainer;
use crate::model::{Code, Error, Result, SandboxId, ShortId};
use crate::ports::{CallerCommands, NamedWorkspaceClient, Ports};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::draw_random;

/// Starts a command. A workspace that is not running is started first.
pub async fn start<P: Ports>(ports: &Rc<P>, request: StartCommandRequest) -> Result<CommandDescription> {
    let destination = Destination { target: request.selection.target()?, revive: None, once: false };
    let work = async |found| start_in(ports, &request, found).await;
    in_sandbox(&**ports, &destination, work).await
}

async fn start_in<P: Ports>(
    ports: &Rc<P>,
    request: &StartCommandRequest,
    found: ResumedWorkspace,
) -> Result<CommandDescription> {
    let ResumedWorkspace { sandbox_id: id, mut env, started } = found;
    let prepared = prepare(&**ports, &id, &request.selection, ExecPurpose::Command).await?;
    env.extend(request.env.clone().unwrap_or_default());
    let start = BackgroundStart {
        program: Program::of(request.command.as_ref(), &request.argv),
        cwd: request.cwd.clone(),
        env,
        stdin: request.stdin.clone().unwrap_or_default(),
        timeout_seconds: request.timeout_seconds,
    };
    let workspace = request.selection.name.as_ref();
    match call(ports, &id, workspace, &prepared, BackgroundAction::Start(start)).await? {
        BackgroundOutcome::Command(command) => Ok(describe(id, started, command)),
        _ => Err(Error::internal()),
    }
}

/// Lists the commands, newest first.
pub async fn list<P: Ports>(ports: &Rc<P>, selection: SandboxSelection) -> Result<CommandList> {
    match call_running(ports, &selection, BackgroundAction::List).await? {
        (sandbox_id, BackgroundOutcome::List(commands)) => Ok(CommandList { sandbox_id, commands }),
        _ => Err(Error::internal()),
    }
}

/// Returns a part of an output.
pub async fn output<P: Ports>(ports: &Rc<P>, request: CommandOutputRequest) -> Result<CommandOutput> {
    let CommandOutputRequest { selection, command_id, stream, offset, length, wait_seconds } = request;
    let part = OutputPart { command_id, stream, offset, length, wait_seconds };
    match call_running(ports, &selection, BackgroundAction::Read(part)).await? {
        (id, BackgroundOutcome::Output(command, bytes)) => {
            Ok(CommandOutput::of(describe(id, None, command), stream, offset, bytes))
        }
        _ => Err(Error::internal()),
    }
}

/// Ends a command.
pub async fn end<P: Ports>(ports: &Rc<P>, request: EndCommandRequest) -> Result<CommandDescription> {
    let EndCommandRequest { selection, command_id, kill_signal: signal, grace_seconds } = request;
    match call_running(ports, &selection, BackgroundAction::End { command_id, signal, grace_seconds }).await? {
        (id, BackgroundOutcome::Command(command)) => Ok(describe(id, None, command)),
        _ => Err(Error::internal()),
    }
}

const fn describe(
    sandbox_id: SandboxId,
    started: Option<StartedForExec>,
    command: BackgroundCommand,
) -> CommandDescription {
    CommandDescription { sandbox_id, started, command }
}

/// Makes a call in the running container of a sandbox or a workspace. Starts nothing: the commands of a container that
/// ended have ended too.
async fn call_running<P: Ports>(
    ports: &Rc<P>,
    selection: &SandboxSelection,
    action: BackgroundAction,
) -> Result<(SandboxId, BackgroundOutcome)> {
    let id = match selection.target()? {
        SandboxTarget::Named(address) => {
            let active = ports.named_workspaces()?.active_sandbox(&address).await;
            active.map_err(|error| match error.code() {
                Code::SandboxNotRunning => error.with_remediation(
                    "Its background commands ended with its container. Start the command again: `commands.start` starts the \
                     workspace first.",
                ),
                _ => error,
            })?
        }
        SandboxTarget::Sandbox(id) => id,
    };
    let prepared = prepare(&**ports, &id, selection, ExecPurpose::BackgroundCommands).await?;
    let outcome = call(ports, &id, selection.name.as_ref(), &prepared, action).await?;
    Ok((id, outcome))
}

async fn call<P: Ports>(
    ports: &Rc<P>,
    id: &SandboxId,
    workspace: Option<&WorkspaceName>,
    prepared: &PreparedExec,
    action: BackgroundAction,
) -> Result<BackgroundOutcome> {
    let sandboxes = ports.sandboxes(prepared.runtime)?;
    let call_id = CommandId::parse(draw_random(&**ports, ShortId::from_random)?.as_str())?;
    let call = BackgroundCall { id: call_id, dir: prepared.dir.clone(), action };
    let attempt = async |required: &RequiredContainer| {
        let outcome = sandboxes.call_background(id, required, &call).await;
        outcome.map_err(|failure| from_sandbox(failure, id, During::Exec))
    };
    in_container(ports, id, prepared, attempt).await?.map_err(|refusal| error_of(&refusal, id, workspace, &call))
}

/// Returns the working directory that a call names.
fn working_directory(call: &BackgroundCall) -> Option<&str> {
    match &call.action {
        BackgroundAction::Start(BackgroundStart { cwd, .. }) => cwd.as_deref(),
        _ => None,
    }
}

fn error_of(
    refusal: &BackgroundRefusal,
    id: &SandboxId,
    workspace: Option<&WorkspaceName>,
    call: &BackgroundCall,
) -> Error {
    match (refusal, &call.action) {
        (BackgroundRefusal::Command(refusal), _) => {
            refusal_error(refusal, id, workspace, (&call.dir, working_directory(call)))
        }
        (BackgroundRefusal::TooMany, _) => Error::too_many_background_commands(id, MAX_BACKGROUND),
        (BackgroundRefusal::Failed(output), _) => Error::background_command_failed(id, output),
        (
            BackgroundRefusal::NotFound,
            BackgroundAction::Read(OutputPart { command_id, .. }) | BackgroundAction::End { command_id, .. },
        ) => Error::command_not_found(id, command_id),
        (BackgroundRefusal::NotFound, _) => Error::internal(),
    }
}
