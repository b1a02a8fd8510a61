//! Rows of a ledger, by number: the ids and labels of snapshots sort as their numbers do, and so do their times.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sandbox_snapshotter::model::named::Address;
use sandbox_snapshotter::model::named::standing::{Dependencies, Standing};
use sandbox_snapshotter::model::policy::KeepLast;
use sandbox_snapshotter::model::record::{
    Derivation, DerivationState, Doubt, End, Look, LooseEnd, Making, Marker, Parent, Release, RequestRecord, Sighting,
    SnapshotRecord, Spared, Stage, Stored, WorkspaceRecord,
};
use sandbox_snapshotter::model::{
    BackupHandle, Compression, CompressionFormat, Directory, Label, Lineage, Policy, SandboxId, SigningKey, SnapshotId,
    Suspect, Timestamp,
};
use serde_json::json;

/// That many minutes after the beginning of 2026-11-20.
pub fn minute(number: i64) -> Timestamp {
    Timestamp::from_millis(1_795_132_800_000 + number * 60_000)
}

pub fn sandbox(id: &str) -> SandboxId {
    SandboxId::parse(id).unwrap()
}

pub fn snapshot_id(number: i64) -> SnapshotId {
    SnapshotId::parse(&format!("snap-{number:016}")).unwrap()
}

pub fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

pub const LOOSE: LooseEnd = LooseEnd { due: Timestamp::from_millis(1_795_150_800_001), tries: 3 };

/// A workspace of which everything is known.
pub fn workspace() -> WorkspaceRecord {
    WorkspaceRecord {
        sandbox_id: sandbox("agent-42-restored-k3f9x2ab"),
        root_id: sandbox("agent-42"),
        parent: Some(Parent {
            origin_id: sandbox("agent-42"),
            snapshot_id: snapshot_id(7),
            lineage: Lineage::Restored,
            needed: true,
        }),
        policy: Policy {
            keep_last: Some(KeepLast {
                count: NonZeroU32::new(5).unwrap(),
                expiration_seconds: Some(0),
                delete_evicted: false,
            }),
            expiration_seconds: 3600,
            keep_daily: 7,
            keep_weekly: 4,
        },
        keys: vec![SigningKey::new(2, [0xfe; 32]), SigningKey::new(1, [0; 32])],
        seal: Some(SigningKey::new(0, [0x7f; 32])),
        marker: Some("k3f9x2ab".into()),
        marked_at: Some(minute(4)),
        spared: Some(Spared { snapshot_id: snapshot_id(8), until: minute(9) }),
        doubt: Some(Doubt {
            since: Timestamp::from_millis(1_795_150_800_002),
            due: Timestamp::from_millis(1_795_150_860_002),
        }),
        standing: Some(Standing {
            address: Address::parse("Tenant-1/it_s.a-name").unwrap(),
            dir: Directory::parse("/workspace/it's a directory/ä").unwrap(),
            filling: Some(LOOSE),
            restoring: true,
            end_unanswered: true,
            late: true,
            begun: Some("k3f9x2ab".into()),
            former: true,
            version: 7,
            opened_at: Some(minute(1)),
            kept_at: Some(minute(1)),
            image: Some("0.12.10 0123456789abcdef".into()),
            baseline: Some("ab".repeat(32)),
            files: vec!["package-lock.json".into(), "/etc/it's \"quoted\"".into()],
            variables: vec!["A_NAME".to_owned()],
            fingerprint: Some("commit 文件 🗂".into()),
        }),
        retired_at: Some(minute(2)),
    }
}

/// A snapshot that is ready.
pub fn ready(number: i64) -> SnapshotRecord {
    at_stage(number, Stage::Ready { stored: stored(number) })
}

/// A ready snapshot of that label.
pub fn with_label(number: i64, text: &str) -> SnapshotRecord {
    SnapshotRecord { label: label(text), ..ready(number) }
}

/// A snapshot that is being made.
pub fn making(number: i64) -> SnapshotRecord {
    let stage = Stage::Making(Making {
        sighting: Sighting { since: minute(number), last_change: 1_795_150_800_000.25 },
        look: Look::DueInDoubt,
        marker: Some(Marker::Own("k3f9x2ab".into())),
        adopts: true,
        takes_label: None,
        backup: None,
        discarded: false,
        key: None,
        loose: LOOSE,
    });
    at_stage(number, stage)
}

/// A snapshot that is being deleted.
pub fn deleting(number: i64) -> SnapshotRecord {
    let stage = Stage::Deleting { stored: stored(number), end: end(minute(number)), loose: LOOSE };
    at_stage(number, stage)
}

