//! What callers do with named workspaces.

use std::collections::BTreeMap;
use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::StartedWorkspace;
use sandbox_snapshotter::model::named::messages::{OnDiverged, StartSettings};
use sandbox_snapshotter::model::named::settings::{
    DependsOn, Expiry, Hook, Hooks, OnFailure, OnImageChange, OnMismatch,
};
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::record::SnapshotState;
use sandbox_snapshotter::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, ListWorkspacesRequest, SettingsUpdate, Source, StartRequest,
    UpdateRequest,
};
use sandbox_snapshotter::model::{Code, Error, Result, SandboxId};
use sandbox_snapshotter::ports::{Ledger, NamedWorkspaceClient, Ports};
use sandbox_snapshotter::service::CancellationToken;
use serde_json::json;

use super::management::pick_policy;
use super::snapshots::{pick_cancellation, pick_snapshot};
use crate::history::{KeyedWorkspaceCall, WorkspaceCall};
use crate::rules::{answers, named_workspaces};
use crate::world::{AnswerLost, NamedService, SimulatedPorts, World};

const LONG_NAME: &str = "a.workspace_whose-name-is-as-long-as-any-name-of-a-workspace-is";

/// One of the workspaces that there may be.
fn pick_root_address(world: &World) -> Address {
    let (tenant, name) =
        [("acme", "alpha"), ("acme", LONG_NAME), ("other", "alpha")][world.rng.below(world.profile.sandbox_count)];
    Address { tenant: Tenant::parse(tenant).unwrap(), name: WorkspaceName::parse(name).unwrap() }
}

/// Any workspace, forks among them.
fn pick_address(world: &World) -> Address {
    let all: Vec<Address> = world.history.borrow().named_sandboxes.values().cloned().collect();
    match world.rng.pick(&all) {
        Some(any) if world.rng.one_in(3) => any,
        _ => pick_root_address(world),
    }
}

fn pick_hook(world: &World) -> Option<Hook> {
    let command = world.rng.pick(&["true", "true", "write", "write", "fail", "write, and fail", "hang"])?;
    let on_failure = if world.rng.one_in(2) { OnFailure::Fail } else { OnFailure::Warn };
    let timeout_seconds = world.rng.pick(&[1, 5, 20])?;
    let hook = Hook { command: command.to_owned(), timeout_seconds, on_failure };
    world.rng.one_in(4).then_some(hook)
}

fn pick_changes(world: &World) -> SettingsUpdate {
    let chance = &world.rng;
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
    SettingsUpdate {
        persistent: chance.one_in(8).then(|| chance.one_in(2)),
        retention: chance.one_in(4).then(|| pick_policy(world)),
        hooks: chance.one_in(2).then(|| Hooks {
            before_stop: pick_hook(world),
            after_start: pick_hook(world),
            on_timeout: pick_hook(world),
        }),
        expiry: chance.one_in(2).then_some(expiry),
        depends_on: chance.one_in(3).then_some(depends_on),
        env: None,
    }
}

fn pick_start_options(world: &World) -> StartSettings {
    let chance = &world.rng;
    let choices = [OnDiverged::Fail, OnDiverged::Fail, OnDiverged::Rescue, OnDiverged::Adopt, OnDiverged::Discard];
    let expect = if chance.one_in(20) { [("1".to_owned(), "7".to_owned())].into() } else { BTreeMap::new() };
    StartSettings {
        on_diverged: chance.pick(&choices).unwrap(),
        allow_empty: chance.one_in(10),
        accept_stale: chance.one_in(2),
        expect,
    }
}

fn pick_create_request(world: &Rc<World>, address: Address) -> CreateRequest {
    let source = match world.rng.below(4) {
        0 => {
            let other = pick_address(world);
            (other.name != address.name).then_some(Source::Workspace(other.name))
        }
        1 => pick_snapshot(world)
            .map(|known| Source::Snapshot(json!({ "sandboxId": known.origin, "snapshotId": known.id }))),
        _ => None,
    };
    let idempotency_key = (!world.rng.one_in(3)).then(|| format!("name-{:x}", world.rng.next_u64()));
    CreateRequest { address, dir: None, settings: pick_changes(world), source, idempotency_key }
}

/// Makes a workspace.
pub async fn create(world: Rc<World>) {
    let request = pick_create_request(&world, pick_root_address(&world));
    make_workspace_call(&world, WorkspaceCall::Create(request)).await;
}

