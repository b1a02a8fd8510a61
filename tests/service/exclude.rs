//! Captures that would leave out more than the caller asked for are refused.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::{Code, SnapshotRequest};
use sandbox_snapshotter::ports::Ledger;
use serde_json::json;

use super::support::{Checked, HOUR, Method, Stage, sandbox};

fn excluding(pattern: &str) -> SnapshotRequest {
    SnapshotRequest { excludes: vec![pattern.into()], ..SnapshotRequest::of(sandbox("agent-42")) }
}

fn without_ignored() -> SnapshotRequest {
    SnapshotRequest { gitignore: Some(true), ..SnapshotRequest::of(sandbox("agent-42")) }
}

/// A sandbox with a file that git ignores in a subdirectory.
fn ignoring_below() -> Stage {
    let stage = Stage::with_sandbox();
    stage.world.writes("agent-42", "/workspace/build/out", "made");
    stage.world.ignores("agent-42", "build");
    stage
}

#[test]
fn a_pattern_with_a_slash_is_refused_before_the_sandbox_is_asked_anything() {
    let stage = Stage::with_sandbox();
    let error = stage.snapshot_as_asked(excluding("build/out")).fails_as(Code::ExcludeUnsupported);
    assert!(error.message().contains("\"build/out\""), "{error}");
    assert_eq!(stage.world.calls_about("agent-42"), []);
    assert_eq!(stage.ledger("agent-42").workspace().unwrap(), None);
}

#[test]
fn a_pattern_that_the_sdk_reduces_to_a_name_reaches_it_as_it_was_given() {
    let stage = Stage::with_sandbox();
    stage.snapshot_as_asked(excluding("**/node_modules/")).unwrap();
    assert_eq!(stage.world.options_asked()[0].excludes, ["**/node_modules/"]);
}

#[test]
fn a_capture_without_gitignore_asks_git_nothing() {
    for gitignore in [None, Some(false)] {
        let stage = ignoring_below();
        stage.snapshot_as_asked(SnapshotRequest { gitignore, ..without_ignored() }).unwrap();
        assert_eq!(stage.world.count(Method::IgnoredBelow), 0);
    }
}

#[test]
fn ignored_paths_at_the_top_of_the_directory_are_left_to_the_sdk() {
    let stage = Stage::with_sandbox();
    stage.world.writes("agent-42", "/workspace/.env", "secret");
    stage.world.ignores("agent-42", ".env");
    stage.snapshot_as_asked(without_ignored()).unwrap();
    assert_eq!(stage.world.options_asked()[0].gitignore, Some(true));
}

#[test]
fn an_ignored_path_in_a_subdirectory_is_refused_by_name_and_leaves_nothing() {
    let stage = ignoring_below();
    let error = stage.snapshot_as_asked(without_ignored()).fails_as(Code::ExcludeUnsupported);
    assert!(error.message().contains("\"build/out\""), "{error}");
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
    assert_eq!(stage.ledger("agent-42").unfinished().unwrap(), []);
    stage.passes(HOUR);
    stage.assert_nothing_stored();
    stage.assert_settled();
}

#[test]
fn a_refusal_frees_the_label_and_the_key() {
    let stage = ignoring_below();
    let call = |gitignore: bool| json!({ "sandboxId": "agent-42", "label": "a", "gitignore": gitignore });
    stage.run(Operation::Snapshot, &call(true)).fails_as(Code::ExcludeUnsupported);
    stage.run(Operation::Snapshot, &call(false)).unwrap();
}

#[test]
fn a_capture_that_cannot_ask_git_makes_no_backup() {
    let stage = ignoring_below();
    stage.world.before(Method::IgnoredBelow).fails_in_passing();
    stage.snapshot_as_asked(without_ignored()).fails_as(Code::SandboxUnavailable);
    assert_eq!(stage.world.count(Method::CreateBackup), 0);
}

#[test]
fn a_container_that_is_started_by_asking_git_is_not_captured() {
    let stage = ignoring_below();
    stage.world.before(Method::IgnoredBelow).nth(1).happens(|world| world.dies_unnoticed("agent-42"));
    stage.snapshot_as_asked(without_ignored()).fails_as(Code::SandboxReplaced);
    stage.snapshot().fails_as(Code::SandboxReplaced);
    stage.passes(HOUR);
    stage.assert_nothing_stored();
}

#[test]
fn a_container_that_was_started_by_asking_git_in_vain_is_not_captured_later() {
    let stage = ignoring_below();
    stage.world.before(Method::IgnoredBelow).nth(1).happens(|world| world.dies_unnoticed("agent-42"));
    stage.world.after(Method::IgnoredBelow).nth(1).fails_in_passing();
    stage.snapshot_as_asked(without_ignored()).fails_as(Code::SandboxUnavailable);
    stage.world.goes_well();
    stage.snapshot().fails_as(Code::SandboxReplaced);
}