/// A snapshot that was deleted at that time.
pub fn deleted(number: i64, at: Timestamp) -> SnapshotRecord {
    at_stage(number, Stage::Deleted { stored: stored(number), end: end(at) })
}

fn at_stage(number: i64, stage: Stage) -> SnapshotRecord {
    SnapshotRecord {
        snapshot_id: snapshot_id(number),
        label: label(&format!("label-{number:04}")),
        dir: Directory::parse("/workspace").unwrap(),
        excludes: Vec::new(),
        gitignore: None,
        compression: None,
        began_at: minute(number),
        last_used_at: minute(number),
        expiration_seconds: None,
        expires_at: None,
        pinned: false,
        aside: false,
        rescue: false,
        suspect: None,
        dependencies: None,
        stage,
    }
}

/// A snapshot with everything that any can have, as far on as another one.
pub fn in_full(snapshot: SnapshotRecord) -> SnapshotRecord {
    SnapshotRecord {
        label: label("it's \"quoted\"; DROP TABLE snapshots; -- 文件 🗂 %_\\"),
        dir: Directory::parse("/workspace/it's a directory/ä").unwrap(),
        excludes: vec!["*.log".into(), "a \"quoted\" 'pattern'".into(), "🗂".into(), String::new()],
        gitignore: Some(false),
        compression: Some(Compression { format: Some(CompressionFormat::Zstd), threads: NonZeroU32::new(8) }),
        last_used_at: minute(-1_000_000),
        expiration_seconds: Some(u64::MAX),
        expires_at: Some(Timestamp::LAST),
        pinned: true,
        aside: true,
        rescue: true,
        suspect: Suspect::of(100_000_000, 4096),
        dependencies: Some(Dependencies {
            files: BTreeMap::from([("it's".into(), "ab".repeat(32)), ("none".into(), String::new())]),
            fingerprint: Some("commit 文件 🗂".into()),
            image: Some("0.12.10 0123456789abcdef".into()),
        }),
        ..snapshot
    }
}

/// A capture of which the backup is known, and which has everything that any can have.
pub fn making_in_full(number: i64) -> SnapshotRecord {
    let stage = Stage::Making(Making {
        sighting: Sighting { since: minute(number), last_change: 0.0 },
        look: Look::Due,
        marker: Some(Marker::Foreign("kept k3f9x2ab".into())),
        adopts: false,
        takes_label: Some(label("the next one")),
        backup: Some(handle(number)),
        discarded: true,
        key: Some("it's a key".into()),
        loose: LOOSE,
    });
    in_full(at_stage(number, stage))
}

fn end(at: Timestamp) -> End {
    End { at, reason: "It's not among the \"newest 5\".".into() }
}

fn stored(number: i64) -> Stored {
    Stored {
        backup: handle(number),
        created_at: minute(number),
        size_bytes: u64::MAX,
        checksum: Some("md5:d41d8cd98f00b204e9800998ecf8427e".into()),
        usable_until: Timestamp::LAST,
        imported: true,
        checked_at: minute(number),
        damage: Some("The archive is \"gone\".".into()),
        damage_within: Some("It's no archive: \"文件\".".into()),
    }
}

fn handle(number: i64) -> BackupHandle {
    let backup = format!("6b1f0c1e-0000-4000-8000-{number:012}");
    serde_json::from_value(json!({
        "id": backup, "dir": "/workspace", "localBucket": true,
        "more": { "list": [1, -2.5, null, "🗂"], "empty": {}, "large": u64::MAX },
    }))
    .unwrap()
}

/// A sandbox that is made from a snapshot.
pub fn derivation(id: &str, from: i64, state: DerivationState) -> Derivation {
    Derivation {
        sandbox_id: sandbox(id),
        snapshot_id: snapshot_id(from),
        lineage: Lineage::Branch,
        began_at: minute(from),
        state,
    }
}

/// A call that has no answer.
pub fn asked(key: &str, at: Timestamp) -> RequestRecord {
    RequestRecord { key: key.into(), payload: "5feceb66ffc86f38".into(), at, answer: None }
}

/// A call that has an answer.
pub fn answered(key: &str, at: Timestamp) -> RequestRecord {
    let answer = json!({ "ref": { "sandboxId": "agent-42" }, "list": [true, null, 1.5, "it's \"quoted\" 🗂"] });
    RequestRecord { answer: Some(answer), ..asked(key, at) }
}

/// Word about a snapshot.
pub fn release(number: i64, origin: &str) -> Release {
    Release { origin_id: sandbox(origin), snapshot_id: snapshot_id(number), loose: LOOSE }
}
