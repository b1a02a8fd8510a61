//! Each call fails, or the Worker dies at it.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Runtime;
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::{changed_sandbox, take};
use crate::support::{
    Fixture, HOUR, Setup, by_ref, crash_at_every_call, fail_every_call_permanently, fail_every_call_transiently,
};

const SCENARIOS: [(&str, Setup); 4] = [
    ("base", || {
        let fixture = Fixture::incremental(Runtime::Container);
        fixture.start_sandbox("agent-42");
        (fixture, Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "l", "idempotencyKey": "k" }))
    }),
    ("delta", || {
        let (fixture, _) = changed_sandbox(Runtime::Sdk012);
        (fixture, Operation::Snapshot, json!({ "sandboxId": "agent-42", "label": "l", "idempotencyKey": "k" }))
    }),
    ("restore of a delta", || {
        let (fixture, _) = changed_sandbox(Runtime::Sdk012);
        let delta = take(&fixture).snapshot;
        (fixture, Operation::Restore, json!({ "ref": delta, "idempotencyKey": "k" }))
    }),
    ("delete of the last delta of a deleted base", || {
        let (fixture, base) = changed_sandbox(Runtime::Container);
        let delta = take(&fixture).snapshot;
        fixture.run(Operation::Delete, &by_ref(&base.snapshot)).unwrap();
        (fixture, Operation::Delete, by_ref(&delta))
    }),
];

/// Asserts that nothing is pending, every listed snapshot can be restored, and the objects in R2 are those that the rows need.
fn assert_recovered(fixture: &Fixture) {
    fixture.world.run_background();
    fixture.advance_with_alarms(3 * HOUR);
    fixture.assert_nothing_pending();
    let page = fixture.run(Operation::List, &json!({ "sandboxId": "agent-42" })).unwrap();
    let mut needed = std::collections::BTreeSet::new();
    for row in page["snapshots"].as_array().unwrap() {
        assert_eq!((&row["state"], &row["restorable"]), (&json!("ready"), &json!("yes")), "{row}");
        let id = row["snapshotId"].as_str().unwrap().to_owned().try_into().unwrap();
        let row = fixture.ledger("agent-42").snapshot(&id).unwrap().unwrap();
        let backup = &row.stored().unwrap().backup;
        needed.insert(backup.id().to_string());
        needed.extend(backup.delta().map(|delta| delta.base.backup.id().to_string()));
        for delta in backup.deltas() {
            assert!(fixture.ledger("agent-42").snapshot(delta).unwrap().is_some(), "{delta}");
        }
    }
    assert_eq!(fixture.world.backup_ids(), needed.into_iter().collect::<Vec<_>>());
}

#[test]
fn alarms_recover_after_worker_dies_at_any_call() {
    crash_at_every_call(&SCENARIOS, |scenario| assert_recovered(&scenario.fixture));
}

#[test]
fn failure_of_any_call_leaves_nothing_behind() {
    fail_every_call_transiently(&SCENARIOS, |scenario, _| assert_recovered(&scenario.fixture));
    fail_every_call_permanently(&SCENARIOS, |scenario, _| assert_recovered(&scenario.fixture));
}
