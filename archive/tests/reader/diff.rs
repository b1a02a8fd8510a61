//! The differences between two archives.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use futures_executor::block_on;
use snapshot_archive::{Archives, Certainty, Change, ChangeKind, DiffPage, Difference, Error, Side, diff};

use crate::support::{FORMATS, Folder, Format, Memory, full, random};

/// Sets the times of a file, in seconds since 1970.
fn touch(folder: &Folder, path: &str, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    File::open(folder.tree().join(path)).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

/// Writes a file with a time.
fn write(folder: &Folder, path: &str, content: impl AsRef<[u8]>, seconds: u64) {
    folder.write(path, content);
    touch(folder, path, seconds);
}

fn page(from: &Path, to: &Path, after: &[u8], limit: usize) -> DiffPage {
    block_on(diff(full(from).into(), full(to).into(), after, limit, None)).unwrap()
}

/// Returns all differences, in pages of `limit`.
fn all(from: &Path, to: &Path, limit: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut after = Vec::new();
    loop {
        let page = page(from, to, &after, limit);
        assert!(page.changes.len() <= limit);
        changes.extend(page.changes);
        let Some(next) = page.next else { return changes };
        assert_ne!(after, next);
        after = next.to_vec();
    }
}

/// Returns a change as text.
fn text(change: &Change) -> String {
    let path = String::from_utf8_lossy(&change.path);
    let sure = if change.certainty == Certainty::Metadata { "?" } else { "" };
    match &change.kind {
        ChangeKind::Added => format!("+ {path}"),
        ChangeKind::Removed => format!("- {path}"),
        ChangeKind::Renamed { from } => format!("{} -> {path}", String::from_utf8_lossy(from)),
        ChangeKind::Changed(differences) => format!("{path}{sure} {differences:?}"),
    }
}

fn texts(changes: &[Change]) -> Vec<String> {
    changes.iter().map(text).collect()
}

/// A tree, and another one with every kind of change.
fn pair() -> (Folder, Folder) {
    let (before, after) = (Folder::new(), Folder::new());
    for folder in [&before, &after] {
        write(folder, "a/same", "same", 1000);
        write(folder, "a.txt", "same", 1000);
        write(folder, "z", "same", 1000);
    }
    write(&before, "grown", "1", 1000);
    write(&after, "grown", "12", 1000);
    write(&before, "touched", "same content", 1000);
    write(&after, "touched", "same content", 2000);
    write(&before, "rewritten", "content A", 1000);
    write(&after, "rewritten", "content B", 2000);
    write(&before, "mode", "x", 1000);
    write(&after, "mode", "x", 1000);
    fs::set_permissions(after.tree().join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(before.tree().join("mode"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("one", before.tree().join("link")).unwrap();
    symlink("two", after.tree().join("link")).unwrap();
    write(&before, "removed/deep/file", "removed", 1000);
    write(&after, "added/file", "added", 1000);
    write(&before, "kind", "file", 1000);
    fs::create_dir(after.tree().join("kind")).unwrap();
    write(&before, "old-name", "content of the renamed file", 1234);
    write(&after, "new-name", "content of the renamed file", 1234);
    (before, after)
}

const CHANGES: [&str; 11] = [
    "+ added",
    "+ added/file",
    "grown [Content]",
    "kind [Type]",
    "link [Target]",
    "mode [Mode]",
    "old-name -> new-name",
    "- removed",
    "- removed/deep",
    "- removed/deep/file",
    "rewritten [Content]",
];

#[test]
fn every_kind_of_change_is_found_in_squashfs() {
    let (before, after) = pair();
    let (from, to) = (before.squashfs("-comp lz4"), after.squashfs("-comp zstd"));
    assert_eq!(texts(&all(&from, &to, 1000)), CHANGES);
}

#[test]
fn content_in_tar_is_not_compared() {
    let (before, after) = pair();
    let squashfs = [Format::Squashfs("-comp lz4")];
    for format in FORMATS.iter().filter(|format| matches!(format, Format::Tar(_))) {
        let (from, to) = (before.archive(*format), after.archive(*format));
        let expected = [
            "+ added",
            "+ added/file",
            "grown [Content]",
            "kind [Type]",
            "link [Target]",
            "mode [Mode]",
            "+ new-name",
            "- old-name",
            "- removed",
            "- removed/deep",
            "- removed/deep/file",
            "rewritten? [Content]",
            "touched? [Content]",
        ];
        assert_eq!(texts(&all(&from, &to, 1000)), expected, "{format:?}");
        assert_eq!(texts(&all(&from, &after.archive(squashfs[0]), 1000)), expected, "{format:?} with a squashfs");
    }
}

#[test]
fn pages_are_complete_and_sorted() {
    let (before, after) = pair();
    for format in FORMATS {
        let (from, to) = (before.archive(format), after.archive(format));
        let whole = all(&from, &to, 1000);
        for limit in [1, 2, 3, 5] {
            let paged = all(&from, &to, limit);
            let split = |changes: &[Change]| {
                let mut paths = BTreeMap::new();
                for change in changes {
                    if let ChangeKind::Renamed { from } = &change.kind {
                        paths.insert(from.to_vec(), "-".to_owned());
                        paths.insert(change.path.to_vec(), "+".to_owned());
                    } else {
                        paths.insert(change.path.to_vec(), text(change).chars().take(1).collect());
                    }
                }
                paths
            };
            // Only a rename depends on the page.
            assert_eq!(split(&paged), split(&whole), "{format:?}");
        }
    }
}

#[test]
fn same_trees_have_no_differences() {
    let (before, _) = pair();
    for one in FORMATS {
        for other in [FORMATS[0], FORMATS[3]] {
            let from = before.archive(one);
            let copy = from.with_extension("copy");
            fs::copy(&from, &copy).unwrap();
            assert_eq!(all(&copy, &before.archive(other), 10), [], "{one:?}, {other:?}");
        }
    }
}

#[test]
fn hard_links_have_the_attributes_of_their_file() {
    let (linked, copied) = (Folder::new(), Folder::new());
    for folder in [&linked, &copied] {
        write(folder, "b", "content", 1000);
    }
    fs::hard_link(linked.tree().join("b"), linked.tree().join("a")).unwrap();
    write(&copied, "a", "content", 1000);
    for one in FORMATS {
        for other in FORMATS {
            assert_eq!(all(&linked.archive(one), &copied.archive(other), 10), [], "{one:?}, {other:?}");
        }
    }
}

#[test]
fn copies_are_no_renames() {
    let (before, after) = (Folder::new(), Folder::new());
    write(&before, "old", "the same content", 1000);
    for path in ["one", "two"] {
        write(&after, path, "the same content", 1000);
    }
    let changes = all(&before.squashfs("-comp lz4"), &after.squashfs("-comp lz4"), 10);
    assert_eq!(texts(&changes), ["- old", "+ one", "+ two"]);
}

#[test]
fn other_content_is_no_rename() {
    let (before, after) = (Folder::new(), Folder::new());
    write(&before, "old", "content A", 1000);
    write(&after, "new", "content B", 1000);
    let changes = all(&before.squashfs("-comp lz4"), &after.squashfs("-comp lz4"), 10);
    assert_eq!(texts(&changes), ["+ new", "- old"]);
}

#[test]
fn files_of_the_same_time_are_compared_if_they_were_captured_in_that_second() {
    let (before, after) = (Folder::new(), Folder::new());
    for (folder, content) in [(&before, "port 8080"), (&after, "port 9090")] {
        write(folder, "config", content, 1000);
        write(folder, "same", "same", 1000);
        write(folder, "large", random(content.len() as u64, 2_000_000), 1000);
    }
    let (from, to) = (before.squashfs("-comp lz4"), after.squashfs("-comp lz4"));
    let changes = |racy_from| {
        let page = block_on(diff(full(&from).into(), full(&to).into(), b"", 10, racy_from)).unwrap();
        texts(&page.changes)
    };
    for racy_from in [1000, 0] {
        assert_eq!(changes(Some(racy_from)), ["config [Content]"]);
    }
    for racy_from in [None, Some(1001)] {
        assert!(changes(racy_from).is_empty());
    }
}

#[test]
fn large_files_are_not_compared() {
    let (before, after) = (Folder::new(), Folder::new());
    write(&before, "large", random(1, 2_000_000), 1000);
    write(&after, "large", random(1, 2_000_000), 2000);
    let changes = all(&before.squashfs("-comp lz4"), &after.squashfs("-comp lz4"), 10);
    let expected = ChangeKind::Changed(vec![Difference::Content]);
    assert_eq!((&changes[0].kind, changes[0].certainty, changes.len()), (&expected, Certainty::Metadata, 1));
}

#[test]
fn page_with_many_comparisons_ends_early() {
    let (before, after) = (Folder::new(), Folder::new());
    for number in 0..300 {
        write(&before, &format!("{number:03}"), format!("content {number}"), 1000);
        write(&after, &format!("{number:03}"), format!("content {number}"), 2000);
    }
    write(&after, "last", "added", 1000);
    let (from, to) = (before.squashfs("-comp lz4"), after.squashfs("-comp lz4"));
    let first = page(&from, &to, b"", 1000);
    assert_eq!((first.changes.len(), first.next.is_some()), (0, true));
    assert_eq!(texts(&all(&from, &to, 1000)), ["+ last"]);
}

#[test]
fn page_begins_after_a_path_that_is_missing() {
    let (before, after) = pair();
    for format in FORMATS {
        let (from, to) = (before.archive(format), after.archive(format));
        let first = |after: &str| page(&from, &to, after.as_bytes(), 1).changes.first().map(|it| it.path.clone());
        assert_eq!(first("added/a/missing").as_deref(), Some(&b"added/file"[..]), "{format:?}");
        assert_eq!(first("added/zzz").as_deref(), Some(&b"grown"[..]), "{format:?}");
        assert_eq!(first("zzz"), None, "{format:?}");
    }
}

#[test]
fn failing_side_is_named() {
    let (before, _) = pair();
    let good = || full(&before.squashfs("-comp lz4"));
    let bytes = fs::read(before.squashfs("-comp lz4")).unwrap();
    let cut = || Archives::Full(Memory(bytes[..200].to_vec().into()));
    let whole = Archives::Full(Memory(bytes.clone().into()));
    assert!(matches!(block_on(diff(cut().into(), whole.into(), b"", 10, None)), Err((Side::From, Error::Damaged(_)))));
    let whole = Archives::Full(Memory(bytes.clone().into()));
    assert!(matches!(block_on(diff(whole.into(), cut().into(), b"", 10, None)), Err((Side::To, Error::Damaged(_)))));
    assert!(matches!(block_on(diff(good().into(), good().into(), b"../a", 10, None)), Err((_, Error::InvalidPath(_)))));
}
