//! The answers of the checkpoint script, which uses git. The input has two parts: a line with the call, and the answer
//! before its base64 encoding. If the line is `printed`, the rest is the output as printed.

use base64ct::{Base64, Encoding};
use sandbox_snapshotter::fuzzing::checkpoint;
use sandbox_snapshotter::model::checkpoint::RestoredCheckpoint;
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use sandbox_snapshotter::model::required_container::Refusal;
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName};

use super::input;
use super::rules::{assert_json_round_trip, assert_short};

/// See the module.
pub fn read(data: &[u8]) {
    let Some((line, answer)) = input::line(data) else { return };
    let name = CheckpointName::parse("s1").expect("a name");
    let (call, stdout) = match line.split_once(' ').unwrap_or((line, "")) {
        ("create", _) => (
            CheckpointCall::Create {
                description: CheckpointDescription::default_for(&name),
                name,
                expiration_seconds: 0,
            },
            Base64::encode_string(answer),
        ),
        ("list", _) => (CheckpointCall::List { after: None, limit: 100 }, Base64::encode_string(answer)),
        ("restore", _) => {
            (CheckpointCall::Restore { name, prune: answer.len() % 2 == 0 }, Base64::encode_string(answer))
        }
        ("diff", max_bytes) => {
            let max_bytes = max_bytes.parse().unwrap_or(16);
            (CheckpointCall::Diff { name, max_bytes }, Base64::encode_string(answer))
        }
        ("printed", _) => {
            (CheckpointCall::List { after: None, limit: 100 }, String::from_utf8_lossy(answer).into_owned())
        }
        _ => return,
    };
    match checkpoint(&stdout, &call) {
        Ok(Ok(outcome)) => check_outcome(&outcome, &call),
        Ok(Err(Refusal::Call(refusal))) => check_refusal(&refusal),
        Ok(Err(Refusal::Container(_))) => {}
        Err(failure) => {
            assert!(failure.is_protocol());
            assert_short(&failure);
        }
    }
}

/// Asserts that an outcome belongs to its call, is within the requested limits, and can be parsed by clients.
fn check_outcome(outcome: &CheckpointOutcome, call: &CheckpointCall) {
    match (outcome, call) {
        (CheckpointOutcome::Created(created), CheckpointCall::Create { .. }) => {
            check_commit(&created.checkpoint.commit);
            assert_json_round_trip(created);
        }
        (CheckpointOutcome::Listed(listed), CheckpointCall::List { .. }) => {
            listed.checkpoints.iter().for_each(|checkpoint| check_commit(&checkpoint.commit));
            assert!(listed.checkpoints.is_sorted_by(|newer, older| newer.created_at >= older.created_at));
            assert_json_round_trip(listed);
        }
        (CheckpointOutcome::Restored(restored), CheckpointCall::Restore { .. }) => {
            check_commit(&restored.commit);
            assert!(restored.changed.len() <= RestoredCheckpoint::MAX_CHANGED);
            check_paths(&restored.changed);
            assert_json_round_trip(restored);
        }
        (CheckpointOutcome::Diffed(diffed), CheckpointCall::Diff { max_bytes, .. }) => {
            check_commit(&diffed.commit);
            assert!(diffed.diff.len() <= *max_bytes as usize);
            assert_json_round_trip(diffed);
        }
        _ => panic!("{outcome:?}"),
    }
}

fn check_refusal(refusal: &CheckpointRefusal) {
    use CheckpointRefusal::{ReservedNames, Unreadable, WouldOverwrite};
    if let Unreadable(paths) | ReservedNames(paths) | WouldOverwrite(paths) = refusal {
        check_paths(paths);
    }
}

/// Asserts that paths contain no control characters.
fn check_paths(paths: &[String]) {
    assert!(paths.iter().all(|path| !path.contains(char::is_control)));
}

fn check_commit(id: &str) {
    assert!(matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
}
