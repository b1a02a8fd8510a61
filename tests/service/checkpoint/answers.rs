//! Answers and errors of checkpoint operations.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::checkpoint_call::CheckpointRefusal;
use sandbox_snapshotter::model::{Code, DirectoryContent};
use serde_json::json;

use super::{OPERATIONS, checkpoint_args};
use crate::support::{ExpectError, Fixture, HOUR, Method};

#[test]
fn checkpoint_is_created_listed_compared_and_restored() {
    let fixture = Fixture::with_checkpoint();
    let listed = fixture.checkpoint(Operation::ListCheckpoints).unwrap();
    assert_eq!(listed["checkpoints"][0]["name"], "before");
    assert_eq!(fixture.checkpoint(Operation::DiffCheckpoint).unwrap()["diff"], "notes.txt\n");
    let restored = fixture.checkpoint(Operation::RestoreCheckpoint).unwrap();
    assert_eq!((&restored["changed"], &restored["changedCount"]), (&json!(["notes.txt"]), &json!(1)));
    assert_eq!(restored["commit"], listed["checkpoints"][0]["commit"]);
    assert_eq!(fixture.notes_content(), "first");
}

#[test]
fn checkpoint_without_description_is_described_by_its_name() {
    let fixture = Fixture::with_sandbox();
    for (description, expected) in
        [(json!(null), "snapshot: before"), (json!(""), "snapshot: before"), (json!("it's"), "it's")]
    {
        let mut arguments = checkpoint_args("agent-42", Operation::CreateCheckpoint);
        if !description.is_null() {
            arguments["description"] = description;
        }
        assert_eq!(fixture.run(Operation::CreateCheckpoint, &arguments).unwrap()["description"], expected);
    }
}

#[test]
fn reused_name_returns_the_replaced_commit() {
    let fixture = Fixture::with_checkpoint();
    let first = &fixture.checkpoint(Operation::ListCheckpoints).unwrap()["checkpoints"][0]["commit"];
    let second = fixture.checkpoint(Operation::CreateCheckpoint).unwrap();
    assert_eq!(&second["replaced"], first);
    assert_ne!(&second["commit"], first);
}

#[test]
fn deleted_checkpoint_is_not_found_and_a_second_deletion_succeeds() {
    let fixture = Fixture::with_checkpoint();
    let deleted = fixture.checkpoint(Operation::DeleteCheckpoint).unwrap();
    assert_eq!((&deleted["removed"], deleted["commit"].is_string()), (&json!(true), true));
    fixture.checkpoint(Operation::RestoreCheckpoint).expect_code(Code::CheckpointNotFound);
    let again = fixture.checkpoint(Operation::DeleteCheckpoint).unwrap();
    assert_eq!(again, json!({ "name": "before", "removed": false }));
}

#[test]
fn checkpoint_expires_after_the_given_time() {
    let fixture = Fixture::with_sandbox();
    let mut arguments = checkpoint_args("agent-42", Operation::CreateCheckpoint);
    arguments["expirationSeconds"] = json!(3600);
    let created = fixture.run(Operation::CreateCheckpoint, &arguments).unwrap();
    assert!(created["expiresAt"].as_str() > created["createdAt"].as_str(), "{created}");
    fixture.world.advance_clock(HOUR);
    fixture.checkpoint(Operation::RestoreCheckpoint).expect_code(Code::CheckpointNotFound);
    assert_eq!(fixture.checkpoint(Operation::ListCheckpoints).unwrap(), json!({ "checkpoints": [] }));
}

#[test]
fn unknown_checkpoint_name_is_not_found() {
    for operation in [Operation::RestoreCheckpoint, Operation::DiffCheckpoint] {
        let error = Fixture::with_sandbox().checkpoint(operation).expect_code(Code::CheckpointNotFound);
        assert!(error.message().contains("The checkpoint \"before\" was not found"), "{error}");
    }
}

#[test]
fn misspelled_checkpoint_name_is_answered_with_the_most_similar_one() {
    let fixture = Fixture::with_checkpoint();
    for operation in [Operation::RestoreCheckpoint, Operation::DiffCheckpoint] {
        let named = |name: &str| fixture.run(operation, &json!({ "sandboxId": "agent-42", "name": name })).unwrap_err();
        let similar = named("befor");
        assert_eq!(similar.code(), Code::CheckpointNotFound);
        assert!(similar.remediation().starts_with("Did you mean the checkpoint \"before\"? List the"), "{similar}");
        assert!(named("something-else").remediation().starts_with("List the checkpoints"));
    }
}

