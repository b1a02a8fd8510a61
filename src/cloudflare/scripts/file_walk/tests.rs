//! Runs the scripts with bash, and compares their lists with archives of the same files.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_executor::block_on;
use snapshot_archive::{Archives, Change, ChangeKind, Compared, Listing, Source, diff};

use super::super::file_call::tests::Place;
use crate::model::file_call::{FileAction, FileOutcome, FileRefusal, ListingBytes, ListingPosition, Omitted};

/// An archive in memory.
struct Memory(Bytes);

impl Source for Memory {
    async fn read(&mut self, offset: u64, length: usize) -> snapshot_archive::Result<Bytes> {
        let offset = usize::try_from(offset).unwrap();
        Ok(self.0.slice(offset..offset + length))
    }

    fn size(&self) -> u64 {
        self.0.len() as u64
    }
}

/// The check of `find`, which that of busybox does not pass.
const WITHOUT_PRINTF: Option<(&str, &str)> = Some(("find . -maxdepth 0 -printf", "false"));

impl Place {
    fn walk(&self, position: Option<ListingPosition>, omitted: Omitted) -> Result<ListingBytes, FileRefusal> {
        match self.call("", FileAction::Walk { position, omitted })? {
            FileOutcome::Listing(listing) => Ok(listing),
            other => panic!("{other:?}"),
        }
    }

    fn list_all(&self) -> ListingBytes {
        self.walk(None, Omitted::default()).unwrap()
    }

    /// Returns an archive of the files.
    fn capture(&self, options: &[&str]) -> Bytes {
        let archive = self.dir.path().join("archive");
        let mut command = Command::new("mksquashfs");
        command
            .arg(self.at(""))
            .arg(&archive)
            .args(["-noappend", "-no-progress", "-quiet", "-comp", "lz4"])
            .args(options);
        assert!(command.output().unwrap().status.success());
        fs::read(archive).unwrap().into()
    }

    /// Writes a file with a time.
    fn write_at(&self, path: &[u8], content: &str, seconds: u64) {
        let path = self.at(OsStr::from_bytes(path));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(999_999_999);
        File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
    }
}

