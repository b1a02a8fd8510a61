//! The rows of ledgers, and what the objects of this Worker tell each other. The input is what it is a row of on a line of its
//! own, and its JSON.

use std::fmt::Debug;

use sandbox_snapshotter::fuzzing;
use sandbox_snapshotter::model::answer::{SandboxParent, WorkspaceLineage};
use sandbox_snapshotter::model::named::answer::WorkspaceEntry;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::named::messages::{
    Decommissioned, EnsureRunningRequest, EnsuredRunning, ReserveRequest, SandboxStopped, StopSandboxRequest,
};
use sandbox_snapshotter::model::named::{NamedRecord, State};
use sandbox_snapshotter::model::policy::RetentionCandidate;
use sandbox_snapshotter::model::record::{
    Derivation, DerivedState, IdempotencyRecord, Release, SnapshotRecord, WorkspaceRecord,
};
use sandbox_snapshotter::model::{Error, Policy, SandboxId, SigningKey, Timestamp, json};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rules::kept;
use super::words;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((of, row)) = words::line(data) else { return };
    let Ok(row) = std::str::from_utf8(row) else { return };
    match of {
        "snapshots" => with(row, snapshots),
        "workspace" => with(row, |_: &WorkspaceRecord| ()),
        "derivation" => {
            with(row, |row: &Derivation| assert!(row.needs_snapshot() || row.task().is_some() || is_let_go(row)));
        }
        "request" => with(row, |_: &IdempotencyRecord| ()),
        "release" => with(row, |_: &Release| ()),
        "home" => with(row, home),
        "entry" => with(row, |_: &WorkspaceEntry| ()),
        "standing" => with(row, |_: &WorkspaceBinding| ()),
        "resume" => with(row, |request: &EnsureRunningRequest| drop(request.settings.check())),
        "resumed" => with(row, |_: &EnsuredRunning| ()),
        "halt" => with(row, |_: &StopSandboxRequest| ()),
        "halted" => with(row, |_: &SandboxStopped| ()),
        "reserve" => with(row, |_: &ReserveRequest| ()),
        "retired" => with(row, |_: &Decommissioned| ()),
        "description" => with(row, |_: &WorkspaceLineage| ()),
        "descent" => with(row, |_: &SandboxParent| ()),
        "error" => with(row, |_: &Error| ()),
        "policy" => with(row, |policy: &Policy| drop(policy.check())),
        "key" => with(row, |key: &SigningKey| assert!(key.verify(b"message", &key.sign(b"message")))),
        "reply" => reply(row),
        _ => (),
    }
}

/// What is read is written as the same; a row whose form changes by being read would be lost.
fn with<T: Serialize + DeserializeOwned + PartialEq + Debug>(text: &str, holds: impl Fn(&T)) {
    if let Ok(row) = json::from_str::<T>(text) {
        kept(&row);
        holds(&row);
    }
}

fn is_let_go(row: &Derivation) -> bool {
    row.state == DerivedState::Ready { needs_snapshot: false }
}

fn reply(text: &str) {
    if let Ok(written) = fuzzing::rpc_envelope(text) {
        assert_eq!(fuzzing::rpc_envelope(&written), Ok(written));
    }
}

fn home(record: &NamedRecord) {
    let mut record = record.clone();
    let _ = record.deadlines();
    for state in State::ALL {
        let version = record.version;
        if version < u64::MAX && record.transition(state, record.created_at, "the fuzzing").is_some() {
            assert_eq!((record.state, record.version), (state, version + 1));
        }
    }
    kept(&record);
}

/// A policy decides about every snapshot, and never lets go the newest that can be restored, or one that is needed.
fn snapshots(snapshot: &SnapshotRecord) {
    let now = Timestamp::from_millis(1_795_150_800_000);
    let holder = SandboxId::parse("agent-42-branch-abcd1234").expect("an id");
    let candidates: Vec<RetentionCandidate> = [Vec::new(), vec![holder], Vec::new()]
        .into_iter()
        .map(|holders| snapshot.candidate(None, holders, now))
        .collect();
    let strict = Policy { expiration_seconds: 60, keep_daily: 1, keep_weekly: 1, ..Policy::default() };
    for policy in [Policy::default(), strict] {
        let plan = policy.plan(&candidates, now);
        assert_eq!(plan.len(), candidates.len());
        assert!(plan[1].keep && (!snapshot.pinned || plan[2].keep) && (!candidates[0].restorable || plan[0].keep));
        plan.iter().for_each(kept);
    }
}
