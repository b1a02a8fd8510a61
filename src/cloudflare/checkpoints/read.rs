//! Reads what the script answers.

use base64ct::{Base64, Encoding};

use super::commits::{commit, commits};
use crate::model::checkpoint::{CheckpointCursor, CheckpointDiff, Checkpoints, CreatedCheckpoint, RestoredCheckpoint};
use crate::model::checkpoint_call::{CheckpointCall, CheckpointDone, CheckpointRefusal};
use crate::model::{Failure, Place};

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
        ("listed", List { .. }) => {
            let is_more = optional(fields.text()?).is_some();
            let mut commits = commits(fields.0)?;
            commits.sort_by(|(one, at), (other, other_at)| {
                other_at.cmp(at).then_with(|| one.name.as_str().cmp(other.name.as_str()))
            });
            let last = commits.last().filter(|_| is_more);
            let cursor = last.map(|(last, micros)| CheckpointCursor { micros: *micros, name: last.name.clone() });
            CheckpointDone::Listed(Checkpoints {
                checkpoints: commits.into_iter().map(|(checkpoint, _)| checkpoint).collect(),
                cursor: cursor.as_ref().map(ToString::to_string),
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
    use crate::model::checkpoint::Checkpoint;
    use crate::model::{CheckpointDescription, CheckpointName, Timestamp};

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

    /// A commit as the script prints it.
    fn told(name: &str, micros: i64, message: &str) -> String {
        let raw = format!("tree {ID}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n{message}");
        format!("{ID} commit {} {micros} {name}\n{raw}\n", raw.len())
    }

    const LIST: CheckpointCall = CheckpointCall::List { after: None, limit: 100 };

    fn listed(commits: &[String]) -> Vec<Checkpoint> {
        match reads(format!("listed\0\0{}", commits.concat()), &LIST) {
            Some(Ok(CheckpointDone::Listed(Checkpoints { checkpoints, cursor: None }))) => checkpoints,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_checkpoint_has_the_microseconds_that_the_script_tells() {
        let commit = told("s1", 1_795_150_800_123_456, "two\n\nlines\n\n");
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
        let commits = [("a", 1), ("b", 3), ("c", 2), ("e", 3)].map(|(name, micros)| told(name, micros, "x"));
        let names: Vec<_> = listed(&commits).into_iter().map(|checkpoint| checkpoint.name.to_string()).collect();
        assert_eq!(names, ["b", "e", "c", "a"]);
    }

    #[test]
    fn a_page_that_is_not_the_last_tells_where_the_next_begins() {
        let answer = format!("listed\x001\0{}{}", told("a", 5, "x"), told("b", 9, "x"));
        let Some(Ok(CheckpointDone::Listed(page))) = reads(answer, &LIST) else { panic!() };
        assert_eq!(
            page.cursor,
            Some(CheckpointCursor { micros: 5, name: CheckpointName::parse("a").unwrap() }.to_string())
        );
    }

    #[test]
    fn a_description_is_cut_where_it_is_longer_than_ours_can_be() {
        let max = CheckpointDescription::MAX;
        for (length, expected) in [(max, max), (max + 1, max)] {
            let description = listed(&[told("s1", 1, &"ä".repeat(length))]).remove(0).description;
            assert_eq!(description.chars().count(), expected);
        }
        assert_eq!(listed(&[format!("{ID} commit 4 1 s1\ntree\n")])[0].description, "");
    }

    #[test]
    fn what_is_no_checkpoint_is_passed_over() {
        let blob = format!("{ID} blob 3 1 blob\n1\n2\n");
        let others = [blob, format!("{ID} missing\n"), told("a/b", 1, "x")];
        assert_eq!(listed(&others), []);
        assert_eq!(listed(&[]), []);
    }

    #[test]
    fn a_checkpoint_of_any_name_is_read() {
        for name in ["missing", "ambiguous", "commit"] {
            let commit = told(name, 1, "x");
            assert_eq!(listed(std::slice::from_ref(&commit))[0].name.as_str(), name);
            let created = reads(format!("created\0\0{commit}"), &create());
            assert!(matches!(created, Some(Ok(CheckpointDone::Created(_)))), "{created:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_passed_over() {
        let commits = [told("NAME", 1, "x"), told("s1", 1, "x")].concat();
        let (before, after) = commits.split_once("NAME").unwrap();
        let answer = [b"listed\0\0", before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat();
        let Some(Ok(CheckpointDone::Listed(read))) = reads(answer, &LIST) else { panic!() };
        let names: Vec<_> = read.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
        assert_eq!(names, ["s1"]);
    }

    #[test]
    fn commits_that_are_cut_off_are_not_read() {
        let whole = told("s1", 1, "message");
        for end in 1..whole.len() {
            assert_eq!(reads(format!("listed\0\0{}", &whole[..end]), &LIST), None, "{end}");
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
