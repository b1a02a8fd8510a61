//! Reads commits as the script prints them.

use crate::model::Timestamp;
use crate::model::checkpoint::{Checkpoint, CheckpointDescription, CheckpointName};

/// The id of a commit, if it is one.
pub(super) fn commit(text: String) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(text)
}

/// Reads what `git cat-file` prints of commits, each with the microseconds at which it was made. Skips objects that are
/// missing, objects that are not commits, and refs whose names no checkpoint can have.
pub(super) fn commits(mut told: &[u8]) -> Option<Vec<(Checkpoint, i64)>> {
    let mut commits = Vec::new();
    while !told.is_empty() {
        let (line, rest) = split(told, b"\n")?;
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [id, kind, size, micros, name] = match fields.as_slice() {
            [_, b"missing"] => {
                told = rest;
                continue;
            }
            fields => <[&[u8]; 5]>::try_from(fields).ok()?.map(std::str::from_utf8),
        };
        let (raw, rest) = rest.split_at_checked(size.ok()?.parse().ok()?)?;
        told = rest.strip_prefix(b"\n")?;
        let (Ok(Ok(name)), Ok("commit")) = (name.map(CheckpointName::parse), kind) else { continue };
        let (commit, micros) = (commit(id.ok()?.to_owned())?, micros.ok()?.parse::<i64>().ok()?);
        let created_at = Timestamp::from_millis(micros / 1000);
        commits.push((Checkpoint { name, commit, created_at, description: description(raw) }, micros));
    }
    Some(commits)
}

/// The message of a commit, as far as a description can be long.
fn description(raw: &[u8]) -> String {
    let (_, message) = split(raw, b"\n\n").unwrap_or_default();
    let message = String::from_utf8_lossy(message);
    message.strip_suffix('\n').unwrap_or(&message).chars().take(CheckpointDescription::MAX).collect()
}

/// What is before the first of those bytes, and behind.
fn split<'a>(bytes: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = bytes.windows(at.len()).position(|window| window == at)?;
    Some((bytes.get(..start)?, bytes.get(start + at.len()..)?))
}
