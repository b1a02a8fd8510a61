//! What callers do with named workspaces.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::Started;
use sandbox_snapshotter::model::named::messages::{OnDiverged, Start};
use sandbox_snapshotter::model::named::settings::{
    DependsOn, Expiry, Hook, Hooks, OnFailure, OnImageChange, OnMismatch,
};
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::request::{
    Changes, CreateRequest, ForkRequest, GetOrCreateRequest, NamesRequest, Source, StartRequest, UpdateRequest,
};
use sandbox_snapshotter::model::{Code, Error, Result, SandboxId};
use sandbox_snapshotter::ports::{Ledger, Names, Ports};
use sandbox_snapshotter::service::Abort;
use serde_json::json;

use super::keeping::policy;
use super::taking::{abort, known};
use crate::book::{KeyedName, NameCall};
use crate::rules::{answers, names};
use crate::world::{Desk, Lost, Named, World};

const LONG: &str = "a.workspace_whose-name-is-as-long-as-any-name-of-a-workspace-is";

/// One of the workspaces that there may be.
fn address(world: &World) -> Address {
    let (tenant, name) =
        [("acme", "alpha"), ("acme", LONG), ("other", "alpha")][world.chance.below(world.weather.roots)];
    Address { tenant: Tenant::parse(tenant).unwrap(), name: WorkspaceName::parse(name).unwrap() }
}

/// Any workspace, forks among them.
fn any_address(world: &World) -> Address {
    let all: Vec<Address> = world.book.borrow().named.values().cloned().collect();
    match world.chance.pick(&all) {
        Some(any) if world.chance.one_in(3) => any,
        _ => address(world),
    }
}

fn hook(world: &World) -> Option<Hook> {
    let command = world.chance.pick(&["true", "true", "write", "write", "fail", "write, and fail", "hang"])?;
    let on_failure = if world.chance.one_in(2) { OnFailure::Fail } else { OnFailure::Warn };
    let timeout_seconds = world.chance.pick(&[1, 5, 20])?;
    let hook = Hook { command: command.to_owned(), timeout_seconds, on_failure };
    world.chance.one_in(4).then_some(hook)
}

fn changes(world: &World) -> Changes {
    let chance = &world.chance;
    let expiry = Expiry {
        idle_seconds: chance.pick(&[600, 600, 60, 3600, 0]).unwrap(),
        max_seconds: chance.pick(&[0, 0, 0, 120, 7200]).unwrap(),
    };
    let files = chance.pick(&[vec![], vec!["1".to_owned()], vec!["1".to_owned(), "/etc/os-release".to_owned()]]);
    let depends_on = DependsOn {
        files: files.unwrap(),
        fingerprint: chance.pick(&[None, Some("a".to_owned()), Some("b".to_owned())]).unwrap(),
        on_mismatch: if chance.one_in(2) { OnMismatch::Fail } else { OnMismatch::Report },
        on_image_change: if chance.one_in(4) { OnImageChange::Fail } else { OnImageChange::Report },
    };
    Changes {
        persistent: chance.one_in(8).then(|| chance.one_in(2)),
        retention: chance.one_in(4).then(|| policy(world)),
        hooks: chance.one_in(2).then(|| Hooks {
            before_stop: hook(world),
            after_start: hook(world),
            on_timeout: hook(world),
        }),
        expiry: chance.one_in(2).then_some(expiry),
        depends_on: chance.one_in(3).then_some(depends_on),
        env: None,
    }
}

fn start_options(world: &World) -> Start {
    let chance = &world.chance;
    let choices = [OnDiverged::Fail, OnDiverged::Fail, OnDiverged::Save, OnDiverged::Keep, OnDiverged::Discard];
    let expect = if chance.one_in(20) { [("1".to_owned(), "7".to_owned())].into() } else { BTreeMap::new() };
    Start {
        on_diverged: chance.pick(&choices).unwrap(),
        allow_empty: chance.one_in(10),
        accept_stale: chance.one_in(2),
        expect,
    }
}

