//! Staleness: whether the files, the fingerprint and the image that a snapshot depends on have changed.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Code;
use serde_json::{Value, json};

use crate::support::{ExpectError, Fixture, MINUTE, Method, WORKSPACE, workspace_args};

/// The stopped workspace `work`, whose snapshots depend on `depends_on`.
fn with_dependencies(depends_on: &Value) -> Fixture {
    let fixture = Fixture::empty();
    fixture.world.add_image_file("/etc/version", "1");
    fixture.create_workspace(WORKSPACE, &json!({ "dependsOn": depends_on, "expiry": { "idleSeconds": 0 } })).unwrap();
    fixture.world.advance_clock(MINUTE);
    fixture.world.write_file(&fixture.sandbox_of(WORKSPACE), "/workspace/lock", "locked");
    fixture.stop_with_content(WORKSPACE, "first");
    fixture
}

#[test]
fn snapshot_with_unchanged_dependencies_is_not_stale() {
    let dependencies = json!({ "files": ["/etc/version", "lock"], "fingerprint": "v1", "onImageChange": "fail" });
    let fixture = with_dependencies(&dependencies);
    let started = fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v1" })).unwrap();
    assert_eq!((&started["stale"], fixture.read_workspace_file(WORKSPACE)), (&json!([]), Some("first".into())));
}

#[test]
fn changed_file_outside_the_directory_makes_snapshot_stale() {
    let fixture = with_dependencies(&json!({ "files": ["/etc/version"] }));
    fixture.world.add_image_file("/etc/version", "2");
    let error = fixture.start_workspace(WORKSPACE, &json!({})).expect_code(Code::SnapshotStale);
    assert!(error.message().contains("/etc/version"), "{error}");
    assert!(error.remediation().contains("acceptStale"), "{error}");
}

#[test]
fn start_fails_for_stale_snapshot_and_leaves_no_container() {
    let fixture = with_dependencies(&json!({ "fingerprint": "v1" }));
    fixture.world.reset_calls();
    fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2" })).expect_code(Code::SnapshotStale);
    assert_eq!((fixture.world.call_count(Method::RestoreBackup), fixture.state(WORKSPACE)), (0, "stopped"));
    assert!(fixture.world.running_sandboxes().is_empty());
}

#[test]
fn start_with_accept_stale_restores_stale_snapshot() {
    let fixture = with_dependencies(&json!({ "fingerprint": "v1" }));
    let started = fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2", "acceptStale": true })).unwrap();
    let [reason] = &started["stale"].as_array().unwrap()[..] else { panic!("{started}") };
    assert!(reason.as_str().unwrap().contains("v2") && reason.as_str().unwrap().contains("v1"), "{reason}");
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}

#[test]
fn next_snapshot_depends_on_the_accepted_fingerprint() {
    let fixture = with_dependencies(&json!({ "fingerprint": "v1" }));
    fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2", "acceptStale": true })).unwrap();
    fixture.stop_with_content(WORKSPACE, "second");
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2" })).unwrap()["stale"], json!([]));
}

#[test]
fn start_only_reports_stale_snapshot_when_on_mismatch_is_report() {
    let fixture = with_dependencies(&json!({ "files": ["/etc/version"], "fingerprint": "v1", "onMismatch": "report" }));
    fixture.world.add_image_file("/etc/version", "2");
    let started = fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2" })).unwrap();
    assert_eq!(started["stale"].as_array().unwrap().len(), 2);
}

#[test]
fn changed_image_is_reported_or_fails_as_configured() {
    for (policy, fails) in [("report", false), ("fail", true)] {
        let fixture = with_dependencies(&json!({ "onImageChange": policy }));
        fixture.world.set_image_version("0.13.0 fedcba9876543210");
        let outcome = fixture.start_workspace(WORKSPACE, &json!({}));
        if fails {
            outcome.expect_code(Code::SnapshotStale);
        } else {
            let stale = outcome.unwrap()["stale"].to_string();
            assert!(stale.contains("SDK version") && stale.contains("package hash"), "{stale}");
        }
    }
}

