//! Archives, compared with the files that they were made from.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use futures_executor::block_on;
use snapshot_archive::{Archive, Entry, Kind};

use crate::support::{Counting, FORMATS, Folder, open, path, random};

/// A tree with every type of file, odd names, and sizes around that of a block.
pub fn tree() -> Folder {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.write("small", "hello\n");
    folder.write("sub/deep/er/file", "x".repeat(5000));
    for size in [131_071, 131_072, 131_073, 262_144, 300_000] {
        folder.write(format!("sizes/random-{size}"), random(size as u64, size));
        folder.write(format!("sizes/text-{size}"), "line\n".repeat(size / 5));
    }
    for name in [&b"new\nline"[..], b"\xff\xfe", b"-rf", b"*[]\\", b" ", "ü".as_bytes(), &[b'a'; 255]] {
        folder.write([b"names/", name].concat(), name);
    }
    let tree = folder.tree();
    fs::create_dir(tree.join("nothing")).unwrap();
    symlink("small", tree.join("link")).unwrap();
    symlink("../../etc/passwd", tree.join("out")).unwrap();
    symlink("t".repeat(4000), tree.join("long")).unwrap();
    fs::hard_link(tree.join("small"), tree.join("sub/hard")).unwrap();
    drop(UnixListener::bind(tree.join("socket")).unwrap());
    assert!(Command::new("mkfifo").arg(tree.join("fifo")).status().unwrap().success());
    let mut sparse = fs::File::create(tree.join("sparse")).unwrap();
    sparse.set_len(1_000_000).unwrap();
    sparse.write_all(b"begin").unwrap();
    folder
}

/// A visited entry, with its content.
struct Visited {
    entry: Entry,
    content: Vec<u8>,
}

fn walk(archive: &mut Archive<Counting>, at: &str) -> BTreeMap<Vec<u8>, Visited> {
    block_on(async {
        let mut walk = archive.walk(&path(at)).await.unwrap();
        let mut visited = BTreeMap::new();
        while let Some((path, entry)) = archive.next_entry(&mut walk).await.unwrap() {
            let mut content = Vec::new();
            while let Some(next) = archive.next_entry_bytes(&mut walk).await.unwrap() {
                content.extend_from_slice(&next);
            }
            assert!(visited.insert(path.to_vec(), Visited { entry, content }).is_none());
        }
        visited
    })
}

/// Asserts that an entry has the attributes of a file, and the content where it has one.
fn assert_same(Visited { entry, content }: &Visited, file: &Path) {
    let metadata = fs::symlink_metadata(file).unwrap();
    let kind = metadata.file_type();
    assert_eq!(u32::from(entry.mode), metadata.mode() & 0o7777, "{}", file.display());
    assert_eq!((entry.uid, entry.gid, entry.mtime), (metadata.uid(), metadata.gid(), metadata.mtime()));
    match &entry.kind {
        Kind::Directory => assert!(kind.is_dir()),
        Kind::File => {
            assert_eq!(entry.size, metadata.len());
            assert!(*content == fs::read(file).unwrap(), "{}", file.display());
        }
        Kind::HardLink { .. } => assert!(metadata.nlink() > 1),
        Kind::Symlink { target } => assert_eq!(fs::read_link(file).unwrap().as_os_str().as_bytes(), target),
        Kind::Fifo => assert!(kind.is_fifo()),
        Kind::Socket => assert!(kind.is_socket()),
        Kind::BlockDevice(number) | Kind::CharacterDevice(number) => assert_eq!(u64::from(*number), metadata.rdev()),
    }
}

/// Returns the paths of all files below a folder.
fn paths(folder: &Path, prefix: &[u8], found: &mut Vec<Vec<u8>>) {
    for child in fs::read_dir(folder).unwrap() {
        let child = child.unwrap();
        let path = [prefix, child.file_name().as_bytes()].concat();
        found.push(path.clone());
        if child.file_type().unwrap().is_dir() {
            paths(&child.path(), &[&path[..], b"/"].concat(), found);
        }
    }
}

/// Compares an archive with the tree that it was made from.
fn compare(folder: &Folder, archive: &Path, expected: &[Vec<u8>]) {
    let mut archive = open(archive);
    let visited = walk(&mut archive, "");
    assert_eq!(visited.keys().cloned().collect::<Vec<_>>(), expected);
    for (path, visited) in visited {
        assert_same(&visited, &folder.tree().join(OsStr::from_bytes(&path)));
        let found = block_on(archive.stat(&super::support::path(&path))).unwrap();
        match visited.entry.kind {
            Kind::HardLink { .. } => assert_eq!(found.kind, Kind::File),
            _ => assert_eq!(found, visited.entry),
        }
    }
}