fn create_request(world: &Rc<World>, address: Address) -> CreateRequest {
    let source = match world.chance.below(4) {
        0 => {
            let other = any_address(world);
            (other.name != address.name).then_some(Source::Workspace(other.name))
        }
        1 => known(world).map(|known| Source::Snapshot(json!({ "sandboxId": known.origin, "snapshotId": known.id }))),
        _ => None,
    };
    let idempotency_key = (!world.chance.one_in(3)).then(|| format!("name-{:x}", world.chance.next()));
    CreateRequest { address, dir: None, changes: changes(world), source, idempotency_key }
}

/// Makes a workspace.
pub async fn create(world: Rc<World>) {
    let request = create_request(&world, address(&world));
    call(&world, NameCall::Create(request)).await;
}

/// Makes forks of a workspace.
pub async fn fork(world: Rc<World>) {
    let new_name = world.chance.one_in(2).then(|| WorkspaceName::parse("fork").unwrap());
    let request = ForkRequest {
        address: any_address(&world),
        new_name,
        count: 1 + u32::try_from(world.chance.below(3)).unwrap(),
        copy_env: false,
        idempotency_key: (!world.chance.one_in(3)).then(|| format!("fork-{:x}", world.chance.next())),
    };
    call(&world, NameCall::Fork(request)).await;
}

/// Makes a call again that was made before.
pub async fn repeat_name(world: Rc<World>) {
    let calls: Vec<NameCall> = world.book.borrow().keyed_names.values().map(|keyed| keyed.call.clone()).collect();
    let Some(again) = world.chance.pick(&calls) else { return };
    world.trace(&format_args!("asks again"));
    call(&world, again).await;
}

/// Asks again for what was lost.
pub async fn ask_again(world: &Rc<World>) {
    let keyed: Vec<KeyedName> = world.book.borrow().keyed_names.values().cloned().collect();
    for keyed in keyed.into_iter().filter(|keyed| keyed.is_lost) {
        call(world, keyed.call).await;
    }
}

/// Makes a call that can have a key, and notes what was answered.
async fn call(world: &Rc<World>, call: NameCall) {
    let asked_at = world.now();
    let (address, key) = match &call {
        NameCall::Create(request) => (request.address.clone(), request.idempotency_key.clone()),
        NameCall::Fork(request) => (request.address.clone(), request.idempotency_key.clone()),
    };
    if let Some(key) = &key {
        let new = || KeyedName { call: call.clone(), asked_at, answer: None, is_lost: false };
        world.book.borrow_mut().keyed_names.entry(key.clone()).or_insert_with(new);
    }
    let first_at = key.as_ref().map_or(asked_at, |key| world.book.borrow().keyed_names[key].asked_at);
    let is_repeated = first_at != asked_at;
    let is_fork = matches!(call, NameCall::Fork(_));
    let heard = match call {
        NameCall::Create(request) => {
            world.trace(&format_args!("creates {address} from {:?}", request.source));
            let source = request.source.clone();
            let made =
                world.ask_named(&address, |named: Named| async move { named.create(request, Abort::never()).await });
            let heard = made.await;
            if let Ok(Ok(started)) = &heard {
                names::started(world, &address, asked_at, started);
                is_of_tenant(world, &address, source.as_ref());
            }
            heard.map(|heard| heard.map(|started| started.described.created_at.to_string()))
        }
        NameCall::Fork(request) => {
            let before = names::present(world, &address).filter(|_| !is_repeated);
            world.trace(&format_args!("forks {address} {} times", request.count));
            let made =
                world.ask_named(&address, |named: Named| async move { named.fork(request, Abort::never()).await });
            let heard = made.await;
            if let Ok(Ok(forked)) = &heard {
                names::forked(world, &address, (first_at, asked_at), before.as_ref(), forked);
            }
            heard.map(|heard| {
                heard.map(|forked| {
                    let names: Vec<_> = forked.forks.into_iter().map(|fork| fork.name).collect();
                    format!("{} {names:?}", forked.snapshot_id)
                })
            })
        }
    };
    if let Ok(Err(error)) = &heard {
        failed(world, &address, "a creation or fork", error);
        if error.code() == Code::IdempotencyConflict {
            world.violated("rule 3, the same answer for the same key", &format_args!("{address}: {error}"));
        }
    }
    let is_another = if is_fork {
        names::is_made_anew(world, &address, first_at)
    } else {
        world.book.borrow().name_deletes.get(&address).is_some_and(|at| *at >= first_at)
    };
    let Some(key) = key else { return };
    let mut book = world.book.borrow_mut();
    let Some(keyed) = book.keyed_names.get_mut(&key) else { return };
    keyed.is_lost = matches!(heard, Err(Lost));
    let Ok(Ok(answer)) = heard else { return };
    let is_kept = !is_another && !names::is_forgotten(world, &address, first_at);
    match &keyed.answer {
        Some(first) if *first != answer && is_kept => {
            world.violated("rule 3, the same answer for the same key", &format_args!("{first} and {answer}"));
        }
        Some(_) => world.count("answers about names repeated"),
        None => keyed.answer = Some(answer),
    }
}

