//! Archives of mksquashfs, compared with the files that they were made from.

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
use snapshot_archive::{Entry, Error, Kind, Source, Squashfs};

use crate::support::{Counting, Folder, path, random};

const COMPRESSORS: [&str; 3] = ["gzip", "lz4", "zstd"];

/// A tree with every type of file, odd names, and sizes around that of a block.
fn tree() -> Folder {
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

/// Reads a whole file.
fn content<S: Source>(archive: &mut Squashfs<S>, entry: &Entry) -> Vec<u8> {
    block_on(async {
        let mut content = archive.content(entry).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(next) = archive.next_bytes(&mut content).await.unwrap() {
            bytes.extend_from_slice(&next);
        }
        bytes
    })
}

fn walk<S: Source>(archive: &mut Squashfs<S>, at: &str) -> BTreeMap<Vec<u8>, Entry> {
    block_on(async {
        let mut walk = archive.walk(&path(at)).await.unwrap();
        let mut entries = BTreeMap::new();
        while let Some((path, entry)) = archive.next_entry(&mut walk).await.unwrap() {
            assert!(entries.insert(path.to_vec(), entry).is_none());
        }
        entries
    })
}

/// Asserts that an entry has the attributes and the content of a file.
fn assert_same<S: Source>(archive: &mut Squashfs<S>, entry: &Entry, file: &Path) {
    let metadata = fs::symlink_metadata(file).unwrap();
    let kind = metadata.file_type();
    assert_eq!(u32::from(entry.mode), metadata.mode() & 0o7777, "{}", file.display());
    assert_eq!((entry.uid, entry.gid, entry.mtime), (metadata.uid(), metadata.gid(), metadata.mtime()));
    match &entry.kind {
        Kind::Directory => assert!(kind.is_dir()),
        Kind::File => {
            assert_eq!((entry.size, u64::from(entry.links)), (metadata.len(), metadata.nlink()));
            assert!(content(archive, entry) == fs::read(file).unwrap(), "{}", file.display());
        }
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

#[test]
fn walk_returns_every_file_with_its_attributes_and_content() {
    let folder = tree();
    let mut expected = Vec::new();
    paths(&folder.tree(), b"", &mut expected);
    expected.sort();
    for compressor in COMPRESSORS {
        for options in
            ["", "-b 4096", "-b 1048576", "-no-fragments", "-always-use-fragments", "-noI -noD -noF", "-noId"]
        {
            let archive = folder.squashfs(&format!("-comp {compressor} {options}"));
            let mut archive = block_on(Squashfs::open(Counting::open(&archive).0)).unwrap();
            let entries = walk(&mut archive, "");
            assert_eq!(entries.keys().cloned().collect::<Vec<_>>(), expected, "{compressor} {options}");
            for (path, entry) in entries {
                assert_same(&mut archive, &entry, &folder.tree().join(OsStr::from_bytes(&path)));
                let found = block_on(archive.stat(&super::support::path(&path)));
                assert_eq!(found, Ok(entry), "{compressor} {options}");
            }
        }
    }
}

#[test]
fn names_of_one_file_have_one_file_id() {
    let folder = tree();
    let mut archive = block_on(Squashfs::open(Counting::open(&folder.squashfs("")).0)).unwrap();
    let [one, other, third] = ["small", "sub/hard", "empty"].map(|at| block_on(archive.stat(&path(at))).unwrap());
    assert_eq!(one.file_id(), other.file_id());
    assert_ne!(one.file_id(), third.file_id());
}

#[test]
fn devices_have_their_numbers() {
    let folder = Folder::new();
    let definitions = folder.tree().with_file_name("definitions");
    fs::write(&definitions, "null c 666 0 0 1 3\ndisk b 660 0 6 8 1\n").unwrap();
    let archive = folder.squashfs(&format!("-pf {}", definitions.display()));
    let mut archive = block_on(Squashfs::open(Counting::open(&archive).0)).unwrap();
    let [null, disk] = ["null", "disk"].map(|at| block_on(archive.stat(&path(at))).unwrap());
    assert_eq!((null.kind, null.mode), (Kind::CharacterDevice(0x103), 0o666));
    assert_eq!((disk.kind, disk.gid), (Kind::BlockDevice(0x801), 6));
}

#[test]
fn range_of_a_file_is_cut_at_its_end() {
    let folder = tree();
    for options in ["", "-b 4096", "-no-fragments"] {
        let mut archive = block_on(Squashfs::open(Counting::open(&folder.squashfs(options)).0)).unwrap();
        for name in ["sizes/random-300000", "sizes/random-262144", "sparse", "empty"] {
            let expected = fs::read(folder.tree().join(name)).unwrap();
            for (start, length) in [(0, 10), (131_070, 5), (262_143, 10), (299_999, 100), (5, 299_000), (1 << 40, 5)] {
                let range = start..start + length;
                let cut = |at: u64| usize::try_from(at).unwrap().min(expected.len());
                let bytes = block_on(async {
                    let mut content = archive.read(&path(name), range.clone()).await.unwrap();
                    let mut bytes = Vec::new();
                    while let Some(next) = archive.next_bytes(&mut content).await.unwrap() {
                        assert!(!next.is_empty());
                        bytes.extend_from_slice(&next);
                        assert_eq!(content.remaining() as usize, cut(range.end) - cut(range.start) - bytes.len());
                    }
                    bytes
                });
                assert!(bytes == expected[cut(range.start)..cut(range.end)], "{name} {range:?}");
            }
        }
    }
}

#[test]
fn pages_of_a_list_are_sorted_and_complete() {
    let folder = Folder::new();
    for number in 0..3000 {
        folder.write(format!("many/{number}"), "");
    }
    folder.write("few/only", "");
    let mut expected: Vec<_> = (0..3000).map(|number| number.to_string().into_bytes()).collect();
    expected.sort();
    let mut archive = block_on(Squashfs::open(Counting::open(&folder.squashfs("")).0)).unwrap();
    for limit in [1, 7, 1000] {
        let mut names = Vec::new();
        let mut after = None;
        loop {
            let page = block_on(archive.list(&path("many"), after.as_deref(), limit)).unwrap();
            assert!(page.children.len() <= limit);
            names.extend(page.children.into_iter().map(|child| child.name.to_vec()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert!(names == expected, "{limit}");
    }
    let page = |after: &[u8]| block_on(archive.list(&path("many"), Some(after), 2)).unwrap();
    let names = [&b"1499x"[..], b"999", b"~", b""].map(page);
    let names = names.map(|page| page.children.iter().map(|child| child.name.to_vec()).collect::<Vec<_>>());
    let [middle, last, behind, first] = names;
    assert_eq!((middle, first), (vec![b"15".to_vec(), b"150".to_vec()], vec![b"0".to_vec(), b"1".to_vec()]));
    assert_eq!((last, behind), (vec![], vec![]));
}

#[test]
fn wrong_paths_are_reported() {
    let folder = tree();
    let mut archive = block_on(Squashfs::open(Counting::open(&folder.squashfs("")).0)).unwrap();
    let stat = |archive: &mut Squashfs<_>, at| block_on(archive.stat(&path(at))).err();
    assert_eq!(stat(&mut archive, "missing"), Some(Error::NotFound));
    assert_eq!(stat(&mut archive, "sub/missing/file"), Some(Error::NotFound));
    assert_eq!(stat(&mut archive, "small/file"), Some(Error::NotADirectory));
    assert_eq!(stat(&mut archive, "link/file"), Some(Error::NotADirectory));
    assert_eq!(block_on(archive.list(&path("small"), None, 1)).err(), Some(Error::NotADirectory));
    for at in ["sub", "link", "fifo", "/"] {
        assert_eq!(block_on(archive.read(&path(at), 0..1)).err(), Some(Error::NotAFile), "{at}");
    }
}

#[test]
fn other_compressors_are_unsupported() {
    let folder = tree();
    let archive = block_on(Squashfs::open(Counting::open(&folder.squashfs("-comp xz")).0));
    assert!(matches!(archive.err(), Some(Error::Unsupported(_))));
}

#[test]
fn empty_directory_is_an_archive_without_entries() {
    let folder = Folder::new();
    for compressor in COMPRESSORS {
        let archive = folder.squashfs(&format!("-comp {compressor}"));
        let mut archive = block_on(Squashfs::open(Counting::open(&archive).0)).unwrap();
        assert!(walk(&mut archive, "").is_empty());
        assert_eq!(block_on(archive.list(&path(""), None, 10)).unwrap().children, vec![]);
    }
}
