use super::*;
use crate::model::checkpoint::Checkpoint;
use crate::model::required_container::ContainerRefusal;
use crate::model::{CheckpointDescription, CheckpointName, Timestamp};

const ID: &str = "9a3f0c6e4b2e0a7a88f1de20b36d2b4c1e5a9b77";

fn name() -> CheckpointName {
    CheckpointName::parse("s1").unwrap()
}

fn create() -> CheckpointCall {
    CheckpointCall::Create {
        name: name(),
        description: CheckpointDescription::default_for(&name()),
        expiration_seconds: 0,
    }
}

fn diff(max_bytes: u32) -> CheckpointCall {
    CheckpointCall::Diff { name: name(), max_bytes }
}

fn read(
    answer: impl AsRef<[u8]>,
    call: &CheckpointCall,
) -> Option<Result<CheckpointOutcome, Refusal<CheckpointRefusal>>> {
    read_answer(&format!("{}\n", Base64::encode_string(answer.as_ref())), call).ok()
}

/// Returns a commit as the script prints it.
fn printed_commit(name: &str, micros: i64, message: &str) -> String {
    let raw = format!("tree {ID}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n{message}");
    format!("{ID} commit {} {micros} {name}\n{raw}\n", raw.len())
}

const LIST: CheckpointCall = CheckpointCall::List { after: None, limit: 100 };

fn listed(commits: &[String]) -> Vec<Checkpoint> {
    match read(format!("listed\0\0{}", commits.concat()), &LIST) {
        Some(Ok(CheckpointOutcome::Listed(CheckpointPage { checkpoints, cursor: None }))) => checkpoints,
        other => panic!("{other:?}"),
    }
}

#[test]
fn checkpoint_has_the_time_that_the_script_prints() {
    let commit = printed_commit("s1", 1_795_150_800_123_456, "two\n\nlines\n\n");
    let checkpoint = Checkpoint {
        name: name(),
        commit: ID.into(),
        created_at: Timestamp::from_millis(1_795_150_800_123),
        description: "two\n\nlines\n".into(),
        expires_at: None,
    };
    let created = CreatedCheckpoint { checkpoint: checkpoint.clone(), replaced: Some(ID.into()) };
    assert_eq!(listed(std::slice::from_ref(&commit)), [checkpoint]);
    assert_eq!(read(format!("created\0{ID}\0{commit}"), &create()), Some(Ok(CheckpointOutcome::Created(created))));
}

#[test]
fn expiration_is_in_the_address_of_the_author() {
    for (author, seconds) in [
        ("a <expires-1795154400@sandbox-snapshotter>", Some(1_795_154_400)),
        ("a <a@b>", None),
        ("a <expires-soon@b>", None),
        ("a <expires-99999999999999999999@b>", None),
    ] {
        let commit = printed_commit("s1", 1, "<expires-7@x>").replace("a <a@b>", author);
        // The line of the commit has the length of its text.
        let (head, raw) = commit.split_once('\n').unwrap();
        let raw = raw.replacen("committer a <expires-1795154400@sandbox-snapshotter>", "committer a <a@b>", 1);
        let fields: Vec<_> = head.split(' ').collect();
        let head = format!("{} {} {} {} {}", fields[0], fields[1], raw.len() - 1, fields[3], fields[4]);
        let expires_at = listed(&[format!("{head}\n{raw}")])[0].expires_at;
        assert_eq!(expires_at, seconds.map(|seconds| Timestamp::from_millis(seconds * 1000)), "{author}");
    }
}

#[test]
fn deletion_reports_the_commit_or_that_there_was_none() {
    let delete = CheckpointCall::Delete { name: name() };
    for commit in [Some(ID.to_owned()), None] {
        let answer = format!("deleted\0{}\0", commit.clone().unwrap_or_default());
        let deleted = DeletedCheckpoint { name: name(), removed: commit.is_some(), commit };
        assert_eq!(read(answer, &delete), Some(Ok(CheckpointOutcome::Deleted(deleted))));
    }
}

