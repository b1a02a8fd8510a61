//! Reads what the script answers.

use base64ct::{Base64, Encoding};

use crate::model::checkpoint::{
    Checkpoint, CheckpointDiff, CheckpointName, Checkpoints, CreatedCheckpoint, RestoredCheckpoint,
};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal};
use crate::model::{Failure, Place, Timestamp};

/// What came of a call, from what was printed.
pub(crate) fn read(stdout: &str, call: &CheckpointCall) -> Result<Result<CheckpointDone, CheckpointRefusal>, Failure> {
    let unexpected = || Failure::unexpected("the sandbox", "the checkpoint's outcome can't be read");
    let answer = Base64::decode_vec(stdout.trim()).map_err(|_| unexpected())?;
    let mut fields = Fields(&answer);
    let outcome = outcome(&mut fields, call).ok_or_else(unexpected)?;
    Ok(outcome)
}

fn outcome(fields: &mut Fields, call: &CheckpointCall) -> Option<Result<CheckpointDone, CheckpointRefusal>> {
    use CheckpointCall::{Create, Diff, List, Restore};
    let done = match (fields.text()?.as_str(), call) {
        ("created", Create { .. }) => {
            let replaced = optional(fields.text()?);
            let [(checkpoint, _)] = <[_; 1]>::try_from(commits(fields.0)?).ok()?;
            CheckpointDone::Created(CreatedCheckpoint { checkpoint, replaced })
        }
        ("listed", List) => {
            let mut commits = commits(fields.0)?;
            commits.sort_by(|(one, at), (other, other_at)| {
                other_at.cmp(at).then_with(|| one.name.as_str().cmp(other.name.as_str()))
            });
            CheckpointDone::Listed(Checkpoints {
                checkpoints: commits.into_iter().map(|(checkpoint, _)| checkpoint).collect(),
            })
        }
        ("restored", Restore { name }) => CheckpointDone::Restored(RestoredCheckpoint {
            name: name.clone(),
            commit: commit(fields.text()?)?,
            before: optional(fields.text()?),
            changed_count: fields.number()?,
            changed: fields.whole().take(RestoredCheckpoint::MAX_CHANGED).map(path).collect(),
        }),
        ("compared", Diff { name, max_bytes }) => {
            let (commit, size_bytes) = (commit(fields.text()?)?, fields.number()?);
            let (diff, is_whole) =
                cut(&String::from_utf8_lossy(fields.0), *max_bytes as usize, size_bytes > fields.0.len() as u64);
            CheckpointDone::Compared(CheckpointDiff {
                name: name.clone(),
                commit,
                diff,
                size_bytes,
                truncated: !is_whole,
            })
        }
        (word, _) => return refusal(word, fields).map(Err),
    };
    Some(Ok(done))
}

fn refusal(word: &str, fields: &mut Fields) -> Option<CheckpointRefusal> {
    Some(match word {
        "young" => CheckpointRefusal::Young { age_millis: fields.text()?.trim().parse::<i64>().ok()?.checked_mul(10)? },
        "replaced" => CheckpointRefusal::TookPlace,
        "woken" => CheckpointRefusal::NotHandedOut,
        "directory" => CheckpointRefusal::NoDirectory(match fields.text()?.as_str() {
            "missing" => Place::Missing,
            "link" => Place::Link,
            "other" => Place::NotDirectory,
            _ => return None,
        }),
        "inside" => CheckpointRefusal::Inside(fields.text()?),
        "linked" => CheckpointRefusal::LinkedRefs(fields.text()?),
        "git" => CheckpointRefusal::NoGit,
        "unknown" => CheckpointRefusal::Unknown,
        "gitlinks" => CheckpointRefusal::Gitlinks,
        "unreadable" => CheckpointRefusal::Unreadable(fields.whole().map(path).collect()),
        "names" => CheckpointRefusal::Names(fields.whole().map(path).collect()),
        "blocked" => CheckpointRefusal::Blocked(fields.whole().map(path).collect()),
        "busy" => CheckpointRefusal::Busy,
        "failed" => CheckpointRefusal::Failed {
            before: optional(fields.text()?),
            words: fields.text()?.lines().collect::<Vec<_>>().join("; "),
        },
        _ => return None,
    })
}

