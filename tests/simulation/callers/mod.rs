//! The callers: they make random calls about the application's sandboxes and about returned sandboxes, concurrently, and
//! repeat calls whose answers were lost.
//!
//! - here: a caller, and calls that can have an idempotency key
//! - `snapshots`: snapshots, restores and branches
//! - `management`: operations on existing snapshots
//! - `revivals`: revivals of sandboxes
//! - `named_workspaces`: named workspaces; `workspace_settings`: their settings
//! - `promotions`: promotions of named workspaces
//! - `misuse`: calls that the service must refuse
//! - `environment`: events outside of the service
// Every action has the same signature, whether it awaits anything or not.
#![allow(clippy::unused_async)]

mod environment;
mod management;
mod misuse;
mod named_workspaces;
mod promotions;
mod revivals;
mod snapshots;
mod workspace_settings;

use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::{Code, DerivationKind, Result, TakenSnapshot, WorkspaceRef};
use sandbox_snapshotter::service::CancellationToken;
use serde_json::Value;

use crate::history::{Call, KeyedCall};
use crate::memory::ObjectKey;
use crate::planted;
use crate::rules::answers;
use crate::world::{AnswerLost, SandboxService, World};

/// The time for which an answer is certainly stored for its idempotency key, in milliseconds.
const KEY_RETENTION_MILLIS: i64 = 40 * 3600 * 1000;

/// An action of a caller.
type CallerAction = fn(Rc<World>) -> LocalBoxFuture<'static, ()>;

macro_rules! caller_actions {
    ($($module:ident: $($name:ident)+;)+) => {
        /// All actions of callers.
        const ACTIONS: &[CallerAction] = &[$($(|world| $module::$name(world).boxed_local(),)+)+];
    };
}

caller_actions! {
    snapshots: write_file snapshot snapshot write_file snapshot derive derive repeat_call call_together;
    management: inspect list label pin delete set_retention apply_retention rotate_key import sweep;
    misuse: forge_ref cross_lineage reuse_key;
    environment: end_container reconnect wait_short wait_long fail_service damage_backup delete_disk deploy_image;
    revivals: revive;
    named_workspaces: create get_or_create get_or_create start start stop stop write_in_workspace write_in_workspace write_in_workspace fork update update delete describe
        turn_ended turn_ended repeat_workspace_call start_and_stop_together write_during_stop;
    promotions: promote;
}

/// The number of actions.
pub const ACTION_COUNT: usize = ACTIONS.len();

/// The number of actions about named workspaces, which are the last ones.
pub const WORKSPACE_ACTION_COUNT: usize = 21;

/// Runs one caller to the end of its calls.
pub async fn run_caller(world: Rc<World>) {
    let total: usize = world.profile.weights.iter().sum();
    for _ in 0..world.profile.calls_per_caller {
        let place = world.rng.below(total.max(1));
        let ends = world.profile.weights.iter().scan(0, |end, weight| {
            *end += weight;
            Some(*end)
        });
        let index = ends.enumerate().find(|(_, end)| place < *end).map_or(0, |(index, _)| index);
        ACTIONS[index](Rc::clone(&world)).await;
        world.pass_step().await;
    }
}

/// The answer of a call that can have an idempotency key.
#[allow(clippy::large_enum_variant)] // Few exist at the same time.
pub enum Answer {
    /// A snapshot.
    Snapshot(TakenSnapshot),
    /// A sandbox.
    Sandbox(WorkspaceRef),
}

impl Answer {
    fn to_json(&self) -> Value {
        match self {
            Self::Snapshot(taken) => serde_json::to_value(taken).unwrap(),
            Self::Sandbox(workspace) => serde_json::to_value(workspace).unwrap(),
        }
    }
}

/// Makes a call, and records its outcome.
pub async fn make_call(world: &Rc<World>, call: Call, abort: CancellationToken) {
    let now = world.now();
    let mut since = now;
    if let Some(key) = call.key() {
        let mut history = world.history.borrow_mut();
        let new = || KeyedCall { call: call.clone(), requested_at: now, lost_at: 0, answer: None, is_answered: false };
        let keyed = history.keyed_calls.entry(key.clone()).or_insert_with(new);
        since = keyed.requested_at;
        if now - since >= KEY_RETENTION_MILLIS && !keyed.is_answered && matches!(call, Call::Derive(..)) {
            // The stored answer may be gone, so that no caller learns of the sandbox.
            keyed.is_answered = true;
            *history.lost_restore_answers.entry(call.sandbox().clone()).or_default() += 1;
        }
    }
    if let Call::Snapshot(request) = &call
        && request.wake
    {
        world.history.borrow_mut().cold_started.insert(request.sandbox_id.clone());
    }
    let outcome = send_call(world, &call, abort).await;
    record_outcome(world, &call, (since, now), &outcome);
}