/// What a workspace begins with must be its tenant's own.
fn is_of_tenant(world: &Rc<World>, address: &Address, source: Option<&Source>) {
    let Some(Source::Snapshot(selection)) = source else { return };
    let origin = SandboxId::parse(selection["sandboxId"].as_str().unwrap()).unwrap();
    let standing = world.ledger(&origin).workspace().unwrap().and_then(|workspace| workspace.standing);
    if standing.is_some_and(|standing| standing.address.tenant != address.tenant) {
        world.violated("rule 14, one tenant is nothing to another", &format_args!("{address} from {origin}"));
    }
}

fn failed(world: &Rc<World>, address: &Address, what: &str, error: &Error) {
    // Names of forks can be too long.
    if error.code() != Code::InvalidWorkspaceName {
        answers::failed(world, &format!("{what} of {address}"), error);
    }
}

fn hear(world: &Rc<World>, address: &Address, asked_at: i64, heard: Result<Result<Started>, Lost>) {
    match heard {
        Ok(Ok(started)) => names::started(world, address, asked_at, &started),
        Ok(Err(error)) => failed(world, address, "a start", &error),
        Err(Lost) => {}
    }
}

/// Starts a workspace, or makes it.
pub async fn get_or_create(world: Rc<World>) {
    let (address, asked_at, abort) = (address(&world), world.now(), abort(&world));
    let create = CreateRequest { idempotency_key: None, ..create_request(&world, address.clone()) };
    let request = GetOrCreateRequest { create, start: start_options(&world) };
    world.trace(&format_args!("gets {address}, or creates it from {:?}", request.create.source));
    let ask = world.ask_named(&address, |named: Named| async move { named.get_or_create(request, abort).await });
    let heard = ask.await;
    hear(&world, &address, asked_at, heard);
}

/// Starts a workspace.
pub async fn start(world: Rc<World>) {
    start_it(&world, any_address(&world)).await;
}

async fn start_it(world: &Rc<World>, address: Address) {
    let (asked_at, abort) = (world.now(), abort(world));
    let fingerprint = world.chance.pick(&[None, None, Some("a".to_owned()), Some("b".to_owned())]).unwrap();
    let request = StartRequest { address: address.clone(), fingerprint, start: start_options(world) };
    world.trace(&format_args!("starts {address}: {:?}", request.start));
    let heard = world.ask_named(&address, |named: Named| async move { named.start(request, abort).await }).await;
    hear(world, &address, asked_at, heard);
}

/// Several callers start and stop a workspace at the same time.
pub async fn crowd(world: Rc<World>) {
    let address = any_address(&world);
    let calls =
        (0..2 + world.chance.below(3)).map(|_| {
            let (world, address) = (Rc::clone(&world), address.clone());
            async move {
                if world.chance.one_in(4) { stop_it(&world, address).await } else { start_it(&world, address).await }
            }
        });
    futures_util::future::join_all(calls).await;
}

/// Stops a workspace.
pub async fn stop(world: Rc<World>) {
    stop_it(&world, any_address(&world)).await;
}

async fn stop_it(world: &Rc<World>, address: Address) {
    world.trace(&format_args!("stops {address}"));
    let abort = abort(world);
    match world.ask_named(&address, |named: Named| async move { named.stop(abort).await }).await {
        Ok(Ok(stopped)) => {
            world.count("workspaces stopped");
            world.trace(&format_args!("answered {address}, stopped: {:?}", stopped.described.last_snapshot));
        }
        Ok(Err(error)) => failed(world, &address, "a stop", &error),
        Err(Lost) => {}
    }
}