/// Makes forks of a workspace.
pub async fn fork(world: Rc<World>) {
    let new_name = world.rng.one_in(2).then(|| WorkspaceName::parse("fork").unwrap());
    let request = ForkRequest {
        address: pick_address(&world),
        new_name,
        count: 1 + u32::try_from(world.rng.below(3)).unwrap(),
        copy_env: false,
        idempotency_key: (!world.rng.one_in(3)).then(|| format!("fork-{:x}", world.rng.next_u64())),
    };
    make_workspace_call(&world, WorkspaceCall::Fork(request)).await;
}

/// Makes a call again that was made before.
pub async fn repeat_workspace_call(world: Rc<World>) {
    let calls: Vec<WorkspaceCall> =
        world.history.borrow().keyed_workspace_calls.values().map(|keyed| keyed.call.clone()).collect();
    let Some(again) = world.rng.pick(&calls) else { return };
    world.trace(&format_args!("asks again"));
    make_workspace_call(&world, again).await;
}

/// Asks again for what was lost.
pub async fn repeat_lost_calls(world: &Rc<World>) {
    let keyed: Vec<KeyedWorkspaceCall> = world.history.borrow().keyed_workspace_calls.values().cloned().collect();
    for keyed in keyed.into_iter().filter(|keyed| keyed.is_answer_lost) {
        make_workspace_call(world, keyed.call).await;
    }
}