/// Makes a call.
pub async fn send_call(world: &Rc<World>, call: &Call, abort: CancellationToken) -> Result<Result<Answer>, AnswerLost> {
    let (request, here) = (planted::as_received(world, call), Rc::clone(world));
    let work = |sandbox: SandboxService| async move {
        let (request, kind) = match request {
            Call::Snapshot(request) => return sandbox.snapshot(request, abort).await.map(Answer::Snapshot),
            Call::Derive(request, kind) => (request, kind),
        };
        let object = ObjectKey::Sandbox(request.selection.selector.origin_id().clone());
        let derive = |abort| async move {
            match kind {
                DerivationKind::Restored => sandbox.restore(request, abort).await,
                DerivationKind::Branch => sandbox.branch(request, abort).await,
            }
        };
        planted::run_derivation(here, object, abort, derive).await.map(Answer::Sandbox)
    };
    world.call_sandbox(call.sandbox(), work).await
}

fn record_outcome(
    world: &Rc<World>,
    call: &Call,
    (since, requested_at): (i64, i64),
    outcome: &Result<Result<Answer>, AnswerLost>,
) {
    match outcome {
        Ok(Ok(answer)) => record_answer(world, call, since, answer),
        Ok(Err(error)) => snapshots::check_failure(world, call, error),
        Err(AnswerLost) => {
            world.trace(&format_args!("the answer of {} is lost", call.sandbox()));
            world.count("lost answers to callers");
            if matches!(call, Call::Derive(..)) && call.key().is_none() {
                *world.history.borrow_mut().lost_restore_answers.entry(call.sandbox().clone()).or_default() += 1;
            }
        }
    }
    let mut history = world.history.borrow_mut();
    let Some(keyed) = call.key().and_then(|key| history.keyed_calls.get_mut(key)) else { return };
    keyed.is_answered = match outcome {
        Ok(Ok(_)) => true,
        // An answer that was lost after this call began may belong to a later call. If the object of another sandbox is
        // unavailable for the lineage check, the call fails before the service reads its key; such a failure does not
        // replace an answer that was lost before.
        Ok(Err(error)) => {
            let is_before_key = error.code() == Code::LedgerUnavailable;
            requested_at >= keyed.lost_at && (keyed.lost_at == 0 || !is_before_key)
        }
        Err(AnswerLost) => {
            keyed.lost_at = world.now();
            false
        }
    };
}

/// Records an answer. The same key must have the same answer.
fn record_answer(world: &Rc<World>, call: &Call, since: i64, answer: &Answer) {
    match answer {
        Answer::Snapshot(taken) => answers::check_snapshot(world, call, since, taken),
        Answer::Sandbox(workspace) => answers::check_sandbox(world, call, workspace),
    }
    let mut history = world.history.borrow_mut();
    let Some(keyed) = call.key().and_then(|key| history.keyed_calls.get_mut(key)) else { return };
    let is_retained = world.now() - keyed.requested_at < KEY_RETENTION_MILLIS;
    let answer = answer.to_json();
    match &keyed.answer {
        Some(first) if *first != answer && is_retained => {
            world.report_violation("rule 3, a key returns the same answer", &format_args!("{first} and {answer}"));
        }
        Some(_) => world.count("answers repeated"),
        None => keyed.answer = Some(answer),
    }
}

/// Repeats every call whose answer was lost. The faults must have stopped.
pub async fn repeat_lost_calls(world: Rc<World>) {
    named_workspaces::repeat_lost_calls(&world).await;
    let keyed = world.history.borrow().keyed_calls.clone();
    for (key, keyed) in keyed.into_iter().filter(|(_, keyed)| !keyed.is_answered) {
        make_call(&world, keyed.call, CancellationToken::never()).await;
        if world.history.borrow().keyed_calls.get(&key).is_some_and(|keyed| !keyed.is_answered) {
            world.report_violation("rule 3, a repeated call returns a lost answer", &format_args!("{key}"));
        }
    }
}