#[test]
fn checkpoints_are_sorted_newest_first_by_microseconds_and_then_by_name() {
    let commits = [("a", 1), ("b", 3), ("c", 2), ("e", 3)].map(|(name, micros)| printed_commit(name, micros, "x"));
    let names: Vec<_> = listed(&commits).into_iter().map(|checkpoint| checkpoint.name.to_string()).collect();
    assert_eq!(names, ["b", "e", "c", "a"]);
}

#[test]
fn page_has_a_cursor_when_there_are_more_checkpoints() {
    let answer = format!("listed\x001\0{}{}", printed_commit("a", 5, "x"), printed_commit("b", 9, "x"));
    let Some(Ok(CheckpointOutcome::Listed(page))) = read(answer, &LIST) else { panic!() };
    assert_eq!(
        page.cursor,
        Some(CheckpointCursor { micros: 5, name: CheckpointName::parse("a").unwrap() }.to_string())
    );
}

#[test]
fn description_is_truncated_to_the_maximum_length() {
    let max = CheckpointDescription::MAX;
    for (length, expected) in [(max, max), (max + 1, max)] {
        let description = listed(&[printed_commit("s1", 1, &"ä".repeat(length))]).remove(0).description;
        assert_eq!(description.chars().count(), expected);
    }
    assert_eq!(listed(&[format!("{ID} commit 4 1 s1\ntree\n")])[0].description, "");
}

#[test]
fn objects_that_are_not_checkpoints_are_skipped() {
    let blob = format!("{ID} blob 3 1 blob\n1\n2\n");
    let others = [blob, format!("{ID} missing\n"), printed_commit("a/b", 1, "x")];
    assert_eq!(listed(&others), []);
    assert_eq!(listed(&[]), []);
}

#[test]
fn checkpoint_is_read_when_its_name_is_a_git_status_word() {
    for name in ["missing", "ambiguous", "commit"] {
        let commit = printed_commit(name, 1, "x");
        assert_eq!(listed(std::slice::from_ref(&commit))[0].name.as_str(), name);
        let created = read(format!("created\0\0{commit}"), &create());
        assert!(matches!(created, Some(Ok(CheckpointOutcome::Created(_)))), "{created:?}");
    }
}

