//! Rows of a ledger, by number. The ids, labels and times of snapshots sort in the order of their numbers.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sandbox_snapshotter::model::answer::Removal;
use sandbox_snapshotter::model::delta::TracedBase;
use sandbox_snapshotter::model::freeze::FreezeReport;
use sandbox_snapshotter::model::named::binding::{Dependencies, LastRestore, SavedFiles, SavedIn, WorkspaceBinding};
use sandbox_snapshotter::model::named::platform_snapshot::{ArchiveLink, PlatformSnapshot, RefreshFailure};
use sandbox_snapshotter::model::named::{Address, Storage};
use sandbox_snapshotter::model::policy::KeepLast;
use sandbox_snapshotter::model::record::{
    CaptureInProgress, ContainerObservation, Derivation, DerivedState, ExpectedMarker, IdempotencyRecord, ParentLink,
    ProtectedSnapshot, Release, SandboxRecord, SnapshotRecord, Stage, StartState, StoredBackup, UnverifiedContainer,
    Verification,
};
use sandbox_snapshotter::model::usage::OperationCounts;
use sandbox_snapshotter::model::{
    ArchiveFormat, BackupHandle, Compression, CompressionFormat, ContainerIdentity, DerivationKind, Directory,
    FullReason, Label, LocatedBackup, PendingTask, Policy, Provenance, Runtime, SandboxId, SecretsMode, SecretsReport,
    SigningKey, SizeDrop, SnapshotCause, SnapshotId, Timestamp,
};
use serde_json::json;