/// Files with odd names, types, modes and times.
fn odd_place() -> Place {
    let place = Place::new();
    for path in [
        &b"src/a.b"[..],
        b"src/a/b",
        b"src/a b",
        b"src/a\x01",
        b"src/a\x01\x01/x",
        b"src/\x02",
        b"-n",
        b"\xff\xfe",
        b"it's $(x)",
    ] {
        place.write_at(path, "content", 1_700_000_000);
    }
    place.write_at(b"src/a/private", "x", 0);
    fs::set_permissions(place.at("src/a/private"), fs::Permissions::from_mode(0o4700)).unwrap();
    fs::set_permissions(place.at("src/a"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::create_dir(place.at("empty")).unwrap();
    symlink("../it's \x01 there//x", place.at("src/link")).unwrap();
    fs::hard_link(place.at("notes.txt"), place.at("src/also")).unwrap();
    assert!(Command::new("mkfifo").arg(place.at("fifo")).status().unwrap().success());
    place
}

/// Returns the differences between an archive and a list.
fn changes(archive: &Bytes, listing: &ListingBytes) -> Vec<String> {
    let mut changes = Vec::new();
    let (mut after, mut offset) = (Vec::new(), 0);
    loop {
        let rest = Listing::new(listing.bytes[offset..].to_vec(), listing.is_last());
        let from = Compared::Archives(Archives::Full(Memory(archive.clone())));
        let page = block_on(diff(from, Compared::Listing(rest), &after, 2, None)).unwrap();
        changes.extend(page.changes.iter().map(text));
        let Some(next) = page.next else { return changes };
        (after, offset) = (next.to_vec(), offset + page.consumed);
    }
}

fn text(change: &Change) -> String {
    let hash = if change.hash.is_some() { "#" } else { "" };
    let path = String::from_utf8_lossy(&change.path);
    match &change.kind {
        ChangeKind::Added => format!("+ {path}"),
        ChangeKind::Removed => format!("- {path}"),
        ChangeKind::Renamed { from } => format!("{} -> {path}{hash}", String::from_utf8_lossy(from)),
        ChangeKind::Changed(differences) => format!("{path}{hash} {differences:?}"),
    }
}

#[test]
fn unchanged_files_have_no_differences_to_their_archive() {
    let place = odd_place();
    place.write_at(b"src/line\nbreak", "content", 1_700_000_000);
    assert_eq!(changes(&place.capture(&[]), &place.list_all()), [] as [String; 0]);
}

#[test]
fn find_without_printf_lists_the_same() {
    let place = odd_place().with_replaced(WITHOUT_PRINTF);
    assert_eq!(changes(&place.capture(&[]), &place.list_all()), [] as [String; 0]);
    place.write_at(b"line\nbreak", "content", 1_700_000_000);
    let refused = place.walk(None, Omitted::default());
    assert_eq!(refused, Err(FileRefusal::Failed("a name has a line break".into())));
}

#[test]
fn every_kind_of_change_is_listed() {
    for find in [None, WITHOUT_PRINTF] {
        let place = odd_place().with_replaced(find);
        place.write_at(b"old", "renamed content", 5);
        place.write_at(b"touched", "content", 5);
        let archive = place.capture(&[]);
        fs::rename(place.at("old"), place.at("renamed")).unwrap();
        place.write_at(b"touched", "CONTENT", 9);
        place.write_at(b"src/a/b", "longer content", 1_700_000_000);
        place.write_at(b"src/a\x01\x01/new", "", 7);
        fs::set_permissions(place.at("-n"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(place.at("src/a b")).unwrap();
        fs::remove_file(place.at("src/link")).unwrap();
        symlink("elsewhere", place.at("src/link")).unwrap();
        fs::remove_file(place.at("fifo")).unwrap();
        fs::create_dir(place.at("fifo")).unwrap();
        let expected = [
            "-n [Mode]",
            "fifo [Type]",
            "old -> renamed#",
            "src/a/b [Content]",
            "+ src/a\x01\x01/new",
            "- src/a b",
            "src/link [Target]",
            "touched# [Content]",
        ];
        assert_eq!(changes(&archive, &place.list_all()), expected);
    }
}

#[test]
fn excluded_and_ignored_files_are_not_listed() {
    for find in [None, WITHOUT_PRINTF] {
        let place = odd_place().with_replaced(find);
        let archive = place.capture(&["-wildcards", "-e", "... *.log", "... target", "... [a]c"]);
        for path in ["x.log", "src/y.log", "src/target/out", "ac", "build/out", "src/kept.tmp"] {
            place.write_at(path.as_bytes(), "", 5);
        }
        for path in [".log", "bc"] {
            place.write_at(path.as_bytes(), "", 5);
        }
        let excludes = ["*.log", "**/target/**", "[a]c", ""].map(str::to_owned).to_vec();
        assert!(Command::new("git").args(["init", "-q"]).current_dir(place.at("")).status().unwrap().success());
        fs::write(place.at(".gitignore"), "/build\n*.tmp\n").unwrap();
        let omitted = Omitted { excludes, ignored: true };
        let mut found = changes(&archive, &place.walk(None, omitted).unwrap());
        found.retain(|change| !change.contains(".git"));
        assert_eq!(found, ["+ .log", "+ bc"]);
    }
}

#[test]
fn list_is_continued_as_it_was() {
    let place = odd_place();
    let whole = place.list_all();
    fs::remove_file(place.at("notes.txt")).unwrap();
    let position = ListingPosition { id: whole.position.id.clone(), offset: 30 };
    let rest = place.walk(Some(position.clone()), Omitted::default()).unwrap();
    assert_eq!((rest.position, rest.size, &rest.bytes[..]), (position, whole.size, &whole.bytes[30..]));
    let ended = ListingPosition { id: "unknown".into(), offset: 0 };
    assert_eq!(place.walk(Some(ended), Omitted::default()), Err(FileRefusal::ListEnded));
}

#[test]
fn hashes_are_those_of_regular_files() {
    let place = odd_place();
    let paths = [&b"notes.txt"[..], b"src", b"src/link", b"missing", b"fifo", b"\xff\xfe", b"-n"];
    let hash = |limit| match place.call("", FileAction::Hash { paths: paths.map(<[u8]>::to_vec).to_vec(), limit }) {
        Ok(FileOutcome::Hashes(hashes)) => hashes,
        other => panic!("{other:?}"),
    };
    let content = Some("ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73".to_owned());
    let notes = Some("b640e840b19d378660b32fb51ae18d67dccb4a8596a29e7bd72c1b2ae5928f41".to_owned());
    assert_eq!(hash(100), [notes.clone(), None, None, None, None, content.clone(), content]);
    assert_ne!(hash(4)[0], notes, "a larger file is cut, and has another hash");
}
