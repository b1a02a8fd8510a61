//! The commands for named workspaces.

use std::collections::BTreeMap;

use sandbox_snapshotter_client::model::answer::Summary;
use sandbox_snapshotter_client::model::named::answer::{
    Fork as ForkResult, ForkedWorkspaces, LastSnapshot, StartedWorkspace, WorkspaceDescription, WorkspacePage,
};
use sandbox_snapshotter_client::model::named::settings::StartSettings;
use sandbox_snapshotter_client::model::named::{Address, State, Tenant, TurnEnded, WorkspaceName};
use sandbox_snapshotter_client::model::request::{
    CreateRequest, ForkFrom, ForkRequest, GetOrCreateRequest, InWorkspace, InWorkspaceBy, LineageScope,
    ListWorkspacesRequest, MigrateRequest, SnapshotText, Source as SourceRequest, StartRequest, StopRequest,
    StopSnapshot,
};
use sandbox_snapshotter_client::model::{Code, Directory, Selection, SnapshotRef, Timestamp};
use sandbox_snapshotter_client::{ErrorCode, Options};
use serde_json::json;

use super::context::{Context, key_or_new};
use super::deletion;
use super::lists;
use super::settings::{keeps_other_settings, settings_update};
use super::switch;
use super::target::{name_in_tenant, parse_address, parse_label, read_selector, to_target};
use crate::args::workspace::{Create, Fork, List, Source, Start, StartOptions, Stop, Workspace};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::answer::Answer;
use crate::output::last_snapshot::{self, Described};
use crate::output::loss::{UNSAVED, loss_warning_of, stop_warnings};
use crate::output::stopped::Stopped;
use crate::output::switched::StartedFrom;
use crate::output::{print_failure, print_warning};
use crate::quoting::shell_words;
use crate::remediation::remediation_or;

/// Runs the command.
pub fn run(context: &Context, command: Workspace) -> Result<Exit> {
    match command {
        Workspace::Create(command) => create(context, command),
        Workspace::List(command) => list(context, &command),
        Workspace::Show(command) => show(context, parse_address(&command.name)?),
        Workspace::Start(command) => start(context, command),
        Workspace::Stop(command) => stop(context, &command),
        Workspace::TurnEnded(command) => {
            context.show::<TurnEnded>(&context.call_mutating("workspaces/turnEnded", &parse_address(&command.name)?)?)
        }
        Workspace::Fork(command) => fork(context, command),
        Workspace::Rollback(command) => switch::rollback(context, &command),
        Workspace::Update(command) => switch::update(context, &command),
        Workspace::Promote(command) => switch::promote(context, command),
        Workspace::Migrate(command) => {
            let request = MigrateRequest { address: parse_address(&command.name)?, runtime: command.runtime };
            let migrated = context.call_mutating::<Stopped>("workspaces/migrate", &request)?;
            context.warn_except_in_json(stop_warnings(&migrated.value.workspace));
            context.show(&migrated)
        }
        Workspace::Delete(command) => deletion::run(context, &command),
    }
}

fn show(context: &Context, address: Address) -> Result<Exit> {
    let mut answer = context.call_read_only::<Described>("workspaces/getByName", &address)?;
    let WorkspaceDescription { last_snapshot, last_saved_at, .. } = &answer.value.workspace;
    let is_other = last_snapshot.as_ref().map(|last| last.created_at) < *last_saved_at;
    if is_other && !context.output.json && !context.output.quiet {
        answer.value.newest = newest_snapshot(context, address, *last_saved_at);
    }
    context.show(&answer)
}

/// Returns the newest snapshot of the present files of a workspace, if it was taken at this time.
fn newest_snapshot(context: &Context, address: Address, taken_at: Option<Timestamp>) -> Option<LastSnapshot> {
    let selection = InWorkspace { address, by: InWorkspaceBy::Label(parse_label(ForkFrom::LATEST).ok()?) };
    let found = context.call_without_suggestions::<Summary>("get", &selection).ok()?.value;
    let Summary { snapshot_id: id, dir, size_bytes, created_at, snapshot, .. } = found;
    let origin_id = snapshot.as_ref().map(SnapshotRef::origin_id)?.clone();
    (Some(created_at) == taken_at).then_some(LastSnapshot { id, origin_id, dir, size_bytes: size_bytes?, created_at })
}

