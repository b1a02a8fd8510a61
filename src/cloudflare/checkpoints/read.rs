//! The parser of the output of the checkpoint script.

use base64ct::{Base64, Encoding};

use super::commits::{read_commit_id, read_commits};
use crate::cloudflare::scripts::read_container_refusal;
use crate::model::checkpoint::{
    CheckpointCursor, CheckpointDiff, CheckpointPage, CreatedCheckpoint, DeletedCheckpoint, RestoredCheckpoint,
};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointOutcome, CheckpointRefusal};
use crate::model::required_container::Refusal;
use crate::model::{DirectoryContent, Failure};

/// Parses the outcome of a call from the standard output of the script.
pub(crate) fn read_answer(
    stdout: &str,
    call: &CheckpointCall,
) -> Result<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>, Failure> {
    let unexpected = || Failure::protocol("the sandbox", "the output of the checkpoint script can't be read");
    let answer = Base64::decode_vec(stdout.trim()).map_err(|_| unexpected())?;
    let mut fields = Fields(&answer);
    let outcome = read_outcome(&mut fields, call).ok_or_else(unexpected)?;
    Ok(outcome)
}

fn read_outcome(
    fields: &mut Fields,
    call: &CheckpointCall,
) -> Option<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>> {
    use CheckpointCall::{Create, Delete, Diff, List, Restore};
    let outcome = match (fields.text()?.as_str(), call) {
        ("created", Create { .. }) => {
            let replaced = non_empty(fields.text()?);
            let [(checkpoint, _)] = <[_; 1]>::try_from(read_commits(fields.0)?).ok()?;
            CheckpointOutcome::Created(CreatedCheckpoint { checkpoint, replaced })
        }
        ("listed", List { .. }) => {
            let has_more = non_empty(fields.text()?).is_some();
            let mut commits = read_commits(fields.0)?;
            commits.sort_by(|(checkpoint, micros), (other, other_micros)| {
                other_micros.cmp(micros).then_with(|| checkpoint.name.as_str().cmp(other.name.as_str()))
            });
            let last = commits.last().filter(|_| has_more);
            let cursor = last.map(|(last, micros)| CheckpointCursor { micros: *micros, name: last.name.clone() });
            CheckpointOutcome::Listed(CheckpointPage {
                checkpoints: commits.into_iter().map(|(checkpoint, _)| checkpoint).collect(),
                cursor: cursor.as_ref().map(ToString::to_string),
            })
        }
        ("deleted", Delete { name }) => {
            let commit = non_empty(fields.text()?);
            CheckpointOutcome::Deleted(DeletedCheckpoint { name: name.clone(), removed: commit.is_some(), commit })
        }
        ("restored", Restore { name, prune }) => CheckpointOutcome::Restored(RestoredCheckpoint {
            name: name.clone(),
            commit: read_commit_id(fields.text()?)?,
            before: non_empty(fields.text()?),
            changed_count: fields.number()?,
            pruned_directories: Some(fields.number()?).filter(|_| *prune),
            changed: fields.complete().take(RestoredCheckpoint::MAX_CHANGED).map(quote_path).collect(),
        }),
        ("compared", Diff { name, max_bytes }) => {
            let (commit, size_bytes) = (read_commit_id(fields.text()?)?, fields.number()?);
            let (diff, is_whole) =
                truncate(&String::from_utf8_lossy(fields.0), *max_bytes as usize, size_bytes > fields.0.len() as u64);
            CheckpointOutcome::Diffed(CheckpointDiff {
                name: name.clone(),
                commit,
                diff,
                size_bytes,
                truncated: !is_whole,
            })
        }
        ("container", _) => return Some(Err(Refusal::Container(read_container_refusal(&fields.text()?)?))),
        (word, _) => return read_refusal(word, fields).map(|refusal| Err(refusal.into())),
    };
    Some(Ok(outcome))
}

fn read_refusal(word: &str, fields: &mut Fields) -> Option<CheckpointRefusal> {
    Some(match word {
        "directory" => CheckpointRefusal::NotADirectory(match fields.text()?.as_str() {
            "missing" => DirectoryContent::Missing,
            "link" => DirectoryContent::Symlink,
            "other" => DirectoryContent::NotDirectory,
            _ => return None,
        }),
        "inside" => CheckpointRefusal::InsideRepository(fields.text()?),
        "linked" => CheckpointRefusal::SymlinkedRefs(fields.text()?),
        "git" => CheckpointRefusal::GitMissing,
        "unknown" => CheckpointRefusal::NotFound,
        "gitlinks" => CheckpointRefusal::Submodules,
        "unreadable" => CheckpointRefusal::Unreadable(fields.complete().map(quote_path).collect()),
        "names" => CheckpointRefusal::ReservedNames(fields.complete().map(quote_path).collect()),
        "blocked" => CheckpointRefusal::WouldOverwrite(fields.complete().map(quote_path).collect()),
        "busy" => CheckpointRefusal::Busy,
        "failed" => CheckpointRefusal::Failed {
            before: non_empty(fields.text()?),
            output: fields.text()?.lines().collect::<Vec<_>>().join("; "),
        },
        _ => return None,
    })
}

/// A reader of fields that each end in a null byte.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let (field, rest) = self.0.split_at(end);
        self.0 = rest.get(1..)?;
        Some(field)
    }

    fn text(&mut self) -> Option<String> {
        self.next().map(|field| String::from_utf8_lossy(field).into_owned())
    }

    fn number(&mut self) -> Option<u64> {
        self.text()?.trim().parse().ok()
    }

    /// Returns the remaining fields. Skips a last field that is truncated.
    fn complete(&mut self) -> impl Iterator<Item = &'a [u8]> {
        std::iter::from_fn(|| self.next())
    }
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Truncates `text` to `max` bytes, and returns whether the result is complete. Cuts after a line where it can, and
/// otherwise after a character.
fn truncate(text: &str, max: usize, is_cut: bool) -> (String, bool) {
    if !is_cut && text.len() <= max {
        return (text.to_owned(), true);
    }
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let prefix = text.get(..end).unwrap_or_default();
    let lines = prefix.rfind('\n').map_or(prefix, |last| prefix.get(..=last).unwrap_or_default());
    (lines.to_owned(), false)
}

/// Returns a path as text. Quotes it as git does where it needs quotes.
fn quote_path(bytes: &[u8]) -> String {
    let is_plain = |text: &&str| !text.chars().any(|c| c.is_control() || matches!(c, '"' | '\\'));
    if let Some(plain) = std::str::from_utf8(bytes).ok().filter(is_plain) {
        return plain.to_owned();
    }
    let mut quoted = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                c if c.is_control() => push_octal(&mut quoted, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => quoted.push(c),
            }
        }
        push_octal(&mut quoted, chunk.invalid());
    }
    quoted.push('"');
    quoted
}

fn push_octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push('\\');
        text.extend([6, 3, 0].map(|shift| char::from(b'0' + (byte >> shift & 7))));
    }
}

#[cfg(test)]
mod tests;
