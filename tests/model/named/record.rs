//! What is kept of a named workspace is read by every later release.

use sandbox_snapshotter::model::Timestamp;
use sandbox_snapshotter::model::named::answer::{WorkspaceDescription, WorkspaceEntry};
use sandbox_snapshotter::model::named::record::Task;
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
        "history": [{ "to": "provisioning", "at": TIME, "cause": "made by a caller" }],
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
            "snapshot": { "originId": "agent-42", "snapshotId": "snap-abcdefghij012345" },
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
fn a_workspace_is_kept() {
    assert_eq!(serde_json::to_value(read_row(full_row())).unwrap(), full_row());
}

#[test]
fn a_workspace_of_which_little_is_known_is_kept() {
    let record = read_row(minimal_row());
    assert_eq!(
        (record.directory_version, record.claimed, record.tasks.len(), record.former_sandbox_ids.len()),
        (0, false, 0, 0)
    );
    assert_eq!((record.settings.expiry.idle_seconds, record.settings.expiry.max_seconds), (600, 0));
    assert_eq!(read_row(serde_json::to_value(record.clone()).unwrap()), record);
}

#[test]
fn a_step_for_which_there_is_no_way_is_not_made() {
    for from in State::ALL {
        for to in State::ALL {
            let mut record = NamedRecord { state: from, ..read_row(minimal_row()) };
            let stepped = record.transition(to, at(LATER), "because");
            assert_eq!(stepped.is_some(), from.can_become(to), "{from} {to}");
            let (state, version) = if stepped.is_some() { (to, 8) } else { (from, 7) };
            assert_eq!((record.state, record.version), (state, version), "{from} {to}");
        }
    }
}

#[test]
fn a_step_is_remembered_with_its_cause_the_newest_first() {
    let mut record = read_row(minimal_row());
    let step = record.transition(State::Stopping, at(LATER), "because").unwrap();
    assert_eq!(json!(step), json!({ "from": "active", "to": "stopping", "at": LATER, "cause": "because" }));
    assert_eq!(record.history[0], step);
}

#[test]
fn twenty_steps_are_remembered() {
    let mut record = read_row(minimal_row());
    for _ in 0..20 {
        record.transition(State::Stopping, at(LATER), "on").unwrap();
        record.transition(State::Active, at(LATER), "back").unwrap();
    }
    assert_eq!((record.history.len(), record.version), (20, 47));
}

#[test]
fn there_is_one_chore_for_a_sandbox_the_newest() {
    let mut record = read_row(minimal_row());
    for chore in [Task::StopUnused(sandbox("a")), Task::StopUnused(sandbox("b")), Task::Decommission(sandbox("a"))] {
        record.add_task(chore);
    }
    assert_eq!(record.tasks, [Task::StopUnused(sandbox("b")), Task::Decommission(sandbox("a"))]);
}

#[test]
fn it_ends_by_idleness_and_by_age_where_there_are_limits() {
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
fn the_end_of_one_that_is_not_active_is_not_told() {
    assert_eq!(WorkspaceDescription::from(&read_row(full_row())).ends_at, None);
    assert_eq!(WorkspaceDescription::from(&read_row(minimal_row())).ends_at, Some(at(LATER).plus_millis(600_000)));
}

#[test]
fn variables_are_told_by_their_names_alone() {
    let mut row = full_row();
    row["settings"]["env"] = json!({ "TOKEN": "secret" });
    let told = serde_json::to_value(WorkspaceDescription::from(&read_row(row))).unwrap();
    assert_eq!(told["envNames"], json!(["TOKEN"]));
    assert!(!told.to_string().contains("secret"));
}

#[test]
fn an_entry_tells_when_it_was_last_heard_of_and_how_large_it_was() {
    let entry = WorkspaceEntry::from(&read_row(full_row()));
    let told = json!({
        "name": "work", "state": "stopped", "sandboxId": "work-0123456789-restored-k3f9x2ab",
        "sizeBytes": 4121, "createdAt": TIME, "updatedAt": LATER, "version": 7,
    });
    assert_eq!(serde_json::to_value(&entry).unwrap(), told);
    assert_eq!(serde_json::from_value::<WorkspaceEntry>(told).unwrap(), entry);
}

#[test]
fn a_problem_with_a_code_of_a_later_release_is_read_and_kept() {
    let mut row = full_row();
    row["problem"] = json!({ "code": "SANDBOX_ON_FIRE", "message": "It burns.", "remediation": "Run.", "at": TIME });
    let record: NamedRecord = serde_json::from_value(row.clone()).unwrap();
    assert_eq!(json!(record)["problem"], row["problem"]);
}