fn create(context: &Context, command: Create) -> Result<Exit> {
    let start = start_options(&command.start_options)?;
    if !command.or_start && start != StartSettings::default() {
        let remediation = "Pass `--or-start`, or omit these options: a new workspace has nothing to restore.";
        return Err(Failure::invalid("INVALID_USAGE", "The start options require `--or-start`.", remediation));
    }
    let address = parse_address(&command.name)?;
    let create = CreateRequest {
        source: source(context, &command.source, &address)?,
        address,
        runtime: command.runtime.runtime,
        dir: command.dir.as_deref().map(Directory::parse).transpose()?,
        settings: settings_update(&command.settings, None)?,
        idempotency_key: key_or_new(command.key)?,
    };
    if command.or_start {
        let given = create.settings.clone();
        let request = GetOrCreateRequest { create, from: None, start };
        let started = context.call_mutating::<StartedWorkspace>("workspaces/getOrCreate", &request)?;
        context.show(&started)?;
        context.warn_except_in_json(loss_warning_of(&started.value.description));
        if keeps_other_settings(given, &started.value.description) {
            print_warning("the workspace existed and keeps its settings: `snapshotter workspace update` changes them");
        }
        return Ok(Exit::Done);
    }
    let created = context.call_mutating::<StartedWorkspace>("workspaces/create", &create).map_err(|failure| {
        if failure.code() != Some(Code::HookFailed.as_str()) {
            return failure;
        }
        let remediation = "Correct the command, or pass `--hook-failure warn` to create the workspace nevertheless.";
        failure.with_sentence("The workspace was not created.").with_remediation(remediation.to_owned())
    })?;
    context.show(&created)?;
    context.warn_except_in_json(loss_warning_of(&created.value.description));
    if let Some(SourceRequest::Snapshot(_)) = create.source {
        context.warn_of_left_out_of(&created.value.description);
    }
    Ok(Exit::Done)
}

fn source(context: &Context, source: &Source, address: &Address) -> Result<Option<SourceRequest>> {
    let selector = match (&source.workspace, source.snapshot.as_deref(), &source.reference) {
        (Some(name), ..) => {
            if let Some(unpack) = unpack_option(name) {
                let remediation = format!(
                    "Create it empty, then unpack the files in it: `snapshotter exec {} tar {unpack} < {}`.",
                    to_target(address),
                    shell_words([name.as_str()])
                );
                let message = "A workspace is created from another one or from a snapshot, not from a file.";
                return Err(Failure::invalid("INVALID_USAGE", message, remediation));
            }
            return Ok(Some(SourceRequest::Workspace(name_in_tenant(name, &address.tenant)?)));
        }
        (_, Some([target, snapshot]), _) => context.find_snapshot(target, snapshot, &LineageScope::UNRESTRICTED)?,
        (.., Some(path)) => read_selector(path)?,
        _ => return Ok(None),
    };
    Ok(Some(SourceRequest::Snapshot(Selection { selector, lineage_scope: LineageScope::UNRESTRICTED }.to_json())))
}

/// Returns the operation of `tar` that unpacks a file, if its name is that of a tar.
fn unpack_option(name: &str) -> Option<&'static str> {
    let is_tar = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if is_tar(&[".tar.gz", ".tgz"]) { Some("xz") } else { is_tar(&[".tar"]).then_some("x") }
}

