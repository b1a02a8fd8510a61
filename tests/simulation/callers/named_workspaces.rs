//! Calls about named workspaces.

use std::rc::Rc;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::answer::StartedWorkspace;
use sandbox_snapshotter::model::named::{Address, Tenant, WorkspaceName};
use sandbox_snapshotter::model::request::{
    CreateRequest, ForkRequest, GetOrCreateRequest, ListWorkspacesRequest, SettingsUpdate, SnapshotText, Source,
    StartRequest, StopRequest, UpdateRequest,
};
use sandbox_snapshotter::model::{Code, Error, Result, SandboxId};
use sandbox_snapshotter::ports::{Ledger, NamedWorkspaceClient};
use sandbox_snapshotter::service::CancellationToken;
use serde_json::json;

use super::snapshots::{pick_cancellation, pick_snapshot};
use super::workspace_settings::{pick_changes, pick_start_options};
use crate::history::{KeyedWorkspaceCall, WorkspaceCall};
use crate::rules::{answers, autosaves, loss, named_workspaces};
use crate::world::{AnswerLost, NamedService, World};

const LONG_NAME: &str = "a.workspace_whose-name-is-as-long-as-any-name-of-a-workspace-is";

/// Picks the address of a workspace that is not a fork. The workspace may not exist.
fn pick_root_address(world: &World) -> Address {
    let (tenant, name) =
        [("acme", "alpha"), ("acme", LONG_NAME), ("other", "alpha")][world.rng.below(world.profile.sandbox_count)];
    Address { tenant: Tenant::parse(tenant).unwrap(), name: WorkspaceName::parse(name).unwrap() }
}

