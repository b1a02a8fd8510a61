//! `revive`: restores the files of a sandbox that has lost them.

use sandbox_snapshotter_client::model::Code;
use sandbox_snapshotter_client::model::named::{Address, WorkspaceName};
use sandbox_snapshotter_client::model::request::{ReviveRequest, SandboxTarget};
use sandbox_snapshotter_client::model::revive::RevivedSandbox;

use super::context::{Context, key_or_new};
use super::target::{parse_target, to_target};
use crate::args::revive::Revive;
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// Runs the command.
pub fn run(context: &Context, command: Revive) -> Result<Exit> {
    let sandbox = match parse_target(&command.target)? {
        SandboxTarget::Sandbox(id) => id,
        SandboxTarget::Named(address) => return Err(of_workspace(&address)),
    };
    let request = ReviveRequest {
        on_diverged: command.on_diverged.map(Into::into).unwrap_or_default(),
        on_image_change: command.on_image_change.map(Into::into).unwrap_or_default(),
        idempotency_key: key_or_new(command.key)?,
        lineage_scope: context.lineage_scope(&command.lineage_scope)?,
        ..ReviveRequest::of(sandbox)
    };
    let revived = context.call_mutating("revive", &request).map_err(|failure| {
        let is_not_running = failure.code() == Some(Code::SandboxNotRunning.as_str());
        match WorkspaceName::parse(&command.target) {
            Ok(name) if is_not_running && context.is_workspace(name.as_str()) => {
                of_workspace(&Address::in_default_tenant(name))
            }
            _ => failure,
        }
    });
    let revived = revived?;
    context.show::<RevivedSandbox>(&revived)?;
    context.warn_of_loss(revived.value.started().as_ref());
    Ok(Exit::Done)
}

/// Returns the failure for a named workspace, which is started instead.
fn of_workspace(address: &Address) -> Failure {
    let message = "`snapshotter revive` is only for sandboxes without a named workspace.";
    let remediation = format!("Start the workspace: `snapshotter workspace start {}`.", to_target(address));
    Failure::invalid("INVALID_USAGE", message, remediation)
}
