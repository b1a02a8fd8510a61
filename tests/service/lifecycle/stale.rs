//! Whether the world is still what a snapshot depends on.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{Checked, MINUTE, Method, Stage, WORK, on};

/// `work` was stopped, of which the snapshots depend on this.
fn depending(depends_on: &Value) -> Stage {
    let stage = Stage::empty();
    stage.world.ships("/etc/version", "1");
    stage.creates(WORK, &json!({ "dependsOn": depends_on, "expiry": { "idleSeconds": 0 } })).unwrap();
    stage.world.pass(MINUTE);
    stage.world.writes(&stage.sandbox_of(WORK), "/workspace/lock", "locked");
    stage.saves(WORK, "first");
    stage
}

#[test]
fn a_world_that_is_the_same_is_not_stale() {
    let depends = json!({ "files": ["/etc/version", "lock"], "fingerprint": "v1", "onImageChange": "fail" });
    let stage = depending(&depends);
    let started = stage.starts(WORK, &json!({ "fingerprint": "v1" })).unwrap();
    assert_eq!((&started["stale"], stage.file(WORK)), (&json!([]), Some("first".into())));
}

#[test]
fn a_file_outside_of_the_directory_that_is_another_now_is_stale() {
    let stage = depending(&json!({ "files": ["/etc/version"] }));
    stage.world.ships("/etc/version", "2");
    let error = stage.starts(WORK, &json!({})).fails_as(Code::SnapshotStale);
    assert!(error.message().contains("/etc/version"), "{error}");
    assert!(error.remediation().contains("acceptStale"), "{error}");
}

#[test]
fn a_stale_snapshot_is_not_restored_and_no_sandbox_is_left() {
    let stage = depending(&json!({ "fingerprint": "v1" }));
    stage.world.forget_calls();
    stage.starts(WORK, &json!({ "fingerprint": "v2" })).fails_as(Code::SnapshotStale);
    assert_eq!((stage.world.count(Method::RestoreBackup), stage.state(WORK)), (0, "stopped"));
    assert!(stage.world.running().is_empty());
}

#[test]
fn what_is_stale_can_be_accepted() {
    let stage = depending(&json!({ "fingerprint": "v1" }));
    let started = stage.starts(WORK, &json!({ "fingerprint": "v2", "acceptStale": true })).unwrap();
    let [why] = &started["stale"].as_array().unwrap()[..] else { panic!("{started}") };
    assert!(why.as_str().unwrap().contains("v2") && why.as_str().unwrap().contains("v1"), "{why}");
    assert_eq!(stage.file(WORK).unwrap(), "first");
}

#[test]
fn what_was_accepted_once_is_what_the_next_snapshot_depends_on() {
    let stage = depending(&json!({ "fingerprint": "v1" }));
    stage.starts(WORK, &json!({ "fingerprint": "v2", "acceptStale": true })).unwrap();
    stage.saves(WORK, "second");
    assert_eq!(stage.starts(WORK, &json!({ "fingerprint": "v2" })).unwrap()["stale"], json!([]));
}

#[test]
fn what_is_stale_may_only_be_told() {
    let stage = depending(&json!({ "files": ["/etc/version"], "fingerprint": "v1", "onMismatch": "report" }));
    stage.world.ships("/etc/version", "2");
    let started = stage.starts(WORK, &json!({ "fingerprint": "v2" })).unwrap();
    assert_eq!(started["stale"].as_array().unwrap().len(), 2);
}

#[test]
fn another_image_is_told_and_is_a_failure_where_that_is_wanted() {
    for (means, fails) in [("report", false), ("fail", true)] {
        let stage = depending(&json!({ "onImageChange": means }));
        stage.world.has_image("0.13.0 fedcba9876543210");
        let outcome = stage.starts(WORK, &json!({}));
        if fails {
            outcome.fails_as(Code::SnapshotStale);
        } else {
            assert!(outcome.unwrap()["stale"][0].as_str().unwrap().contains("image"));
        }
    }
}

