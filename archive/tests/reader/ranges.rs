//! Ranges of files.

use std::fs;

use futures_executor::block_on;
use snapshot_archive::protocol::{Answer, MAX_READ, Request, answer};

use crate::files::tree;
use crate::support::{FORMATS, Folder, Format, full, open, read};

#[test]
fn range_of_a_file_is_cut_at_its_end() {
    let folder = tree();
    let others = [Format::Squashfs("-b 4096"), Format::Squashfs("-no-fragments")];
    for format in FORMATS.into_iter().chain(others) {
        let mut archive = open(&folder.archive(format));
        for name in ["sizes/random-300000", "sizes/random-262144", "sparse", "empty", "sub/hard"] {
            let expected = fs::read(folder.tree().join(name)).unwrap();
            for (start, length) in [(0, 10), (131_070, 5), (262_143, 10), (299_999, 100), (5, 299_000), (1 << 40, 5)] {
                let range = start..start + length;
                let cut = |at: u64| usize::try_from(at).unwrap().min(expected.len());
                let bytes = read(&mut archive, name, range.clone()).unwrap();
                assert!(bytes == expected[cut(range.start)..cut(range.end)], "{format:?} {name} {range:?}");
            }
        }
    }
}

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
