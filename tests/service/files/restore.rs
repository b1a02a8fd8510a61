//! Single files of a snapshot, written to a running sandbox in memory.

use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::{Code, SnapshotRef};
use serde_json::{Value, json};

use crate::support::{ExpectError, FILE, Fixture, Method, by_ref};

fn options(snapshot: &SnapshotRef, paths: &[&str]) -> Value {
    let mut options = by_ref(snapshot);
    options["paths"] = json!(paths);
    options["to"] = json!("agent-42");
    options
}

fn overwriting(snapshot: &SnapshotRef, paths: &[&str]) -> Value {
    let mut options = options(snapshot, paths);
    options["overwrite"] = json!(true);
    options
}

/// Returns the content of a file of `agent-42`.
fn content(fixture: &Fixture, path: &str) -> Option<String> {
    fixture.world.files("agent-42").and_then(|files| files.get(path).cloned())
}

#[test]
fn missing_file_is_restored_and_existing_one_is_skipped() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/src/lost.txt", "lost");
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.remove_file("agent-42", "/workspace/src/lost.txt");
    fixture.world.write_file("agent-42", FILE, "newer");
    let answer = fixture.run(Operation::RestoreFiles, &options(&snapshot, &["./src//lost.txt", "notes.txt"])).unwrap();
    assert_eq!((&answer["restored"], &answer["skipped"]), (&json!(["src/lost.txt"]), &json!(["notes.txt"])));
    assert_eq!((&answer["sandboxId"], &answer["dir"]), (&json!("agent-42"), &json!("/workspace")));
    assert_eq!(content(&fixture, "/workspace/src/lost.txt").as_deref(), Some("lost"));
    assert_eq!(content(&fixture, FILE).as_deref(), Some("newer"));
}

#[test]
fn directory_selects_the_files_in_it() {
    let fixture = Fixture::with_sandbox();
    let paths = ["/workspace/src/a", "/workspace/src/deep/b", "/workspace/src/deep/deeper/c"];
    for path in paths {
        fixture.world.write_file("agent-42", path, "before");
    }
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    for path in paths {
        fixture.world.remove_file("agent-42", path);
    }
    fixture.world.write_file("agent-42", "/workspace/src/deep/b", "newer");
    fixture.world.write_file("agent-42", "/workspace/src/new", "newer");
    let answer = fixture.run(Operation::RestoreFiles, &options(&snapshot, &["src/deep/b", "./src/"])).unwrap();
    assert_eq!(
        (&answer["restored"], &answer["skipped"], answer.get("leftOut")),
        (&json!(["src/a", "src/deep/deeper/c"]), &json!(["src/deep/b"]), None)
    );
    let contents = paths.map(|path| content(&fixture, path).unwrap());
    assert_eq!(contents, ["before", "newer", "before"]);
    assert_eq!(content(&fixture, "/workspace/src/new").as_deref(), Some("newer"));
}

#[test]
fn whole_directory_of_a_snapshot_is_restored() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.remove_file("agent-42", FILE);
    let answer = fixture.run(Operation::RestoreFiles, &options(&snapshot, &["."])).unwrap();
    assert_eq!(answer["restored"], json!(["notes.txt"]));
}

#[test]
fn directory_with_too_many_files_is_refused_before_anything_is_written() {
    let fixture = Fixture::with_sandbox();
    for number in 0..=1000 {
        fixture.world.write_file("agent-42", &format!("/workspace/src/{number}"), "x");
    }
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.remove_file("agent-42", FILE);
    let error = fixture.run(Operation::RestoreFiles, &options(&snapshot, &["notes.txt", "src"])).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("more than 1000 files"), "{error}");
    assert_eq!(content(&fixture, FILE), None);
}

#[test]
fn existing_file_is_replaced_on_request() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.write_file("agent-42", FILE, "newer");
    fixture.run(Operation::RestoreFiles, &overwriting(&snapshot, &["notes.txt"])).unwrap();
    assert_eq!(content(&fixture, FILE).as_deref(), Some("first"));
}

