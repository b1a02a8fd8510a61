//! The commands with which a workspace continues in another sandbox, or with other settings: `rollback`, `update` and `promote`.

use sandbox_snapshotter_client::Options;
use sandbox_snapshotter_client::model::named::answer::WorkspaceDescription;
use sandbox_snapshotter_client::model::named::{Address, WorkspaceName};
use sandbox_snapshotter_client::model::request::{
    ForkFrom, PromoteFrom, PromoteRequest, SettingsUpdate, SnapshotText, UpdateRequest,
};
use sandbox_snapshotter_client::model::{Code, SnapshotId};

use super::context::{Context, key_or_new};
use super::settings::settings_update;
use super::target::{name_in_tenant, parse_address};
use crate::args::workspace::{Promote, Rollback, Update};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::loss::switch_warning;
use crate::output::switched::{SwitchedWorkspace, UpdatedWorkspace};
use crate::quoting::shell_words;

/// `workspace update`
pub(super) fn update(context: &Context, command: &Update) -> Result<Exit> {
    let address = parse_address(&command.name)?;
    let current_snapshot_id = match &command.back_to {
        Some(snapshot) => Some(context.find_in_workspace(&address, snapshot)?),
        None => None,
    };
    let snapshot_id = current_snapshot_id.clone();
    let present = if command.settings.changes_part() { Some(context.workspace(&address)?) } else { None };
    let request = UpdateRequest {
        current_snapshot_id: current_snapshot_id.map(SnapshotText::Id),
        accept_stale: command.accept_stale,
        ..UpdateRequest::of(address, settings_update(&command.settings, present.as_ref())?)
    };
    if let Some(snapshot) = &command.back_to {
        let files = format!("rolled back to {snapshot}");
        return show_switched(context, "workspaces/update", &request, (files, None), snapshot_id);
    }
    let mut updated = context.call_mutating::<UpdatedWorkspace>("workspaces/update", &request)?;
    updated.value.changed = request.settings;
    if updated.value.changed.persistent == Some(false) {
        let warning = "a stop of the workspace saves nothing from now on: its files are lost then";
        context.warn_except_in_json(Some(warning.to_owned()));
    }
    context.show(&updated)
}

/// `workspace rollback`
pub(super) fn rollback(context: &Context, command: &Rollback) -> Result<Exit> {
    let Rollback { name, snapshot, .. } = command;
    let address = parse_address(name)?;
    let found = context.find_in_workspace(&address, snapshot);
    let found = found.map_err(|failure| context.suggest_order(failure, name, snapshot))?;
    let request = UpdateRequest {
        current_snapshot_id: Some(found.clone().into()),
        accept_stale: command.accept_stale,
        ..UpdateRequest::of(address, SettingsUpdate::default())
    };
    let files = if snapshot == ForkFrom::LATEST {
        format!("rolled back to {found}, which is `{snapshot}`")
    } else {
        format!("rolled back to {snapshot}")
    };
    show_switched(context, "workspaces/update", &request, (files, None), Some(found))
}

/// `workspace promote`
pub(super) fn promote(context: &Context, command: Promote) -> Result<Exit> {
    let address = parse_address(&command.name)?;
    let from = match &command.snapshot {
        Some(snapshot) => PromoteFrom::Snapshot(context.find_of_target(&command.from, snapshot)?.into()),
        None => promoted(context, &address, &command.from)?,
    };
    let promoted = match &from {
        PromoteFrom::Snapshot(snapshot) => snapshot.snapshot_id().cloned(),
        PromoteFrom::Workspace(_) => None,
    };
    let request = PromoteRequest {
        accept_stale: command.accept_stale,
        idempotency_key: key_or_new(command.key)?,
        ..PromoteRequest::of(address.clone(), from)
    };
    let snapshot = command.snapshot.map(|snapshot| format!("{snapshot:?} of ")).unwrap_or_default();
    let files = format!("promoted from {snapshot}{}, which stays as it is", command.from);
    show_switched(context, "workspaces/promote", &request, (files, Some(&command.from)), promoted)
        .map_err(|failure| context.suggest_snapshot(failure, &command.from))
}

/// Returns the workspace or the snapshot to promote. A text without `@` that is the name of no workspace may be the label of a
/// snapshot of the workspace that gets the files.
fn promoted(context: &Context, address: &Address, from: &str) -> Result<PromoteFrom> {
    if from.starts_with('@') || from.contains('/') {
        let name = name_in_tenant(from, &address.tenant);
        return Ok(PromoteFrom::Workspace(name.map_err(|failure| with_snapshot(failure, from))?));
    }
    if let Ok(snapshot @ (SnapshotText::Id(_) | SnapshotText::Short(_))) = SnapshotText::parse(from) {
        return Ok(PromoteFrom::Snapshot(snapshot));
    }
    let name = WorkspaceName::parse(from);
    if let Ok(name) = &name {
        let other = Address { name: name.clone(), tenant: address.tenant.clone() };
        match context.call_without_suggestions::<WorkspaceDescription>("workspaces/getByName", &other) {
            Err(failure) if failure.code() == Some(Code::WorkspaceNotFound.as_str()) => {}
            _ => return Ok(PromoteFrom::Workspace(other.name)),
        }
    }
    match (context.find_in_workspace(address, from), name) {
        // The failure of the promotion suggests a workspace.
        (Err(failure), Ok(name)) if failure.code() == Some(Code::SnapshotNotFound.as_str()) => {
            Ok(PromoteFrom::Workspace(name))
        }
        (found, _) => found.map(|id| PromoteFrom::Snapshot(id.into())),
    }
}

/// Adds how to name a snapshot to the failure of a text that may be a workspace and its snapshot, as in `@name:label`.
fn with_snapshot(failure: Failure, from: &str) -> Failure {
    let Some((workspace, snapshot)) = from.split_once([':', '/']).filter(|(workspace, _)| workspace.starts_with('@'))
    else {
        return failure;
    };
    let options = shell_words(["--from", workspace, "--snapshot", snapshot]);
    failure.with_remediation(format!("Name a workspace of the same tenant; or a snapshot of one: `{options}`."))
}

/// Calls an operation with which a workspace continues in another sandbox, and prints what happened to its `files`, and what may be
/// lost of what was promoted.
fn show_switched(
    context: &Context,
    operation: &str,
    request: &impl Options,
    (files, promoted): (String, Option<&str>),
    snapshot: Option<SnapshotId>,
) -> Result<Exit> {
    let mut answer = context.call_mutating::<SwitchedWorkspace>(operation, request)?;
    answer.value.files = files;
    context.show(&answer)?;
    context.warn_except_in_json(switch_warning(&answer.value.description, promoted));
    match snapshot {
        Some(id) => context.warn_of_left_out(&answer.value.description.sandbox_id, &id),
        None => context.warn_of_left_out_of(&answer.value.description),
    }
    Ok(Exit::Done)
}
