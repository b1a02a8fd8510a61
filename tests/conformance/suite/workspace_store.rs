//! The storage of a named workspace.

use std::collections::BTreeMap;

use sandbox_snapshotter::model::named::FormerFiles;
use sandbox_snapshotter::model::named::Task;
use sandbox_snapshotter::model::named::answer::{LastSnapshot, WorkspaceProblem};
use sandbox_snapshotter::model::named::binding::LastRestore;
use sandbox_snapshotter::model::named::messages::SnapshotKey;
use sandbox_snapshotter::model::named::record::{KeyedCall, RestoreReport};
use sandbox_snapshotter::model::named::settings::{
    DependsOn, Expiry, Hook, Hooks, OnFailure, OnImageChange, OnMismatch, Settings,
};
use sandbox_snapshotter::model::named::{Address, Autosave, NamedRecord, State, Storage, StoragePolicy, Transition};
use sandbox_snapshotter::model::{Code, Directory, Runtime, SnapshotCause, Timestamp};
use sandbox_snapshotter::ports::WorkspaceStore;

use super::Case;
use super::ledger::rows::{minute_after_start, platform_snapshot, sandbox, sandbox_record, snapshot_id};

pub fn cases<S: WorkspaceStore>() -> Vec<Case<S>> {
    vec![
        case!(new_store_is_empty),
        case!(record_is_stored_and_replaced_completely),
        case!(every_state_is_stored),
        case!(alarm_is_set_moved_and_removed),
        case!(logging_a_transition_changes_nothing),
    ]
}

fn new_store_is_empty(store: &impl WorkspaceStore) {
    assert_eq!(store.record().unwrap(), None);
    assert_eq!(store.alarm().unwrap(), None);
    store.set_alarm(None).unwrap();
    assert_eq!(store.alarm().unwrap(), None);
}

fn record_is_stored_and_replaced_completely(store: &impl WorkspaceStore) {
    store.set_alarm(Some(minute_after_start(1))).unwrap();
    assert_eq!(store.record().unwrap(), None, "an alarm does not create a workspace");
    for record in [full_record(), minimal_record(), full_record()] {
        store.put_record(&record).unwrap();
        assert_eq!(store.record().unwrap(), Some(record));
        assert_eq!(store.alarm().unwrap(), Some(minute_after_start(1)), "the record does not change the alarm");
    }
}

fn every_state_is_stored(store: &impl WorkspaceStore) {
    for state in State::ALL {
        let record = NamedRecord { state, ..minimal_record() };
        store.put_record(&record).unwrap();
        assert_eq!(store.record().unwrap(), Some(record));
    }
}

fn alarm_is_set_moved_and_removed(store: &impl WorkspaceStore) {
    store.put_record(&minimal_record()).unwrap();
    for at in [
        Some(minute_after_start(60)),
        Some(minute_after_start(30)),
        None,
        None,
        Some(Timestamp::MAX),
        Some(minute_after_start(90)),
    ] {
        store.set_alarm(at).unwrap();
        assert_eq!(store.alarm().unwrap(), at);
        assert_eq!(store.record().unwrap(), Some(minimal_record()));
    }
}

fn logging_a_transition_changes_nothing(store: &impl WorkspaceStore) {
    store.log_transition(&address(), &transition());
    assert_eq!(store.record().unwrap(), None);
    store.put_record(&full_record()).unwrap();
    store.log_transition(&address(), &Transition { from: None, ..transition() });
    assert_eq!(store.record().unwrap(), Some(full_record()));
}

pub fn address() -> Address {
    Address::parse("Tenant-1/it_s.a-name").unwrap()
}

pub fn transition() -> Transition {
    Transition {
        from: Some(State::Active),
        to: State::Stopping,
        at: minute_after_start(3),
        cause: "It's \"idle\";\n-- 文件 🗂 %_\\".into(),
    }
}

/// A record with only its required fields.
pub fn minimal_record() -> NamedRecord {
    NamedRecord {
        address: address(),
        version: 1,
        directory_version: 0,
        state: State::Provisioning,
        history: Vec::new(),
        settings: Settings::new(Directory::parse("/workspace").unwrap()),
        created_at: minute_after_start(0),
        sandbox_id: sandbox("it_s-a-name-k3f9x2abcd"),
        runtime: None,
        root_id: None,
        claimed: false,
        former_sandbox_ids: Vec::new(),
        source: None,
        started_at: None,
        running_millis: 0,
        active_at: minute_after_start(0),
        last_saved_at: None,
        turn_ended_at: None,
        unsaved_since: None,
        last_snapshot: None,
        saved_bytes: None,
        platform_snapshot: None,
        last_restore: None,
        restore_report: RestoreReport::First,
        restore_unconfirmed: false,
        container_ended: false,
        never_persistent: false,
        unreported_loss: false,
        unreported_since: None,
        problem: None,
        creation: None,
        fork_calls: Vec::new(),
        former_files: None,
        promotions: Vec::new(),
        tasks: Vec::new(),
        next_check_at: None,
    }
}

