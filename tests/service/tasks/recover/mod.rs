//! Recovery: a Worker may crash at any point. The next call or the alarms finish or roll back its work.
//!
//! - `captures`: snapshots that were being created
//! - `sandboxes`: sandboxes that were being created or destroyed
//! - `other`: deletions, releases and calls; and crashes of recovery itself

mod captures;
mod other;
mod sandboxes;

use std::collections::BTreeSet;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::SnapshotRef;
use sandbox_snapshotter::ports::Ledger;
use serde_json::{Value, json};

use crate::support::{CallPhase, Fixture, Method, by_ref};

/// Crashes the Worker while an operation waits at the first call of `method`.
pub fn crash_at(fixture: &Fixture, operation: Operation, arguments: &Value, method: Method, phase: CallPhase) {
    let gate = match phase {
        CallPhase::Before => fixture.world.before(method).nth(1).block(),
        CallPhase::After => fixture.world.after(method).nth(1).block(),
    };
    let work = fixture.begin(operation, arguments);
    assert!(gate.is_reached(), "{method:?} was not called");
    fixture.crash_during(work);
    fixture.world.clear_faults();
}

/// A Worker crashed during a snapshot of `agent-42` with the label `lost` and the key `k`. Calls are counted from here.
pub fn crash_during_capture(method: Method, phase: CallPhase) -> Fixture {
    let fixture = Fixture::with_sandbox();
    crash_at(&fixture, Operation::Snapshot, &capture_args(), method, phase);
    fixture.world.reset_calls();
    fixture
}

pub fn capture_args() -> Value {
    json!({ "sandboxId": "agent-42", "label": "lost", "idempotencyKey": "k" })
}

/// A Worker crashed during a restore with the key `k`. Returns its snapshot and its arguments.
pub fn crash_during_restore(method: Method, phase: CallPhase) -> (Fixture, SnapshotRef, Value) {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let mut arguments = by_ref(&snapshot);
    arguments["idempotencyKey"] = json!("k");
    crash_at(&fixture, Operation::Restore, &arguments, method, phase);
    (fixture, snapshot, arguments)
}

/// Returns the mark of the unfinished snapshot of `agent-42`.
pub fn unfinished_mark(fixture: &Fixture) -> String {
    let [row] = fixture.ledger("agent-42").unfinished_snapshots().unwrap().try_into().unwrap();
    format!("snapshotter/1 {} agent-42", row.snapshot_id)
}

pub fn minted_running(fixture: &Fixture) -> BTreeSet<String> {
    fixture.world.running_sandboxes().into_iter().filter(|id| id.starts_with("agent-42-")).collect()
}