/// The time `number` minutes after the beginning of 2026-11-20.
pub fn minute_after_start(number: i64) -> Timestamp {
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

pub const PENDING_TASK: PendingTask = PendingTask { due_at: Timestamp::from_millis(1_795_150_800_001), attempt: 3 };

/// The record of a sandbox with every field.
pub fn sandbox_record() -> SandboxRecord {
    SandboxRecord {
        sandbox_id: sandbox("agent-42-restored-k3f9x2ab"),
        root_id: sandbox("agent-42"),
        runtime: Some(Runtime::Container),
        parent: Some(ParentLink {
            origin_id: sandbox("agent-42"),
            snapshot_id: snapshot_id(7),
            kind: DerivationKind::Restored,
            needs_snapshot: true,
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
        id_key: Some(SigningKey::new(0, [0x7f; 32])),
        marker: Some("k3f9x2ab".into()),
        marked_at: Some(minute_after_start(4)),
        container: Some(ContainerIdentity::new(1_795_150_800_003.0)),
        traced_base: Some(TracedBase {
            snapshot_id: snapshot_id(6),
            inventory: "0".repeat(64),
            tree_bytes: 70,
            listing: "1".repeat(64),
            mounted: Some(handle(0).id().clone()),
        }),
        protected: Some(ProtectedSnapshot { snapshot_id: snapshot_id(8), until: minute_after_start(9) }),
        unverified: Some(UnverifiedContainer {
            since: Timestamp::from_millis(1_795_150_800_002),
            due_at: Timestamp::from_millis(1_795_150_860_002),
            container: Some(ContainerIdentity::new(1_795_150_800_004.0)),
        }),
        binding: Some(WorkspaceBinding {
            address: Address::parse("Tenant-1/it_s.a-name").unwrap(),
            start: start_state(),
            superseded: true,
            incremental: Some(true),
            version: 7,
            autosave_keep: NonZeroU32::new(3),
            files: vec!["package-lock.json".into(), "/etc/it's \"quoted\"".into()],
            fingerprint: Some("commit 文件 🗂".into()),
            platform_snapshot: Some(platform_snapshot()),
            platform_data_until: Some(minute_after_start(7)),
        }),
        counts: OperationCounts { captures: 12, restores: 3 },
        start: Some(start_state()),
        decommissioned_at: Some(minute_after_start(2)),
    }
}

/// The state of a start with every field that any can have.
pub fn start_state() -> StartState {
    StartState {
        dir: Directory::parse("/workspace/it's a directory/ä").unwrap(),
        reconcile_task: Some(PENDING_TASK),
        restore_unconfirmed: true,
        destroy_unconfirmed: true,
        call_unconfirmed: true,
        restore_nonce: Some("k3f9x2ab".into()),
        first_started_at: Some(minute_after_start(1)),
        adopted_at: Some(minute_after_start(1)),
        saved: Some(SavedFiles { snapshot: SavedIn::Archive(snapshot_id(1)), last_change: 1_795_150_800_000.25 }),
        saved_state: Some("start".into()),
        unreported_since: Some(minute_after_start(-1)),
        last_restore: Some(LastRestore {
            storage: Storage::Platform,
            snapshot_id: Some(snapshot_id(1)),
            created_at: minute_after_start(0),
            at: minute_after_start(1),
            may_have_lost: true,
            lost_since: Some(minute_after_start(-2)),
            newer_partial_id: None,
            nonce: "k3f9x2ab".to_owned(),
        }),
        image: Some("0.12.10 0123456789abcdef".into()),
        baseline: Some("ab".repeat(32)),
        env_names: vec!["A_NAME".to_owned()],
        class_image: Some("{\"image\":\"it's\"}".into()),
        class_image_uncertain: true,
        chosen_image: Some("python".to_owned()),
        platform_content: Some("cd".repeat(32)),
    }
}

/// A platform snapshot with every field that any can have.
pub fn platform_snapshot() -> PlatformSnapshot {
    PlatformSnapshot {
        id: "workerd-container-snap-1".into(),
        token: "k3f9x2ab".into(),
        size_bytes: u64::MAX,
        image: "it's \"one\"".into(),
        created_at: minute_after_start(3),
        last_restored_at: Some(minute_after_start(4)),
        attempted_at: Some(minute_after_start(5)),
        archive: Some(ArchiveLink { snapshot_id: snapshot_id(8), created_at: minute_after_start(2), is_same: true }),
        content_hash: Some("ab".repeat(32)),
        baseline: Some("cd".repeat(32)),
        dependencies: Dependencies::default(),
        refresh_failure: Some(RefreshFailure { at: minute_after_start(5), reason: "it's \"busy\"".into() }),
        unusable: Some("gone 🗂".into()),
    }
}

/// A ready snapshot.
pub fn ready(number: i64) -> SnapshotRecord {
    with_stage(number, Stage::Ready { stored: stored(number) })
}

/// A ready snapshot with a label.
pub fn with_label(number: i64, text: &str) -> SnapshotRecord {
    SnapshotRecord { label: label(text), ..ready(number) }
}

/// A snapshot that is being made.
pub fn creating(number: i64) -> SnapshotRecord {
    let stage = Stage::Creating(CaptureInProgress {
        observation: ContainerObservation {
            observed_at: minute_after_start(number),
            last_change: 1_795_150_800_000.25,
            identifies_container: true,
        },
        verification: Verification::DueUnverified,
        expected_marker: Some(ExpectedMarker::Own("k3f9x2ab".into())),
        adopts: true,
        base: None,
        takes_label: None,
        backup: None,
        discarded: false,
        key: None,
        task: PENDING_TASK,
    });
    with_stage(number, stage)
}

/// A snapshot that is being deleted.
pub fn deleting(number: i64) -> SnapshotRecord {
    let stage =
        Stage::Deleting { stored: stored(number), removal: removal(minute_after_start(number)), task: PENDING_TASK };
    with_stage(number, stage)
}

/// A snapshot that was deleted at `at`.
pub fn deleted(number: i64, at: Timestamp) -> SnapshotRecord {
    with_stage(number, Stage::Deleted { stored: stored(number), removal: removal(at) })
}

fn with_stage(number: i64, stage: Stage) -> SnapshotRecord {
    SnapshotRecord {
        snapshot_id: snapshot_id(number),
        label: label(&format!("label-{number:04}")),
        dir: Directory::parse("/workspace").unwrap(),
        excludes: Vec::new(),
        gitignore: None,
        compression: None,
        began_at: minute_after_start(number),
        last_used_at: minute_after_start(number),
        expiration_seconds: None,
        expires_at: None,
        pinned: false,
        foreign: false,
        rescue: false,
        cause: None,
        autosave: false,
        saved_state: None,
        changed_during_capture: None,
        freeze: None,
        secrets: None,
        suspect: None,
        dependencies: None,
        provenance: None,
        stage,
    }
}

/// Fills every field of a snapshot, and keeps its stage.
pub fn with_all_fields(snapshot: SnapshotRecord) -> SnapshotRecord {
    SnapshotRecord {
        label: label("it's \"quoted\"; DROP TABLE snapshots; -- 文件 🗂 %_\\"),
        dir: Directory::parse("/workspace/it's a directory/ä").unwrap(),
        excludes: vec!["*.log".into(), "a \"quoted\" 'pattern'".into(), "🗂".into(), String::new()],
        gitignore: Some(false),
        compression: Some(Compression { format: Some(CompressionFormat::Zstd), threads: NonZeroU32::new(8) }),
        last_used_at: minute_after_start(-1_000_000),
        expiration_seconds: Some(u64::MAX),
        expires_at: Some(Timestamp::MAX),
        pinned: true,
        foreign: true,
        rescue: true,
        cause: Some(SnapshotCause::BeforeRollback),
        autosave: true,
        saved_state: Some("k3f9x2ab".into()),
        changed_during_capture: Some(true),
        freeze: Some(FreezeReport { consistent: true, thawed: false }),
        secrets: Some(SecretsReport {
            mode: SecretsMode::Exclude,
            count: 1,
            paths: vec!["app/.env".into()],
            excluded: 1,
        }),
        suspect: SizeDrop::detect(100_000_000, 4096),
        provenance: Provenance::parse("0.12.10 0123456789abcdef 0.1.0 debian:12"),
        dependencies: Some(Dependencies {
            files: BTreeMap::from([("it's".into(), "ab".repeat(32)), ("none".into(), String::new())]),
            fingerprint: Some("commit 文件 🗂".into()),
            image: Some("0.12.10 0123456789abcdef".into()),
        }),
        ..snapshot
    }
}

/// A capture with a known backup and with every field.
pub fn creating_with_all_fields(number: i64) -> SnapshotRecord {
    let stage = Stage::Creating(CaptureInProgress {
        observation: ContainerObservation {
            observed_at: minute_after_start(number),
            last_change: 0.0,
            identifies_container: false,
        },
        verification: Verification::Due,
        expected_marker: Some(ExpectedMarker::Foreign("kept k3f9x2ab".into())),
        adopts: false,
        base: None,
        takes_label: Some(label("the next one")),
        backup: Some(located(number)),
        discarded: true,
        key: Some("it's a key".into()),
        task: PENDING_TASK,
    });
    with_all_fields(with_stage(number, stage))
}

fn removal(at: Timestamp) -> Removal {
    Removal { at, reason: "It's not among the \"newest 5\".".into() }
}

fn stored(number: i64) -> StoredBackup {
    StoredBackup {
        backup: located(number),
        created_at: minute_after_start(number),
        size_bytes: u64::MAX,
        checksum: Some("md5:d41d8cd98f00b204e9800998ecf8427e".into()),
        format: Some(ArchiveFormat::TarZstd),
        listing: Some("2".repeat(64)),
        full_reason: Some(FullReason::BaseOld),
        usable_until: Timestamp::MAX,
        imported: true,
        checked_at: minute_after_start(number),
        damage: Some("The archive is \"gone\".".into()),
        archive_damage: Some("It's no archive: \"文件\".".into()),
    }
}

/// A pair of objects, or a `DirectoryBackup`.
fn located(number: i64) -> LocatedBackup {
    LocatedBackup::new(handle(number), |id| format!("it's a prefix/{id}.tar.zst"))
}

fn handle(number: i64) -> BackupHandle {
    let backup = format!("6b1f0c1e-0000-4000-8000-{number:012}");
    if number % 2 == 1 {
        let record = json!({
            "id": backup, "dir": "/workspace", "size": 5, "sha256": "a".repeat(64), "format": "tar+zstd/1", "name": "it",
        });
        return serde_json::from_value(record).unwrap();
    }
    serde_json::from_value(json!({
        "id": backup, "dir": "/workspace", "localBucket": true,
        "more": { "list": [1, -2.5, null, "🗂"], "empty": {}, "large": u64::MAX },
    }))
    .unwrap()
}

/// A sandbox that was made from a snapshot.
pub fn derivation(id: &str, from: i64, state: DerivedState) -> Derivation {
    Derivation {
        sandbox_id: sandbox(id),
        snapshot_id: snapshot_id(from),
        kind: DerivationKind::Branch,
        runtime: Some(Runtime::Sdk012),
        began_at: minute_after_start(from),
        state,
    }
}

/// A call without an answer.
pub fn unanswered_call(key: &str, at: Timestamp) -> IdempotencyRecord {
    IdempotencyRecord {
        key: key.into(),
        payload_hash: "5feceb66ffc86f38".into(),
        at,
        answer: None,
        captures_left: None,
    }
}

/// A call with an answer.
pub fn answered_call(key: &str, at: Timestamp) -> IdempotencyRecord {
    let answer = json!({ "ref": { "sandboxId": "agent-42" }, "list": [true, null, 1.5, "it's \"quoted\" 🗂"] });
    IdempotencyRecord { answer: Some(answer), ..unanswered_call(key, at) }
}

/// A pending release of a snapshot.
pub fn release(number: i64, origin: &str) -> Release {
    Release { origin_id: sandbox(origin), snapshot_id: snapshot_id(number), task: PENDING_TASK }
}