/// Picks the address of any workspace, including forks.
pub(super) fn pick_address(world: &World) -> Address {
    let all: Vec<Address> = world.history.borrow().named_sandboxes.values().cloned().collect();
    match world.rng.pick(&all) {
        Some(any) if world.rng.one_in(3) => any,
        _ => pick_root_address(world),
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
    CreateRequest { address, runtime: None, dir: None, settings: pick_changes(world), source, idempotency_key }
}

/// Creates a workspace.
pub async fn create(world: Rc<World>) {
    let request = pick_create_request(&world, pick_root_address(&world));
    make_workspace_call(&world, WorkspaceCall::Create(request)).await;
}

/// Forks a workspace.
pub async fn fork(world: Rc<World>) {
    let new_name = world.rng.one_in(2).then(|| WorkspaceName::parse("fork").unwrap());
    let request = ForkRequest {
        address: pick_address(&world),
        new_name,
        count: 1 + u32::try_from(world.rng.below(3)).unwrap(),
        from: None,
        copy_env: false,
        secrets: None,
        runtime: None,
        idempotency_key: (!world.rng.one_in(3)).then(|| format!("fork-{:x}", world.rng.next_u64())),
    };
    make_workspace_call(&world, WorkspaceCall::Fork(request)).await;
}

/// Repeats a call that was made before.
pub async fn repeat_workspace_call(world: Rc<World>) {
    let calls: Vec<WorkspaceCall> =
        world.history.borrow().keyed_workspace_calls.values().map(|keyed| keyed.call.clone()).collect();
    let Some(call) = world.rng.pick(&calls) else { return };
    world.trace(&format_args!("repeats a call about a named workspace"));
    make_workspace_call(&world, call).await;
}

/// Repeats the calls whose answers were lost.
pub async fn repeat_lost_calls(world: &Rc<World>) {
    let keyed: Vec<KeyedWorkspaceCall> = world.history.borrow().keyed_workspace_calls.values().cloned().collect();
    for keyed in keyed.into_iter().filter(|keyed| keyed.is_answer_lost) {
        make_workspace_call(world, keyed.call).await;
    }
}

/// Makes a call that can have an idempotency key, and records its outcome.
async fn make_workspace_call(world: &Rc<World>, call: WorkspaceCall) {
    let requested_at = world.now();
    let (address, key) = match &call {
        WorkspaceCall::Create(request) => (request.address.clone(), request.idempotency_key.clone()),
        WorkspaceCall::Fork(request) => (request.address.clone(), request.idempotency_key.clone()),
    };
    if let Some(key) = &key {
        let new = || KeyedWorkspaceCall { call: call.clone(), requested_at, answer: None, is_answer_lost: false };
        world.history.borrow_mut().keyed_workspace_calls.entry(key.clone()).or_insert_with(new);
    }
    let first_at =
        key.as_ref().map_or(requested_at, |key| world.history.borrow().keyed_workspace_calls[key].requested_at);
    let is_repeated = first_at != requested_at;
    let is_fork = matches!(call, WorkspaceCall::Fork(_));
    let outcome = match call {
        WorkspaceCall::Create(request) => {
            world.trace(&format_args!("creates {address} from {:?}", request.source));
            let source = request.source.clone();
            let answer = world.call_named(&address, |named: NamedService| async move {
                named.create(request, CancellationToken::never()).await
            });
            let outcome = answer.await;
            if let Ok(Ok(started)) = &outcome {
                named_workspaces::check_started(world, &address, requested_at, started);
                check_tenant(world, &address, source.as_ref());
            }
            outcome.map(|outcome| outcome.map(|started| started.description.created_at.to_string()))
        }
        WorkspaceCall::Fork(request) => {
            let before = named_workspaces::current_content(world, &address).filter(|_| !is_repeated);
            world.trace(&format_args!("forks {address} {} times", request.count));
            let answer = world.call_named(&address, |named: NamedService| async move {
                named.fork(request, CancellationToken::never()).await
            });
            let outcome = answer.await;
            if let Ok(Ok(forked)) = &outcome {
                named_workspaces::check_forked(world, &address, (first_at, requested_at), before.as_ref(), forked);
            }
            outcome.map(|outcome| {
                outcome.map(|forked| {
                    let names: Vec<_> = forked.forks.into_iter().map(|fork| fork.name).collect();
                    format!("{} {names:?}", forked.snapshot_id)
                })
            })
        }
    };
    if let Ok(Err(error)) = &outcome {
        check_failure(world, &address, "a creation or fork", error);
        if error.code() == Code::IdempotencyConflict {
            world.report_violation("rule 3, a key returns the same answer", &format_args!("{address}: {error}"));
        }
    }
    let is_other_workspace = if is_fork {
        named_workspaces::is_recreated(world, &address, first_at)
    } else {
        world.history.borrow().workspace_deletes_at.get(&address).is_some_and(|at| *at >= first_at)
    };
    let Some(key) = key else { return };
    let mut history = world.history.borrow_mut();
    let Some(keyed) = history.keyed_workspace_calls.get_mut(&key) else { return };
    keyed.is_answer_lost = matches!(outcome, Err(AnswerLost));
    let Ok(Ok(answer)) = outcome else { return };
    let is_comparable = !is_other_workspace && !named_workspaces::is_answer_dropped(world, &address, first_at);
    match &keyed.answer {
        Some(first) if *first != answer && is_comparable => {
            world.report_violation("rule 3, a key returns the same answer", &format_args!("{first} and {answer}"));
        }
        Some(_) => world.count("workspace answers repeated"),
        None => keyed.answer = Some(answer),
    }
}

/// Checks that a workspace was not created from a snapshot of another tenant.
fn check_tenant(world: &Rc<World>, address: &Address, source: Option<&Source>) {
    let Some(Source::Snapshot(selection)) = source else { return };
    let origin = SandboxId::parse(selection["sandboxId"].as_str().unwrap()).unwrap();
    let binding = world.ledger(&origin).sandbox().unwrap().and_then(|sandbox| sandbox.binding);
    if binding.is_some_and(|binding| binding.address.tenant != address.tenant) {
        world.report_violation("rule 14, tenants are isolated", &format_args!("{address} from {origin}"));
    }
}

pub(super) fn check_failure(world: &Rc<World>, address: &Address, what: &str, error: &Error) {
    // The name of a fork can be too long.
    if error.code() != Code::InvalidWorkspaceName {
        answers::check_failure(world, &format!("{what} of {address}"), error);
    }
}

fn check_start(
    world: &Rc<World>,
    address: &Address,
    requested_at: i64,
    outcome: Result<Result<StartedWorkspace>, AnswerLost>,
) {
    match outcome {
        Ok(Ok(started)) => named_workspaces::check_started(world, address, requested_at, &started),
        Ok(Err(error)) => {
            if error.code() == Code::Aborted {
                loss::note_lost_answer(world, address);
            }
            check_failure(world, address, "a start", &error);
        }
        Err(AnswerLost) => loss::note_lost_answer(world, address),
    }
}

/// Gets or creates a workspace.
pub async fn get_or_create(world: Rc<World>) {
    let (address, requested_at, abort) = (pick_root_address(&world), world.now(), pick_cancellation(&world));
    let create = CreateRequest { idempotency_key: None, ..pick_create_request(&world, address.clone()) };
    let request = GetOrCreateRequest { create, from: None, start: pick_start_options(&world) };
    world.trace(&format_args!("gets {address}, or creates it from {:?}", request.create.source));
    let answer =
        world.call_named(&address, |named: NamedService| async move { named.get_or_create(request, abort).await });
    let outcome = answer.await;
    check_start(&world, &address, requested_at, outcome);
}

/// Starts a workspace.
pub async fn start(world: Rc<World>) {
    start_workspace(&world, pick_address(&world)).await;
}

async fn start_workspace(world: &Rc<World>, address: Address) {
    let (requested_at, abort) = (world.now(), pick_cancellation(world));
    let fingerprint = world.rng.pick(&[None, None, Some("a".to_owned()), Some("b".to_owned())]).unwrap();
    let request = StartRequest { fingerprint, start: pick_start_options(world), ..StartRequest::of(address.clone()) };
    world.trace(&format_args!("starts {address}: {:?}", request.start));
    let outcome =
        world.call_named(&address, |named: NamedService| async move { named.start(request, abort).await }).await;
    check_start(world, &address, requested_at, outcome);
}

/// Starts and stops a workspace in several calls at the same time.
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
    let request = StopRequest::of(address.clone());
    match world.call_named(&address, |named: NamedService| async move { named.stop(request, abort).await }).await {
        Ok(Ok(stopped)) => {
            world.count("workspaces stopped");
            if stopped.description.may_have_lost == Some(true) {
                loss::note_reported(world, &address);
            }
            world.trace(&format_args!("{address} is stopped: {:?}", stopped.description.last_snapshot));
        }
        Ok(Err(error)) => check_failure(world, &address, "a stop", &error),
        Err(AnswerLost) => loss::note_lost_answer(world, &address),
    }
}

