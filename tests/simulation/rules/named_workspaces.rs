//! What is checked on every answer about named workspaces.

use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::ForkedWorkspaces;
use sandbox_snapshotter::model::named::messages::StartOutcome;
use sandbox_snapshotter::model::named::{Address, ContainerMarker, State};
use sandbox_snapshotter::model::{Code, SandboxId, SnapshotId, Timestamp, WorkspaceRef};
use sandbox_snapshotter::ports::Ledger;
use serde::{Deserialize, Serialize};

use super::lifecycle;
use crate::world::{Files, SourceSnapshot, World};

/// How long an answer is surely kept for its key, in milliseconds.
const KEY_RETENTION_MILLIS: i64 = 40 * 3600 * 1000;

/// How many forks a workspace remembers.
const MAX_FORKS: usize = 16;

/// What is in a sandbox at some time.
#[derive(Clone)]
pub struct WorkspaceContent {
    /// The sandbox.
    pub id: SandboxId,
    number: u64,
    at: i64,
    files: Files,
}

/// What is in the workspace now, if it is active with its files in place.
pub fn current_content(world: &Rc<World>, address: &Address) -> Option<WorkspaceContent> {
    let record = world.workspace_store(address).stored_record().filter(|record| record.state == State::Active)?;
    let id = record.sandbox_id;
    world.with_sandbox(&id.clone(), |sandbox, at| {
        let container = sandbox.container.as_ref()?;
        let is_ready = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        is_ready.then(|| WorkspaceContent { id, number: container.number, at, files: container.files.clone() })
    })
}

/// What is looked at of an answer to a start.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartAnswer {
    name: String,
    tenant: String,
    sandbox_id: SandboxId,
    #[serde(default)]
    started_at: Option<Timestamp>,
    workspace: WorkspaceRef,
    how: StartOutcome,
    #[serde(default)]
    restored_from: Option<SnapshotId>,
}

/// A workspace was answered as started.
pub fn check_started(world: &Rc<World>, address: &Address, asked_at: i64, started: &impl Serialize) {
    let started: StartAnswer = serde_json::from_value(serde_json::to_value(started).unwrap()).unwrap();
    if started.name != address.name.as_str() || started.tenant != address.tenant.as_str() {
        world.report_violation(
            "rule 14, one name is nothing to another",
            &format_args!("{address}: {:?}", started.name),
        );
    }
    let id = &started.sandbox_id;
    let (sandbox_id, root_id) = (started.workspace.sandbox_id(), started.workspace.root_id());
    world.trace(&format_args!("answered {address} in {id}: {:?}", started.how));
    world.count(match started.how {
        StartOutcome::Running => "workspaces found alive",
        StartOutcome::Restored => "workspaces restored",
        StartOutcome::Empty => "workspaces begun",
        StartOutcome::Adopted => "workspaces kept as they woke",
    });
    let row = world.ledger(id).workspace().unwrap();
    if row.as_ref().is_none_or(|row| row.binding.as_ref().is_none_or(|standing| standing.address != *address)) {
        world.report_violation("rule 14, a sandbox stands for one name", &format_args!("{id} is not {address}'s"));
    }
    if sandbox_id != id || row.is_some_and(|row| row.root_id != *root_id) {
        world.report_violation("rule 8, a sandbox is of its lineage", &format_args!("{id} of {root_id}"));
    }
    world.with_sandbox(id, |sandbox, _| sandbox.was_handed_out = true);
    let other = {
        let mut book = world.history.borrow_mut();
        book.returned_sandboxes.insert(id.clone(), root_id.clone());
        book.named_sandboxes.insert(id.clone(), address.clone()).filter(|other| other != address)
    };
    if let Some(other) = other {
        world.report_violation(
            "rule 14, a sandbox stands for one name",
            &format_args!("{id} is {address}'s and {other}'s"),
        );
    }
    check_start_answer(world, address, asked_at, &started);
}

