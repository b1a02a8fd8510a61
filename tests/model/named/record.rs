//! The record of a named workspace. Every later release reads the records of this one.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::named::Task;
use sandbox_snapshotter::model::named::answer::{WorkspaceDescription, WorkspaceEntry};
use sandbox_snapshotter::model::named::{NamedRecord, State};
use serde_json::{Value, json};

use crate::support::sandbox;

const TIME: &str = "2026-11-20T05:00:00.000Z";
const LATER: &str = "2026-11-20T05:01:00.000Z";

fn minimal_row() -> Value {
    json!({
        "address": { "tenant": "default", "name": "work" },
        "version": 7,
        "state": "active",
        "history": [{ "to": "provisioning", "at": TIME, "cause": "created by a caller" }],
        "settings": { "dir": "/workspace", "persistent": true },
        "createdAt": TIME,
        "sandboxId": "work-0123456789",
        "activeAt": LATER,
    })
}

fn full_settings() -> Value {
    json!({
        "dir": "/workspace",
        "persistent": false,
        "storage": "both",
        "durable": true,
        "incremental": false,
        "image": "python",
        "retention": {
            "keepLast": { "count": 3, "expirationSeconds": 0, "deleteEvicted": false },
            "expirationSeconds": 3600, "keepDaily": 7, "keepWeekly": 4,
        },
        "hooks": {
            "beforeStop": { "command": "a", "timeoutSeconds": 1, "onFailure": "fail" },
            "afterStart": { "command": "b", "timeoutSeconds": 60, "onFailure": "warn" },
            "onTimeout": { "command": "c", "timeoutSeconds": 600, "onFailure": "fail" },
        },
        "expiry": { "idleSeconds": 60, "maxSeconds": 120 },
        "dependsOn": { "files": ["a"], "fingerprint": "v1", "onMismatch": "report", "onImageChange": "fail" },
        "env": { "A": "1" },
    })
}

pub(crate) fn full_row() -> Value {
    json!({
        "address": { "tenant": "team", "name": "work" },
        "version": 7,
        "directoryVersion": 6,
        "state": "stopped",
        "history": [{ "from": "stopping", "to": "stopped", "at": LATER, "cause": "it was stopped by a caller" }],
        "settings": full_settings(),
        "createdAt": TIME,
        "sandboxId": "work-0123456789-restored-k3f9x2ab",
        "claimed": true,
        "formerSandboxIds": ["work-0123456789"],
        "rootId": "work-0123456789",
        "source": { "originId": "agent-42", "snapshotId": "snap-abcdefghij012345" },
        "startedAt": TIME,
        "activeAt": LATER,
        "lastSnapshot": {
            "id": "snap-abcdefghij012345", "originId": "work-0123456789", "dir": "/workspace", "sizeBytes": 4121,
            "createdAt": LATER,
        },
        "problem": { "code": "HOOK_FAILED", "message": "m", "remediation": "r", "at": LATER },
        "creation": { "key": "k", "payloadHash": "p" },
        "forkCalls": [{
            "call": { "key": "k", "payloadHash": "1 false fork" },
            "snapshot": { "originId": "agent-42", "snapshotId": "snap-abcdefghij012345", "mayHaveLost": true },
            "settings": full_settings(),
            "at": TIME,
        }],
        "tasks": [{ "decommission": "work-1" }, { "stopUnused": "work-2" }],
        "nextCheckAt": LATER,
    })
}

fn read_row(row: Value) -> NamedRecord {
    serde_json::from_value(row).unwrap()
}

fn at(time: &str) -> Timestamp {
    serde_json::from_value(json!(time)).unwrap()
}

#[test]
fn record_round_trips() {
    assert_eq!(serde_json::to_value(read_row(full_row())).unwrap(), full_row());
}

#[test]
fn minimal_record_is_read_with_defaults() {
    let record = read_row(minimal_row());
    assert_eq!(
        (record.directory_version, record.claimed, record.tasks.len(), record.former_sandbox_ids.len()),
        (0, false, 0, 0)
    );
    assert_eq!((record.settings.expiry.idle_seconds, record.settings.expiry.max_seconds), (600, 0));
    assert_eq!(read_row(serde_json::to_value(record.clone()).unwrap()), record);
}

