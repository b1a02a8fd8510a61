//! Names that an earlier release stored or sent. The present release reads them as the present names.

use std::fmt::Debug;

use sandbox_snapshotter::cloudflare::workspaces::Message;
use sandbox_snapshotter::model::named::NamedRecord;
use sandbox_snapshotter::model::named::answer::StartOutcome;
use sandbox_snapshotter::model::named::messages::{Condition, SandboxStopped};
use sandbox_snapshotter::model::named::settings::OnDiverged;
use sandbox_snapshotter::model::record::{Derivation, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord};
use sandbox_snapshotter::model::{Code, SandboxId};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::named::record::full_row;
use super::record::{sandbox_row, snapshot, stages};

/// The present names of fields and variants, with the former ones.
const NAMES: [(&str, &str); 33] = [
    ("idKey", "seal"),
    ("unverified", "doubt"),
    ("protected", "spared"),
    ("binding", "standing"),
    ("decommissionedAt", "retiredAt"),
    ("dueAt", "due"),
    ("attempt", "tries"),
    ("kind", "lineage"),
    ("needsSnapshot", "needed"),
    ("payloadHash", "payload"),
    ("task", "loose"),
    ("foreign", "aside"),
    ("creating", "making"),
    ("removal", "end"),
    ("observation", "sighting"),
    ("observedAt", "since"),
    ("verification", "look"),
    ("expectedMarker", "marker"),
    ("archiveDamage", "damageWithin"),
    ("restoreTask", "filling"),
    ("restoreUnconfirmed", "restoring"),
    ("destroyUnconfirmed", "endUnanswered"),
    ("callUnconfirmed", "late"),
    ("firstStartedAt", "openedAt"),
    ("adoptedAt", "keptAt"),
    ("directoryVersion", "listed"),
    ("formerSandboxIds", "former"),
    ("forkCalls", "forks"),
    ("tasks", "chores"),
    ("decommission", "retire"),
    ("stopUnused", "quiet"),
    ("nextCheckAt", "againAt"),
    ("snapshot", "origin"),
];

fn former_name(present: &str) -> &str {
    NAMES.iter().find(|(name, _)| *name == present).map_or(present, |(_, former)| former)
}

/// Replaces the present names in a value with the former ones.
fn former(present: &Value) -> Value {
    match present {
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(key, value)| (former_name(key).to_owned(), former(value))).collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.iter().map(former).collect(),
        Value::String(text) if text == "dueUnverified" => json!("dueInDoubt"),
        other => other.clone(),
    }
}

fn read<T: DeserializeOwned>(stored: Value) -> T {
    serde_json::from_value(stored).unwrap()
}

#[track_caller]
fn assert_read_alike<T: DeserializeOwned + PartialEq + Debug>(present: &Value) {
    assert_ne!(former(present), *present);
    assert_eq!(read::<T>(former(present)), read::<T>(present.clone()));
}

#[test]
fn rows_with_former_names_are_read_as_the_present_ones() {
    assert_read_alike::<SandboxRecord>(&sandbox_row());
    for (_, stage) in stages() {
        assert_read_alike::<SnapshotRecord>(&snapshot(stage));
    }
    assert_read_alike::<NamedRecord>(&full_row());
    assert_read_alike::<IdempotencyRecord>(
        &json!({ "key": "k", "payloadHash": "00ff", "at": "2026-11-20T05:00:00.000Z" }),
    );
    let task = json!({ "dueAt": "2026-11-20T05:00:00.000Z", "attempt": 2 });
    let release = json!({ "originId": "agent-42", "snapshotId": "snap-abcdefghij012345", "task": task });
    assert_read_alike::<Release>(&release);
}

#[test]
fn derivation_with_former_names_is_read_as_the_present_one() {
    let derivation = |kind: &str, needs: &str| {
        read::<Derivation>(json!({
            "sandboxId": "agent-42-branch-k3f9x2ab", "snapshotId": "snap-abcdefghij012345", kind: "branch",
            "beganAt": "2026-11-20T05:00:00.000Z", "state": { "ready": { needs: true } },
        }))
    };
    assert_eq!(derivation("lineage", "holds"), derivation("kind", "needsSnapshot"));
}

#[test]
fn error_codes_with_former_names_are_read_as_the_present_ones() {
    assert_eq!(read::<Code>(json!("CROSS_SESSION")), Code::CrossLineage);
    assert_eq!(read::<Code>(json!("SNAPSHOT_HELD")), Code::SnapshotHasDependents);
}

#[test]
fn answers_between_objects_with_former_names_are_read_as_the_present_ones() {
    assert_eq!(read::<Condition>(json!("alive")), Condition::Running);
    assert_eq!(read::<Condition>(json!("asleep")), Condition::Ended);
    assert_eq!(read::<Condition>(json!("woken")), Condition::ColdStarted);
    assert_eq!(read::<StartOutcome>(json!("kept")), StartOutcome::Adopted);
    assert_eq!(read::<OnDiverged>(json!("save")), OnDiverged::Rescue);
    let stopped = read::<SandboxStopped>(json!({ "wasAsleep": true, "unsettled": true, "endUnanswered": true }));
    assert!(stopped.had_ended && stopped.changed_during_capture && stopped.destroy_unconfirmed);
}

#[test]
fn messages_with_former_names_are_read_as_the_present_ones() {
    let lend = json!({ "lend": { "snapshotId": "snap-abcdefghij012345", "holder": "agent-7" } });
    let agent = SandboxId::parse("agent-7").unwrap();
    assert!(matches!(read::<Message>(lend), Message::GetForRestore { dependent, .. } if dependent == agent));
    assert!(matches!(read::<Message>(json!("look")), Message::ProbeCondition));
    assert!(matches!(read::<Message>(json!("stirred")), Message::ChangedSinceWatch));
    let selection = json!({ "sandboxId": "agent-42", "label": "x", "session": "agent-7", "allowCrossSession": true });
    let find = json!({ "find": { "selection": selection, "tenant": "default" } });
    let Message::Find { selection, .. } = read::<Message>(find) else { panic!("another message") };
    assert_eq!((&selection["lineageScope"], &selection["allowCrossLineage"]), (&json!("agent-7"), &json!(true)));
}