/// Writes files in a sandbox that was returned as a named workspace, even if the workspace has another sandbox now; or
/// only runs a command there.
pub async fn write_in_workspace(world: Rc<World>) {
    let ids: Vec<SandboxId> = world.history.borrow().named_sandboxes.keys().cloned().collect();
    let Some(id) = world.rng.pick(&ids) else { return };
    for _ in 0..=world.rng.below(3) {
        let file = u8::try_from(world.rng.below(4)).unwrap();
        if world.rng.one_in(5) {
            world.access(&id, |_, _| ());
        } else {
            world.write_file(&id, file);
        }
        world.pass_step().await;
    }
}

/// Writes files in a workspace while it is stopped or forked.
pub async fn write_during_stop(world: Rc<World>) {
    let address = pick_address(&world);
    let Some(content) = named_workspaces::current_content(&world, &address) else { return };
    let working = async {
        for _ in 0..world.rng.below(6) {
            world.pass_step().await;
            if named_workspaces::current_content(&world, &address).is_some_and(|now| now.id == content.id) {
                world.write_file(&content.id, 3);
            }
        }
    };
    let stopping = async {
        if world.rng.one_in(3) { fork(Rc::clone(&world)).await } else { stop_workspace(&world, address.clone()).await }
    };
    futures_util::future::join(working, stopping).await;
}