#[test]
fn checkpoints_belong_to_one_directory() {
    let fixture = Fixture::with_checkpoint();
    let elsewhere = json!({ "sandboxId": "agent-42", "dir": "/app" });
    assert_eq!(fixture.run(Operation::ListCheckpoints, &elsewhere).unwrap(), json!({ "checkpoints": [] }));
}

#[test]
fn checkpoints_need_no_bucket() {
    let fixture = Fixture::with_checkpoint();
    fixture.world.remove_ports(&[Code::R2BindingMissing]);
    for operation in OPERATIONS {
        fixture.checkpoint(operation).unwrap();
    }
}

#[test]
fn checkpoints_fail_without_the_sandbox_binding() {
    let fixture = Fixture::with_checkpoint();
    fixture.world.remove_ports(&[Code::SandboxBindingMissing]);
    for operation in OPERATIONS {
        fixture.checkpoint(operation).expect_code(Code::SandboxBindingMissing);
        fixture.run(operation, &json!({ "sandboxId": "-" })).expect_code(Code::SandboxBindingMissing);
    }
    assert!(fixture.world.calls().is_empty());
}

#[test]
fn call_from_another_lineage_is_refused_without_effect() {
    for operation in OPERATIONS {
        let fixture = Fixture::with_checkpoint();
        let mut arguments = checkpoint_args("agent-42", operation);
        arguments["lineageScope"] = json!("agent-7");
        fixture.run(operation, &arguments).expect_code(Code::CrossLineage);
        assert!(fixture.world.calls().iter().all(|(method, _)| *method == Method::RootId), "{operation:?}");
        arguments["allowCrossLineage"] = json!(true);
        fixture.run(operation, &arguments).unwrap();
    }
}

#[test]
fn every_refusal_has_a_code_and_names_its_cause() {
    let odd = || vec!["odd file".to_owned(), "another".to_owned()];
    let failed = |before: Option<&str>| CheckpointRefusal::Failed {
        output: "fatal: odd".into(),
        before: before.map(str::to_owned),
    };
    for (refusal, code, names) in [
        (CheckpointRefusal::NotADirectory(DirectoryContent::Missing), Code::InvalidDirectory, "/workspace"),
        (CheckpointRefusal::NotADirectory(DirectoryContent::NotDirectory), Code::InvalidDirectory, "/workspace"),
        (CheckpointRefusal::NotADirectory(DirectoryContent::Symlink), Code::InvalidDirectory, "/workspace"),
        (CheckpointRefusal::InsideRepository("/home/user".into()), Code::InvalidDirectory, "/home/user"),
        (CheckpointRefusal::SymlinkedRefs("/w/.git/refs".into()), Code::CheckpointFailed, "/w/.git/refs"),
        (CheckpointRefusal::GitMissing, Code::GitMissing, "agent-42"),
        (CheckpointRefusal::Submodules, Code::Unsupported, "/workspace"),
        (CheckpointRefusal::Unreadable(odd()), Code::CheckpointFailed, "odd file, another"),
        (CheckpointRefusal::ReservedNames(odd()), Code::CheckpointFailed, "odd file, another"),
        (CheckpointRefusal::WouldOverwrite(odd()), Code::CheckpointFailed, "odd file, another"),
        (CheckpointRefusal::Busy, Code::SandboxBusy, "agent-42"),
        (failed(None), Code::CheckpointFailed, "fatal: odd"),
        (failed(Some("0123abcd")), Code::CheckpointFailed, "fatal: odd"),
    ] {
        for operation in OPERATIONS {
            let fixture = Fixture::with_checkpoint();
            fixture.world.refuse_checkpoints(refusal.clone());
            let error = fixture.checkpoint(operation).expect_code(code);
            assert!(error.message().contains(names), "{error}");
            assert_eq!(error.is_retryable(), code == Code::SandboxBusy);
        }
    }
}

#[test]
fn failed_restore_names_the_commit_to_go_back_to() {
    let fixture = Fixture::with_checkpoint();
    let before = Some("0123abcd".to_owned());
    fixture.world.refuse_checkpoints(CheckpointRefusal::Failed { output: "no space left".into(), before });
    let error = fixture.checkpoint(Operation::RestoreCheckpoint).expect_code(Code::CheckpointFailed);
    assert!(error.remediation().contains("0123abcd"), "{}", error.remediation());
}

#[test]
fn missing_git_error_gives_the_dockerfile_line() {
    let fixture = Fixture::with_sandbox();
    fixture.world.refuse_checkpoints(CheckpointRefusal::GitMissing);
    let error = fixture.checkpoint(Operation::CreateCheckpoint).expect_code(Code::GitMissing);
    assert!(error.remediation().contains("apt-get install"), "{}", error.remediation());
}
