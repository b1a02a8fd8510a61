//! The parser of the commits that the checkpoint script prints.

use crate::model::Timestamp;
use crate::model::checkpoint::{Checkpoint, CheckpointDescription, CheckpointName};

/// Returns `text` when it is the id of a commit.
pub(super) fn read_commit_id(text: String) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(text)
}

/// Parses the commits that `git cat-file` prints, each with its time in microseconds. Skips objects that are missing,
/// objects that are not commits, and refs whose names are not valid checkpoint names.
pub(super) fn read_commits(mut output: &[u8]) -> Option<Vec<(Checkpoint, i64)>> {
    let mut commits = Vec::new();
    while !output.is_empty() {
        let (line, rest) = split_once(output, b"\n")?;
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [id, kind, size, micros, name] = match fields.as_slice() {
            [_, b"missing"] => {
                output = rest;
                continue;
            }
            fields => <[&[u8]; 5]>::try_from(fields).ok()?.map(std::str::from_utf8),
        };
        let (raw, rest) = rest.split_at_checked(size.ok()?.parse().ok()?)?;
        output = rest.strip_prefix(b"\n")?;
        let (Ok(Ok(name)), Ok("commit")) = (name.map(CheckpointName::parse), kind) else { continue };
        let (commit, micros) = (read_commit_id(id.ok()?.to_owned())?, micros.ok()?.parse::<i64>().ok()?);
        let created_at = Timestamp::from_millis(micros / 1000);
        let (expires_at, description) = (read_expiration(raw), read_description(raw));
        commits.push((Checkpoint { name, commit, created_at, description, expires_at }, micros));
    }
    Some(commits)
}

/// Returns the message of a commit, truncated to the longest description.
fn read_description(raw: &[u8]) -> String {
    let (_, message) = split_once(raw, b"\n\n").unwrap_or_default();
    let message = String::from_utf8_lossy(message);
    message.strip_suffix('\n').unwrap_or(&message).chars().take(CheckpointDescription::MAX).collect()
}

/// Returns when a checkpoint expires, which the script writes into the address of the author.
fn read_expiration(raw: &[u8]) -> Option<Timestamp> {
    let (headers, _) = split_once(raw, b"\n\n")?;
    let mut lines = headers.split(|byte| *byte == b'\n');
    let author = lines.find_map(|line| line.strip_prefix(b"author "))?;
    let (_, address) = split_once(author, b"<expires-")?;
    let (seconds, _) = split_once(address, b"@")?;
    let seconds: i64 = std::str::from_utf8(seconds).ok()?.parse().ok()?;
    Some(Timestamp::from_millis(seconds.checked_mul(1000)?))
}

/// Splits `bytes` at the first occurrence of `at`.
fn split_once<'a>(bytes: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = bytes.windows(at.len()).position(|window| window == at)?;
    Some((bytes.get(..start)?, bytes.get(start + at.len()..)?))
}