/// Changes the settings of a workspace, or rolls it back to an earlier snapshot.
pub async fn update(world: Rc<World>) {
    let (address, abort) = (pick_address(&world), pick_cancellation(&world));
    let record = world.workspace_store(&address).stored_record();
    let snapshot_ids = record.filter(|_| !world.rng.one_in(3)).map(|record| {
        let rows = record.sandboxes().flat_map(|id| world.ledger(id).live_snapshots()).collect::<Vec<_>>();
        let ready = rows.into_iter().filter(|row| row.state() == SnapshotState::Ready);
        ready.map(|row| row.snapshot_id).collect::<Vec<_>>()
    });
    let current_snapshot_id = world.rng.pick(&snapshot_ids.unwrap_or_default());
    let is_change = current_snapshot_id.is_none() || world.rng.one_in(4);
    let changes = if is_change { pick_changes(&world) } else { SettingsUpdate::default() };
    world.trace(&format_args!("updates {address}: {current_snapshot_id:?}"));
    let accept_stale = world.rng.one_in(2);
    if current_snapshot_id.is_some() {
        world.count("rollbacks requested");
    }
    let request = UpdateRequest {
        address: address.clone(),
        settings: changes,
        current_snapshot_id: current_snapshot_id.map(SnapshotText::Id),
        accept_stale,
    };
    let outcome =
        world.call_named(&address, |named: NamedService| async move { named.update(request, abort).await }).await;
    match outcome {
        Ok(Ok(described)) => {
            let mut history = world.history.borrow_mut();
            let id = described.sandbox_id;
            if let Some(row) = world.ledger(&id).sandbox().unwrap() {
                history.returned_sandboxes.insert(id.clone(), row.root_id);
                history.named_sandboxes.insert(id, address);
            }
        }
        Ok(Err(error)) => check_failure(&world, &address, "an update", &error),
        Err(AnswerLost) => {}
    }
}

/// Tells a workspace that turns have ended, one after the other: a save may begin in between.
pub async fn turn_ended(world: Rc<World>) {
    let address = pick_address(&world);
    for _ in 0..=world.rng.below(3) {
        end_turn(&world, &address).await;
        world.executor.sleep(world.rng.millis(4000)).await;
    }
}

async fn end_turn(world: &Rc<World>, address: &Address) {
    let requested_at = world.now();
    world.trace(&format_args!("a turn ends in {address}"));
    match world.call_named(address, |named: NamedService| async move { named.turn_ended().await }).await {
        Ok(Ok(answer)) if answer.save_due_at.is_some() => autosaves::note_turn(world, address, requested_at),
        Ok(Err(error)) => check_failure(world, address, "the end of a turn", &error),
        Ok(Ok(_)) | Err(AnswerLost) => {}
    }
}

/// Deletes a workspace.
pub async fn delete(world: Rc<World>) {
    let (address, abort) = (pick_address(&world), pick_cancellation(&world));
    world.trace(&format_args!("deletes {address}"));
    world.history.borrow_mut().workspace_deletes_at.insert(address.clone(), world.now());
    let outcome = world.call_named(&address, |named: NamedService| async move { named.delete(abort).await }).await;
    world.history.borrow_mut().workspace_deletes_at.insert(address.clone(), world.now());
    match outcome {
        Ok(Ok(deleted)) => {
            world.count(if deleted.removed { "workspaces deleted" } else { "workspaces already deleted" });
        }
        Ok(Err(error)) => check_failure(&world, &address, "a deletion", &error),
        Err(AnswerLost) => {}
    }
}

/// Describes a workspace, or lists the workspaces of its tenant.
pub async fn describe(world: Rc<World>) {
    let address = pick_address(&world);
    if world.rng.one_in(2) {
        let request = ListWorkspacesRequest { tenant: address.tenant, cursor: None, limit: 2, prefix: None };
        let listed = world.entrypoint().list_workspaces(&request).await;
        if let Ok(page) = listed {
            assert!(page["workspaces"].as_array().is_some_and(|page| page.len() <= 2), "a page respects its limit");
        }
        return;
    }
    let outcome = world.call_named(&address, |named: NamedService| async move { named.describe().await }).await;
    if let Ok(Err(error)) = outcome {
        check_failure(&world, &address, "a description", &error);
    }
}
