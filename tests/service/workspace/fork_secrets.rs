//! Forks of a workspace without the files that contain secrets.

use sandbox_snapshotter::model::Code;
use serde_json::json;

use crate::support::{ExpectError, Fixture, Method, WORKSPACE};

const SECRET_FILE: &str = "/workspace/.env";

fn with_secret() -> Fixture {
    let fixture = Fixture::with_workspace();
    fixture.world.write_file(&fixture.world_id(&fixture.sandbox_of(WORKSPACE)), SECRET_FILE, "x");
    fixture
}

#[test]
fn fork_is_made_from_a_snapshot_without_secrets() {
    let fixture = with_secret();
    let forked = fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other", "secrets": "exclude" })).unwrap();
    let report = json!({ "mode": "exclude", "count": 1, "paths": [".env"], "excluded": 1 });
    assert_eq!(forked["secrets"], report);
    assert_eq!(fixture.world.backup_options().last().unwrap().excludes, [".env"]);
    assert_eq!(forked["forks"][0]["value"]["restoredFrom"]["snapshotId"], forked["snapshotId"]);
}

#[test]
fn snapshot_without_secrets_does_not_count_as_a_save_of_the_source() {
    let fixture = with_secret();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "all" })).unwrap();
    let saved_at = fixture.get_workspace(WORKSPACE).unwrap()["lastSavedAt"].clone();
    fixture.world.advance_clock(60_000);
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "some", "secrets": "exclude" })).unwrap();
    assert_eq!(fixture.get_workspace(WORKSPACE).unwrap()["lastSavedAt"], saved_at);
}

#[test]
fn stop_after_the_fork_saves_all_files_of_the_source() {
    let fixture = with_secret();
    fixture.fork_workspace(WORKSPACE, &json!({ "newName": "other", "secrets": "exclude" })).unwrap();
    fixture.stop_workspace(WORKSPACE).unwrap();
    fixture.start_workspace(WORKSPACE, &json!({})).unwrap();
    assert_eq!(fixture.world.files(&fixture.world_id(&fixture.sandbox_of(WORKSPACE))).unwrap()[SECRET_FILE], "x");
}

#[test]
fn refused_secrets_make_no_fork() {
    let fixture = with_secret();
    let options = json!({ "newName": "other", "secrets": "refuse" });
    fixture.fork_workspace(WORKSPACE, &options).expect_code(Code::SecretsFound);
    fixture.get_workspace("other").expect_code(Code::WorkspaceNotFound);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn repeated_fork_has_the_same_report() {
    let fixture = with_secret();
    let options = json!({ "newName": "other", "secrets": "exclude", "idempotencyKey": "key" });
    let first = fixture.fork_workspace(WORKSPACE, &options).unwrap();
    let second = fixture.fork_workspace(WORKSPACE, &options).unwrap();
    assert_eq!((&first["secrets"], &first["snapshotId"]), (&second["secrets"], &second["snapshotId"]));
    let other = json!({ "newName": "other", "secrets": "keep", "idempotencyKey": "key" });
    fixture.fork_workspace(WORKSPACE, &other).expect_code(Code::IdempotencyConflict);
}

#[test]
fn only_present_files_are_searched() {
    let fixture = Fixture::with_stopped_workspace();
    let options = |secrets| json!({ "newName": "other", "secrets": secrets });
    for mode in ["keep", "exclude", "refuse"] {
        fixture.fork_workspace(WORKSPACE, &options(mode)).expect_code(Code::SandboxNotRunning);
    }
    let latest = json!({ "newName": "other", "from": "latest", "secrets": "exclude" });
    fixture.fork_workspace(WORKSPACE, &latest).expect_code(Code::InvalidArgument);
}
