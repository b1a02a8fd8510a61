//! Rows of ledgers, and messages between the objects of this Worker. The input has two parts: a line with the type, and
//! its JSON.

use std::fmt::Debug;
use std::num::NonZeroU32;

use sandbox_snapshotter::fuzzing;
use sandbox_snapshotter::model::answer::{SandboxParent, WorkspaceLineage};
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::named::messages::{
    Decommissioned, EnsureRunningRequest, EnsuredRunning, ReserveRequest, SandboxStopped, StopSandboxRequest,
};
use sandbox_snapshotter::model::named::{NamedRecord, State};
use sandbox_snapshotter::model::record::{
    Derivation, DerivedState, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord,
};
use sandbox_snapshotter::model::retention::{self, RetentionCandidate, RetentionScope};
use sandbox_snapshotter::model::{Error, Policy, SandboxId, SigningKey, Timestamp, json};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::input;
use super::rules::assert_json_round_trip;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((kind, row)) = input::line(data) else { return };
    let Ok(row) = std::str::from_utf8(row) else { return };
    match kind {
        "snapshot" => check(row, check_snapshot),
        "workspace" => check(row, |_: &SandboxRecord| ()),
        "derivation" => {
            check(row, |row: &Derivation| assert!(row.needs_snapshot() || row.task().is_some() || is_released(row)));
        }
        "idempotent_call" => check(row, |_: &IdempotencyRecord| ()),
        "release" => check(row, |_: &Release| ()),
        "named_workspace" => check(row, check_named_record),
        "directory_entry" => check(row, |_: &WorkspaceEntry| ()),
        "binding" => check(row, |_: &WorkspaceBinding| ()),
        "ensure_running" => check(row, |request: &EnsureRunningRequest| drop(request.settings.check())),
        "ensured_running" => check(row, |_: &EnsuredRunning| ()),
        "stop_sandbox" => check(row, |_: &StopSandboxRequest| ()),
        "sandbox_stopped" => check(row, |_: &SandboxStopped| ()),
        "reserve" => check(row, |_: &ReserveRequest| ()),
        "decommissioned" => check(row, |_: &Decommissioned| ()),
        "lineage" => check(row, |_: &WorkspaceLineage| ()),
        "parent" => check(row, |_: &SandboxParent| ()),
        "error" => check(row, |_: &Error| ()),
        "policy" => check(row, |policy: &Policy| drop(policy.check())),
        "key" => check(row, |key: &SigningKey| assert!(key.verify(b"message", &key.sign(b"message")))),
        "rpc_envelope" => check_rpc_envelope(row),
        _ => (),
    }
}

/// Asserts that a parsed row is written back unchanged, and checks further rules. An update that changed the form of a row
/// could lose data.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str, holds: impl Fn(&T)) {
    if let Ok(row) = json::from_str::<T>(text) {
        assert_json_round_trip(&row);
        holds(&row);
    }
}

fn is_released(row: &Derivation) -> bool {
    row.state == DerivedState::Ready { needs_snapshot: false }
}

fn check_rpc_envelope(text: &str) {
    if let Ok(written) = fuzzing::rpc_envelope(text) {
        assert_eq!(fuzzing::rpc_envelope(&written), Ok(written));
    }
}

fn check_named_record(record: &NamedRecord) {
    let mut record = record.clone();
    let _ = record.deadlines();
    for state in State::ALL {
        let version = record.version;
        if version < u64::MAX && record.transition(state, record.created_at, "the fuzzing").is_some() {
            assert_eq!((record.state, record.version), (state, version + 1));
        }
    }
    assert_json_round_trip(&record);
}

/// Asserts that a policy decides about every snapshot, and keeps the newest restorable snapshot and snapshots with
/// dependents.
fn check_snapshot(snapshot: &SnapshotRecord) {
    let now = Timestamp::from_millis(1_795_150_800_000);
    let dependent = SandboxId::parse("agent-42-branch-abcd1234").expect("an id");
    let candidates: Vec<RetentionCandidate> = [Vec::new(), vec![dependent], Vec::new()]
        .into_iter()
        .map(|dependents| snapshot.candidate(None, dependents, now))
        .collect();
    let strict = Policy { expiration_seconds: 60, keep_daily: 1, keep_weekly: 1, ..Policy::default() };
    let scope = RetentionScope { keep_autosaves: NonZeroU32::new(2), superseded: false };
    for policy in [Policy::default(), strict] {
        let plan = retention::plan(&policy, scope, &candidates, now);
        assert_eq!(plan.len(), candidates.len());
        assert!(plan[1].keep && (!snapshot.pinned || plan[2].keep) && (!candidates[0].restorable || plan[0].keep));
        plan.iter().for_each(assert_json_round_trip);
    }
}