/// Fields that end in a null byte, of which the first are taken.
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

    /// All that are left. The last one may have been cut, and is none then.
    fn whole(&mut self) -> impl Iterator<Item = &'a [u8]> {
        std::iter::from_fn(|| self.next())
    }
}

fn optional(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn commit(text: String) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(text)
}

/// Reads what `git cat-file` prints of commits, each with the microseconds at which it was made. Skips objects that are
/// missing, objects that are not commits, refs whose names no checkpoint can have, and commits without a committer.
fn commits(mut told: &[u8]) -> Option<Vec<(Checkpoint, i64)>> {
    let mut commits = Vec::new();
    while !told.is_empty() {
        let (line, rest) = split(told, b"\n")?;
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let [id, kind, size, name] = match fields.as_slice() {
            [_, b"missing"] => {
                told = rest;
                continue;
            }
            fields => <[&[u8]; 4]>::try_from(fields).ok()?.map(std::str::from_utf8),
        };
        let (raw, rest) = rest.split_at_checked(size.ok()?.parse().ok()?)?;
        told = rest.strip_prefix(b"\n")?;
        let (Ok(Ok(name)), Ok("commit")) = (name.map(CheckpointName::parse), kind) else { continue };
        if let Some((description, micros)) = describe(raw) {
            let created_at = Timestamp::from_millis(micros / 1000);
            commits.push((Checkpoint { name, commit: commit(id.ok()?.to_owned())?, created_at, description }, micros));
        }
    }
    Some(commits)
}

/// The message of a commit, and when it was made, in microseconds. The seconds of git are too coarse for an order: ours say
/// more in the address of the committer.
fn describe(raw: &[u8]) -> Option<(String, i64)> {
    let (head, message) = split(raw, b"\n\n").unwrap_or((raw, b""));
    let head = String::from_utf8_lossy(head);
    let committer = head.lines().find_map(|line| line.strip_prefix("committer "))?;
    let (person, time) = committer.rsplit_once("> ")?;
    let seconds: i64 = time.split(' ').next()?.parse().ok()?;
    let address = person.rsplit_once('<').map_or("", |(_, address)| address);
    let exact = address.split_once('@').and_then(|(micros, _)| micros.parse::<i64>().ok());
    let micros = exact.filter(|micros| micros / 1_000_000 == seconds).or_else(|| seconds.checked_mul(1_000_000))?;
    let message = String::from_utf8_lossy(message);
    Some((message.strip_suffix('\n').unwrap_or(&message).to_owned(), micros))
}

/// What is before the first of those bytes, and behind.
fn split<'a>(bytes: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = bytes.windows(at.len()).position(|window| window == at)?;
    Some((bytes.get(..start)?, bytes.get(start + at.len()..)?))
}

/// A text that is not longer than `max` bytes, and whether it is whole. It is cut behind a line, or at least behind a
/// character.
fn cut(text: &str, max: usize, is_cut: bool) -> (String, bool) {
    if !is_cut && text.len() <= max {
        return (text.to_owned(), true);
    }
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    let lines = kept.rfind('\n').map_or(kept, |last| kept.get(..=last).unwrap_or_default());
    (lines.to_owned(), false)
}

/// A path as text; quoted as git does it where it has to be.
fn path(bytes: &[u8]) -> String {
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
                c if c.is_control() => octal(&mut quoted, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => quoted.push(c),
            }
        }
        octal(&mut quoted, chunk.invalid());
    }
    quoted.push('"');
    quoted
}