#[test]
fn start_compares_files_in_the_directory_with_expected_hashes() {
    let fixture = with_dependencies(&json!({ "files": ["lock", "/workspace/lock"] }));
    let hash = "91bf0f0fc4baa3b7ad22b8bdb7ccef9a9a4b0c4be1af8af4ee5c7ce8b37d47ab";
    for path in ["lock", "/workspace/lock"] {
        let error =
            fixture.start_workspace(WORKSPACE, &json!({ "expect": { path: hash } })).expect_code(Code::SnapshotStale);
        assert!(error.message().contains("expected"), "{error}");
    }
    fixture.start_workspace(WORKSPACE, &json!({ "expect": { "lock": lock_file_hash() } })).unwrap();
}

/// Returns the SHA-256 of the lock file.
fn lock_file_hash() -> String {
    let fixture = with_dependencies(&json!({ "files": ["lock"] }));
    let rows = sandbox_snapshotter::ports::Ledger::snapshot_page(
        &*fixture.ledger(&fixture.sandbox_of(WORKSPACE)),
        None,
        None,
        1,
    )
    .unwrap();
    rows[0].dependencies.clone().unwrap().files["lock"].clone()
}

#[test]
fn file_in_the_directory_is_not_checked_for_staleness() {
    let fixture = with_dependencies(&json!({ "files": ["lock", "/workspace/lock"] }));
    fixture.world.reset_calls();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.call_count(Method::HashFiles), 0);
}

#[test]
fn fingerprint_given_while_active_applies_to_next_snapshot() {
    for operation in [Operation::StartWorkspace, Operation::GetOrCreateWorkspace] {
        let fixture = with_dependencies(&json!({ "fingerprint": "v1" }));
        fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
        let options = match operation {
            Operation::StartWorkspace => json!({ "fingerprint": "v2" }),
            _ => json!({ "dependsOn": { "fingerprint": "v2" } }),
        };
        assert_eq!(fixture.run(operation, &workspace_args(WORKSPACE, &options)).unwrap()["how"], "running");
        fixture.stop_with_content(WORKSPACE, "second");
        assert_eq!(fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2" })).unwrap()["stale"], json!([]));
    }
}

#[test]
fn snapshot_without_recorded_dependencies_is_not_stale() {
    let fixture = with_dependencies(&json!({}));
    fixture
        .update_workspace(WORKSPACE, &json!({ "dependsOn": { "files": ["/etc/version"], "fingerprint": "v2" } }))
        .unwrap();
    assert_eq!(fixture.start_workspace(WORKSPACE, &json!({})).unwrap()["stale"], json!([]));
}

#[test]
fn fork_fails_for_stale_snapshot() {
    let fixture = with_dependencies(&json!({ "fingerprint": "v1" }));
    fixture.update_workspace(WORKSPACE, &json!({ "dependsOn": { "fingerprint": "v2" } })).unwrap();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other" })).unwrap();
    assert_eq!(forked["forks"][0]["error"]["code"], "SNAPSHOT_STALE");
    fixture.get_workspace("other").expect_code(Code::WorkspaceNotFound);
}

#[test]
fn revert_to_stale_snapshot_requires_accept_stale() {
    let fixture = with_dependencies(&json!({ "fingerprint": "v1" }));
    let first = json!(fixture.record(WORKSPACE).last_snapshot.unwrap().id);
    fixture.start_workspace(WORKSPACE, &json!({ "fingerprint": "v2", "acceptStale": true })).unwrap();
    fixture.write_workspace_file(WORKSPACE, "second");
    fixture.revert_workspace(WORKSPACE, &first).expect_code(Code::SnapshotStale);
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "second");
    fixture.update_workspace(WORKSPACE, &json!({ "currentSnapshotId": first, "acceptStale": true })).unwrap();
    assert_eq!(fixture.read_workspace_file(WORKSPACE).unwrap(), "first");
}