#[test]
fn name_that_is_not_utf_8_is_skipped() {
    let commits = [printed_commit("NAME", 1, "x"), printed_commit("s1", 1, "x")].concat();
    let (before, after) = commits.split_once("NAME").unwrap();
    let answer = [b"listed\0\0", before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat();
    let Some(Ok(CheckpointOutcome::Listed(page))) = read(answer, &LIST) else { panic!() };
    let names: Vec<_> = page.checkpoints.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
    assert_eq!(names, ["s1"]);
}

#[test]
fn truncated_commits_are_not_read() {
    let whole = printed_commit("s1", 1, "message");
    for end in 1..whole.len() {
        assert_eq!(read(format!("listed\0\0{}", &whole[..end]), &LIST), None, "{end}");
    }
}

#[test]
fn restore_reports_complete_paths_only() {
    let restore = CheckpointCall::Restore { name: name(), prune: true };
    let answer = format!("restored\0{ID}\0\0{}\0{}\0one\0two\0thr", 7, 3);
    let restored = RestoredCheckpoint {
        name: name(),
        commit: ID.into(),
        changed: vec!["one".into(), "two".into()],
        changed_count: 7,
        before: None,
        pruned_directories: Some(3),
    };
    assert_eq!(read(answer, &restore), Some(Ok(CheckpointOutcome::Restored(restored))));
}

#[test]
fn path_is_quoted_as_git_quotes_it_where_it_needs_quotes() {
    for (bytes, text) in [
        (&b"a b/c"[..], "a b/c"),
        ("ä 文件".as_bytes(), "ä 文件"),
        (b"a\nb\tc\rd", r#""a\nb\tc\rd""#),
        (b"\x07\x1b\x7f", r#""\007\033\177""#),
        (br#"a"b\c"#, r#""a\"b\\c""#),
        ("ä\u{ff}".as_bytes(), "äÿ"),
        (b"\xc3\xa4\xff", "\"ä\\377\""),
    ] {
        assert_eq!(quote_path(bytes), text);
    }
}

#[test]
fn diff_is_truncated_after_a_line_or_else_after_a_character() {
    for (diff_text, size, max, expected, truncated) in [
        ("a\nb\n", 4, 4, "a\nb\n", false),
        ("a\nb\n", 9, 4, "a\nb\n", true),
        ("a\nbc", 9, 4, "a\n", true),
        ("ää", 9, 3, "ä", true),
        ("", 0, 1, "", false),
    ] {
        let answer = format!("compared\0{ID}\0{size}\0{diff_text}");
        let Some(Ok(CheckpointOutcome::Diffed(compared))) = read(answer, &diff(max)) else { panic!("{diff_text}") };
        assert_eq!((compared.diff.as_str(), compared.truncated, compared.size_bytes), (expected, truncated, size));
    }
}

#[test]
fn diff_with_invalid_utf_8_is_not_longer_than_its_limit() {
    let answer = [format!("compared\0{ID}\0{}\0", 4).as_bytes(), b"a\n\xff\xff"].concat();
    let Some(Ok(CheckpointOutcome::Diffed(compared))) = read(answer, &diff(4)) else { panic!() };
    assert_eq!((compared.diff.as_str(), compared.truncated), ("a\n", true));
}

#[test]
fn every_refusal_of_the_script_is_read() {
    for (words, refusal) in
        [("young 123", ContainerRefusal::TooYoung { age_millis: 1230 }), ("other", ContainerRefusal::OtherContainer)]
    {
        let answer = format!("container\0{words}\0");
        assert_eq!(read(answer, &diff(1)), Some(Err(Refusal::Container(refusal))));
    }
    for (answer, refusal) in [
        ("directory\0missing\0", CheckpointRefusal::NotADirectory(DirectoryContent::Missing)),
        ("directory\0other\0", CheckpointRefusal::NotADirectory(DirectoryContent::NotDirectory)),
        ("directory\0link\0", CheckpointRefusal::NotADirectory(DirectoryContent::Symlink)),
        ("linked\0/w/.git/refs\0", CheckpointRefusal::SymlinkedRefs("/w/.git/refs".into())),
        ("inside\0/home\0", CheckpointRefusal::InsideRepository("/home".into())),
        ("git\0", CheckpointRefusal::GitMissing),
        ("unknown\0", CheckpointRefusal::NotFound),
        ("gitlinks\0", CheckpointRefusal::Submodules),
        ("unreadable\0a\0b\nc\0", CheckpointRefusal::Unreadable(vec!["a".into(), r#""b\nc""#.into()])),
        ("names\0.GIT\0", CheckpointRefusal::ReservedNames(vec![".GIT".into()])),
        ("blocked\0a\0", CheckpointRefusal::WouldOverwrite(vec!["a".into()])),
        ("busy\0", CheckpointRefusal::Busy),
        ("failed\0\0error\nfatal\n\0", CheckpointRefusal::Failed { output: "error; fatal".into(), before: None }),
        ("failed\0id\0x\0", CheckpointRefusal::Failed { output: "x".into(), before: Some("id".into()) }),
    ] {
        assert_eq!(read(answer, &diff(1)), Some(Err(refusal.into())), "{answer:?}");
    }
}

#[test]
fn unexpected_or_malformed_output_is_not_read() {
    for answer in
        ["", "odd\0", "listed\0", "container\0young x\0", "compared\0x\x001\0", "directory\0odd\0", "failed\0"]
    {
        assert_eq!(read(answer, &diff(1)), None, "{answer:?}");
    }
    for stdout in ["", "?", "bash: base64: not found"] {
        assert!(read_answer(stdout, &diff(1)).unwrap_err().is_protocol(), "{stdout:?}");
    }
}
