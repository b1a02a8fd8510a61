//! The beginnings of many files, as a restore of a directory reads them.

use std::fs;

use futures_executor::block_on;
use snapshot_archive::protocol::{Answer, MAX_READ, Request, answer};

use crate::files::tree;
use crate::support::{FORMATS, Folder, Format, full};

/// Returns the first bytes of files, at most `length` of each.
fn starts(folder: &Folder, format: Format, paths: &[&str], length: u64) -> Vec<Vec<u8>> {
    let paths = paths.iter().map(ToString::to_string).collect();
    let request = Request::ReadStarts { paths, length };
    let (Answer::Starts { lengths }, mut bytes) = block_on(answer(full(&folder.archive(format)), request)).unwrap()
    else {
        panic!("another answer");
    };
    lengths.into_iter().map(|length| bytes.drain(..length).collect()).collect()
}

#[test]
fn beginnings_of_files_are_read_at_once() {
    let folder = tree();
    let paths = ["sizes/random-300000", "empty", "sub/hard", "sparse"];
    let expected = |path: &&str| {
        let content = fs::read(folder.tree().join(path)).unwrap();
        content[..content.len().min(1000)].to_vec()
    };
    for format in FORMATS {
        assert!(starts(&folder, format, &paths, 1000) == paths.iter().map(expected).collect::<Vec<_>>(), "{format:?}");
    }
}

#[test]
fn beginnings_of_files_have_a_limited_size() {
    let folder = tree();
    let found = starts(&folder, Format::Squashfs(""), &["sizes/random-300000"; 5], MAX_READ);
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [300_000; 3]);
}
