//! The commands about named workspaces.

use std::collections::BTreeMap;

use sandbox_snapshotter::client::{ErrorCode, Options};
use sandbox_snapshotter::model::answer::Summary;
use sandbox_snapshotter::model::named::answer::{DeletedWorkspace, Described, Entries, Forked, Started, Stopped};
use sandbox_snapshotter::model::named::standing::{OnDiverged, Start as How};
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, NamesRequest, Session, Source as Begin, StartRequest, UpdateRequest,
};
use sandbox_snapshotter::model::{Directory, Selection, SnapshotId};
use serde_json::Value;

use super::confirm::confirm;
use super::context::{Context, key, list_of, read};
use super::place::{address, referred};
use super::settings::changes;
use crate::args::workspace::{Create, Delete, Diverged, Fork, List, Source, Start, Starting, Update, Workspace};
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// Does what was typed.
pub fn run(context: &Context, command: Workspace) -> Result<Exit> {
    match command {
        Workspace::Create(command) => create(context, command),
        Workspace::List(command) => list(context, &command),
        Workspace::Show(command) => context.show::<Described>("workspaces/getByName", &address(&command.name)?),
        Workspace::Start(command) => start(context, &command),
        Workspace::Stop(command) => context.show::<Stopped>("workspaces/stop", &address(&command.name)?),
        Workspace::Fork(command) => fork(context, command),
        Workspace::Update(command) => update(context, &command),
        Workspace::Delete(command) => delete(context, &command),
    }
}

fn create(context: &Context, command: Create) -> Result<Exit> {
    let start = starting(&command.starting)?;
    if !command.or_start && start != How::default() {
        let remediation = "Give --or-start too, or leave these options out: a new workspace has nothing to restore.";
        return Err(Failure::invalid("INVALID_USAGE", "Nothing is started that is there already.", remediation));
    }
    let create = CreateRequest {
        address: address(&command.name)?,
        dir: command.dir.as_deref().map(Directory::parse).transpose()?,
        changes: changes(&command.settings)?,
        source: source(context, &command.source)?,
        idempotency_key: key(command.key)?,
    };
    if command.or_start {
        return context.show::<Started>("workspaces/getOrCreate", &GetOrCreateRequest { create, start });
    }
    context.show::<Started>("workspaces/create", &create)
}

fn source(context: &Context, source: &Source) -> Result<Option<Begin>> {
    let selector = match (&source.workspace, source.snapshot.as_deref(), &source.reference) {
        (Some(name), ..) => return Ok(Some(Begin::Workspace(WorkspaceName::parse(name.trim_start_matches('@'))?))),
        (_, Some([place, snapshot]), _) => context.find(place, snapshot, &Session::NONE)?,
        (.., Some(path)) => referred(path)?,
        _ => return Ok(None),
    };
    Ok(Some(Begin::Snapshot(Selection { selector, session: Session::NONE }.to_json())))
}

fn start(context: &Context, command: &Start) -> Result<Exit> {
    let request = StartRequest {
        fingerprint: command.fingerprint.clone(),
        start: starting(&command.starting)?,
        ..StartRequest::of(address(&command.name)?)
    };
    context.show::<Started>("workspaces/start", &request)
}

fn starting(given: &Starting) -> Result<How> {
    let expect = given.expect.iter().map(|expected| {
        let (path, hash) = expected.rsplit_once('=').ok_or_else(|| {
            let message = format!("--expect {expected:?} is not PATH=SHA256.");
            Failure::invalid("INVALID_USAGE", message, "Give a path of the dependencies and its hash in hexadecimal.")
        })?;
        Ok((path.to_owned(), hash.to_owned()))
    });
    Ok(How {
        on_diverged: match given.on_diverged {
            None | Some(Diverged::Fail) => OnDiverged::Fail,
            Some(Diverged::Keep) => OnDiverged::Keep,
            Some(Diverged::Save) => OnDiverged::Save,
            Some(Diverged::Discard) => OnDiverged::Discard,
        },
        allow_empty: given.allow_empty,
        accept_stale: given.accept_stale,
        expect: expect.collect::<Result<BTreeMap<_, _>>>()?,
    })
}

/// Some forks may have failed where others did not: then the status is that of the first that failed.
fn fork(context: &Context, command: Fork) -> Result<Exit> {
    let request = ForkRequest {
        new_name: command.new_name.as_deref().map(WorkspaceName::parse).transpose()?,
        count: command.count,
        copy_env: command.copy_env,
        idempotency_key: key(command.key)?,
        ..ForkRequest::of(address(&command.name)?)
    };
    let answer = context.ask("workspaces/fork", &request)?;
    context.output.show::<Forked<Started>>(&answer)?;
    let forked: Forked<Started> = read(&answer)?;
    let problem = forked.forks.iter().find_map(|fork| fork.error.as_ref());
    Ok(problem.map_or(Exit::Done, |problem| Exit::of(&ErrorCode::Known(problem.code), problem.code.kind())))
}

fn update(context: &Context, command: &Update) -> Result<Exit> {
    let address = address(&command.name)?;
    let current_snapshot_id = match &command.back_to {
        Some(snapshot) => Some(back_to(context, &address, snapshot)?),
        None => None,
    };
    let request = UpdateRequest {
        current_snapshot_id,
        start: How { accept_stale: command.accept_stale, ..How::default() },
        ..UpdateRequest::of(address, changes(&command.settings)?)
    };
    context.show::<Described>("workspaces/update", &request)
}

/// The snapshot of the workspace that has an id or a tag.
fn back_to(context: &Context, address: &Address, snapshot: &str) -> Result<SnapshotId> {
    if let Ok(id) = SnapshotId::parse(snapshot) {
        return Ok(id);
    }
    let selector = context.find(&format!("@{address}"), snapshot, &Session::NONE)?;
    let found: Summary = context.ask_for("get", &Selection { selector, session: Session::NONE })?;
    Ok(found.snapshot_id)
}

fn delete(context: &Context, command: &Delete) -> Result<Exit> {
    let address = address(&command.name)?;
    confirm(&command.consent, || {
        Ok(format!("The workspace {} goes for good, with its sandbox and its snapshots.", address.name))
    })?;
    context.show::<DeletedWorkspace>("workspaces/delete", &address)
}

/// All workspaces of a tenant, or one page of them.
fn list(context: &Context, command: &List) -> Result<Exit> {
    let is_all = command.paging.is_all();
    let mut request = NamesRequest {
        tenant: command.tenant.as_deref().map_or_else(|| Ok(Tenant::fallback()), Tenant::parse)?,
        cursor: command.paging.cursor.as_deref().map(WorkspaceName::parse).transpose()?,
        limit: command.paging.limit.unwrap_or(if is_all { NamesRequest::MAX_LIMIT } else { NamesRequest::LIMIT }),
        prefix: command.prefix.clone().filter(|prefix| !prefix.is_empty()),
    };
    let mut rows = Vec::new();
    let rest = loop {
        let mut page = context.ask("workspaces/list", &request)?;
        let Some(Value::Array(more)) = page.get_mut("workspaces").map(Value::take) else {
            return Err(Failure::foreign("a list has no workspaces"));
        };
        rows.extend(more);
        let cursor = page.get("cursor").and_then(Value::as_str).map(WorkspaceName::parse).transpose()?;
        if cursor.is_none() || !is_all {
            break cursor;
        }
        request.cursor = cursor;
    };
    context.output.show::<Entries>(&list_of("workspaces", rows, rest.as_ref()))?;
    Ok(Exit::Done)
}