#[test]
fn file_of_several_parts_is_restored() {
    let fixture = Fixture::with_sandbox();
    let large = "0123456789".repeat(20_000);
    fixture.world.write_file("agent-42", FILE, &large);
    let snapshot = fixture.snapshot_labelled("agent-42", "large");
    fixture.world.write_file("agent-42", FILE, "newer");
    fixture.run(Operation::RestoreFiles, &overwriting(&snapshot, &["notes.txt"])).unwrap();
    assert!(content(&fixture, FILE) == Some(large));
}

#[test]
fn sandbox_that_is_not_running_is_not_started() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.end_container("agent-42");
    fixture.world.reset_calls();
    fixture.run(Operation::RestoreFiles, &options(&snapshot, &["notes.txt"])).expect_code(Code::SandboxNotRunning);
    let commands = fixture.world.calls().into_iter().filter(|(method, _)| method.is_command());
    assert_eq!(commands.count(), 0);
}

#[test]
fn container_that_replaced_another_is_unchanged() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.replace_container("agent-42");
    fixture.run(Operation::RestoreFiles, &options(&snapshot, &["notes.txt"])).expect_code(Code::SandboxReplaced);
    assert_eq!(content(&fixture, FILE), None);
}

#[test]
fn container_that_replaced_the_captured_one_long_ago_is_unchanged() {
    let (fixture, snapshot) = Fixture::with_diverged_sandbox();
    fixture.run(Operation::RestoreFiles, &overwriting(&snapshot, &["notes.txt"])).expect_code(Code::SandboxReplaced);
    assert_eq!(content(&fixture, FILE).as_deref(), Some("second"));
}

#[test]
fn nothing_is_written_unless_all_paths_exist() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/src/a", "a");
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.remove_file("agent-42", FILE);
    for (path, code, names) in [
        ("missing", Code::FileNotFound, "contains no \"missing\""),
        ("../x", Code::InvalidArgument, "`paths[1]` contains \"..\""),
        ("", Code::InvalidArgument, "`paths[1]` is empty"),
    ] {
        let error = fixture.run(Operation::RestoreFiles, &options(&snapshot, &["notes.txt", path])).expect_code(code);
        assert!(error.message().contains(names), "{error}");
        assert_eq!(content(&fixture, FILE), None);
    }
}

#[test]
fn place_that_is_blocked_is_reported() {
    let fixture = Fixture::with_sandbox();
    fixture.world.write_file("agent-42", "/workspace/a/b", "below");
    let snapshot = fixture.snapshot_labelled("agent-42", "before");
    fixture.world.remove_file("agent-42", "/workspace/a/b");
    fixture.world.write_file("agent-42", "/workspace/a", "a file");
    fixture.run(Operation::RestoreFiles, &overwriting(&snapshot, &["a/b"])).expect_code(Code::NotADirectory);
    assert_eq!(content(&fixture, "/workspace/a").as_deref(), Some("a file"));
}

#[test]
fn files_are_restored_to_a_branch_and_not_to_another_lineage() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    let branch = fixture.branch(&snapshot).unwrap().sandbox_id().to_string();
    fixture.start_sandbox("agent-7");
    fixture.world.remove_file(&branch, FILE);
    let mut options = options(&snapshot, &["notes.txt"]);
    options["to"] = json!(branch);
    fixture.run(Operation::RestoreFiles, &options).unwrap();
    assert_eq!(fixture.world.files(&branch).unwrap().get(FILE).map(String::as_str), Some("first"));
    options["to"] = json!("agent-7");
    fixture.run(Operation::RestoreFiles, &options).expect_code(Code::CrossLineage);
}

#[test]
fn failure_of_the_sandbox_leaves_the_place_unchanged() {
    let (fixture, snapshot) = Fixture::with_snapshot();
    fixture.world.write_file("agent-42", FILE, "newer");
    fixture.world.before(Method::WriteFileParts).fail_transiently();
    fixture.run(Operation::RestoreFiles, &overwriting(&snapshot, &["notes.txt"])).expect_code(Code::SandboxUnavailable);
    assert_eq!(content(&fixture, FILE).as_deref(), Some("newer"));
}

#[test]
fn number_of_paths_is_limited() {
    let (_, snapshot) = Fixture::with_snapshot();
    for paths in [vec![], vec!["a"; 101]] {
        let error = Request::decode(Operation::RestoreFiles, &options(&snapshot, &paths));
        assert!(error.expect_code(Code::InvalidArgument).message().contains("1–100"));
    }
}
