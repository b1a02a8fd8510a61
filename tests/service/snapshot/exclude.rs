//! `snapshot` refuses a capture that would exclude more paths than the caller requested.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use crate::support::{ExpectError, Fixture, HOUR, Method, by_ref, sandbox};

fn exclude_request(pattern: &str) -> SnapshotRequest {
    SnapshotRequest { excludes: vec![pattern.into()], ..SnapshotRequest::of(sandbox("agent-42")) }
}

fn gitignore_request() -> SnapshotRequest {
    SnapshotRequest { gitignore: Some(true), ..SnapshotRequest::of(sandbox("agent-42")) }
}

/// Returns a sandbox in which git ignores a directory, and keeps another one of the same name.
fn with_kept_name() -> Fixture {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/build/out", "made");
    fixture.world.write_file("agent-42", "/workspace/src/build/main", "written");
    fixture.world.git_ignore("agent-42", "build");
    fixture
}

#[test]
fn pattern_with_slash_is_refused_before_any_call_to_sandbox() {
    let fixture = Fixture::with_sandbox();
    let error = fixture.snapshot_with(exclude_request("build/out")).expect_code(Code::ExcludeUnsupported);
    assert!(error.message().contains("\"build/out\""), "{error}");
    assert_eq!(fixture.world.calls_about("agent-42"), []);
    assert_eq!(fixture.ledger("agent-42").sandbox().unwrap(), None);
}

#[test]
fn pattern_that_sdk_reduces_to_a_name_is_passed_unchanged() {
    let fixture = Fixture::with_sandbox();
    fixture.snapshot_with(exclude_request("**/node_modules/")).unwrap();
    assert_eq!(fixture.world.backup_options()[0].excludes, ["**/node_modules/"]);
}

#[test]
fn capture_without_gitignore_does_not_call_git() {
    for gitignore in [None, Some(false)] {
        let fixture = with_kept_name();
        fixture.snapshot_with(SnapshotRequest { gitignore, ..gitignore_request() }).unwrap();
        assert_eq!(fixture.world.call_count(Method::IgnoredNames), 0);
    }
}

#[test]
fn ignored_paths_are_excluded_by_their_names() {
    let fixture = Fixture::with_sandbox();
    for (path, ignored) in
        [(".env", ".env"), ("node_modules/a/1", "node_modules"), ("b/node_modules/2", "b/node_modules")]
    {
        fixture.world.write_file("agent-42", &format!("/workspace/{path}"), "x");
        fixture.world.git_ignore("agent-42", ignored);
    }
    let excludes = vec!["*.log".to_owned(), ".env".to_owned()];
    let taken = fixture.snapshot_with(SnapshotRequest { excludes, ..gitignore_request() }).unwrap();
    let options = &fixture.world.backup_options()[0];
    assert_eq!(options.excludes, ["*.log", ".env", "node_modules"]);
    assert_eq!(options.gitignore, None, "the SDK would exclude the first part of each path");
    let manifest = fixture.run(Operation::Manifest, &by_ref(&taken)).unwrap();
    assert_eq!((&manifest["gitignore"], &manifest["excludes"]), (&json!(true), &json!(["*.log", ".env"])));
}

#[test]
fn ignored_name_of_a_kept_path_is_refused_and_leaves_nothing() {
    let fixture = with_kept_name();
    let error = fixture.snapshot_with(gitignore_request()).expect_code(Code::ExcludeUnsupported);
    assert!(error.message().contains("\"src/build\""), "{error}");
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
    assert_eq!(fixture.ledger("agent-42").unfinished_snapshots().unwrap(), []);
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
    fixture.assert_nothing_pending();
}

#[test]
fn refused_capture_frees_its_label() {
    let fixture = with_kept_name();
    let call = |gitignore: bool| json!({ "sandboxId": "agent-42", "label": "a", "gitignore": gitignore });
    fixture.run(Operation::Snapshot, &call(true)).expect_code(Code::ExcludeUnsupported);
    fixture.run(Operation::Snapshot, &call(false)).unwrap();
}

#[test]
fn capture_makes_no_backup_when_git_call_fails() {
    let fixture = with_kept_name();
    fixture.world.before(Method::IgnoredNames).fail_transiently();
    fixture.snapshot_with(gitignore_request()).expect_code(Code::SandboxUnavailable);
    assert_eq!(fixture.world.call_count(Method::CreateBackup), 0);
}

#[test]
fn container_started_by_git_call_is_not_captured() {
    let fixture = with_kept_name();
    fixture.world.before(Method::IgnoredNames).nth(1).run(|world| world.end_container_unnoticed("agent-42"));
    fixture.snapshot_with(gitignore_request()).expect_code(Code::SandboxReplaced);
    fixture.snapshot().expect_code(Code::SandboxReplaced);
    fixture.advance_with_alarms(HOUR);
    fixture.assert_nothing_stored();
}

#[test]
fn container_started_by_failed_git_call_is_not_captured_later() {
    let fixture = with_kept_name();
    fixture.world.before(Method::IgnoredNames).nth(1).run(|world| world.end_container_unnoticed("agent-42"));
    fixture.world.after(Method::IgnoredNames).nth(1).fail_transiently();
    fixture.snapshot_with(gitignore_request()).expect_code(Code::SandboxUnavailable);
    fixture.world.clear_faults();
    fixture.snapshot().expect_code(Code::SandboxReplaced);
}