/// Makes a call that can have a key, and notes what was answered.
async fn make_workspace_call(world: &Rc<World>, call: WorkspaceCall) {
    let asked_at = world.now();
    let (address, key) = match &call {
        WorkspaceCall::Create(request) => (request.address.clone(), request.idempotency_key.clone()),
        WorkspaceCall::Fork(request) => (request.address.clone(), request.idempotency_key.clone()),
    };
    if let Some(key) = &key {
        let new = || KeyedWorkspaceCall { call: call.clone(), asked_at, answer: None, is_answer_lost: false };
        world.history.borrow_mut().keyed_workspace_calls.entry(key.clone()).or_insert_with(new);
    }
    let first_at = key.as_ref().map_or(asked_at, |key| world.history.borrow().keyed_workspace_calls[key].asked_at);
    let is_repeated = first_at != asked_at;
    let is_fork = matches!(call, WorkspaceCall::Fork(_));
    let heard = match call {
        WorkspaceCall::Create(request) => {
            world.trace(&format_args!("creates {address} from {:?}", request.source));
            let source = request.source.clone();
            let made = world.call_named(&address, |named: NamedService| async move {
                named.create(request, CancellationToken::never()).await
            });
            let heard = made.await;
            if let Ok(Ok(started)) = &heard {
                named_workspaces::check_started(world, &address, asked_at, started);
                check_tenant(world, &address, source.as_ref());
            }
            heard.map(|heard| heard.map(|started| started.description.created_at.to_string()))
        }
        WorkspaceCall::Fork(request) => {
            let before = named_workspaces::current_content(world, &address).filter(|_| !is_repeated);
            world.trace(&format_args!("forks {address} {} times", request.count));
            let made = world.call_named(&address, |named: NamedService| async move {
                named.fork(request, CancellationToken::never()).await
            });
            let heard = made.await;
            if let Ok(Ok(forked)) = &heard {
                named_workspaces::check_forked(world, &address, (first_at, asked_at), before.as_ref(), forked);
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
        check_failure(world, &address, "a creation or fork", error);
        if error.code() == Code::IdempotencyConflict {
            world.report_violation("rule 3, the same answer for the same key", &format_args!("{address}: {error}"));
        }
    }
    let is_another = if is_fork {
        named_workspaces::is_recreated(world, &address, first_at)
    } else {
        world.history.borrow().workspace_deletes_at.get(&address).is_some_and(|at| *at >= first_at)
    };
    let Some(key) = key else { return };
    let mut book = world.history.borrow_mut();
    let Some(keyed) = book.keyed_workspace_calls.get_mut(&key) else { return };
    keyed.is_answer_lost = matches!(heard, Err(AnswerLost));
    let Ok(Ok(answer)) = heard else { return };
    let check_named_record = !is_another && !named_workspaces::is_forgotten(world, &address, first_at);
    match &keyed.answer {
        Some(first) if *first != answer && check_named_record => {
            world.report_violation("rule 3, the same answer for the same key", &format_args!("{first} and {answer}"));
        }
        Some(_) => world.count("answers about names repeated"),
        None => keyed.answer = Some(answer),
    }
}

/// What a workspace begins with must be its tenant's own.
fn check_tenant(world: &Rc<World>, address: &Address, source: Option<&Source>) {
    let Some(Source::Snapshot(selection)) = source else { return };
    let origin = SandboxId::parse(selection["sandboxId"].as_str().unwrap()).unwrap();
    let standing = world.ledger(&origin).workspace().unwrap().and_then(|workspace| workspace.binding);
    if standing.is_some_and(|standing| standing.address.tenant != address.tenant) {
        world.report_violation("rule 14, one tenant is nothing to another", &format_args!("{address} from {origin}"));
    }
}

fn check_failure(world: &Rc<World>, address: &Address, what: &str, error: &Error) {
    // Names of forks can be too long.
    if error.code() != Code::InvalidWorkspaceName {
        answers::check_failure(world, &format!("{what} of {address}"), error);
    }
}

fn check_start(
    world: &Rc<World>,
    address: &Address,
    asked_at: i64,
    heard: Result<Result<StartedWorkspace>, AnswerLost>,
) {
    match heard {
        Ok(Ok(started)) => named_workspaces::check_started(world, address, asked_at, &started),
        Ok(Err(error)) => check_failure(world, address, "a start", &error),
        Err(AnswerLost) => {}
    }
}

/// Starts a workspace, or makes it.
pub async fn get_or_create(world: Rc<World>) {
    let (address, asked_at, abort) = (pick_root_address(&world), world.now(), pick_cancellation(&world));
    let create = CreateRequest { idempotency_key: None, ..pick_create_request(&world, address.clone()) };
    let request = GetOrCreateRequest { create, start: pick_start_options(&world) };
    world.trace(&format_args!("gets {address}, or creates it from {:?}", request.create.source));
    let ask =
        world.call_named(&address, |named: NamedService| async move { named.get_or_create(request, abort).await });
    let heard = ask.await;
    check_start(&world, &address, asked_at, heard);
}

/// Starts a workspace.
pub async fn start(world: Rc<World>) {
    start_workspace(&world, pick_address(&world)).await;
}

async fn start_workspace(world: &Rc<World>, address: Address) {
    let (asked_at, abort) = (world.now(), pick_cancellation(world));
    let fingerprint = world.rng.pick(&[None, None, Some("a".to_owned()), Some("b".to_owned())]).unwrap();
    let request = StartRequest { address: address.clone(), fingerprint, start: pick_start_options(world) };
    world.trace(&format_args!("starts {address}: {:?}", request.start));
    let heard =
        world.call_named(&address, |named: NamedService| async move { named.start(request, abort).await }).await;
    check_start(world, &address, asked_at, heard);
}

/// Several callers start and stop a workspace at the same time.
pub async fn start_and_stop_together(world: Rc<World>) {
    let address = pick_address(&world);
    let calls = (0..2 + world.rng.below(3)).map(|_| {
        let (world, address) = (Rc::clone(&world), address.clone());
        async move {
            if world.rng.one_in(4) {
                stop_workspace(&world, address).await;
            } else {
                start_workspace(&world, address).await;
            }
        }
    });
    futures_util::future::join_all(calls).await;
}

/// Stops a workspace.
pub async fn stop(world: Rc<World>) {
    stop_workspace(&world, pick_address(&world)).await;
}

async fn stop_workspace(world: &Rc<World>, address: Address) {
    world.trace(&format_args!("stops {address}"));
    let abort = pick_cancellation(world);
    match world.call_named(&address, |named: NamedService| async move { named.stop(abort).await }).await {
        Ok(Ok(stopped)) => {
            world.count("workspaces stopped");
            world.trace(&format_args!("answered {address}, stopped: {:?}", stopped.description.last_snapshot));
        }
        Ok(Err(error)) => check_failure(world, &address, "a stop", &error),
        Err(AnswerLost) => {}
    }
}

/// Works in a workspace that was handed out, wherever that is now; or only looks into it.
pub async fn write_in_workspace(world: Rc<World>) {
    let ids: Vec<SandboxId> = world.history.borrow().named_sandboxes.keys().cloned().collect();
    let Some(id) = world.rng.pick(&ids) else { return };
    for _ in 0..=world.rng.below(3) {
        let file = u8::try_from(world.rng.below(4)).unwrap();
        if world.rng.one_in(5) {
            world.access(&id, None);
        } else {
            world.write_file(&id, file);
        }
        world.pass_step().await;
    }
}

/// Works in a workspace while it is stopped or forked.
pub async fn write_during_stop(world: Rc<World>) {
    let address = pick_address(&world);
    let Some(present) = named_workspaces::current_content(&world, &address) else { return };
    let working = async {
        for _ in 0..world.rng.below(6) {
            world.pass_step().await;
            if named_workspaces::current_content(&world, &address).is_some_and(|now| now.id == present.id) {
                world.write_file(&present.id, 3);
            }
        }
    };
    let stopping = async {
        if world.rng.one_in(3) { fork(Rc::clone(&world)).await } else { stop_workspace(&world, address.clone()).await }
    };
    futures_util::future::join(working, stopping).await;
}

/// Changes a workspace, or goes back to an earlier snapshot.
pub async fn update(world: Rc<World>) {
    let (address, abort) = (pick_address(&world), pick_cancellation(&world));
    let record = world.workspace_store(&address).stored_record();
    let own = record.filter(|_| !world.rng.one_in(3)).map(|record| {
        let rows = record.sandboxes().flat_map(|id| world.ledger(id).live_snapshots()).collect::<Vec<_>>();
        let ready = rows.into_iter().filter(|row| row.state() == SnapshotState::Ready);
        ready.map(|row| row.snapshot_id).collect::<Vec<_>>()
    });
    let current_snapshot_id = world.rng.pick(&own.unwrap_or_default());
    let is_change = current_snapshot_id.is_none() || world.rng.one_in(4);
    let changes = if is_change { pick_changes(&world) } else { SettingsUpdate::default() };
    world.trace(&format_args!("changes {address}: {current_snapshot_id:?}"));
    let start = StartSettings { accept_stale: world.rng.one_in(2), ..StartSettings::default() };
    if current_snapshot_id.is_some() {
        world.count("workspaces to go back");
    }
    let request = UpdateRequest { address: address.clone(), settings: changes, current_snapshot_id, start };
    let heard =
        world.call_named(&address, |named: NamedService| async move { named.update(request, abort).await }).await;
    match heard {
        Ok(Ok(described)) => {
            let mut book = world.history.borrow_mut();
            let id = described.sandbox_id;
            if let Some(row) = world.ledger(&id).workspace().unwrap() {
                book.returned_sandboxes.insert(id.clone(), row.root_id);
                book.named_sandboxes.insert(id, address);
            }
        }
        Ok(Err(error)) => check_failure(&world, &address, "a change", &error),
        Err(AnswerLost) => {}
    }
}

/// Deletes a workspace.
pub async fn delete(world: Rc<World>) {
    let (address, abort) = (pick_address(&world), pick_cancellation(&world));
    world.trace(&format_args!("deletes {address}"));
    world.history.borrow_mut().workspace_deletes_at.insert(address.clone(), world.now());
    let heard = world.call_named(&address, |named: NamedService| async move { named.delete(abort).await }).await;
    world.history.borrow_mut().workspace_deletes_at.insert(address.clone(), world.now());
    match heard {
        Ok(Ok(deleted)) => world.count(if deleted.removed { "workspaces deleted" } else { "workspaces gone before" }),
        Ok(Err(error)) => check_failure(&world, &address, "a deletion", &error),
        Err(AnswerLost) => {}
    }
}

/// Asks what there is.
pub async fn describe(world: Rc<World>) {
    let address = pick_address(&world);
    if world.rng.one_in(2) {
        let request = ListWorkspacesRequest { tenant: address.tenant, cursor: None, limit: 2, prefix: None };
        let desk = SimulatedPorts::new(&world, None, None, 0);
        let listed = desk.named_workspaces().unwrap().list_workspaces(&request).await;
        if let Ok(page) = listed {
            assert!(page["workspaces"].as_array().is_some_and(|page| page.len() <= 2), "pages have a limit");
        }
        return;
    }
    let heard = world.call_named(&address, |named: NamedService| async move { named.describe() }).await;
    if let Ok(Err(error)) = heard {
        check_failure(&world, &address, "a description", &error);
    }
}