/// Works in a workspace that was handed out, wherever that is now; or only looks into it.
pub async fn work(world: Rc<World>) {
    let ids: Vec<SandboxId> = world.book.borrow().named.keys().cloned().collect();
    let Some(id) = world.chance.pick(&ids) else { return };
    for _ in 0..=world.chance.below(3) {
        let file = u8::try_from(world.chance.below(4)).unwrap();
        if world.chance.one_in(5) {
            world.touches(&id, None);
        } else {
            world.writes(&id, file);
        }
        world.moment().await;
    }
}

/// Works in a workspace while it is stopped or forked.
pub async fn work_on(world: Rc<World>) {
    let address = any_address(&world);
    let Some(present) = names::present(&world, &address) else { return };
    let working = async {
        for _ in 0..world.chance.below(6) {
            world.moment().await;
            if names::present(&world, &address).is_some_and(|now| now.id == present.id) {
                world.writes(&present.id, 3);
            }
        }
    };
    let stopping = async {
        if world.chance.one_in(3) { fork(Rc::clone(&world)).await } else { stop_it(&world, address.clone()).await }
    };
    futures_util::future::join(working, stopping).await;
}

/// Changes a workspace, or goes back to an earlier snapshot.
pub async fn update(world: Rc<World>) {
    let (address, abort) = (any_address(&world), abort(&world));
    let record = world.home(&address).record();
    let own = record.filter(|_| !world.chance.one_in(3)).map(|record| {
        let rows = record.sandboxes().flat_map(|id| world.ledger(id).all()).collect::<Vec<_>>();
        let ready = rows.into_iter().filter(|row| row.state() == SnapshotState::Ready);
        ready.map(|row| row.snapshot_id).collect::<Vec<_>>()
    });
    let current_snapshot_id = world.chance.pick(&own.unwrap_or_default());
    let is_change = current_snapshot_id.is_none() || world.chance.one_in(4);
    let changes = if is_change { changes(&world) } else { Changes::default() };
    world.trace(&format_args!("changes {address}: {current_snapshot_id:?}"));
    let start = Start { accept_stale: world.chance.one_in(2), ..Start::default() };
    if current_snapshot_id.is_some() {
        world.count("workspaces to go back");
    }
    let request = UpdateRequest { address: address.clone(), changes, current_snapshot_id, start };
    let heard = world.ask_named(&address, |named: Named| async move { named.update(request, abort).await }).await;
    match heard {
        Ok(Ok(described)) => {
            let mut book = world.book.borrow_mut();
            let id = described.sandbox_id;
            if let Some(row) = world.ledger(&id).workspace().unwrap() {
                book.got.insert(id.clone(), row.root_id);
                book.named.insert(id, address);
            }
        }
        Ok(Err(error)) => failed(&world, &address, "a change", &error),
        Err(Lost) => {}
    }
}

/// Deletes a workspace.
pub async fn delete(world: Rc<World>) {
    let (address, abort) = (any_address(&world), abort(&world));
    world.trace(&format_args!("deletes {address}"));
    world.book.borrow_mut().name_deletes.insert(address.clone(), world.now());
    let heard = world.ask_named(&address, |named: Named| async move { named.delete(abort).await }).await;
    world.book.borrow_mut().name_deletes.insert(address.clone(), world.now());
    match heard {
        Ok(Ok(deleted)) => world.count(if deleted.removed { "workspaces deleted" } else { "workspaces gone before" }),
        Ok(Err(error)) => failed(&world, &address, "a deletion", &error),
        Err(Lost) => {}
    }
}

/// Asks what there is.
pub async fn describe(world: Rc<World>) {
    let address = any_address(&world);
    if world.chance.one_in(2) {
        let request = NamesRequest { tenant: address.tenant, cursor: None, limit: 2, prefix: None };
        let desk = Desk::new(&world, None, None, 0);
        let listed = desk.names().unwrap().list(&request).await;
        if let Ok(page) = listed {
            assert!(page["workspaces"].as_array().is_some_and(|page| page.len() <= 2), "pages have a limit");
        }
        return;
    }
    let heard = world.ask_named(&address, |named: Named| async move { named.describe() }).await;
    if let Ok(Err(error)) = heard {
        failed(&world, &address, "a description", &error);
    }
}
