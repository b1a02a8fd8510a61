//! Checks of every answer about named workspaces.

use std::rc::Rc;

use sandbox_snapshotter::model::named::answer::{ForkedWorkspaces, RestoredFrom, StartOutcome};
use sandbox_snapshotter::model::named::{Address, ContainerMarker, State};
use sandbox_snapshotter::model::{Code, SandboxId, Timestamp, WorkspaceRef};
use sandbox_snapshotter::ports::Ledger;
use serde::{Deserialize, Serialize};

use super::{loss, sources};
use crate::world::{DIR, Files, SourceSnapshot, World};

/// The time for which an answer is certainly stored for its idempotency key, in milliseconds.
const KEY_RETENTION_MILLIS: i64 = 40 * 3600 * 1000;

/// The number of fork calls that a workspace stores.
const MAX_FORKS: usize = 16;

/// The files of a sandbox at some time.
#[derive(Clone)]
pub struct WorkspaceContent {
    /// The sandbox.
    pub id: SandboxId,
    number: u64,
    at: i64,
    files: Files,
}

/// Returns the present files of a workspace, if it is active and ready.
pub fn current_content(world: &Rc<World>, address: &Address) -> Option<WorkspaceContent> {
    let record = world.workspace_store(address).stored_record().filter(|record| record.state == State::Active)?;
    let id = record.sandbox_id;
    world.with_sandbox(&id.clone(), |sandbox, at| {
        let container = sandbox.container.as_ref()?;
        let is_ready = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        is_ready.then(|| WorkspaceContent { id, number: container.number, at, files: container.files_in(DIR) })
    })
}

/// The fields of a start's answer that are checked.
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
    restored_from: Option<RestoredFrom>,
    #[serde(default)]
    may_have_lost: Option<bool>,
}

/// Checks a workspace that was returned as started.
pub fn check_started(world: &Rc<World>, address: &Address, requested_at: i64, started: &impl Serialize) {
    let started: StartAnswer = serde_json::from_value(serde_json::to_value(started).unwrap()).unwrap();
    if started.name != address.name.as_str() || started.tenant != address.tenant.as_str() {
        world.report_violation(
            "rule 14, a start returns the requested workspace",
            &format_args!("{address}: {:?}", started.name),
        );
    }
    let id = &started.sandbox_id;
    let (sandbox_id, root_id) = (started.workspace.sandbox_id(), started.workspace.root_id());
    world.trace(&format_args!("returned {address} in {id}: {:?}", started.how));
    world.count(match started.how {
        StartOutcome::Running => "workspaces found running",
        StartOutcome::Restored => "workspaces restored",
        StartOutcome::Empty => "workspaces started empty",
        StartOutcome::Adopted => "workspaces adopted",
    });
    let row = world.ledger(id).sandbox().unwrap();
    if row.as_ref().is_none_or(|row| row.binding.as_ref().is_none_or(|binding| binding.address != *address)) {
        world.report_violation(
            "rule 14, a sandbox belongs to one named workspace",
            &format_args!("{id} does not belong to {address}"),
        );
    }
    if sandbox_id != id || row.is_some_and(|row| row.root_id != *root_id) {
        world.report_violation("rule 8, a sandbox has the root of its lineage", &format_args!("{id} of {root_id}"));
    }
    world.with_sandbox(id, |sandbox, _| sandbox.notes.was_handed_out = true);
    let other = {
        let mut history = world.history.borrow_mut();
        history.returned_sandboxes.insert(id.clone(), root_id.clone());
        history.named_sandboxes.insert(id.clone(), address.clone()).filter(|other| other != address)
    };
    if let Some(other) = other {
        world.report_violation(
            "rule 14, a sandbox belongs to one named workspace",
            &format_args!("{id} belongs to {address} and {other}"),
        );
    }
    check_start_answer(world, address, requested_at, &started);
    let is_restored = started.how == StartOutcome::Restored;
    if is_restored && (started.restored_from.is_none() || started.may_have_lost.is_none()) {
        world.report_violation("rule 17, a start says what it restored", &format_args!("{address}"));
    }
    if started.how == StartOutcome::Empty {
        // The caller allowed it, and sees that there are no files.
        loss::note_reported(world, address);
    }
    if let Some(may_have_lost) = started.may_have_lost {
        loss::check_answer(world, address, requested_at, may_have_lost);
    }
}

