//! Runs the commands of callers in sandboxes.
//!
//! - [`prepare`]: in which container of a sandbox a command may run
//! - [`running`]: a command that runs, and its end
//!
//! The entrypoint runs the command, so that its output does not pass through the objects of this Worker. They decide in
//! which container: a workspace that is not running is started first. The command checks the container before it does
//! anything: a container that ended in the meantime is reported.

mod prepare;
mod running;

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{Either, select};

pub use self::running::Execution;

use self::running::KillGuard;
use super::calls::failures::{During, from_sandbox};
use super::{CancellationToken, draw_random};
use crate::model::exec::{CollectedOutput, ExecEvent, ExecResult};
use crate::model::exec_call::{
    CommandEvent, CommandInput, CommandRefusal, ContainerCommand, ExecContainer, MAX_COMMANDS, ObservedForExec,
    PrepareExecRequest, PreparedExec, Program,
};
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::{ExecRequest, ExecTarget};
use crate::model::{Code, Error, Result, SandboxId, ShortId};
use crate::ports::{Background, InputOf, NamedWorkspaceClient, Ports, RunningCommand, SandboxLedgerClient, Sandboxes};

/// The longest time from the start of a container until a command runs in it, in milliseconds.
const MAX_START_MILLIS: i64 = 20_000;

/// The prefix of the files with the inputs of commands. They are outside of every directory that can be captured.
const INPUT_FILE: &str = "/run/sandbox-snapshotter.input.";

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
    match select(work.boxed_local(), abort.cancelled().boxed_local()).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(((), _)) => Err(Error::exec_cancelled()),
    }
}

/// Starts a command, and returns it when it runs. `input` is its standard input, if the request contains none. Where the
/// caller cancels the call, the command is killed.
pub async fn start<P: Ports>(
    ports: Rc<P>,
    request: ExecRequest,
    input: Option<InputOf<P>>,
    abort: CancellationToken,
) -> Result<Execution<P>> {
    let target = request.target()?;
    // A stream is read only once, so there is no second attempt.
    let verify = input.is_some();
    let found = find_sandbox(&*ports, &target, verify).await?;
    match start_in(&ports, &request, found, input, &abort).await {
        // Nothing ran: the container of the active workspace had ended.
        Err(error) if is_gone(&error) && matches!(target, ExecTarget::Named(_)) && !verify => {
            let found = find_sandbox(&*ports, &target, true).await?;
            start_in(&ports, &request, found, None, &abort).await
        }
        outcome => outcome,
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxReplaced | Code::SandboxStarting)
}

/// Returns the sandbox of a command. Starts the workspace if it is not active; with `verify`, also if its sandbox is not
/// running with the files in place.
async fn find_sandbox<P: Ports>(ports: &P, target: &ExecTarget, verify: bool) -> Result<ResumedWorkspace> {
    match target {
        ExecTarget::Named(address) => ports.named_workspaces()?.resume(address, verify).await,
        ExecTarget::Sandbox(id) => Ok(ResumedWorkspace { sandbox_id: id.clone(), env: BTreeMap::new(), started: None }),
    }
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
    let ledgers = ports.sandbox_ledgers()?;
    let scope = &request.lineage_scope;
    let lineage_scope = scope.sandbox_id.clone().filter(|_| !scope.allow_cross_lineage);
    let prepare = PrepareExecRequest { runtime: request.runtime, lineage_scope };
    let prepared = ledgers.prepare_exec(&id, &prepare).await?;
    let sandboxes = ports.sandboxes(prepared.runtime)?;
    let failed = |failure| from_sandbox(failure, &id, During::Exec);
    let mut command = container_command(&**ports, request, &prepared, env)?;
    if let Some(input) = input {
        let path = format!("{INPUT_FILE}{}", command.id);
        sandboxes.write_input(&id, &path, input).await.map_err(failed)?;
        command.stdin = CommandInput::File(path);
    }
    let mut container = match &prepared.container {
        ExecContainer::OlderThan { millis } => {
            ExecContainer::OlderThan { millis: millis.saturating_add(MAX_START_MILLIS) }
        }
        container => container.clone(),
    };
    let mut observed = prepared.observed;
    loop {
        let guard = KillGuard::new(ports, prepared.runtime, &id, &command.id, abort.clone());
        let mut running = sandboxes.run_command(&id, &container, &command).await.map_err(failed)?;
        let refusal = match running.next().await.map_err(failed)? {
            Some(CommandEvent::Started) => {
                if let Some(observed) = prepared.observed {
                    confirm_in_background(ports, id.clone(), ObservedForExec { runs: true, ..observed });
                }
                return Ok(Execution::new(ports, id, running, request.timeout_seconds, started, guard));
            }
            Some(CommandEvent::Refused(refusal)) => refusal,
            _ => return Err(Error::exec_interrupted(&id)),
        };
        guard.end();
        match (refusal, observed.take()) {
            // The script cannot distinguish a container in its first seconds from one that started for the command. The
            // age of the observed one only grows, so the next attempt can require this one.
            (CommandRefusal::TooYoung { age_millis }, Some(observed)) => {
                ledgers.confirm_exec(&id, observed).await?;
                container = ExecContainer::OlderThan { millis: age_millis };
            }
            (CommandRefusal::TooYoung { .. } | CommandRefusal::OtherContainer, _) => {
                return Err(ledgers.flag_replaced(&id).await?);
            }
            (CommandRefusal::TooMany, _) => return Err(Error::too_many_commands(&id, MAX_COMMANDS)),
            (CommandRefusal::NoDirectory, _) => {
                return Err(Error::cwd_not_found(&id, request.cwd.as_deref().unwrap_or(prepared.dir.as_str())));
            }
            (CommandRefusal::Cancelled, _) => return Err(Error::exec_cancelled()),
        }
    }
}

/// Has the ledger of a sandbox verify the container of a command that runs. The alarm repeats what fails here.
fn confirm_in_background<P: Ports>(ports: &Rc<P>, id: SandboxId, observed: ObservedForExec) {
    let own = Rc::clone(ports);
    let confirm = async move {
        if let Ok(ledgers) = own.sandbox_ledgers() {
            drop(ledgers.confirm_exec(&id, observed).await);
        }
    };
    ports.background().run(confirm.boxed_local());
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
        program: match &request.command {
            Some(line) => Program::Shell(line.clone()),
            None => Program::Argv(request.argv.clone()),
        },
        dir: prepared.dir.clone(),
        cwd: request.cwd.clone(),
        env,
        stdin: CommandInput::Text(request.stdin.clone().unwrap_or_default()),
        timeout_seconds: request.timeout_seconds,
    })
}
