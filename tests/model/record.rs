//! The rows of a ledger. Every later release reads the rows of this one.

use std::fmt::Debug;

use sandbox_snapshotter::model::answer::SnapshotState;
use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::policy::Policy;
use sandbox_snapshotter::model::record::{
    CaptureInProgress, Derivation, DerivedState, IdempotencyRecord, Release, SandboxRecord, SnapshotRecord, Stage,
    Verification,
};
use sandbox_snapshotter::model::{
    BackupHandle, BackupId, BackupLocation, LocatedBackup, PendingTask, Runtime, Timestamp, is_signed_by,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::support::{key, sandbox};

const TIME: &str = "2026-11-20T05:00:00.000Z";
const LATER: &str = "2026-11-20T05:01:00.000Z";

/// Asserts that a row is decoded, and encoded as it was.
#[track_caller]
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(sample: &Value) -> T {
    let row: T = serde_json::from_value(sample.clone()).unwrap();
    assert_eq!(serde_json::to_value(&row).unwrap(), *sample);
    row
}

pub(super) fn sandbox_row() -> Value {
    json!({
        "sandboxId": "agent-42-restored-k3f9x2ab",
        "rootId": "agent-42",
        "runtime": "sdk-0.12",
        "parent": {
            "originId": "agent-42", "snapshotId": "snap-abcdefghij012345", "kind": "restored", "needsSnapshot": true,
        },
        "policy": {
            "keepLast": { "count": 3, "expirationSeconds": 0, "deleteEvicted": false },
            "expirationSeconds": 3600, "keepDaily": 7, "keepWeekly": 4,
        },
        "keys": [
            { "number": 2, "secret": "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI" },
            { "number": 1, "secret": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE" },
        ],
        "idKey": { "number": 0, "secret": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
        "unverified": { "since": TIME, "dueAt": LATER },
        "binding": {
            "address": { "tenant": "default", "name": "work" },
            "dir": "/workspace",
            "restoreTask": { "dueAt": LATER, "attempt": 1 },
            "firstStartedAt": TIME,
            "image": "0.12.10 0123",
            "baseline": "ab",
            "files": ["package-lock.json"],
            "fingerprint": "main@1",
        },
        "decommissionedAt": LATER,
    })
}

fn stored() -> Value {
    json!({
        "backup": { "id": "6b1f0c1e-0000-4000-8000-000000000001", "dir": "/workspace", "localBucket": true },
        "createdAt": TIME,
        "sizeBytes": 4121,
        "checksum": "md5:00000000000000000123456789abcdef",
        "usableUntil": "2126-10-27T04:59:00.000Z",
        "imported": false,
        "checkedAt": LATER,
        "damage": "The backup is damaged.",
        "archiveDamage": "The archive does not begin with the magic number of squashfs.",
    })
}

pub(super) fn snapshot(stage: Value) -> Value {
    let mut row = json!({
        "snapshotId": "snap-abcdefghij012345",
        "label": "before",
        "dir": "/workspace",
        "excludes": ["*.log"],
        "gitignore": true,
        "compression": { "format": "zstd", "threads": 2 },
        "beganAt": TIME,
        "lastUsedAt": LATER,
        "expirationSeconds": 3600,
        "expiresAt": "2026-11-20T06:01:00.000Z",
        "pinned": true,
        "foreign": true,
        "dependencies": {
            "files": { "package-lock.json": "ab", "/etc/hosts": "" }, "fingerprint": "main@1", "image": "0.12.10 0123",
        },
    });
    row["stage"] = stage;
    row
}

fn pending_task() -> Value {
    json!({ "dueAt": LATER, "attempt": 2 })
}

/// Returns a sample of each stage.
pub(super) fn stages() -> [(SnapshotState, Value); 4] {
    let removal = json!({ "at": LATER, "reason": "deleted by a caller" });
    let creating = json!({
        "observation": { "observedAt": TIME, "lastChange": 1_795_150_800_000.5 },
        "verification": "dueUnverified",
        "takesLabel": "latest",
        "backup": { "id": "b1", "dir": "/workspace" },
        "discarded": true,
        "key": "k",
        "task": pending_task(),
    });
    [
        (SnapshotState::Creating, json!({ "creating": creating })),
        (SnapshotState::Ready, json!({ "ready": { "stored": stored() } })),
        (
            SnapshotState::Deleting,
            json!({ "deleting": { "stored": stored(), "removal": removal, "task": pending_task() } }),
        ),
        (SnapshotState::Deleted, json!({ "deleted": { "stored": stored(), "removal": removal } })),
    ]
}

#[test]
fn sandbox_row_round_trips() {
    let row: SandboxRecord = round_trip(&sandbox_row());
    assert_eq!((row.keys, row.id_key), (vec![key(2), key(1)], Some(key(0))));
    assert!(row.parent.unwrap().needs_snapshot);
}

#[test]
fn minimal_sandbox_row_is_read_with_defaults() {
    let row: SandboxRecord = serde_json::from_value(json!({ "sandboxId": "agent-42", "rootId": "agent-42" })).unwrap();
    assert_eq!((row.parent, row.policy, row.keys.len()), (None, Policy::default(), 0));
    assert_eq!((row.id_key, row.unverified), (None, None));
    assert_eq!((row.binding, row.decommissioned_at, row.runtime), (None, None, None));
}

#[test]
fn snapshot_row_round_trips_in_each_stage() {
    for (state, stage) in stages() {
        let row: SnapshotRecord = round_trip(&snapshot(stage));
        assert_eq!((row.state(), row.state().as_str()), (state, json!(state).as_str().unwrap()));
    }
}

#[test]
fn minimal_snapshot_row_is_read_with_defaults() {
    let creating = json!({ "observation": { "observedAt": TIME, "lastChange": 0.0 }, "task": pending_task() });
    let mut least = snapshot(json!({ "creating": creating }));
    for field in
        ["excludes", "gitignore", "compression", "expirationSeconds", "expiresAt", "pinned", "foreign", "dependencies"]
    {
        least.as_object_mut().unwrap().remove(field);
    }
    let row: SnapshotRecord = serde_json::from_value(least).unwrap();
    assert!(row.excludes.is_empty() && !row.pinned && row.expires_at.is_none());
    assert!(matches!(row.stage, Stage::Creating(CaptureInProgress { verification: Verification::Done, .. })));
    assert!(!row.foreign && row.dependencies.is_none());
}

#[test]
fn stored_backup_without_known_damage_round_trips() {
    for damages in [&["damage"][..], &["archiveDamage"], &["damage", "archiveDamage"]] {
        let mut least = stages()[1].1.clone();
        let stored = least["ready"]["stored"].as_object_mut().unwrap();
        stored.retain(|field, _| !damages.contains(&field.as_str()));
        let row: SnapshotRecord = round_trip(&snapshot(least));
        assert_eq!(row.stored().unwrap().known_damage().is_none(), damages.len() == 2, "{damages:?}");
    }
}

#[test]
fn stored_backup_of_an_earlier_release_has_no_known_damage() {
    let mut earlier = stages()[1].1.clone();
    let stored = earlier["ready"]["stored"].as_object_mut().unwrap();
    for field in ["checksum", "imported", "damage", "archiveDamage"] {
        stored.remove(field);
    }
    let row = row(earlier);
    let stored = row.stored().unwrap();
    assert_eq!((stored.known_damage(), stored.imported, &stored.checksum), (None, false, &None));
}

#[test]
fn damage_of_the_backup_precedes_damage_of_the_archive() {
    let known = |damages: &[&str]| {
        let mut ready = stages()[1].1.clone();
        let stored = ready["ready"]["stored"].as_object_mut().unwrap();
        stored.retain(|field, _| !field.to_lowercase().contains("damage") || damages.contains(&field.as_str()));
        row(ready).stored().unwrap().known_damage().map(str::to_owned)
    };
    assert_eq!(known(&["damage", "archiveDamage"]).unwrap(), "The backup is damaged.");
    assert_eq!(known(&["archiveDamage"]).unwrap(), "The archive does not begin with the magic number of squashfs.");
    assert_eq!(known(&[]), None);
}

#[test]
fn unknown_fields_of_a_later_release_are_ignored() {
    let mut later = snapshot(stages()[1].1.clone());
    later["addedLater"] = json!(1);
    later["stage"]["ready"]["stored"]["addedLater"] = json!(1);
    serde_json::from_value::<SnapshotRecord>(later).unwrap();
}

#[test]
fn derivation_row_round_trips_in_each_state() {
    for (state, is_dependent) in [
        (json!({ "pending": pending_task() }), true),
        (json!({ "ready": { "needsSnapshot": true } }), true),
        (json!({ "ready": { "needsSnapshot": false } }), false),
        (json!({ "ending": pending_task() }), false),
    ] {
        let row: Derivation = round_trip(&json!({
            "sandboxId": "agent-42-branch-k3f9x2ab", "snapshotId": "snap-abcdefghij012345", "kind": "branch",
            "runtime": "container", "beganAt": TIME, "state": state,
        }));
        assert_eq!(row.runtime, Some(Runtime::Container));
        assert_eq!(row.needs_snapshot(), is_dependent, "{state}");
        assert_eq!(row.task().is_some(), !matches!(row.state, DerivedState::Ready { .. }), "{state}");
    }
}

#[test]
fn idempotency_row_round_trips_with_and_without_its_answer() {
    let unanswered = json!({ "key": "k", "payloadHash": "00ff", "at": TIME });
    assert_eq!(round_trip::<IdempotencyRecord>(&unanswered).answer, None);
    let mut answered = unanswered;
    answered["answer"] = json!({ "providerId": "cloudflare-sandbox" });
    assert!(round_trip::<IdempotencyRecord>(&answered).answer.is_some());
}

#[test]
fn release_row_round_trips() {
    let row: Release =
        round_trip(&json!({ "originId": "agent-42", "snapshotId": "snap-abcdefghij012345", "task": pending_task() }));
    assert_eq!(row.task, PendingTask { due_at: at(LATER), attempt: 2 });
}

fn at(time: &str) -> Timestamp {
    time.to_owned().try_into().unwrap()
}

/// A record of `DirectoryBackup`.
fn record() -> Value {
    json!({
        "id": "6b1f0c1e-0000-4000-8000-000000000001", "dir": "/workspace", "size": 5, "sha256": "a".repeat(64),
        "format": "tar+zstd/1",
    })
}

fn row(stage: Value) -> SnapshotRecord {
    serde_json::from_value(snapshot(stage)).unwrap()
}

#[test]
fn creation_time_is_that_of_the_backup_or_before_that_of_the_capture() {
    let [(_, creating), (_, mut ready), ..] = stages();
    ready["ready"]["stored"]["createdAt"] = json!(LATER);
    assert_eq!((row(creating).created_at(), row(ready).created_at()), (at(TIME), at(LATER)));
}

#[test]
fn snapshot_may_own_any_backup_while_creating_and_none_when_deleted() {
    let [own, other] =
        ["6b1f0c1e-0000-4000-8000-000000000001", "other"].map(|id| BackupLocation::Pair(BackupId::parse(id).unwrap()));
    let owns = stages().map(|(_, stage)| (row(stage.clone()).may_own(&own), row(stage).may_own(&other)));
    assert_eq!(owns, [(true, true), (true, false), (true, false), (false, false)]);
}

#[test]
fn object_of_a_directory_backup_at_another_key_does_not_belong_to_its_snapshot() {
    let located = LocatedBackup::new(serde_json::from_value(record()).unwrap(), |id| format!("saved/{id}.tar.zst"));
    let other = LocatedBackup::new(serde_json::from_value(record()).unwrap(), |id| format!("copies/{id}.tar.zst"));
    let owns = stages().map(|(state, mut stage)| {
        if state != SnapshotState::Creating {
            stage[state.as_str()]["stored"]["backup"] = json!(located);
        }
        (row(stage.clone()).may_own(located.location()), row(stage).may_own(other.location()))
    });
    assert_eq!(owns, [(true, true), (true, false), (true, false), (false, false)]);
}

#[test]
fn row_of_a_directory_backup_has_its_key_and_is_refused_by_an_earlier_release() {
    let located = LocatedBackup::new(serde_json::from_value(record()).unwrap(), |id| format!("saved/{id}.tar.zst"));
    let stored = json!(located);
    assert_eq!(stored, json!({ "record": record(), "key": "saved/6b1f0c1e-0000-4000-8000-000000000001.tar.zst" }));
    assert_eq!(serde_json::from_value::<LocatedBackup>(stored.clone()).unwrap(), located);
    // Earlier releases read a handle here, and refuse the row without one.
    serde_json::from_value::<BackupHandle>(stored).unwrap_err();
}

#[test]
fn only_transient_stages_have_a_task() {
    let has_task = stages().map(|(_, stage)| row(stage).task().is_some());
    assert_eq!(has_task, [true, false, true, false]);
}

#[test]
fn only_a_ready_undamaged_and_unexpired_snapshot_is_restorable() {
    let is_restorable = |change: fn(&mut Value), now: &str| {
        let mut ready = stages()[1].1.clone();
        let stored = &mut ready["ready"]["stored"];
        stored.as_object_mut().unwrap().retain(|field, _| !field.to_lowercase().contains("damage"));
        change(stored);
        row(ready).candidate(None, Vec::new(), at(now)).restorable
    };
    assert!(is_restorable(|_| {}, LATER));
    assert!(!is_restorable(|stored| stored["damage"] = json!("gone"), LATER));
    assert!(!is_restorable(|stored| stored["archiveDamage"] = json!("no archive"), LATER));
    assert!(!is_restorable(|stored| stored["usableUntil"] = json!(TIME), LATER));
    for (state, stage) in stages() {
        assert!(
            state == SnapshotState::Ready || !row(stage).candidate(None, Vec::new(), at(LATER)).restorable,
            "{state:?}"
        );
    }
}

#[test]
fn only_a_complete_snapshot_is_restorable_for_a_named_workspace() {
    let binding = serde_json::from_value(json!({ "address": { "tenant": "t", "name": "n" }, "dir": "/workspace" }));
    let binding: WorkspaceBinding = binding.unwrap();
    let is_restorable = |changed: Value| {
        let mut whole = snapshot(stages()[1].1.clone());
        let fields = whole.as_object_mut().unwrap();
        fields.retain(|field, _| !["excludes", "gitignore", "foreign"].contains(&field.as_str()));
        fields.extend(changed.as_object().unwrap().clone());
        let stored = whole["stage"]["ready"]["stored"].as_object_mut().unwrap();
        stored.retain(|field, _| !field.to_lowercase().contains("damage"));
        let row: SnapshotRecord = serde_json::from_value(whole).unwrap();
        assert!(row.candidate(None, Vec::new(), at(LATER)).restorable, "an unnamed sandbox can restore it");
        assert_eq!(row.is_whole(&binding.start.dir), row.candidate(Some(&binding), Vec::new(), at(LATER)).restorable);
        row.is_whole(&binding.start.dir)
    };
    assert!(is_restorable(json!({})));
    assert!(is_restorable(json!({ "gitignore": false })));
    for partial in [
        json!({ "excludes": ["*.log"] }),
        json!({ "gitignore": true }),
        json!({ "foreign": true }),
        json!({ "dir": "/home" }),
    ] {
        assert!(!is_restorable(partial.clone()), "{partial}");
    }
}

#[test]
fn ref_is_signed_by_the_newest_key_of_its_sandbox() {
    let record: SandboxRecord = serde_json::from_value(sandbox_row()).unwrap();
    let [(_, creating), (_, ready), ..] = stages();
    let signed = row(ready.clone()).to_ref(&record).unwrap();
    assert!(is_signed_by(&signed, &[key(2)]) && !is_signed_by(&signed, &[key(1)]));
    assert_eq!((signed.origin_id(), signed.root_id()), (&sandbox("agent-42-restored-k3f9x2ab"), &sandbox("agent-42")));
    assert_eq!(row(creating).to_ref(&record), None);
    assert_eq!(row(ready).to_ref(&SandboxRecord { keys: Vec::new(), ..record }), None);
}

#[test]
fn unknown_stage_is_not_read() {
    for stage in [json!({ "archived": { "stored": stored() } }), json!({ "stored": stored() }), json!("ready")] {
        assert!(serde_json::from_value::<Stage>(stage.clone()).is_err(), "{stage}");
    }
}