#[test]
fn files_within_the_directory_are_compared_with_what_the_caller_expects() {
    let stage = depending(&json!({ "files": ["lock", "/workspace/lock"] }));
    let hash = "91bf0f0fc4baa3b7ad22b8bdb7ccef9a9a4b0c4be1af8af4ee5c7ce8b37d47ab";
    for path in ["lock", "/workspace/lock"] {
        let error = stage.starts(WORK, &json!({ "expect": { path: hash } })).fails_as(Code::SnapshotStale);
        assert!(error.message().contains("expected"), "{error}");
    }
    stage.starts(WORK, &json!({ "expect": { "lock": locked() } })).unwrap();
}

/// The SHA-256 of the lock file.
fn locked() -> String {
    let stage = depending(&json!({ "files": ["lock"] }));
    let rows =
        sandbox_snapshotter::ports::Ledger::page(&*stage.ledger(&stage.sandbox_of(WORK)), None, None, 1).unwrap();
    rows[0].dependencies.clone().unwrap().files["lock"].clone()
}

#[test]
fn a_file_within_the_directory_comes_with_the_restore_and_is_not_stale() {
    let stage = depending(&json!({ "files": ["lock", "/workspace/lock"] }));
    stage.world.forget_calls();
    stage.starts(WORK, &json!({})).unwrap();
    assert_eq!(stage.world.count(Method::Hashes), 0);
}

#[test]
fn a_fingerprint_that_is_told_while_it_is_active_is_that_of_the_next_snapshot() {
    for operation in [Operation::StartWorkspace, Operation::GetOrCreateWorkspace] {
        let stage = depending(&json!({ "fingerprint": "v1" }));
        stage.starts(WORK, &json!({})).unwrap();
        let told = match operation {
            Operation::StartWorkspace => json!({ "fingerprint": "v2" }),
            _ => json!({ "dependsOn": { "fingerprint": "v2" } }),
        };
        assert_eq!(stage.run(operation, &on(WORK, &told)).unwrap()["how"], "alive");
        stage.saves(WORK, "second");
        assert_eq!(stage.starts(WORK, &json!({ "fingerprint": "v2" })).unwrap()["stale"], json!([]));
    }
}

#[test]
fn a_snapshot_of_which_nothing_is_known_is_not_stale() {
    let stage = depending(&json!({}));
    stage.updates(WORK, &json!({ "dependsOn": { "files": ["/etc/version"], "fingerprint": "v2" } })).unwrap();
    assert_eq!(stage.starts(WORK, &json!({})).unwrap()["stale"], json!([]));
}

#[test]
fn a_stale_snapshot_of_a_fork_is_told_too() {
    let stage = depending(&json!({ "fingerprint": "v1" }));
    stage.updates(WORK, &json!({ "dependsOn": { "fingerprint": "v2" } })).unwrap();
    let forked = stage.forks(WORK, &json!({ "newName": "other" })).unwrap();
    assert_eq!(forked["forks"][0]["error"]["code"], "SNAPSHOT_STALE");
    stage.described("other").fails_as(Code::WorkspaceNotFound);
}

#[test]
fn one_does_not_go_back_to_what_is_stale_unless_that_is_accepted() {
    let stage = depending(&json!({ "fingerprint": "v1" }));
    let first = json!(stage.record(WORK).last_snapshot.unwrap().id);
    stage.starts(WORK, &json!({ "fingerprint": "v2", "acceptStale": true })).unwrap();
    stage.writes(WORK, "second");
    stage.goes_back(WORK, &first).fails_as(Code::SnapshotStale);
    assert_eq!(stage.file(WORK).unwrap(), "second");
    stage.updates(WORK, &json!({ "currentSnapshotId": first, "acceptStale": true })).unwrap();
    assert_eq!(stage.file(WORK).unwrap(), "first");
}