/// Checks that a start reports what it did, as far as the sandbox still shows it.
fn check_start_answer(world: &Rc<World>, address: &Address, requested_at: i64, started: &StartAnswer) {
    let id = &started.sandbox_id;
    let is_latest = world.workspace_store(address).stored_record().is_some_and(|record| {
        record.state == State::Active && record.started_at == started.started_at && record.sandbox_id == *id
    });
    let restored_from = started.restored_from.as_ref().and_then(|from| from.snapshot_id.as_ref());
    let reported = restored_from.and_then(|snapshot| sources::files_of(world, id, snapshot));
    let problem = world.with_sandbox(id, |sandbox, _| {
        let container = sandbox.container.as_ref()?;
        let is_ready = matches!(container.marker, Some(ContainerMarker::Ready(_)));
        if container.started_at < requested_at && started.how == StartOutcome::Running && !is_ready {
            return Some(format!("{id} is {:?}", container.marker));
        }
        let sources = &container.notes.restored_from;
        if sources.is_empty() || !is_latest || !is_ready {
            return None;
        }
        let is_same = |file: &String, one: &Files, other: &Files| {
            container.notes.write_times.contains_key(file) || one.get(file) == other.get(file)
        };
        let is_right = |from: &SourceSnapshot| match (&started.how, from) {
            // A capture that was in progress when the start began may have become the newest snapshot. Its files must be the
            // same, as far as the sandbox still shows them.
            (StartOutcome::Restored, Some((newest, files))) => {
                let are_same =
                    |reported: &Files| reported.keys().chain(files.keys()).all(|file| is_same(file, reported, files));
                newest.as_ref() == restored_from || reported.as_ref().is_some_and(are_same)
            }
            (StartOutcome::Restored, None) => false,
            (StartOutcome::Empty, from) => from.is_none(),
            (StartOutcome::Running | StartOutcome::Adopted, _) => true,
        };
        let problem = || format!("{id} was restored from one of {sources:?}, and not {restored_from:?}");
        (!sources.iter().any(is_right)).then(problem)
    });
    if let Some(problem) = problem {
        world.report_violation("rule 11, a start reports what it did", &format_args!("{problem}"));
    }
}

/// Returns whether the workspace was deleted or created again after `since`.
pub fn is_recreated(world: &Rc<World>, address: &Address, since: i64) -> bool {
    let was_deleted = world.history.borrow().workspace_deletes_at.get(address).is_some_and(|at| *at >= since);
    // A workspace whose creation fails is deleted without a request.
    was_deleted
        || world.workspace_store(address).stored_record().is_none_or(|record| record.created_at.as_millis() >= since)
}

/// Returns whether the stored answer to a call made at `first_at` may be gone.
pub fn is_answer_dropped(world: &Rc<World>, address: &Address, first_at: i64) -> bool {
    let is_crowded_out =
        world.workspace_store(address).stored_record().is_some_and(|record| record.fork_calls.len() >= MAX_FORKS);
    is_crowded_out || world.now() - first_at >= KEY_RETENTION_MILLIS
}

/// Checks returned forks.
pub fn check_forked(
    world: &Rc<World>,
    address: &Address,
    (first_at, requested_at): (i64, i64),
    before: Option<&WorkspaceContent>,
    forked: &ForkedWorkspaces,
) {
    let is_other_workspace = is_answer_dropped(world, address, first_at) || is_recreated(world, address, first_at);
    for fork in &forked.forks {
        let own = Address { tenant: address.tenant.clone(), name: fork.name.clone() };
        match (&fork.value, &fork.error) {
            (Some(value), None) => {
                world.count("forks");
                check_started(world, &own, requested_at, value);
            }
            (None, Some(problem)) => {
                world.trace(&format_args!("the fork {own} failed: {} {}", problem.code, problem.message));
                let is_defect = problem.code == Code::Internal && !problem.message.contains("already taken");
                if is_defect || (problem.code == Code::IdempotencyConflict && !is_other_workspace) {
                    world.report_violation("rule 13, a fork succeeds", &format_args!("{own}: {}", problem.message));
                }
            }
            _ => world.report_violation("rule 13, a fork has a value or an error", &format_args!("{own}")),
        }
    }
    // A rollback may have replaced the sandbox in the meantime.
    let is_current = |before: &&WorkspaceContent| {
        world.workspace_store(address).stored_record().is_some_and(|record| record.sandbox_id == before.id)
    };
    let Some(before) = before.filter(is_current) else { return };
    let is_same_container = world.with_sandbox(&before.id, |sandbox, _| {
        sandbox.container.as_ref().is_some_and(|container| container.number == before.number)
    });
    let row = world.ledger(&forked.origin_id).snapshot(&forked.snapshot_id).unwrap();
    let Some(stored) = row.as_ref().and_then(|row| row.stored()).filter(|_| is_same_container) else { return };
    let truths = world.ground_truths.borrow();
    let files = &truths[stored.backup.id()].files;
    let is_behind = before.files.iter().any(|(file, content)| files.get(file).is_none_or(|own| own < content));
    if forked.origin_id == before.id && is_behind {
        let what = format_args!("{:?} of {} at {}, and not {:?}", files, before.id, before.at, before.files);
        world.report_violation("rule 13, a fork has the workspace's present files", &what);
    }
}
