//! What callers are told.

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::checkpoint_call::CheckpointRefusal;
use sandbox_snapshotter::model::{Code, Place};
use serde_json::json;

use super::super::support::{Checked, Method, Stage};
use super::{EVERY, of};

#[test]
fn a_checkpoint_is_made_listed_compared_and_restored() {
    let stage = Stage::with_checkpoint();
    let listed = stage.checkpoint(Operation::ListCheckpoints).unwrap();
    assert_eq!(listed["checkpoints"][0]["name"], "before");
    assert_eq!(stage.checkpoint(Operation::DiffCheckpoint).unwrap()["diff"], "notes.txt\n");
    let restored = stage.checkpoint(Operation::RestoreCheckpoint).unwrap();
    assert_eq!((&restored["changed"], &restored["changedCount"]), (&json!(["notes.txt"]), &json!(1)));
    assert_eq!(restored["commit"], listed["checkpoints"][0]["commit"]);
    assert_eq!(stage.notes(), "first");
}

#[test]
fn a_checkpoint_is_described_by_its_name_where_nobody_says_anything() {
    let stage = Stage::with_sandbox();
    for (description, expected) in
        [(json!(null), "snapshot: before"), (json!(""), "snapshot: before"), (json!("it's"), "it's")]
    {
        let mut arguments = of("agent-42", Operation::CreateCheckpoint);
        if !description.is_null() {
            arguments["description"] = description;
        }
        assert_eq!(stage.run(Operation::CreateCheckpoint, &arguments).unwrap()["description"], expected);
    }
}

#[test]
fn a_name_that_is_used_again_tells_what_it_named() {
    let stage = Stage::with_checkpoint();
    let first = &stage.checkpoint(Operation::ListCheckpoints).unwrap()["checkpoints"][0]["commit"];
    let second = stage.checkpoint(Operation::CreateCheckpoint).unwrap();
    assert_eq!(&second["replaced"], first);
    assert_ne!(&second["commit"], first);
}

#[test]
fn a_name_that_is_not_there_is_not_found() {
    for operation in [Operation::RestoreCheckpoint, Operation::DiffCheckpoint] {
        let error = Stage::with_sandbox().checkpoint(operation).fails_as(Code::CheckpointNotFound);
        assert!(error.message().contains("snapshot \"before\" not found"), "{error}");
    }
}

#[test]
fn checkpoints_are_of_one_directory() {
    let stage = Stage::with_checkpoint();
    let elsewhere = json!({ "sandboxId": "agent-42", "dir": "/app" });
    assert_eq!(stage.run(Operation::ListCheckpoints, &elsewhere).unwrap(), json!({ "checkpoints": [] }));
}

#[test]
fn no_bucket_is_needed() {
    let stage = Stage::with_checkpoint();
    stage.world.lacks(&[Code::R2BindingMissing]);
    for operation in EVERY {
        stage.checkpoint(operation).unwrap();
    }
}

#[test]
fn without_sandboxes_that_is_said() {
    let stage = Stage::with_checkpoint();
    stage.world.lacks(&[Code::SandboxBindingMissing]);
    for operation in EVERY {
        stage.checkpoint(operation).fails_as(Code::SandboxBindingMissing);
        stage.run(operation, &json!({ "sandboxId": "-" })).fails_as(Code::SandboxBindingMissing);
    }
    assert!(stage.world.calls().is_empty());
}

#[test]
fn another_lineage_is_refused_and_nothing_is_touched() {
    for operation in EVERY {
        let stage = Stage::with_checkpoint();
        let mut arguments = of("agent-42", operation);
        arguments["session"] = json!("agent-7");
        stage.run(operation, &arguments).fails_as(Code::CrossSession);
        assert!(stage.world.calls().iter().all(|(method, _)| *method == Method::Root), "{operation:?}");
        arguments["allowCrossSession"] = json!(true);
        stage.run(operation, &arguments).unwrap();
    }
}

#[test]
fn every_refusal_has_a_code_and_says_what_to_do() {
    let odd = || vec!["odd file".to_owned(), "another".to_owned()];
    let failed = |before: Option<&str>| CheckpointRefusal::Failed {
        words: "fatal: odd".into(),
        before: before.map(str::to_owned),
    };
    for (refusal, code, names) in [
        (CheckpointRefusal::NoDirectory(Place::Missing), Code::InvalidDirectory, "/workspace"),
        (CheckpointRefusal::NoDirectory(Place::NotDirectory), Code::InvalidDirectory, "/workspace"),
        (CheckpointRefusal::NoDirectory(Place::Link), Code::InvalidDirectory, "/workspace"),
        (CheckpointRefusal::Inside("/home/user".into()), Code::InvalidDirectory, "/home/user"),
        (CheckpointRefusal::LinkedRefs("/w/.git/refs".into()), Code::CheckpointFailed, "/w/.git/refs"),
        (CheckpointRefusal::NoGit, Code::GitMissing, "agent-42"),
        (CheckpointRefusal::Gitlinks, Code::Unsupported, "/workspace"),
        (CheckpointRefusal::Unreadable(odd()), Code::CheckpointFailed, "odd file, another"),
        (CheckpointRefusal::Names(odd()), Code::CheckpointFailed, "odd file, another"),
        (CheckpointRefusal::Blocked(odd()), Code::CheckpointFailed, "odd file, another"),
        (CheckpointRefusal::Busy, Code::SandboxBusy, "agent-42"),
        (failed(None), Code::CheckpointFailed, "fatal: odd"),
        (failed(Some("0123abcd")), Code::CheckpointFailed, "fatal: odd"),
    ] {
        for operation in EVERY {
            let stage = Stage::with_checkpoint();
            stage.world.refuses_checkpoints(refusal.clone());
            let error = stage.checkpoint(operation).fails_as(code);
            assert!(error.message().contains(names), "{error}");
            assert_eq!(error.retryable(), code == Code::SandboxBusy);
        }
    }
}

#[test]
fn a_restore_that_git_gave_up_tells_the_way_back() {
    let stage = Stage::with_checkpoint();
    let before = Some("0123abcd".to_owned());
    stage.world.refuses_checkpoints(CheckpointRefusal::Failed { words: "no space left".into(), before });
    let error = stage.checkpoint(Operation::RestoreCheckpoint).fails_as(Code::CheckpointFailed);
    assert!(error.remediation().contains("0123abcd"), "{}", error.remediation());
}

#[test]
fn no_git_tells_the_line_of_a_dockerfile() {
    let stage = Stage::with_sandbox();
    stage.world.refuses_checkpoints(CheckpointRefusal::NoGit);
    let error = stage.checkpoint(Operation::CreateCheckpoint).fails_as(Code::GitMissing);
    assert!(error.remediation().contains("apt-get install"), "{}", error.remediation());
}