fn expected(folder: &Folder) -> Vec<Vec<u8>> {
    let mut expected = Vec::new();
    paths(&folder.tree(), b"", &mut expected);
    expected.sort();
    expected
}

#[test]
fn walk_of_a_squashfs_returns_every_file_with_its_attributes_and_content() {
    let folder = tree();
    let expected = expected(&folder);
    for compressor in ["gzip", "lz4", "zstd"] {
        for options in
            ["", "-b 4096", "-b 1048576", "-no-fragments", "-always-use-fragments", "-noI -noD -noF", "-noId"]
        {
            println!("{compressor} {options}");
            compare(&folder, &folder.squashfs(&format!("-comp {compressor} {options}")), &expected);
        }
    }
}

#[test]
fn walk_of_a_tar_returns_every_file_with_its_attributes_and_content() {
    let folder = tree();
    fs::remove_file(folder.tree().join("socket")).unwrap(); // tar skips sockets.
    let expected = expected(&folder);
    for compressor in [None, Some("gzip -1"), Some("zstd -q -T0 -1"), Some("zstd -q -19")] {
        println!("{compressor:?}");
        compare(&folder, &folder.tar(compressor), &expected);
    }
    compare(&folder, &folder.tar_with(&["-S", "--format=posix"]), &expected);
    // Their attributes are in other places. They have no format for sparse files.
    fs::remove_file(folder.tree().join("sparse")).unwrap();
    fs::remove_dir_all(folder.tree().join("names")).unwrap();
    fs::remove_file(folder.tree().join("long")).unwrap();
    let expected = self::expected(&folder);
    for format in ["gnu", "posix", "ustar"] {
        println!("{format}");
        compare(&folder, &folder.tar_with(&["--format", format]), &expected);
    }
}

#[test]
fn walk_below_a_directory_has_paths_relative_to_it() {
    let folder = tree();
    for format in FORMATS {
        let visited = walk(&mut open(&folder.archive(format)), "sub");
        let paths: Vec<_> = visited.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(paths, ["deep", "deep/er", "deep/er/file", "hard"], "{format:?}");
    }
}

#[test]
fn names_of_one_file_have_one_file_id() {
    let folder = tree();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        let [one, other, third] = ["small", "sub/hard", "empty"].map(|at| block_on(archive.stat(&path(at))).unwrap());
        assert_eq!(one.file_id(), other.file_id(), "{format:?}");
        assert_ne!(one.file_id(), third.file_id(), "{format:?}");
        let page = block_on(archive.list(&path("sub"), None, 10)).unwrap();
        assert_eq!(page.children[1].entry.file_id(), one.file_id(), "{format:?}");
    }
}

#[test]
fn squashfs_has_the_number_of_names_of_a_file() {
    let folder = tree();
    let mut archive = open(&folder.squashfs(""));
    assert_eq!(["small", "empty"].map(|at| block_on(archive.stat(&path(at))).unwrap().links), [2, 1]);
}

#[test]
fn devices_have_their_numbers() {
    let folder = Folder::new();
    let definitions = folder.tree().with_file_name("definitions");
    fs::write(&definitions, "null c 666 0 0 1 3\ndisk b 660 0 6 8 1\n").unwrap();
    let mut archive = open(&folder.squashfs(&format!("-pf {}", definitions.display())));
    let [null, disk] = ["null", "disk"].map(|at| block_on(archive.stat(&path(at))).unwrap());
    assert_eq!((null.kind, null.mode), (Kind::CharacterDevice(0x103), 0o666));
    assert_eq!((disk.kind, disk.gid), (Kind::BlockDevice(0x801), 6));
}

#[test]
fn empty_directory_is_an_archive_without_entries() {
    let folder = Folder::new();
    for format in FORMATS {
        let mut archive = open(&folder.archive(format));
        assert!(walk(&mut archive, "").is_empty(), "{format:?}");
        assert_eq!(block_on(archive.list(&path(""), None, 10)).unwrap().children, vec![], "{format:?}");
        assert_eq!(block_on(archive.stat(&path("/"))).unwrap().kind, Kind::Directory);
    }
}