#[test]
fn transition_that_is_not_allowed_is_refused() {
    for from in State::ALL {
        for to in State::ALL {
            let mut record = NamedRecord { state: from, ..read_row(minimal_row()) };
            let transition = record.transition(to, at(LATER), "because");
            assert_eq!(transition.is_some(), from.can_become(to), "{from} {to}");
            let (state, version) = if transition.is_some() { (to, 8) } else { (from, 7) };
            assert_eq!((record.state, record.version), (state, version), "{from} {to}");
        }
    }
}

#[test]
fn transition_is_recorded_with_its_cause_the_newest_first() {
    let mut record = read_row(minimal_row());
    let transition = record.transition(State::Stopping, at(LATER), "because").unwrap();
    assert_eq!(json!(transition), json!({ "from": "active", "to": "stopping", "at": LATER, "cause": "because" }));
    assert_eq!(record.history[0], transition);
}

#[test]
fn history_has_20_transitions() {
    let mut record = read_row(minimal_row());
    for _ in 0..20 {
        record.transition(State::Stopping, at(LATER), "on").unwrap();
        record.transition(State::Active, at(LATER), "back").unwrap();
    }
    assert_eq!((record.history.len(), record.version), (20, 47));
}

#[test]
fn newest_task_of_a_sandbox_replaces_the_former_one() {
    let mut record = read_row(minimal_row());
    for task in [Task::StopUnused(sandbox("a")), Task::StopUnused(sandbox("b")), Task::Decommission(sandbox("a"))] {
        record.add_task(task);
    }
    assert_eq!(record.tasks, [Task::StopUnused(sandbox("b")), Task::Decommission(sandbox("a"))]);
}

#[test]
fn deadlines_follow_from_the_idle_and_age_limits() {
    let ends = |idle: u64, most: u64| {
        let mut record = read_row(full_row());
        record.settings.expiry.idle_seconds = idle;
        record.settings.expiry.max_seconds = most;
        record.deadlines()
    };
    assert_eq!(ends(60, 0), (Some(at(LATER).plus_millis(60_000)), None));
    assert_eq!(ends(0, 60), (None, Some(at(TIME).plus_millis(60_000))));
    assert_eq!(ends(0, 0), (None, None));
}

#[test]
fn description_has_an_end_only_if_the_workspace_is_active() {
    assert_eq!(WorkspaceDescription::from(&read_row(full_row())).ends_at, None);
    assert_eq!(WorkspaceDescription::from(&read_row(minimal_row())).ends_at, Some(at(LATER).plus_millis(600_000)));
}

#[test]
fn description_has_only_the_names_of_variables() {
    let mut row = full_row();
    row["settings"]["env"] = json!({ "TOKEN": "secret" });
    let description = serde_json::to_value(WorkspaceDescription::from(&read_row(row))).unwrap();
    assert_eq!(description["envNames"], json!(["TOKEN"]));
    assert!(!description.to_string().contains("secret"));
}

#[test]
fn entry_has_the_time_of_the_last_change_the_size_the_storage_and_the_source() {
    let entry = WorkspaceEntry::from(&read_row(full_row()));
    let expected = json!({
        "name": "work", "state": "stopped", "sandboxId": "work-0123456789-restored-k3f9x2ab",
        "storage": "both", "sizeBytes": 4121, "createdAt": TIME, "sourceSandboxId": "agent-42", "updatedAt": LATER,
        "version": 7, "problemCode": "HOOK_FAILED",
    });
    assert_eq!(serde_json::to_value(&entry).unwrap(), expected);
    assert_eq!(serde_json::from_value::<WorkspaceEntry>(expected).unwrap(), entry);
}

#[test]
fn problem_with_a_code_of_a_later_release_round_trips() {
    let mut row = full_row();
    row["problem"] = json!({ "code": "ADDED_LATER", "message": "It failed.", "remediation": "Update.", "at": TIME });
    let record: NamedRecord = serde_json::from_value(row.clone()).unwrap();
    assert_eq!(json!(record)["problem"], row["problem"]);
}
