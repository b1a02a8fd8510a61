//! Ranges of files.

use std::fs;

use crate::files::tree;
use crate::support::{FORMATS, Format, open, read};

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
