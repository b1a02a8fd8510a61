//! A command that runs, and its end.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, select};

use crate::model::exec::{ExecEvent, ExecExit, StartedForExec};
use crate::model::exec_call::CommandEvent;
use crate::model::named::Address;
use crate::model::{Code, Error, Failure, Result, Runtime, SandboxId, Status, Timestamp};
use crate::ports::{
    Background, CallerCommands, Clock, NamedWorkspaceClient, Ports, RunningCommand, RunningCommandOf,
    SandboxLedgerClient, Sandboxes,
};
use crate::service::CancellationToken;
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::calls::limits::CallKind;

/// How often the status of a sandbox is read after the output of a command broke off.
const END_CHECKS: u32 = 10;

/// The time between two of these checks.
const END_CHECK_WAIT: Duration = Duration::from_millis(200);

/// Kills a command in the background if its caller cancels it, or if the guard is dropped before the command has ended.
pub(super) struct KillGuard(Option<oneshot::Sender<()>>);

impl KillGuard {
    /// Returns a guard of a command that is about to start in a sandbox.
    pub fn new<P: Ports>(
        ports: &Rc<P>,
        runtime: Option<Runtime>,
        id: &SandboxId,
        command_id: &str,
        abort: CancellationToken,
    ) -> Self {
        let (sender, is_ended) = oneshot::channel();
        let (own, id, command_id) = (Rc::clone(ports), id.clone(), command_id.to_owned());
        let watch = async move {
            // After the caller has disconnected, nothing reads the events, so the command is not dropped.
            if let Either::Left((Ok(()), _)) = select(is_ended, abort.cancelled().boxed_local()).await {
                return;
            }
            let Ok(sandboxes) = own.sandboxes(runtime) else { return };
            // The command of a container that ended needs no end, and a call would start another container. Where the status
            // is that of a container that ends just now, its identity prevents that.
            if let Ok(status) = sandboxes.status(&id).await
                && status.status != Status::Down
            {
                drop(sandboxes.kill_command(&id, &command_id, status.identity()).await);
            }
        };
        ports.background().run(watch.boxed_local());
        Self(Some(sender))
    }

    /// Ends the guard of a command that has ended.
    pub fn end(mut self) {
        if let Some(sender) = self.0.take() {
            // If this fails, the runtime has ended the background work.
            let _ = sender.send(());
        }
    }
}

/// A command that runs in a sandbox. If it is dropped before its end, the command is killed.
pub struct Execution<P: Ports> {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// The workspace that the caller named.
    workspace: Option<Address>,
    command: RunningCommandOf<P>,
    started: Option<StartedForExec>,
    ports: Rc<P>,
    began_at: Timestamp,
    timed_out: Shared<LocalBoxFuture<'static, ()>>,
    limit: CallKind,
    guard: Option<KillGuard>,
}

impl<P: Ports> Execution<P> {
    /// Returns the command `command`, which has started in the sandbox `sandbox_id` of the workspace `workspace`.
    pub(super) fn new(
        ports: &Rc<P>,
        (sandbox_id, workspace): (SandboxId, Option<Address>),
        command: RunningCommandOf<P>,
        timeout_seconds: u32,
        started: Option<StartedForExec>,
        guard: KillGuard,
    ) -> Self {
        let limit = CallKind::Exec(timeout_seconds);
        let clock = Rc::clone(ports);
        let timed_out = async move { clock.clock().deadline(limit.limit()).await }.boxed_local().shared();
        let began_at = ports.clock().now();
        let (ports, guard) = (Rc::clone(ports), Some(guard));
        Self { sandbox_id, workspace, command, started, ports, began_at, timed_out, limit, guard }
    }

    /// Returns the next event. The last one is [`ExecEvent::Exit`].
    ///
    /// # Errors
    /// [`Code::OperationInterrupted`](crate::model::Code::OperationInterrupted) if the container ends before the command.
    pub async fn next(&mut self) -> Result<ExecEvent> {
        self.next_event().await.map_err(|error| error.after_start(self.started.take()))
    }

    async fn next_event(&mut self) -> Result<ExecEvent> {
        let event = match select(pin!(self.command.next()), self.timed_out.clone()).await {
            Either::Left((event, _)) => event,
            Either::Right(((), _)) => Err(Failure::timed_out("the command", self.limit.limit())),
        };
        match event {
            Ok(Some(CommandEvent::Output(stream, bytes))) => Ok(ExecEvent::Output(stream, bytes)),
            Ok(Some(CommandEvent::Ended { exit_code, timed_out })) => {
                if let Some(guard) = self.guard.take() {
                    guard.end();
                }
                let millis = self.ports.clock().now().millis_since(self.began_at);
                Ok(ExecEvent::Exit(ExecExit {
                    sandbox_id: self.sandbox_id.clone(),
                    exit_code,
                    timed_out,
                    duration_ms: u64::try_from(millis).unwrap_or_default(),
                    started: self.started.take(),
                }))
            }
            Ok(Some(CommandEvent::Started | CommandEvent::Refused(_))) => Err(Error::internal()),
            Ok(None) => Err(self.interruption().await),
            Err(failure) if failure.is_timed_out() => Err(from_sandbox(failure, &self.sandbox_id, During::Exec)),
            Err(failure) => Err(self.interruption().await.caused_by(failure)),
        }
    }

    /// Returns the error of a command whose output ended before the command did: whether a stop, a rollback or the deletion of the
    /// workspace ended it.
    async fn interruption(&self) -> Error {
        if let (Some(address), Ok(workspaces)) = (&self.workspace, self.ports.named_workspaces()) {
            match workspaces.is_stopped(address).await {
                Ok(true) => return Error::exec_stopped(&self.sandbox_id, address),
                Err(error) if error.code() == Code::WorkspaceNotFound => {
                    return Error::exec_deleted(&self.sandbox_id, address);
                }
                Ok(false) | Err(_) => {}
            }
            if workspaces.sandbox_ids(address).await.is_ok_and(|ids| ids.first() != Some(&self.sandbox_id)) {
                return Error::exec_moved(&self.sandbox_id, address);
            }
        }
        observe_end(&*self.ports, &self.sandbox_id).await;
        Error::exec_interrupted(&self.sandbox_id)
    }
}

/// Waits until the status of a sandbox says that its container has ended, for about 2 seconds: the output of a command breaks off
/// a moment earlier, and the next call would take the container for a running one. Reads only the status, which starts nothing.
pub(super) async fn observe_end<P: Ports>(ports: &P, id: &SandboxId) {
    let Ok(ledgers) = ports.sandbox_ledgers() else { return };
    for _ in 0..END_CHECKS {
        if ledgers.has_ended(id).await.unwrap_or(true) {
            return;
        }
        ports.clock().sleep(END_CHECK_WAIT).await;
    }
}
