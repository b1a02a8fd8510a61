//! The commands about named workspaces.

use std::collections::BTreeMap;

use sandbox_snapshotter::client::{ErrorCode, Options};
use sandbox_snapshotter::model::answer::Summary;
use sandbox_snapshotter::model::named::answer::{
    DeletedWorkspace, Described, Entries, Fork as Forking, Forked, Started, Stopped,
};
use sandbox_snapshotter::model::named::messages::{OnDiverged, Start as How};
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, NamesRequest, Session, Source as Begin, StartRequest, UpdateRequest,
};
use sandbox_snapshotter::model::{Directory, Selection, SnapshotId};

use super::confirm::confirm;
use super::context::{Context, key};
use super::lists;
use super::place::{address, referred};
use super::settings::changes;
use super::snapshot;
use crate::args::workspace::{Create, Delete, Diverged, Fork, List, Source, Start, Starting, Update, Workspace};
use crate::exit::Exit;
use crate::failure::{Failure, Result, advised};
use crate::output::tell;
use crate::output::words::count;

/// Does what was typed.
pub fn run(context: &Context, command: Workspace) -> Result<Exit> {
    match command {
        Workspace::Create(command) => create(context, command),
        Workspace::List(command) => list(context, &command),
        Workspace::Show(command) => {
            context.show::<Described>(&context.look("workspaces/getByName", &address(&command.name)?)?)
        }
        Workspace::Start(command) => start(context, &command),
        Workspace::Stop(command) => context.show::<Stopped>(&context.act("workspaces/stop", &address(&command.name)?)?),
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
        return context.show::<Started>(&context.act("workspaces/getOrCreate", &GetOrCreateRequest { create, start })?);
    }
    context.show::<Started>(&context.act("workspaces/create", &create)?)
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
    context.show::<Started>(&context.act("workspaces/start", &request)?)
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
    let answer = context.act::<Forked<Started>>("workspaces/fork", &request)?;
    context.output.show(&answer)?;
    let failures: Vec<_> = answer.read.forks.iter().filter_map(failed).collect();
    if !context.output.json {
        failures.iter().for_each(tell);
    }
    Ok(failures.first().map_or(Exit::Done, Failure::exit))
}

/// Why there is no fork, if there is none.
fn failed(fork: &Forking<Started>) -> Option<Failure> {
    let problem = fork.error.as_ref()?;
    let exit = Exit::of(&ErrorCode::Known(problem.code), problem.code.kind());
    let message = format!("{}: {}", fork.name, problem.message);
    Some(Failure::own(exit, problem.code.as_str(), message, advised(problem.code, &problem.remediation)))
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
    context.show::<Described>(&context.act("workspaces/update", &request)?)
}

/// The snapshot of the workspace that has an id or a tag.
fn back_to(context: &Context, address: &Address, snapshot: &str) -> Result<SnapshotId> {
    if let Ok(id) = SnapshotId::parse(snapshot) {
        return Ok(id);
    }
    let selector = context.find(&format!("@{address}"), snapshot, &Session::NONE)?;
    let found = context.look::<Summary>("get", &Selection { selector, session: Session::NONE })?;
    Ok(found.read.snapshot_id)
}

fn delete(context: &Context, command: &Delete) -> Result<Exit> {
    let address = address(&command.name)?;
    confirm(&command.consent, || {
        let known = context.workspace(&address)?;
        let mut snapshots = 0;
        for sandbox_id in std::iter::once(&known.sandbox_id).chain(&known.former_sandbox_ids) {
            snapshots += snapshot::count(context, sandbox_id)?;
        }
        let (sandbox, snapshots) = (&known.sandbox_id, count(snapshots, "snapshot", "snapshots"));
        Ok(Some(format!("The workspace {address} goes for good, with its sandbox {sandbox} and its {snapshots}.")))
    })?;
    context.show::<DeletedWorkspace>(&context.act("workspaces/delete", &address)?)
}

impl lists::Page for Entries {
    const ROWS: &str = "workspaces";

    fn len(&self) -> usize {
        self.workspaces.len()
    }

    fn cursor(&mut self) -> &mut Option<String> {
        &mut self.cursor
    }
}

/// All workspaces of a tenant, or one page of them.
fn list(context: &Context, command: &List) -> Result<Exit> {
    let paging = &command.paging;
    let limit = if paging.is_all() { NamesRequest::MAX_LIMIT } else { NamesRequest::LIMIT };
    let tenant = command.tenant.as_deref().map_or_else(|| Ok(Tenant::fallback()), Tenant::parse)?;
    let prefix = command.prefix.clone().filter(|prefix| !prefix.is_empty());
    let nothing = prefix.as_ref().map(|prefix| format!("There are no workspaces whose name begins with {prefix:?}."));
    if let Some(cursor) = &paging.cursor {
        WorkspaceName::parse(cursor)?;
    }
    lists::show::<Entries>(context, paging, nothing, |cursor| {
        let request = NamesRequest {
            tenant: tenant.clone(),
            cursor: cursor.map(WorkspaceName::parse).transpose().map_err(|_| lists::bad_cursor())?,
            limit: paging.limit.unwrap_or(limit),
            prefix: prefix.clone(),
        };
        context.look("workspaces/list", &request)
    })
}