/// A record with every field that any record can have.
pub fn full_record() -> NamedRecord {
    let hook = |command: &str, on_failure| Some(Hook { command: command.into(), timeout_seconds: 600, on_failure });
    NamedRecord {
        version: u64::MAX,
        directory_version: 7,
        last_saved_at: Some(minute_after_start(3)),
        turn_ended_at: Some(minute_after_start(4)),
        unsaved_since: Some(minute_after_start(5)),
        state: State::Active,
        history: vec![transition(), Transition { from: None, ..transition() }],
        settings: Settings {
            autosave: Autosave { every_seconds: 60, after_turn: true, ..Autosave::default() },
            dir: Directory::parse("/workspace/it's a directory/ä").unwrap(),
            persistent: false,
            storage: StoragePolicy::Platform,
            durable: false,
            incremental: Some(false),
            image: Some("python".into()),
            retention: sandbox_record().policy,
            hooks: Hooks {
                before_stop: hook("echo 'it'\n\"$x\" 🗂", OnFailure::Warn),
                after_start: hook("npm ci", OnFailure::Fail),
                on_timeout: hook("true", OnFailure::Warn),
            },
            expiry: Expiry { idle_seconds: 0, max_seconds: u64::MAX },
            depends_on: DependsOn {
                files: vec!["package-lock.json".into(), "/etc/it's".into()],
                fingerprint: Some("commit \"5feceb\"".into()),
                on_mismatch: OnMismatch::Report,
                on_image_change: OnImageChange::Fail,
            },
            env: BTreeMap::from([("TOKEN".into(), "it's \"secret\"\n🗂".into()), ("EMPTY".into(), String::new())]),
        },
        runtime: Some(Runtime::Sdk012),
        claimed: true,
        former_sandbox_ids: vec![sandbox("b-2"), sandbox("a-1")],
        root_id: Some(sandbox("a-1")),
        source: Some(SnapshotKey { origin_id: sandbox("a-1"), snapshot_id: snapshot_id(3) }),
        started_at: Some(minute_after_start(2)),
        running_millis: 90_000,
        active_at: minute_after_start(-5),
        last_snapshot: Some(LastSnapshot {
            id: snapshot_id(4),
            origin_id: sandbox("b-2"),
            dir: Directory::parse("/workspace").unwrap(),
            size_bytes: u64::MAX,
            created_at: minute_after_start(4),
        }),
        platform_snapshot: Some(platform_snapshot()),
        last_restore: Some(LastRestore {
            storage: Storage::Archive,
            snapshot_id: Some(snapshot_id(4)),
            created_at: minute_after_start(4),
            at: minute_after_start(5),
            may_have_lost: true,
            lost_since: Some(minute_after_start(3)),
            newer_partial_id: None,
            nonce: "k3f9x2ab".into(),
        }),
        restore_report: RestoreReport::Again,
        restore_unconfirmed: true,
        container_ended: true,
        never_persistent: true,
        unreported_loss: true,
        problem: Some(WorkspaceProblem {
            code: Code::Internal,
            message: "It's \"broken\".".into(),
            remediation: "Mend it.".into(),
            at: minute_after_start(5),
        }),
        creation: Some(KeyedCall { key: "it's a key".into(), payload_hash: "5feceb66ffc86f38".into() }),
        former_files: Some(FormerFiles {
            sandbox_id: sandbox("b-2"),
            cause: SnapshotCause::BeforePromotion,
            snapshot_id: Some(snapshot_id(7)),
            reported_restore: Some("nonce".into()),
        }),
        promotions: vec![KeyedCall { key: "promotion".into(), payload_hash: "4fc82b26aecb47d2".into() }],
        tasks: vec![Task::Decommission(sandbox("a-1")), Task::StopUnused(sandbox("b-2"))],
        next_check_at: Some(Timestamp::MAX),
        ..minimal_record()
    }
}
