//! Damaged archives of tar.

use std::fs;

use futures_executor::block_on;
use snapshot_archive::{Archive, Error};

use crate::hostile::read_all;
use crate::support::{Folder, Memory, path, random, read};

const COMPRESSORS: [Option<&str>; 3] = [None, Some("gzip -1"), Some("zstd -q -1")];

/// A small archive with members of each type.
fn archive(compressor: Option<&str>) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("aaaa/bbbb/file", "content");
    folder.write("aaaa/block", random(1, 5000));
    folder.write("a".repeat(120), "long");
    folder.write("hole", "");
    fs::OpenOptions::new().write(true).open(folder.tree().join("hole")).unwrap().set_len(9000).unwrap();
    std::os::unix::fs::symlink("aaaa", folder.tree().join("link")).unwrap();
    fs::hard_link(folder.tree().join("hole"), folder.tree().join("hard")).unwrap();
    fs::read(folder.tar(compressor)).unwrap()
}

#[test]
fn truncated_archive_is_damaged() {
    for compressor in COMPRESSORS {
        let archive = archive(compressor);
        assert_eq!(read_all(&archive), Ok(7 + 5000 + 4 + 9000), "{compressor:?}");
        let last = archive.iter().rposition(|byte| *byte != 0).unwrap();
        // A block of zeros ends a tar, and others follow it.
        let size = if compressor.is_some() { archive.len() } else { last.next_multiple_of(512) + 512 };
        for length in (0..size).step_by(if compressor.is_some() { 1 } else { 7 }) {
            assert!(matches!(read_all(&archive[..length]), Err(Error::Damaged(_))), "{compressor:?} {length}");
        }
    }
}

#[test]
fn changed_bits_of_gzip_never_change_its_content() {
    let archive = archive(Some("gzip -1"));
    for bit in (10 * 8..archive.len() * 8).step_by(3) {
        let mut changed = archive.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let bytes = read_all(&changed);
        assert!(matches!(bytes, Err(_) | Ok(14_011)), "{bit}: {bytes:?}");
    }
}

#[test]
fn changed_bits_never_fail_otherwise_than_with_an_error() {
    for (compressor, step) in [(None, 11), (Some("zstd -q -1"), 3)] {
        let archive = archive(compressor);
        for bit in (0..archive.len() * 8).step_by(step) {
            let mut changed = archive.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let _ = read_all(&changed);
        }
    }
}

/// Builds a member from fields of its header. Its checksum is right.
struct Builder(Vec<u8>);

impl Builder {
    fn new() -> Self {
        Self(Vec::new())
    }

    fn add(self, name: &[u8], member_type: u8, size: &[u8], content: &[u8]) -> Self {
        self.add_link(name, member_type, size, content, b"")
    }

    fn add_link(mut self, name: &[u8], member_type: u8, size: &[u8], content: &[u8], link: &[u8]) -> Self {
        let mut header = [0; 512];
        for (at, field) in [(0, name), (100, b"0000644"), (124, size), (157, link), (257, b"ustar  ")] {
            header[at..at + field.len()].copy_from_slice(field);
        }
        header[156] = member_type;
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
        self.0.extend_from_slice(&header);
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

fn open(archive: Vec<u8>) -> Archive<Memory> {
    block_on(Archive::open(Memory(archive.into()))).unwrap()
}

#[test]
fn names_that_lead_elsewhere_are_damage() {
    for name in [&b"../a"[..], b"a/../b", b"a/.."] {
        let archive = Builder::new().add(name, b'0', b"0", b"").end();
        assert_eq!(read_all(&archive), Err(Error::Damaged("a name is not valid")), "{name:?}");
    }
}

#[test]
fn absolute_names_are_below_the_root() {
    let mut archive = open(Builder::new().add(b"/etc/passwd", b'0', b"3", b"abc").end());
    assert_eq!(read(&mut archive, "etc/passwd", 0..9), Ok(b"abc".to_vec()));
}

#[test]
fn sizes_that_lie_are_damage() {
    let binary = [0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    for size in [&b"77777777777"[..], b"4000", &binary, &[0xff; 12], b"8"] {
        let archive = Builder::new().add(b"a", b'0', size, b"abc").end();
        assert!(matches!(read_all(&archive), Err(Error::Damaged(_))), "{size:?}");
        let archive = Builder::new().add(b"././@LongLink", b'L', size, b"abc").end();
        assert!(matches!(read_all(&archive), Err(Error::Damaged(_))), "{size:?}");
    }
}

#[test]
fn path_that_is_twice_in_an_archive_is_damage() {
    let archive = Builder::new().add(b"a", b'0', b"1", b"a").add(b"a", b'0', b"1", b"b").end();
    let page = block_on(open(archive).list(&path(""), None, 10));
    assert_eq!(page, Err(Error::Damaged("a path is in the archive twice")));
}

#[test]
fn directories_without_a_member_are_listed() {
    let mut archive = open(Builder::new().add(b"a/b/c", b'0', b"1", b"a").end());
    let page = block_on(archive.list(&path("a"), None, 10)).unwrap();
    assert_eq!(page.children.iter().map(|child| child.name.to_vec()).collect::<Vec<_>>(), [b"b"]);
    assert!(block_on(archive.stat(&path("a/b"))).is_ok());
    assert_eq!(read(&mut archive, "a/b", 0..1), Err(Error::NotAFile));
}

#[test]
fn hard_link_without_a_file_is_damage() {
    let damaged = || Some(Error::Damaged("a hard link has no file"));
    for target in [&b"missing"[..], b"link", b"dir"] {
        let archive = Builder::new().add(b"dir", b'5', b"", b"").add_link(b"link", b'1', b"", b"", target).end();
        let mut archive = open(archive);
        assert_eq!(block_on(archive.stat(&path("link"))).err(), damaged(), "{target:?}");
        assert_eq!(read(&mut archive, "link", 0..1).err(), damaged(), "{target:?}");
        assert_eq!(block_on(archive.list(&path(""), None, 10)).err(), damaged(), "{target:?}");
    }
}

#[test]
fn attributes_of_pax_must_be_valid() {
    let archive = |records: &[u8]| {
        let size = format!("{:o}", records.len());
        Builder::new().add(b"pax", b'x', size.as_bytes(), records).add(b"a", b'0', b"0", b"").end()
    };
    let mut renamed = open(archive(b"10 path=b\n19 mtime=-1.500000\n"));
    assert_eq!(block_on(renamed.stat(&path("b"))).map(|entry| entry.mtime), Ok(-2));
    for records in [&b"9999 path=a\n"[..], b"0 path=a\n", b"x", b"10 path=ab", b"11 size=-1\n", b"7 a=b\n"] {
        assert!(matches!(read_all(&archive(records)), Err(Error::Damaged(_))), "{records:?}");
    }
}
