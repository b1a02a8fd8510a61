//! The attempts to run something in the container that has the files of a sandbox.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::FutureExt;

use crate::model::exec_call::{ExecPurpose, ObservedForExec, PrepareExecRequest, PreparedExec};
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::{ReviveRequest, SandboxSelection, SandboxTarget};
use crate::model::required_container::{Refusal, RequiredContainer};
use crate::model::{Code, Error, Result, SandboxId};
use crate::ports::{Background, NamedWorkspaceClient, Ports, SandboxLedgerClient};
use crate::service::container::guard::call_in_container;

/// The sandbox that something is to run in.
pub(in crate::service) struct Destination {
    /// The sandbox, or the workspace that it belongs to.
    pub target: SandboxTarget,
    /// The request to revive the sandbox if its files are gone.
    pub revive: Option<ReviveRequest>,
    /// Whether there can be only one attempt: the sandbox is then verified first.
    pub once: bool,
}

/// Runs `work` in the sandbox of a destination. Starts the workspace if it is not active, and revives the sandbox if its files
/// are gone. If its container had ended, so that nothing ran, does so again, and runs `work`
/// again. An error of `work` says how the sandbox was started for it.
pub(in crate::service) async fn in_sandbox<P: Ports, T>(
    ports: &P,
    destination: &Destination,
    mut work: impl AsyncFnMut(ResumedWorkspace) -> Result<T>,
) -> Result<T> {
    let Destination { target, revive, once } = destination;
    // A command in a container that has just ended would start another one, which the revival of another caller destroys.
    let verify = *once || revive.is_some();
    let mut attempt = async |verify| {
        let found = find_sandbox(ports, destination, verify).await?;
        let started = found.started.clone();
        work(found).await.map_err(|error| error.after_start(started))
    };
    match attempt(verify).await {
        Err(error) if is_gone(&error) && (matches!(target, SandboxTarget::Named(_)) || revive.is_some()) && !once => {
            attempt(true).await
        }
        outcome => outcome,
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error.code(), Code::SandboxNotRunning | Code::SandboxReplaced | Code::SandboxStarting)
}

/// Returns the sandbox of a destination. Starts the workspace if it is not active; with `verify`, also if its sandbox is not
/// running with the files in place, and revives a sandbox whose files are gone.
async fn find_sandbox<P: Ports>(ports: &P, destination: &Destination, verify: bool) -> Result<ResumedWorkspace> {
    let id = match &destination.target {
        SandboxTarget::Named(address) => return ports.named_workspaces()?.resume(address, verify).await,
        SandboxTarget::Sandbox(id) => id,
    };
    let started = match &destination.revive {
        Some(request) if verify => ports.sandbox_ledgers()?.revive(request).await?.started(),
        _ => None,
    };
    Ok(ResumedWorkspace { sandbox_id: id.clone(), env: BTreeMap::new(), started })
}

/// Returns in which container of a sandbox a command may run.
pub(in crate::service) async fn prepare<P: Ports>(
    ports: &P,
    id: &SandboxId,
    selection: &SandboxSelection,
    purpose: ExecPurpose,
) -> Result<PreparedExec> {
    let scope = &selection.lineage_scope;
    let lineage_scope = scope.sandbox_id.clone().filter(|_| !scope.allow_cross_lineage);
    let request = PrepareExecRequest { runtime: selection.runtime, lineage_scope, purpose };
    ports.sandbox_ledgers()?.prepare_exec(id, &request).await
}

/// Makes a call in the container of `prepared`.
///
/// # Errors
/// [`Code::SandboxReplaced`]
pub(in crate::service) async fn in_container<P: Ports, T, R>(
    ports: &Rc<P>,
    id: &SandboxId,
    prepared: &PreparedExec,
    call: impl AsyncFnMut(&RequiredContainer) -> Result<Result<T, Refusal<R>>>,
) -> Result<Result<T, R>> {
    let ledgers = ports.sandbox_ledgers()?;
    let verify_age = async || match prepared.observed {
        Some(observed) => ledgers.confirm_exec(id, observed).await,
        None => Ok(()),
    };
    let flag_other = async || ledgers.flag_replaced(id).await;
    let outcome = call_in_container(prepared.container.clone(), call, verify_age, flag_other).await?;
    if let (Some(observed), Ok(_)) = (prepared.observed, &outcome) {
        confirm_in_background(ports, id.clone(), ObservedForExec { runs: true, ..observed });
    }
    Ok(outcome)
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