fn start(context: &Context, command: Start) -> Result<Exit> {
    let address = parse_address(&command.name)?;
    let from = match &command.from {
        Some(snapshot) => Some(SnapshotText::Id(context.find_in_workspace(&address, snapshot)?)),
        None => None,
    };
    let request = StartRequest {
        fingerprint: command.fingerprint,
        idempotency_key: if from.is_some() { key_or_new(command.key)? } else { command.key.key },
        from,
        start: start_options(&command.options)?,
        ..StartRequest::of(address)
    };
    if request.from.is_none() {
        let started = context.call_mutating::<StartedWorkspace>("workspaces/start", &request)?;
        context.warn_except_in_json(loss_warning_of(&started.value.description));
        return context.show(&started);
    }
    let started = context.call_mutating::<StartedFrom>("workspaces/start", &request)?;
    context.show(&started)?;
    context.warn_except_in_json(loss_warning_of(&started.value.started.description));
    context.warn_of_left_out_of(&started.value.started.description);
    Ok(Exit::Done)
}

fn stop(context: &Context, command: &Stop) -> Result<Exit> {
    let snapshot = StopSnapshot {
        label: command.label.as_deref().map(parse_label).transpose()?,
        replace: command.replace,
        expiration_seconds: command.expires.map(|duration| duration.0),
    };
    let snapshot = Some(snapshot).filter(|snapshot| *snapshot != StopSnapshot::default());
    let request = StopRequest { snapshot, ..StopRequest::of(parse_address(&command.name)?) };
    if request.snapshot.is_some() && context.workspace(&request.address)?.state == State::Stopped {
        print_warning(
            "the workspace is stopped already, so no snapshot is taken, and none gets the label or the expiration",
        );
    }
    let mut stopped = context.call_mutating::<Stopped>("workspaces/stop", &request)?;
    context.warn_except_in_json(stop_warnings(&stopped.value.workspace));
    // A snapshot with a label or an expiration is taken in any case.
    stopped.value.not_saved = request.snapshot.is_none() && !stopped.value.workspace.description.persistent;
    if stopped.value.not_saved {
        let warning =
            "the files were not saved, because the workspace is not persistent; `--persistent true` changes that";
        context.warn_except_in_json(Some(warning.to_owned()));
    }
    context.show(&stopped)
}

fn start_options(given: &StartOptions) -> Result<StartSettings> {
    let expect = given.expect.iter().map(|expected| {
        let (path, hash) = expected.rsplit_once('=').ok_or_else(|| {
            let message = format!("--expect {expected:?} is not PATH=SHA256.");
            Failure::invalid(
                "INVALID_USAGE",
                message,
                "Pass a path of the dependencies and its SHA-256 hash in hexadecimal.",
            )
        })?;
        Ok((path.to_owned(), hash.to_owned()))
    });
    Ok(StartSettings {
        on_diverged: given.on_diverged.map(Into::into).unwrap_or_default(),
        allow_empty: given.allow_empty,
        accept_stale: given.accept_stale,
        expect: expect.collect::<Result<BTreeMap<_, _>>>()?,
    })
}

/// Some forks may fail while others succeed. The exit status is that of the first failed fork.
fn fork(context: &Context, command: Fork) -> Result<Exit> {
    let address = parse_address(&command.name)?;
    let from = match command.from.as_deref() {
        None => None,
        Some(ForkFrom::LATEST) => Some(ForkFrom::Latest),
        Some(snapshot) => Some(ForkFrom::Snapshot(SnapshotText::Id(context.find_in_workspace(&address, snapshot)?))),
    };
    let request = ForkRequest {
        new_name: command.new_name.as_deref().map(|name| name_in_tenant(name, &address.tenant)).transpose()?,
        count: command.count,
        from,
        copy_env: command.copy_env,
        secrets: command.secrets.map(Into::into),
        runtime: command.runtime.runtime,
        idempotency_key: key_or_new(command.key)?,
        ..ForkRequest::of(address)
    };
    let answer = context.call_mutating::<ForkedWorkspaces<StartedWorkspace>>("workspaces/fork", &request)?;
    context.output.show(&answer)?;
    let loss = || format!("in the workspace, {UNSAVED} may be lost");
    context.warn_except_in_json(answer.value.may_have_lost.then(loss));
    let failures: Vec<_> = answer.value.forks.iter().filter_map(fork_failure).collect();
    if !context.output.json {
        failures.iter().for_each(print_failure);
    }
    Ok(failures.first().map_or(Exit::Done, Failure::exit))
}

