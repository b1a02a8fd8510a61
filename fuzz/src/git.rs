//! What the script answers that works on checkpoints with git. The input is what was asked for on a line of its own, and the
//! answer before it was written in base64; or as it was printed, behind the line `printed`.

use base64ct::{Base64, Encoding};
use sandbox_snapshotter::fuzzing::checkpoint;
use sandbox_snapshotter::model::checkpoint::RestoredCheckpoint;
use sandbox_snapshotter::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use sandbox_snapshotter::model::{CheckpointDescription, CheckpointName};

use super::rules::{kept, short};
use super::words;

/// See the module.
pub fn read(data: &[u8]) {
    let Some((asked, answer)) = words::line(data) else { return };
    let name = CheckpointName::parse("s1").expect("a name");
    let (call, stdout) = match asked.split_once(' ').unwrap_or((asked, "")) {
        ("create", _) => (
            CheckpointCall::Create { description: CheckpointDescription::default_for(&name), name },
            Base64::encode_string(answer),
        ),
        ("list", _) => (CheckpointCall::List { after: None, limit: 100 }, Base64::encode_string(answer)),
        ("restore", _) => (CheckpointCall::Restore { name }, Base64::encode_string(answer)),
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
        Ok(Ok(done)) => told(&done, &call),
        Ok(Err(refusal)) => refused(&refusal),
        Err(failure) => {
            assert!(failure.is_protocol());
            short(&failure);
        }
    }
}

/// What was done is what was asked for, is of the length that was asked for, and is read by every client.
fn told(done: &CheckpointOutcome, call: &CheckpointCall) {
    match (done, call) {
        (CheckpointOutcome::Created(created), CheckpointCall::Create { .. }) => {
            commit(&created.checkpoint.commit);
            kept(created);
        }
        (CheckpointOutcome::Listed(listed), CheckpointCall::List { .. }) => {
            listed.checkpoints.iter().for_each(|checkpoint| commit(&checkpoint.commit));
            assert!(listed.checkpoints.is_sorted_by(|one, next| one.created_at >= next.created_at));
            kept(listed);
        }
        (CheckpointOutcome::Restored(restored), CheckpointCall::Restore { .. }) => {
            commit(&restored.commit);
            assert!(restored.changed.len() <= RestoredCheckpoint::MAX_CHANGED);
            plain(&restored.changed);
            kept(restored);
        }
        (CheckpointOutcome::Diffed(compared), CheckpointCall::Diff { max_bytes, .. }) => {
            commit(&compared.commit);
            assert!(compared.diff.len() <= *max_bytes as usize);
            kept(compared);
        }
        _ => panic!("{done:?}"),
    }
}

fn refused(refusal: &CheckpointRefusal) {
    use CheckpointRefusal::{ReservedNames, Unreadable, WouldOverwrite};
    if let Unreadable(paths) | ReservedNames(paths) | WouldOverwrite(paths) = refusal {
        plain(paths);
    }
}

/// A path is one line, whatever it holds.
fn plain(paths: &[String]) {
    assert!(paths.iter().all(|path| !path.contains(char::is_control)));
}

fn commit(id: &str) {
    assert!(matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
}