fn octal(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        text.push('\\');
        text.extend([6, 3, 0].map(|shift| char::from(b'0' + (byte >> shift & 7))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CheckpointDescription;

    const ID: &str = "9a3f0c6e4b2e0a7a88f1de20b36d2b4c1e5a9b77";

    fn name() -> CheckpointName {
        CheckpointName::parse("s1").unwrap()
    }

    fn create() -> CheckpointCall {
        CheckpointCall::Create { name: name(), description: CheckpointDescription::of(&name()) }
    }

    fn diff(max_bytes: u32) -> CheckpointCall {
        CheckpointCall::Diff { name: name(), max_bytes }
    }

    fn reads(answer: impl AsRef<[u8]>, call: &CheckpointCall) -> Option<Result<CheckpointDone, CheckpointRefusal>> {
        read(&format!("{}\n", Base64::encode_string(answer.as_ref())), call).ok()
    }

    /// A commit as `git cat-file --batch` tells it.
    fn told(name: &str, committer: &str, message: &str) -> String {
        let raw = format!("tree {ID}\nauthor a <a@b> 1 +0000\ncommitter {committer}\n\n{message}");
        format!("{ID} commit {} {name}\n{raw}\n", raw.len())
    }

    fn listed(commits: &[String]) -> Vec<Checkpoint> {
        match reads(format!("listed\0{}", commits.concat()), &CheckpointCall::List) {
            Some(Ok(CheckpointDone::Listed(Checkpoints { checkpoints }))) => checkpoints,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_checkpoint_has_the_microseconds_that_its_committer_tells() {
        let commit = told("s1", "us <1795150800123456@sandbox-snapshotter> 1795150800 +0000", "two\n\nlines\n\n");
        let checkpoint = Checkpoint {
            name: name(),
            commit: ID.into(),
            created_at: Timestamp::from_millis(1_795_150_800_123),
            description: "two\n\nlines\n".into(),
        };
        let created = CreatedCheckpoint { checkpoint: checkpoint.clone(), replaced: Some(ID.into()) };
        assert_eq!(listed(std::slice::from_ref(&commit)), [checkpoint]);
        assert_eq!(reads(format!("created\0{ID}\0{commit}"), &create()), Some(Ok(CheckpointDone::Created(created))));
    }

    #[test]
    fn checkpoints_come_in_the_order_of_their_microseconds() {
        let at = |name, micros| told(name, &format!("us <{micros}@us> {} +0000", micros / 1_000_000), "x");
        let commits = [at("a", 5_000_001_i64), at("b", 5_000_003), at("c", 5_000_002), at("e", 5_000_003)];
        let names: Vec<_> = listed(&commits).into_iter().map(|checkpoint| checkpoint.name.to_string()).collect();
        assert_eq!(names, ["b", "e", "c", "a"]);
    }

    #[test]
    fn what_another_tool_made_has_the_seconds_of_its_commit() {
        for committer in ["A <a@b> 12 +0100", "<> 12 +0000", "A <13000000@b> 12 +0000", "A > <b> 12 +0000"] {
            assert_eq!(listed(&[told("s1", committer, "x")])[0].created_at, Timestamp::from_millis(12_000));
        }
    }

    #[test]
    fn what_is_no_checkpoint_is_passed_over() {
        let blob = format!("{ID} blob 3 blob\n1\n2\n");
        let others = [blob, format!("{ID} missing\n"), told("a/b", "A <a@b> 12 +0000", "x"), told("s1", "nobody", "x")];
        assert_eq!(listed(&others), []);
        assert_eq!(listed(&[]), []);
    }

    #[test]
    fn a_checkpoint_of_any_name_is_read() {
        for name in ["missing", "ambiguous", "commit"] {
            let commit = told(name, "A <a@b> 12 +0000", "x");
            assert_eq!(listed(std::slice::from_ref(&commit))[0].name.as_str(), name);
            let created = reads(format!("created\0\0{commit}"), &create());
            assert!(matches!(created, Some(Ok(CheckpointDone::Created(_)))), "{created:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_passed_over() {
        let commits = [told("NAME", "A <a@b> 12 +0000", "x"), told("s1", "A <a@b> 12 +0000", "x")].concat();
        let (before, after) = commits.split_once("NAME").unwrap();
        let answer = [b"listed\0", before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat();
        let Some(Ok(CheckpointDone::Listed(read))) = reads(answer, &CheckpointCall::List) else { panic!() };
        let names: Vec<_> = read.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
        assert_eq!(names, ["s1"]);
    }

    #[test]
    fn commits_that_are_cut_off_are_not_read() {
        let whole = told("s1", "A <a@b> 12 +0000", "message");
        for end in 1..whole.len() {
            assert_eq!(reads(format!("listed\0{}", &whole[..end]), &CheckpointCall::List), None, "{end}");
        }
    }

    #[test]
    fn a_restore_tells_whole_paths_only() {
        let restore = CheckpointCall::Restore { name: name() };
        let answer = format!("restored\0{ID}\0\0{}\0one\0two\0thr", 7);
        let restored = RestoredCheckpoint {
            name: name(),
            commit: ID.into(),
            changed: vec!["one".into(), "two".into()],
            changed_count: 7,
            before: None,
        };
        assert_eq!(reads(answer, &restore), Some(Ok(CheckpointDone::Restored(restored))));
    }

    #[test]
    fn a_path_is_quoted_as_git_quotes_it_where_it_has_to_be() {
        for (bytes, text) in [
            (&b"a b/c"[..], "a b/c"),
            ("ä 文件".as_bytes(), "ä 文件"),
            (b"a\nb\tc\rd", r#""a\nb\tc\rd""#),
            (b"\x07\x1b\x7f", r#""\007\033\177""#),
            (br#"a"b\c"#, r#""a\"b\\c""#),
            ("ä\u{ff}".as_bytes(), "äÿ"),
            (b"\xc3\xa4\xff", "\"ä\\377\""),
        ] {
            assert_eq!(path(bytes), text);
        }
    }

    #[test]
    fn a_diff_is_cut_behind_a_line_or_at_least_a_character() {
        for (told, size, max, expected, truncated) in [
            ("a\nb\n", 4, 4, "a\nb\n", false),
            ("a\nb\n", 9, 4, "a\nb\n", true),
            ("a\nbc", 9, 4, "a\n", true),
            ("ää", 9, 3, "ä", true),
            ("", 0, 1, "", false),
        ] {
            let answer = format!("compared\0{ID}\0{size}\0{told}");
            let Some(Ok(CheckpointDone::Compared(read))) = reads(answer, &diff(max)) else { panic!("{told}") };
            assert_eq!((read.diff.as_str(), read.truncated, read.size_bytes), (expected, truncated, size));
        }
    }

    #[test]
    fn bytes_that_are_no_text_make_no_diff_longer_than_was_asked_for() {
        let answer = [format!("compared\0{ID}\0{}\0", 4).as_bytes(), b"a\n\xff\xff"].concat();
        let Some(Ok(CheckpointDone::Compared(read))) = reads(answer, &diff(4)) else { panic!() };
        assert_eq!((read.diff.as_str(), read.truncated), ("a\n", true));
    }

    #[test]
    fn every_refusal_of_the_script_is_read() {
        for (answer, refusal) in [
            ("young\x00123\0", CheckpointRefusal::Young { age_millis: 1230 }),
            ("replaced\0", CheckpointRefusal::TookPlace),
            ("woken\0", CheckpointRefusal::NotHandedOut),
            ("directory\0missing\0", CheckpointRefusal::NoDirectory(Place::Missing)),
            ("directory\0other\0", CheckpointRefusal::NoDirectory(Place::NotDirectory)),
            ("directory\0link\0", CheckpointRefusal::NoDirectory(Place::Link)),
            ("linked\0/w/.git/refs\0", CheckpointRefusal::LinkedRefs("/w/.git/refs".into())),
            ("inside\0/home\0", CheckpointRefusal::Inside("/home".into())),
            ("git\0", CheckpointRefusal::NoGit),
            ("unknown\0", CheckpointRefusal::Unknown),
            ("gitlinks\0", CheckpointRefusal::Gitlinks),
            ("unreadable\0a\0b\nc\0", CheckpointRefusal::Unreadable(vec!["a".into(), r#""b\nc""#.into()])),
            ("names\0.GIT\0", CheckpointRefusal::Names(vec![".GIT".into()])),
            ("blocked\0a\0", CheckpointRefusal::Blocked(vec!["a".into()])),
            ("busy\0", CheckpointRefusal::Busy),
            ("failed\0\0error\nfatal\n\0", CheckpointRefusal::Failed { words: "error; fatal".into(), before: None }),
            ("failed\0id\0x\0", CheckpointRefusal::Failed { words: "x".into(), before: Some("id".into()) }),
        ] {
            assert_eq!(reads(answer, &diff(1)), Some(Err(refusal)), "{answer:?}");
        }
    }

    #[test]
    fn what_was_not_asked_for_or_makes_no_sense_is_not_read() {
        for answer in ["", "odd\0", "listed\0", "young\0x\0", "compared\0x\x001\0", "directory\0odd\0", "failed\0"] {
            assert_eq!(reads(answer, &diff(1)), None, "{answer:?}");
        }
        for stdout in ["", "?", "bash: base64: not found"] {
            assert!(read(stdout, &diff(1)).unwrap_err().is_unexpected(), "{stdout:?}");
        }
    }
}
