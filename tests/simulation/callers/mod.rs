//! The callers: they do this and that with the application's sandboxes and those that they got, all at the same time, and
//! ask again when an answer is lost.
//!
//! - here: a caller, and calls that can have a key
//! - `taking`: snapshots, restores and branches
//! - `keeping`: what can be done with snapshots that are there
//! - `names`: named workspaces
//! - `abuse`: what has to be refused
//! - `nature`: what happens to the world without the service
// Every operation has the same shape, whether it waits for anything or not.
#![allow(clippy::unused_async)]

mod abuse;
mod keeping;
mod names;
mod nature;
mod taking;

use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandbox_snapshotter::model::{Code, Lineage, Result, Taken, WorkspaceRef};
use sandbox_snapshotter::service::{Abort, Snapshotter as _};
use serde_json::Value;

use crate::book::{Call, Keyed};
use crate::rules::answers;
use crate::world::{Lost, Snapshotter, World};

/// How long an answer is surely kept for its key, in milliseconds.
const KEPT: i64 = 40 * 3600 * 1000;

/// Something that a caller does.
type Operation = fn(Rc<World>) -> LocalBoxFuture<'static, ()>;

macro_rules! operations {
    ($($module:ident: $($name:ident)+;)+) => {
        /// Everything that callers do.
        const OPERATIONS: &[Operation] = &[$($(|world| $module::$name(world).boxed_local(),)+)+];
    };
}

operations! {
    taking: write snapshot snapshot write snapshot derive derive repeat burst;
    keeping: look list label pin delete set_retention apply_retention rotate_key import sweep;
    abuse: forge cross_sessions misuse_key;
    nature: kill reconnect wait_a_little wait_long go_down spoil deploy;
    names: create get_or_create get_or_create start start stop stop work work work fork update update delete describe
        repeat_name crowd work_on;
}

/// How many operations there are.
pub const COUNT: usize = OPERATIONS.len();

/// How many of them, at the end, are about named workspaces.
pub const OF_NAMES: usize = 18;

/// One caller, to the end of its calls.
pub async fn caller(world: Rc<World>) {
    let total: usize = world.weather.weights.iter().sum();
    for _ in 0..world.weather.calls {
        let place = world.chance.below(total.max(1));
        let ends = world.weather.weights.iter().scan(0, |end, weight| {
            *end += weight;
            Some(*end)
        });
        let index = ends.enumerate().find(|(_, end)| place < *end).map_or(0, |(index, _)| index);
        OPERATIONS[index](Rc::clone(&world)).await;
        world.moment().await;
    }
}

/// What a call with a key answers.
pub enum Answer {
    /// A snapshot.
    Taken(Taken),
    /// A sandbox.
    Got(WorkspaceRef),
}

impl Answer {
    fn to_json(&self) -> Value {
        match self {
            Self::Taken(taken) => serde_json::to_value(taken).unwrap(),
            Self::Got(workspace) => serde_json::to_value(workspace).unwrap(),
        }
    }
}

/// Makes a call, and notes what was answered.
pub async fn make(world: &Rc<World>, call: Call, abort: Abort) {
    let now = world.now();
    let mut since = now;
    if let Some(key) = call.key() {
        let mut book = world.book.borrow_mut();
        let new = || Keyed { call: call.clone(), asked_at: now, lost_at: 0, answer: None, is_settled: false };
        let keyed = book.keyed.entry(key.clone()).or_insert_with(new);
        since = keyed.asked_at;
        if now - since >= KEPT && !keyed.is_settled && matches!(call, Call::Derive(..)) {
            // The answer may be forgotten, and what was answered is nobody's.
            keyed.is_settled = true;
            *book.lost_restores.entry(call.workspace().clone()).or_default() += 1;
        }
    }
    if let Call::Snapshot(request) = &call
        && request.wake
    {
        world.book.borrow_mut().woken.insert(request.sandbox_id.clone());
    }
    let heard = perform(world, &call, abort).await;
    hear(world, &call, (since, now), &heard);
}

/// Makes a call.
pub async fn perform(world: &Rc<World>, call: &Call, abort: Abort) -> Result<Result<Answer>, Lost> {
    let asked = call.clone();
    let work = |workspace: Snapshotter| async move {
        match asked {
            Call::Snapshot(request) => workspace.snapshot(request, abort).await.map(Answer::Taken),
            Call::Derive(request, Lineage::Restored) => workspace.restore(request, abort).await.map(Answer::Got),
            Call::Derive(request, Lineage::Branch) => workspace.branch(request, abort).await.map(Answer::Got),
        }
    };
    world.ask(call.workspace(), work).await
}

fn hear(world: &Rc<World>, call: &Call, (since, asked_at): (i64, i64), heard: &Result<Result<Answer>, Lost>) {
    match heard {
        Ok(Ok(answer)) => told(world, call, since, answer),
        Ok(Err(error)) => taking::failed(world, call, error),
        Err(Lost) => {
            world.trace(&format_args!("the answer of {} is lost", call.workspace()));
            world.count("lost answers to callers");
            if matches!(call, Call::Derive(..)) && call.key().is_none() {
                *world.book.borrow_mut().lost_restores.entry(call.workspace().clone()).or_default() += 1;
            }
        }
    }
    let mut book = world.book.borrow_mut();
    let Some(keyed) = call.key().and_then(|key| book.keyed.get_mut(key)) else { return };
    keyed.is_settled = match heard {
        Ok(Ok(_)) => true,
        // What was lost meanwhile may have been the answer to another call, which came after this one.
        // Where another object cannot be asked about the lineage, the call ends before its key is looked up: that says nothing of an
        // answer that was lost before.
        Ok(Err(error)) => {
            let is_before_key = error.code() == Code::LedgerUnavailable;
            asked_at >= keyed.lost_at && (keyed.lost_at == 0 || !is_before_key)
        }
        Err(Lost) => {
            keyed.lost_at = world.now();
            false
        }
    };
}

/// An answer came: it must be the same for the same key.
fn told(world: &Rc<World>, call: &Call, since: i64, answer: &Answer) {
    match answer {
        Answer::Taken(taken) => answers::made(world, call, since, taken),
        Answer::Got(workspace) => answers::got(world, call, workspace),
    }
    let mut book = world.book.borrow_mut();
    let Some(keyed) = call.key().and_then(|key| book.keyed.get_mut(key)) else { return };
    let is_kept = world.now() - keyed.asked_at < KEPT;
    let answer = answer.to_json();
    match &keyed.answer {
        Some(first) if *first != answer && is_kept => {
            world.violated("rule 3, the same answer for the same key", &format_args!("{first} and {answer}"));
        }
        Some(_) => world.count("answers repeated"),
        None => keyed.answer = Some(answer),
    }
}

/// Asks again for every answer that was lost, now that nothing fails any more.
pub async fn ask_again(world: Rc<World>) {
    names::ask_again(&world).await;
    let keyed = world.book.borrow().keyed.clone();
    for (key, keyed) in keyed.into_iter().filter(|(_, keyed)| !keyed.is_settled) {
        make(&world, keyed.call, Abort::never()).await;
        if world.book.borrow().keyed.get(&key).is_some_and(|keyed| !keyed.is_settled) {
            world.violated("rule 3, a lost answer can be asked for again", &format_args!("{key}"));
        }
    }
}