/// What was told of a start is what happened, as far as it is still to be seen.
fn check_start_answer(world: &Rc<World>, address: &Address, asked_at: i64, started: &StartAnswer) {
    let id = &started.sandbox_id;
    let is_latest = world.workspace_store(address).stored_record().is_some_and(|record| {
        record.state == State::Active && record.started_at == started.started_at && record.sandbox_id == *id
    });
    let told = started.restored_from.as_ref().and_then(|snapshot| lifecycle::files_of(world, id, snapshot));
    let wrong = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref()?;
        let is_ready = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        if container.started_at < asked_at && started.how == StartOutcome::Running && !is_ready {
            return Some(format!("{id} is {:?}", container.marker));
        }
        let sources = &container.restored_from;
        if sources.is_empty() || !is_latest || !is_ready {
            return None;
        }
        let is_same = |file: &u8, one: &Files, other: &Files| {
            container.write_times.contains_key(file) || one.get(file) == other.get(file)
        };
        let is_right = |from: &SourceSnapshot| match (&started.how, from) {
            // One that was being captured as the start began may have become the newest, with the same files, as far as that
            // is still to be seen.
            (StartOutcome::Restored, Some((newest, files))) => {
                let are_same = |told: &Files| told.keys().chain(files.keys()).all(|file| is_same(file, told, files));
                Some(newest) == started.restored_from.as_ref() || told.as_ref().is_some_and(are_same)
            }
            (StartOutcome::Restored, None) => false,
            (StartOutcome::Empty, from) => from.is_none(),
            (StartOutcome::Running | StartOutcome::Adopted, _) => true,
        };
        let wrong = || format!("{id} was filled from one of {sources:?}, and not {:?}", started.restored_from);
        (!sources.iter().any(is_right)).then(wrong)
    });
    if let Some(wrong) = wrong {
        world.report_violation("rule 11, a start says what it did", &format_args!("{wrong}"));
    }
}

/// Whether there is not that workspace any more which was there at that time.
pub fn is_recreated(world: &Rc<World>, address: &Address, since: i64) -> bool {
    let was_deleted = world.history.borrow().workspace_deletes_at.get(address).is_some_and(|at| *at >= since);
    // What can't be made goes by itself.
    was_deleted
        || world.workspace_store(address).stored_record().is_none_or(|record| record.created_at.as_millis() >= since)
}

/// Whether the answer to a call of that time may have been forgotten.
pub fn is_forgotten(world: &Rc<World>, address: &Address, first_at: i64) -> bool {
    let is_crowded_out =
        world.workspace_store(address).stored_record().is_some_and(|record| record.fork_calls.len() >= MAX_FORKS);
    is_crowded_out || world.now() - first_at >= KEY_RETENTION_MILLIS
}

/// Forks were answered.
pub fn check_forked(
    world: &Rc<World>,
    address: &Address,
    (first_at, asked_at): (i64, i64),
    before: Option<&WorkspaceContent>,
    forked: &ForkedWorkspaces,
) {
    let is_another = is_forgotten(world, address, first_at) || is_recreated(world, address, first_at);
    for fork in &forked.forks {
        let own = Address { tenant: address.tenant.clone(), name: fork.name.clone() };
        match (&fork.value, &fork.error) {
            (Some(value), None) => {
                world.count("forks");
                check_started(world, &own, asked_at, value);
            }
            (None, Some(problem)) => {
                world.trace(&format_args!("the fork {own} failed: {} {}", problem.code, problem.message));
                let is_ours = problem.code == Code::Internal && !problem.message.contains("somebody's already");
                if is_ours || (problem.code == Code::IdempotencyConflict && !is_another) {
                    world.report_violation("rule 13, forks are made", &format_args!("{own}: {}", problem.message));
                }
            }
            _ => world.report_violation("rule 13, a fork is made or not", &format_args!("{own}")),
        }
    }
    // It may have gone back meanwhile, to a sandbox of its own.
    let is_its = |before: &&WorkspaceContent| {
        world.workspace_store(address).stored_record().is_some_and(|record| record.sandbox_id == before.id)
    };
    let Some(before) = before.filter(is_its) else { return };
    let snapshot_exists = world.with_sandbox(&before.id, |sandbox, _| {
        sandbox.container.as_ref().is_some_and(|container| container.number == before.number)
    });
    let row = world.ledger(&forked.origin_id).snapshot(&forked.snapshot_id).unwrap();
    let Some(stored) = row.as_ref().and_then(|row| row.stored()).filter(|_| snapshot_exists) else { return };
    let truths = world.ground_truths.borrow();
    let files = &truths[stored.backup.id()].files;
    let is_behind = before.files.iter().any(|(file, content)| files.get(file).is_none_or(|own| own < content));
    if forked.origin_id == before.id && is_behind {
        let what = format_args!("{:?} of {} at {}, and not {:?}", files, before.id, before.at, before.files);
        world.report_violation("rule 13, forks begin where the workspace is", &what);
    }
}
