//! The rows of a ledger are read by every later release: what was written once keeps its meaning.

use std::fmt::Debug;

use sandbox_snapshotter::model::named::binding::WorkspaceBinding;
use sandbox_snapshotter::model::policy::Policy;
use sandbox_snapshotter::model::record::{
    CaptureInProgress, Derivation, DerivedState, IdempotencyRecord, PendingTask, Release, SnapshotRecord,
    SnapshotState, Stage, Verification, WorkspaceRecord,
};
use sandbox_snapshotter::model::{BackupId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::support::{key, sandbox};

const TIME: &str = "2026-11-20T05:00:00.000Z";
const LATER: &str = "2026-11-20T05:01:00.000Z";

/// Makes sure that a row is read as one, and written as it was.
#[track_caller]
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(sample: &Value) -> T {
    let row: T = serde_json::from_value(sample.clone()).unwrap();
    assert_eq!(serde_json::to_value(&row).unwrap(), *sample);
    row
}

pub(super) fn workspace() -> Value {
    json!({
        "sandboxId": "agent-42-restored-k3f9x2ab",
        "rootId": "agent-42",
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
        "damage": "The backup is not whole.",
        "archiveDamage": "The archive does not begin as a squashfs archive does.",
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

/// A sample of each stage.
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
fn a_workspace_is_kept() {
    let row: WorkspaceRecord = round_trip(&workspace());
    assert_eq!((row.keys, row.id_key), (vec![key(2), key(1)], Some(key(0))));
    assert!(row.parent.unwrap().needs_snapshot);
}

#[test]
fn a_workspace_of_which_little_is_known_is_kept() {
    let row: WorkspaceRecord =
        serde_json::from_value(json!({ "sandboxId": "agent-42", "rootId": "agent-42" })).unwrap();
    assert_eq!((row.parent, row.policy, row.keys.len()), (None, Policy::default(), 0));
    assert_eq!((row.id_key, row.unverified), (None, None));
    assert_eq!((row.binding, row.decommissioned_at), (None, None));
}

#[test]
fn a_snapshot_is_kept_in_each_stage() {
    for (state, stage) in stages() {
        let row: SnapshotRecord = round_trip(&snapshot(stage));
        assert_eq!((row.state(), row.state().as_str()), (state, json!(state).as_str().unwrap()));
    }
}

#[test]
fn a_snapshot_of_which_little_was_asked_is_kept() {
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
fn a_backup_of_which_no_damage_is_known_is_kept() {
    for damages in [&["damage"][..], &["archiveDamage"], &["damage", "archiveDamage"]] {
        let mut least = stages()[1].1.clone();
        let stored = least["ready"]["stored"].as_object_mut().unwrap();
        stored.retain(|field, _| !damages.contains(&field.as_str()));
        let row: SnapshotRecord = round_trip(&snapshot(least));
        assert_eq!(row.stored().unwrap().known_damage().is_none(), damages.len() == 2, "{damages:?}");
    }
}

#[test]
fn a_backup_of_an_earlier_release_is_whole_as_far_as_is_known() {
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
fn what_is_wrong_with_a_backup_is_said_before_what_is_wrong_within() {
    let known = |damages: &[&str]| {
        let mut ready = stages()[1].1.clone();
        let stored = ready["ready"]["stored"].as_object_mut().unwrap();
        stored.retain(|field, _| !field.to_lowercase().contains("damage") || damages.contains(&field.as_str()));
        row(ready).stored().unwrap().known_damage().map(str::to_owned)
    };
    assert_eq!(known(&["damage", "archiveDamage"]).unwrap(), "The backup is not whole.");
    assert_eq!(known(&["archiveDamage"]).unwrap(), "The archive does not begin as a squashfs archive does.");
    assert_eq!(known(&[]), None);
}

#[test]
fn a_field_that_a_later_release_adds_does_not_hide_a_row() {
    let mut later = snapshot(stages()[1].1.clone());
    later["addedLater"] = json!(1);
    later["stage"]["ready"]["stored"]["addedLater"] = json!(1);
    serde_json::from_value::<SnapshotRecord>(later).unwrap();
}

#[test]
fn a_derivation_is_kept_in_each_state() {
    for (state, holds) in [
        (json!({ "pending": pending_task() }), true),
        (json!({ "ready": { "needsSnapshot": true } }), true),
        (json!({ "ready": { "needsSnapshot": false } }), false),
        (json!({ "ending": pending_task() }), false),
    ] {
        let row: Derivation = round_trip(&json!({
            "sandboxId": "agent-42-branch-k3f9x2ab", "snapshotId": "snap-abcdefghij012345", "kind": "branch",
            "beganAt": TIME, "state": state,
        }));
        assert_eq!(row.needs_snapshot(), holds, "{state}");
        assert_eq!(row.task().is_some(), !matches!(row.state, DerivedState::Ready { .. }), "{state}");
    }
}

#[test]
fn a_call_is_kept_with_and_without_its_answer() {
    let asked = json!({ "key": "k", "payloadHash": "00ff", "at": TIME });
    assert_eq!(round_trip::<IdempotencyRecord>(&asked).answer, None);
    let mut answered = asked;
    answered["answer"] = json!({ "providerId": "cloudflare-sandbox" });
    assert!(round_trip::<IdempotencyRecord>(&answered).answer.is_some());
}

#[test]
fn word_for_another_workspace_is_kept() {
    let row: Release =
        round_trip(&json!({ "originId": "agent-42", "snapshotId": "snap-abcdefghij012345", "task": pending_task() }));
    assert_eq!(row.task, PendingTask { due_at: at(LATER), attempt: 2 });
}

fn at(time: &str) -> Timestamp {
    time.to_owned().try_into().unwrap()
}

fn row(stage: Value) -> SnapshotRecord {
    serde_json::from_value(snapshot(stage)).unwrap()
}

#[test]
fn a_snapshot_is_as_old_as_its_backup_and_before_as_its_capture() {
    let [(_, making), (_, mut ready), ..] = stages();
    ready["ready"]["stored"]["createdAt"] = json!(LATER);
    assert_eq!((row(making).created_at(), row(ready).created_at()), (at(TIME), at(LATER)));
}

#[test]
fn while_it_is_made_any_backup_may_be_its_own_and_when_it_is_gone_none() {
    let other = BackupId::parse("other").unwrap();
    let own = BackupId::parse("6b1f0c1e-0000-4000-8000-000000000001").unwrap();
    let owns = stages().map(|(_, stage)| (row(stage.clone()).may_own(&own), row(stage).may_own(&other)));
    assert_eq!(owns, [(true, true), (true, false), (true, false), (false, false)]);
}

#[test]
fn only_what_passes_has_to_be_looked_after() {
    let loose = stages().map(|(_, stage)| row(stage).task().is_some());
    assert_eq!(loose, [true, false, true, false]);
}

#[test]
fn only_what_is_ready_whole_and_restored_by_the_sdk_is_good() {
    let good = |change: fn(&mut Value), now: &str| {
        let mut ready = stages()[1].1.clone();
        let stored = &mut ready["ready"]["stored"];
        stored.as_object_mut().unwrap().retain(|field, _| !field.to_lowercase().contains("damage"));
        change(stored);
        row(ready).candidate(None, Vec::new(), at(now)).restorable
    };
    assert!(good(|_| {}, LATER));
    assert!(!good(|stored| stored["damage"] = json!("gone"), LATER));
    assert!(!good(|stored| stored["archiveDamage"] = json!("no archive"), LATER));
    assert!(!good(|stored| stored["usableUntil"] = json!(TIME), LATER));
    for (state, stage) in stages() {
        assert!(
            state == SnapshotState::Ready || !row(stage).candidate(None, Vec::new(), at(LATER)).restorable,
            "{state:?}"
        );
    }
}

#[test]
fn of_a_sandbox_that_stands_for_a_name_only_what_is_whole_is_good() {
    let standing = serde_json::from_value(json!({ "address": { "tenant": "t", "name": "n" }, "dir": "/workspace" }));
    let standing: WorkspaceBinding = standing.unwrap();
    let good = |changed: Value| {
        let mut whole = snapshot(stages()[1].1.clone());
        let fields = whole.as_object_mut().unwrap();
        fields.retain(|field, _| !["excludes", "gitignore", "foreign"].contains(&field.as_str()));
        fields.extend(changed.as_object().unwrap().clone());
        let stored = whole["stage"]["ready"]["stored"].as_object_mut().unwrap();
        stored.retain(|field, _| !field.to_lowercase().contains("damage"));
        let row: SnapshotRecord = serde_json::from_value(whole).unwrap();
        assert!(row.candidate(None, Vec::new(), at(LATER)).restorable, "it can be restored");
        assert_eq!(row.is_whole(&standing.dir), row.candidate(Some(&standing), Vec::new(), at(LATER)).restorable);
        row.is_whole(&standing.dir)
    };
    assert!(good(json!({})));
    assert!(good(json!({ "gitignore": false })));
    for partial in [
        json!({ "excludes": ["*.log"] }),
        json!({ "gitignore": true }),
        json!({ "foreign": true }),
        json!({ "dir": "/home" }),
    ] {
        assert!(!good(partial.clone()), "{partial}");
    }
}

#[test]
fn a_ref_is_signed_by_the_newest_key_of_its_workspace() {
    let kept: WorkspaceRecord = serde_json::from_value(workspace()).unwrap();
    let [(_, making), (_, ready), ..] = stages();
    let signed = row(ready.clone()).to_ref(&kept).unwrap();
    assert!(signed.is_signed_by(&[key(2)]) && !signed.is_signed_by(&[key(1)]));
    assert_eq!((signed.origin_id(), signed.root_id()), (&sandbox("agent-42-restored-k3f9x2ab"), &sandbox("agent-42")));
    assert_eq!(row(making).to_ref(&kept), None);
    assert_eq!(row(ready).to_ref(&WorkspaceRecord { keys: Vec::new(), ..kept }), None);
}

#[test]
fn a_stage_that_nobody_knows_is_not_read_as_another() {
    for stage in [json!({ "archived": { "stored": stored() } }), json!({ "stored": stored() }), json!("ready")] {
        assert!(serde_json::from_value::<Stage>(stage.clone()).is_err(), "{stage}");
    }
}
