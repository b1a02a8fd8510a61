//! Runs the scripts with bash, in directories of this machine.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::cloudflare::scripts::read_file_outcome;
use crate::model::Directory;
use crate::model::archive::{Attributes, EntryKind, Name};
use crate::model::file_call::{FileOutcome, FileRefusal};
use crate::model::files::FilePath;

/// A directory with files, which is removed at the end.
pub(in crate::cloudflare::scripts) struct Place {
    pub dir: TempDir,
    pub replaced: Option<(&'static str, &'static str)>,
    pub has_dir: bool,
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        fs::create_dir_all(path.join("work/src")).unwrap();
        fs::write(path.join("work/notes.txt"), "first\n").unwrap();
        fs::write(path.join("secret"), "outside").unwrap();
        Self { dir, replaced: None, has_dir: false }
    }

    /// Replaces a text of each script.
    pub fn with_replaced(mut self, text: Option<(&'static str, &'static str)>) -> Self {
        self.replaced = text;
        self
    }

    pub fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    pub fn call(&self, path: &str, action: FileAction) -> Result<FileOutcome, FileRefusal> {
        let call = FileCall {
            id: "c1".into(),
            dir: Directory::parse(self.at("").to_str().unwrap()).unwrap(),
            has_dir: self.has_dir,
            path: FilePath::parse(path).unwrap().normalized(),
            action,
        };
        let command = file_command(&call);
        let Program::Shell(script) = &command.program else { panic!("a script") };
        // The locks of the script are in a directory that exists everywhere.
        let script = script.replace("run=/run/", &format!("run={}/", self.dir.path().display()));
        let script = self.replaced.map_or_else(|| script.clone(), |(from, to)| script.replace(from, to));
        let mut bash = Command::new("bash");
        bash.args(["-c", "--", &script]).current_dir("/");
        if let CommandInput::File(path) = &command.stdin {
            bash.stdin(fs::File::open(path).unwrap());
        }
        let output = bash.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        read_file_outcome(&output.stdout, &call).unwrap_or_else(|| panic!("{output:?}"))
    }

    fn list(&self, path: &str, after: Option<&[u8]>, limit: u32) -> (Vec<Vec<u8>>, Option<Vec<u8>>) {
        let action = FileAction::List { after: after.map(<[u8]>::to_vec), limit };
        let FileOutcome::Page { entries, next } = self.call(path, action).unwrap() else { panic!("a page") };
        let names = entries.iter().map(|entry| entry.name.as_bytes().to_vec()).collect();
        (names, next.map(|next| next.as_bytes().to_vec()))
    }

    fn read(&self, path: &str, offset: u64, length: u32) -> Result<(Attributes, Option<String>, Vec<u8>), FileRefusal> {
        match self.call(path, FileAction::Read { offset, length })? {
            FileOutcome::Content(attributes, etag, bytes) => Ok((attributes, etag, bytes)),
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, path: &str, content: &[u8], if_match: Option<&str>) -> Result<(Attributes, String), FileRefusal> {
        let content = FileInput::Bytes(content.to_vec());
        let action = FileAction::Write { content, mode: None, if_match: if_match.map(str::to_owned) };
        match self.call(path, action)? {
            FileOutcome::Entry(attributes, etag) => Ok((attributes, etag.unwrap())),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(self.at("")).unwrap().map(name).collect();
        names.sort();
        names
    }
}

fn move_to(to: &str, overwrite: bool) -> FileAction {
    FileAction::Move { to: FilePath::parse(to).unwrap(), overwrite }
}

/// The actions that read or change what is at a path.
fn actions() -> Vec<FileAction> {
    let content = FileInput::Bytes(b"x".to_vec());
    vec![
        FileAction::List { after: None, limit: 10 },
        FileAction::Stat,
        FileAction::Read { offset: 0, length: 10 },
        FileAction::Write { content, mode: None, if_match: None },
        FileAction::MakeDirectory,
        move_to("moved", true),
        FileAction::Remove { recursive: true },
    ]
}

#[test]
fn read_returns_a_range_with_the_attributes_and_the_etag_of_the_whole_file() {
    let place = Place::new();
    let (attributes, etag, bytes) = place.read("notes.txt", 2, 3).unwrap();
    assert_eq!((attributes.kind, attributes.size, bytes.as_slice()), (EntryKind::File, 6, &b"rst"[..]));
    assert_eq!(etag.as_deref(), Some("b640e840b19d378660b32fb51ae18d67dccb4a8596a29e7bd72c1b2ae5928f41"));
    for (offset, rest) in [(4, &b"t\n"[..]), (6, b""), (1 << 40, b"")] {
        assert_eq!(place.read("notes.txt", offset, 10).unwrap().2, rest);
    }
}

#[test]
fn read_returns_every_byte() {
    let place = Place::new();
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    fs::write(place.at("data"), &content).unwrap();
    assert_eq!(place.read("data", 0, 1 << 20).unwrap().2, content);
    assert_eq!(place.read("data", 70_000, 1 << 20).unwrap().2, content[70_000..]);
}

#[test]
fn large_file_is_read_without_an_etag() {
    let place = Place::new();
    let file = fs::File::create(place.at("large")).unwrap();
    file.set_len(FileCall::MAX_HASHED + 1).unwrap();
    let (attributes, etag, bytes) = place.read("large", FileCall::MAX_HASHED, 10).unwrap();
    assert_eq!((attributes.size, etag, bytes), (FileCall::MAX_HASHED + 1, None, vec![0]));
}

#[test]
fn list_is_sorted_by_bytes_and_has_names_of_any_bytes() {
    let place = Place::new();
    let names: [&[u8]; 7] = [b"-n", b".hidden", b"a\nb", b"a b*", "ä".as_bytes(), b"\xff\xfe", b"$(touch x)"];
    for name in names {
        fs::write(place.at(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    let mut expected: Vec<Vec<u8>> =
        [&names[..], &[b"notes.txt", b"src"]].concat().iter().map(|name| name.to_vec()).collect();
    expected.sort();
    assert_eq!(place.list("", None, 100), (expected.clone(), None));
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = place.list("", after.as_deref(), 2);
        found.extend(page);
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
    assert_eq!(place.list("", Some(b"zzz\xff"), 2).0, [&b"\xc3\xa4"[..], b"\xff\xfe"].map(<[u8]>::to_vec)[..2]);
    assert_eq!(place.list("src", None, 10), (Vec::new(), None));
    for name in ["-n", "a\nb", "a b*", "$(touch x)", "ä"] {
        assert_eq!(place.read(name, 0, 100).unwrap().2, name.as_bytes(), "{name:?}");
    }
}

#[test]
fn list_has_the_attributes_of_each_file() {
    let place = Place::new();
    fs::set_permissions(place.at("notes.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("there\n", place.at("link")).unwrap();
    let FileOutcome::Page { entries, .. } = place.call("", FileAction::List { after: None, limit: 10 }).unwrap() else {
        panic!("a page")
    };
    let found: Vec<_> = entries
        .iter()
        .map(|entry| {
            let Attributes { kind, mode, size, target, .. } = &entry.attributes;
            (entry.name.as_bytes(), *kind, *mode, *size, target.as_ref().map(Name::as_bytes))
        })
        .collect();
    assert_eq!(found[0], (&b"link"[..], EntryKind::Symlink, 0o777, 0, Some(&b"there\n"[..])));
    assert_eq!(found[1], (&b"notes.txt"[..], EntryKind::File, 0o640, 6, None));
    assert_eq!((found[2].0, found[2].1, found[2].3), (&b"src"[..], EntryKind::Directory, 0));
}

#[test]
fn no_path_leads_through_a_symbolic_link() {
    for action in actions() {
        let place = Place::new();
        symlink("..", place.at("up")).unwrap();
        symlink("src", place.at("inner")).unwrap();
        for path in ["up/secret", "inner/file", "up/new/file"] {
            assert_eq!(place.call(path, action.clone()), Err(FileRefusal::NotADirectory), "{path} {action:?}");
        }
        assert_eq!(fs::read_to_string(place.dir.path().join("secret")).unwrap(), "outside");
        assert_eq!(place.names(), ["inner", "notes.txt", "src", "up"]);
        assert_eq!(fs::read_dir(place.at("src")).unwrap().count(), 0);
    }
}

#[test]
fn links_themselves_are_neither_read_nor_replaced() {
    let place = Place::new();
    symlink("../secret", place.at("link")).unwrap();
    assert_eq!(place.read("link", 0, 10).unwrap_err(), FileRefusal::NotAFile);
    assert_eq!(place.write("link", b"x", None).unwrap_err(), FileRefusal::NotAFile);
    assert_eq!(place.call("link", FileAction::MakeDirectory).unwrap_err(), FileRefusal::NotADirectory);
    let list = FileAction::List { after: None, limit: 10 };
    assert_eq!(place.call("link", list).unwrap_err(), FileRefusal::NotADirectory);
    let FileOutcome::Entry(attributes, None) = place.call("link", FileAction::Stat).unwrap() else {
        panic!("an entry")
    };
    assert_eq!(attributes.target.as_ref().map(Name::as_bytes), Some(&b"../secret"[..]));
    place.call("link", move_to("moved", false)).unwrap();
    assert_eq!(fs::read_link(place.at("moved")).unwrap(), Path::new("../secret"));
    assert_eq!(place.call("moved", FileAction::Remove { recursive: true }), Ok(FileOutcome::Removed(true)));
    assert_eq!(fs::read_to_string(place.dir.path().join("secret")).unwrap(), "outside");
}

#[test]
fn directory_that_is_reached_through_a_link_is_refused() {
    let place = Place::new();
    fs::rename(place.at(""), place.dir.path().join("real")).unwrap();
    symlink("real", place.dir.path().join("work")).unwrap();
    for action in actions() {
        assert_eq!(place.call("notes.txt", action), Err(FileRefusal::NotADirectory));
    }
}

#[test]
fn missing_files_are_not_found() {
    let place = Place::new();
    for path in ["missing", "missing/deeper", "src/missing"] {
        for action in [
            FileAction::List { after: None, limit: 10 },
            FileAction::Stat,
            FileAction::Read { offset: 0, length: 10 },
            move_to("moved", false),
        ] {
            assert_eq!(place.call(path, action), Err(FileRefusal::NotFound));
        }
        assert_eq!(place.call(path, FileAction::Remove { recursive: true }), Ok(FileOutcome::Removed(false)));
    }
    assert_eq!(place.read("notes.txt/deeper", 0, 1).unwrap_err(), FileRefusal::NotADirectory);
    assert_eq!(place.read("src", 0, 1).unwrap_err(), FileRefusal::NotAFile);
}

#[test]
fn write_creates_a_file_and_its_directories() {
    let place = Place::new();
    let content: Vec<u8> = (0..=255).collect();
    let (attributes, etag) = place.write("new/deep/data", &content, None).unwrap();
    assert_eq!((attributes.size, attributes.mode), (256, 0o644));
    assert_eq!(fs::read(place.at("new/deep/data")).unwrap(), content);
    assert_eq!(place.read("new/deep/data", 0, 1).unwrap().1, Some(etag));
    assert_eq!(place.write("empty", b"", None).unwrap().0.size, 0);
}

#[test]
fn write_keeps_the_mode_of_the_file_that_it_replaces() {
    let place = Place::new();
    fs::set_permissions(place.at("notes.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(place.write("notes.txt", b"second", None).unwrap().0.mode, 0o750);
    let content = FileInput::Bytes(b"third".to_vec());
    let action = FileAction::Write { content, mode: Some("600".into()), if_match: None };
    let FileOutcome::Entry(attributes, _) = place.call("notes.txt", action).unwrap() else { panic!("an entry") };
    assert_eq!((attributes.mode, fs::read_to_string(place.at("notes.txt")).unwrap().as_str()), (0o600, "third"));
}

#[test]
fn write_replaces_the_file_at_once_and_leaves_nothing_else() {
    let place = Place::new();
    let open = fs::File::open(place.at("notes.txt")).unwrap();
    fs::write(place.at(".sandbox-snapshotter-write-killed"), "half").unwrap();
    place.write("notes.txt", b"second", None).unwrap();
    assert_eq!(std::io::read_to_string(open).unwrap(), "first\n", "a reader sees the old file to its end");
    assert_eq!(place.names(), ["notes.txt", "src"]);
}

#[test]
fn write_with_another_etag_changes_nothing() {
    let place = Place::new();
    let etag = place.read("notes.txt", 0, 10).unwrap().1.unwrap();
    let second = place.write("notes.txt", b"second", Some(&etag)).unwrap().1;
    assert_eq!(place.write("notes.txt", b"third", Some(&etag)), Err(FileRefusal::Changed));
    assert_eq!(place.write("missing", b"third", Some(&etag)), Err(FileRefusal::Changed));
    assert_eq!(place.write("new/missing", b"third", Some(&etag)), Err(FileRefusal::Changed));
    assert_eq!(fs::read_to_string(place.at("notes.txt")).unwrap(), "second");
    assert_eq!(place.names(), ["notes.txt", "src"]);
    place.write("notes.txt", b"third", Some(&second)).unwrap();
}

#[test]
fn write_takes_its_content_from_a_file() {
    let place = Place::new();
    let content = vec![7; 3_000_000];
    fs::write(place.dir.path().join("input"), &content).unwrap();
    let input = FileInput::File(place.dir.path().join("input").to_str().unwrap().to_owned());
    place.call("data", FileAction::Write { content: input, mode: None, if_match: None }).unwrap();
    assert_eq!(fs::read(place.at("data")).unwrap(), content);
}

#[test]
fn write_to_a_directory_or_without_permission_is_refused() {
    let place = Place::new();
    assert_eq!(place.write("src", b"x", None).unwrap_err(), FileRefusal::NotAFile);
    let refusal = place.write(&"n".repeat(300), b"x", None).unwrap_err();
    assert!(matches!(&refusal, FileRefusal::Failed(why) if why.contains("too long")), "{refusal:?}");
    assert_eq!(place.names(), ["notes.txt", "src"]);
}

#[test]
fn directory_is_created_with_those_above_it() {
    let place = Place::new();
    for path in ["a/b", "a/b", "src", ""] {
        let FileOutcome::Entry(attributes, None) = place.call(path, FileAction::MakeDirectory).unwrap() else {
            panic!("an entry")
        };
        assert_eq!(attributes.kind, EntryKind::Directory);
    }
    assert!(place.at("a/b").is_dir());
    assert_eq!(place.call("notes.txt", FileAction::MakeDirectory), Err(FileRefusal::NotADirectory));
}

#[test]
fn move_replaces_a_file_only_on_request() {
    let place = Place::new();
    fs::write(place.at("other"), "other").unwrap();
    assert_eq!(place.call("other", move_to("notes.txt", false)), Err(FileRefusal::Exists));
    assert_eq!(place.call("other", move_to("src", true)), Err(FileRefusal::Exists));
    assert_eq!(place.call("src", move_to("other", true)), Err(FileRefusal::Exists));
    assert_eq!(place.names(), ["notes.txt", "other", "src"]);
    place.call("other", move_to("notes.txt", true)).unwrap();
    assert_eq!(fs::read_to_string(place.at("notes.txt")).unwrap(), "other");
    place.call("notes.txt", move_to("new/deep/notes", false)).unwrap();
    place.call("new", move_to("src/new", false)).unwrap();
    assert_eq!(fs::read_to_string(place.at("src/new/deep/notes")).unwrap(), "other");
    assert_eq!(place.names(), ["src"]);
    assert!(matches!(place.call("src", move_to("src/inner", false)), Err(FileRefusal::Failed(_))));
}

#[test]
fn move_through_a_link_or_a_file_is_blocked() {
    let place = Place::new();
    symlink("..", place.at("up")).unwrap();
    for to in ["up/taken", "notes.txt/x"] {
        assert_eq!(place.call("src", move_to(to, true)), Err(FileRefusal::NewPathBlocked));
    }
    assert!(place.at("src").is_dir());
}

#[test]
fn directory_is_removed_with_its_files_only_on_request() {
    let place = Place::new();
    fs::write(place.at("src/main.rs"), "").unwrap();
    symlink("../..", place.at("src/up")).unwrap();
    assert_eq!(place.call("src", FileAction::Remove { recursive: false }), Err(FileRefusal::NotEmpty));
    assert_eq!(place.call("src", FileAction::Remove { recursive: true }), Ok(FileOutcome::Removed(true)));
    assert!(place.dir.path().join("secret").exists(), "links in it are not followed");
    fs::create_dir(place.at("empty")).unwrap();
    for path in ["empty", "notes.txt"] {
        assert_eq!(place.call(path, FileAction::Remove { recursive: false }), Ok(FileOutcome::Removed(true)));
    }
    assert!(place.names().is_empty());
}

#[test]
fn missing_directory_is_created_only_if_no_start_created_it() {
    let mut place = Place::new();
    fs::rename(place.at(""), place.dir.path().join("moved")).unwrap();
    place.has_dir = true;
    assert_eq!(place.write("new", b"", None), Err(FileRefusal::NoDirectory));
    assert_eq!(place.call("new", FileAction::MakeDirectory), Err(FileRefusal::NoDirectory));
    assert!(!place.at("").exists());
    place.has_dir = false;
    place.write("new", b"", None).unwrap();
    assert_eq!(place.names(), ["new"]);
}

#[test]
fn odd_paths_are_one_word() {
    let place = Place::new();
    for path in ["it's $(touch x)", "-rf", "a\nb", "`id`", "*"] {
        place.write(path, path.as_bytes(), None).unwrap();
        assert_eq!(place.read(path, 0, 100).unwrap().2, path.as_bytes(), "{path:?}");
        assert_eq!(place.call(path, FileAction::Remove { recursive: true }), Ok(FileOutcome::Removed(true)));
    }
    assert_eq!(place.names(), ["notes.txt", "src"]);
}
