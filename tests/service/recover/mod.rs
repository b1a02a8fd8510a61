//! A Worker may die at any point. The next call or the alarms follow up what it left, until nothing of it is left over.
//!
//! - `captures`: snapshots that were being made
//! - `sandboxes`: sandboxes that were being made or destroyed
//! - `rest`: deletions, calls and word for others; and recovery itself

mod captures;
mod rest;
mod sandboxes;

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{Method, Moment, Stage, by_ref};

/// The Worker dies while an operation waits at the first call of a method.
pub fn dead_at(stage: &Stage, operation: Operation, arguments: &Value, method: Method, moment: Moment) {
    let gate = match moment {
        Moment::Before => stage.world.before(method).nth(1).held(),
        Moment::After => stage.world.after(method).nth(1).held(),
    };
    let work = stage.begin(operation, arguments);
    assert!(gate.is_reached(), "{method:?} was not called");
    stage.dies_during(work);
    stage.world.goes_well();
}

/// A Worker died during a snapshot of `agent-42` with the label `lost` and the key `k`; calls are counted from here.
pub fn died_capturing(method: Method, moment: Moment) -> Stage {
    let stage = Stage::with_sandbox();
    dead_at(&stage, Operation::Snapshot, &capture(), method, moment);
    stage.world.forget_calls();
    stage
}

pub fn capture() -> Value {
    json!({ "sandboxId": "agent-42", "label": "lost", "idempotencyKey": "k" })
}

/// A Worker died during a restore with the key `k`; calls are counted from here.
pub fn died_restoring(method: Method, moment: Moment) -> (Stage, SnapshotRef, Value) {
    let (stage, snapshot) = Stage::with_snapshot();
    let mut arguments = by_ref(&snapshot);
    arguments["idempotencyKey"] = json!("k");
    dead_at(&stage, Operation::Restore, &arguments, method, moment);
    (stage, snapshot, arguments)
}

/// The mark of the snapshot that is being made.
pub fn mark_of_the_unfinished(stage: &Stage) -> String {
    let [row] = stage.ledger("agent-42").unfinished().unwrap().try_into().unwrap();
    format!("snapshotter/1 {} agent-42", row.snapshot_id)
}

pub fn minted(stage: &Stage) -> BTreeSet<String> {
    stage.world.running().into_iter().filter(|id| id.starts_with("agent-42-")).collect()
}
