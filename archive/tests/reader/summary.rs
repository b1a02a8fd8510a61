//! What a directory contains, as a summary says it.

use std::fs;
use std::os::unix::fs::symlink;

use futures_executor::block_on;
use snapshot_archive::{Archive, Error, Kind, Summary, Totals, summarize};

use crate::support::{Counting, FORMATS, Folder, open, path};

fn summary(archive: &mut Archive<Counting>, at: &str) -> Summary {
    block_on(summarize(archive, &path(at))).unwrap()
}

/// A folder whose directory `sub` has 3 files with 5,110 bytes, and a second name of the file `large`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("large", "x".repeat(70_000));
    folder.write("sub/deep/file", "x".repeat(5000));
    folder.write("sub/deep/small", "x".repeat(100));
    folder.write("sub/tiny", "x".repeat(10));
    folder.write("empty", "");
    let tree = folder.tree();
    fs::create_dir(tree.join("nothing")).unwrap();
    symlink("large", tree.join("link")).unwrap();
    fs::hard_link(tree.join("large"), tree.join("sub/name")).unwrap();
    folder
}

#[test]
fn summary_has_the_totals_of_everything_below_a_directory() {
    let folder = folder();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        let whole = Totals { files: 6, directories: 3, others: 1, bytes: 75_110 };
        assert_eq!(summary(&mut archive, "").totals, whole, "{format:?}");
        let deep = Totals { files: 2, directories: 0, others: 0, bytes: 5100 };
        assert_eq!(summary(&mut archive, "sub/deep").totals, deep, "{format:?}");
        assert_eq!(summary(&mut archive, "nothing").totals, Totals::default(), "{format:?}");
    }
}

#[test]
fn entries_are_sorted_by_the_size_of_everything_below_them() {
    let folder = folder();
    // A tar has the second name without a size, and a squashfs both names with the size, of which the first one counts.
    for format in FORMATS {
        let entries = summary(&mut open(&folder.archive(format)), "sub").entries.unwrap();
        let sizes: Vec<_> = entries.iter().map(|entry| (&entry.name[..], entry.totals.bytes)).collect();
        assert!(sizes.contains(&(&b"deep"[..], 5100)) && sizes.contains(&(&b"tiny"[..], 10)), "{format:?}: {sizes:?}");
        assert!(sizes.is_sorted_by(|left, right| left.1 >= right.1), "{format:?}: {sizes:?}");
        let deep = entries.iter().find(|entry| entry.name == "deep").unwrap();
        assert_eq!(deep.kind, Kind::Directory);
        assert_eq!(deep.totals.files, 2);
    }
}

#[test]
fn largest_files_have_their_paths_in_the_snapshot() {
    let folder = folder();
    for format in FORMATS {
        let largest = summary(&mut open(&folder.archive(format)), "sub/deep").largest;
        assert_eq!(largest, [(b"sub/deep/file".to_vec(), 5000), (b"sub/deep/small".to_vec(), 100)], "{format:?}");
    }
}

#[test]
fn file_with_several_names_counts_once() {
    let folder = folder();
    for format in FORMATS {
        let largest = summary(&mut open(&folder.archive(format)), "").largest;
        let sizes: Vec<_> = largest.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!(sizes, [70_000, 5000, 100, 10], "{format:?}");
    }
}

#[test]
fn summary_names_the_largest_of_many_files() {
    let folder = Folder::new();
    for number in 1..=150 {
        folder.write(format!("{number:03}"), "x".repeat(number));
    }
    let found = summary(&mut open(&folder.squashfs("-comp lz4")), "");
    assert_eq!(found.totals.files, 150);
    assert_eq!(found.totals.bytes, 150 * 151 / 2);
    assert_eq!(found.largest.len(), Summary::MAX_LARGEST);
    assert_eq!(found.largest[19], (b"131".to_vec(), 131));
    let entries = found.entries.unwrap();
    assert_eq!(entries.len(), Summary::MAX_ENTRIES);
    assert_eq!(entries[99].name, "051");
}

#[test]
fn directory_of_too_many_entries_has_no_list_of_them() {
    let folder = Folder::new();
    for number in 0..=Summary::MAX_COUNTED {
        folder.write(format!("many/{number}"), "");
    }
    let mut archive = open(&folder.squashfs("-comp lz4"));
    assert_eq!(summary(&mut archive, "many").entries, None);
    assert_eq!(summary(&mut archive, "many").totals.files, Summary::MAX_COUNTED as u64 + 1);
    assert_eq!(summary(&mut archive, "").entries.unwrap().len(), 1);
}

#[test]
fn only_a_directory_has_a_summary() {
    let folder = folder();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        assert_eq!(block_on(summarize(&mut archive, &path("large"))), Err(Error::NotADirectory), "{format:?}");
        assert_eq!(block_on(summarize(&mut archive, &path("missing"))), Err(Error::NotFound), "{format:?}");
    }
}