/// Returns the failure of a fork, if it failed.
fn fork_failure(fork: &ForkResult<StartedWorkspace>) -> Option<Failure> {
    let problem = fork.error.as_ref()?;
    let exit = Exit::of(&ErrorCode::Known(problem.code), problem.code.kind());
    let message = format!("{}: {}", fork.name, problem.message);
    Some(Failure::local(exit, problem.code.as_str(), message, remediation_or(problem.code, &problem.remediation)))
}

impl lists::Page for WorkspacePage {
    const ROWS: &str = "workspaces";

    fn len(&self) -> usize {
        self.workspaces.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

/// Lists all workspaces of a tenant, or one page of them.
fn list(context: &Context, command: &List) -> Result<Exit> {
    let paging = &command.paging;
    let limit = if paging.is_all() { ListWorkspacesRequest::MAX_LIMIT } else { ListWorkspacesRequest::DEFAULT_LIMIT };
    let tenant = command.tenant.as_deref().map_or_else(|| Ok(Tenant::default_tenant()), Tenant::parse)?;
    let prefix = command.prefix.clone().filter(|prefix| !prefix.is_empty());
    let of_tenant = command.tenant.as_deref().map(|tenant| format!("The tenant {tenant:?} has no workspaces."));
    let empty_message = prefix
        .as_ref()
        .map(|prefix| format!("There are no workspaces whose name begins with {prefix:?}."))
        .or(of_tenant);
    if let Some(cursor) = &paging.cursor {
        WorkspaceName::parse(cursor)?;
    }
    lists::show::<WorkspacePage>(context, paging, empty_message, |cursor| {
        let request = ListWorkspacesRequest {
            tenant: tenant.clone(),
            cursor: cursor.map(WorkspaceName::parse).transpose().map_err(|_| lists::invalid_cursor())?,
            limit: paging.limit.unwrap_or(limit),
            prefix: prefix.clone(),
        };
        let mut page = context.call_read_only::<WorkspacePage>("workspaces/list", &request)?;
        if !context.output.quiet {
            add_last_saves(context, &tenant, &mut page);
        }
        Ok(page)
    })
}

/// Adds when the newest snapshot was taken, and whether the container has ended, to the workspaces that are active, or that no stop
/// and no automatic save has saved. The list does not have the snapshots that callers take, and the ledgers do. Of a page with many
/// such workspaces, none is read.
fn add_last_saves(context: &Context, tenant: &Tenant, page: &mut Answer<WorkspacePage>) {
    let Answer { raw, value, .. } = page;
    if !last_snapshot::are_read(&value.workspaces) {
        if !context.output.json {
            print_warning(
                "SAVED leaves out the snapshots that callers took, and `?` means unknown; `snapshotter workspace show NAME` counts \
                 them",
            );
        }
        return;
    }
    let entries = value.workspaces.iter_mut().enumerate();
    let entries: Vec<_> = entries.filter(|(_, entry)| last_snapshot::may_be_newer(entry)).collect();
    let addresses = entries.iter().map(|(_, entry)| Address { tenant: tenant.clone(), name: entry.name.clone() });
    let described = context.call_each::<WorkspaceDescription>("workspaces/getByName", addresses);
    for ((index, entry), described) in entries.into_iter().zip(described) {
        // The workspace may be deleted by now.
        let Ok(Answer { value: described, .. }) = described else { continue };
        let row = raw.get_mut(<WorkspacePage as lists::Page>::ROWS);
        let Some(row) = row.and_then(|rows| rows.get_mut(index)?.as_object_mut()) else { continue };
        if described.last_saved_at > entry.last_saved_at {
            // The size is that of the snapshot that the list knows.
            (entry.last_saved_at, entry.size_bytes) = (described.last_saved_at, None);
            row.remove("sizeBytes");
            row.insert("lastSavedAt".to_owned(), json!(described.last_saved_at));
        }
        if described.container_ended {
            entry.container_ended = true;
            row.insert("containerEnded".to_owned(), json!(true));
        }
    }
}
