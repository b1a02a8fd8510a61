//! The files of a base and a carrier. `tests/delta` of the Worker compares them with restores of random trees.

use std::fs;
use std::os::unix::fs::symlink;

use futures_executor::block_on;
use snapshot_archive::{Archive, Archives, Download, Error, Form, Kind, Result, Totals, summarize};

use crate::support::{Carrier, Counting, FORMATS, Folder, Format, Memory, path, random, read, sha256};

const SQUASHFS: Format = FORMATS[0];

/// A base, and the carrier of a few changes: `src/b` and `src/new/c` are stored, `src/gone` and `old` are deleted.
fn changed() -> (Folder, Carrier) {
    let base = Folder::new();
    for name in ["src/a", "src/b", "src/gone", "old/x", "src.d/y", "z"] {
        base.write(name, format!("base {name}"));
    }
    let changes = Folder::new();
    changes.write("src/b", "changed");
    changes.write("src/new/c", "added");
    let paths = ["", "src", "src/b", "src/new", "src/new/c"].map(str::to_owned);
    let entries = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
    let lists = [
        ("/", entries(&["dsrc", "dsrc.d", "fz"])),
        ("/src", entries(&["dnew", "fa", "fb"])),
        ("/src/new", entries(&["fc"])),
    ];
    let carrier = Carrier::new(&changes, &paths, &lists);
    (base, carrier)
}

fn open_delta(base: &Folder, carrier: &Carrier) -> Archive<Counting> {
    block_on(carrier.delta(&base.archive(SQUASHFS), &carrier.archive(SQUASHFS)).open()).unwrap()
}

#[test]
fn entry_of_the_payload_replaces_that_of_the_base() {
    let (base, carrier) = changed();
    let mut archive = open_delta(&base, &carrier);
    for (at, content) in [("src/a", "base src/a"), ("src/b", "changed"), ("src/new/c", "added"), ("z", "base z")] {
        assert_eq!(read(&mut archive, at, 0..u64::MAX).unwrap(), content.as_bytes());
    }
    for (at, error) in [
        ("src/gone", Error::NotFound),
        ("old", Error::NotFound),
        ("old/x", Error::NotFound),
        ("z/x", Error::NotADirectory),
        ("src", Error::NotAFile),
    ] {
        assert_eq!(read(&mut archive, at, 0..1), Err(error), "{at}");
    }
}

#[test]
fn summary_has_the_files_of_the_payload_and_of_the_base() {
    let (base, carrier) = changed();
    let found = block_on(summarize(&mut open_delta(&base, &carrier), &path(""))).unwrap();
    assert_eq!(found.totals, Totals { files: 5, directories: 3, others: 0, bytes: 10 + 7 + 5 + 12 + 6 });
    assert_eq!(found.largest.first(), Some(&(b"src.d/y".to_vec(), 12)));
}

#[test]
fn export_has_each_directory_before_what_is_in_it_and_sorted_paths() {
    let (base, carrier) = changed();
    let tar = block_on(async {
        let archives = carrier.delta(&base.archive(SQUASHFS), &carrier.archive(SQUASHFS));
        let mut download = Download::open(archives, path(""), Form::Tar, false).await.unwrap();
        let mut tar = Vec::new();
        while let Some(bytes) = download.next().await.unwrap() {
            tar.extend_from_slice(&bytes);
        }
        tar
    });
    let paths = block_on(async {
        let mut archive = Archive::open(Memory(tar.into())).await.unwrap();
        let mut walk = archive.walk(&path("")).await.unwrap();
        let mut paths = Vec::new();
        while let Some((path, _)) = archive.next_entry(&mut walk).await.unwrap() {
            paths.push(String::from_utf8(path.to_vec()).unwrap());
        }
        paths
    });
    assert_eq!(paths, ["src", "src/a", "src/b", "src/new", "src/new/c", "src.d", "src.d/y", "z"]);
}

#[test]
fn walk_below_a_directory_contains_only_its_entries() {
    let (base, carrier) = changed();
    for format in [SQUASHFS, FORMATS[4]] {
        let mut paths = block_on(async {
            let archives = carrier.delta(&base.archive(format), &carrier.archive(SQUASHFS));
            let mut archive = archives.open().await.unwrap();
            let mut walk = archive.walk(&path("src")).await.unwrap();
            let mut paths = Vec::new();
            while let Some((path, _)) = archive.next_entry(&mut walk).await.unwrap() {
                paths.push(String::from_utf8(path.to_vec()).unwrap());
            }
            paths
        });
        paths.sort();
        assert_eq!(paths, ["a", "b", "new", "new/c"], "{format:?}");
    }
}

#[test]
fn one_small_file_of_a_delta_costs_little_more_than_the_payload() {
    let base = Folder::new();
    for number in 0..2000 {
        base.write(format!("src/{}/{number}", number / 100), random(number, 10_000));
    }
    let changes = Folder::new();
    let mut paths = vec![String::new(), "src".to_owned(), "src/3".to_owned()];
    for number in 300..320 {
        changes.write(format!("src/3/{number}"), random(number + 5000, 10_000));
        paths.push(format!("src/3/{number}"));
    }
    // A large file is skipped.
    changes.write("large", random(1, 20_000_000));
    paths.insert(1, "large".to_owned());
    let carrier = Carrier::new(&changes, &paths, &[]);
    let (base, changes) = (base.archive(SQUASHFS), carrier.archive(SQUASHFS));
    for (number, content) in [(310, random(5310, 10_000)), (1500, random(1500, 10_000))] {
        let ((base, of_base), (changes, of_changes)) = (Counting::open(&base), Counting::open(&changes));
        let archives = Archives::Delta { base, carrier: changes, head: carrier.head.clone() };
        let mut archive = block_on(archives.open()).unwrap();
        let at = format!("src/{}/{number}", number / 100);
        assert!(read(&mut archive, &at, 0..u64::MAX).unwrap() == content);
        let [bytes, count] =
            [of_base.bytes.get() + of_changes.bytes.get(), of_base.count.get() + of_changes.count.get()];
        println!("{at}: {bytes} bytes in {count} reads");
        assert!(bytes <= 1 << 20, "{bytes}");
        assert!(count <= 15, "{count}");
    }
}

/// Reads the root of a delta whose carrier was changed.
fn list_with(change: impl FnOnce(&Folder)) -> Result<usize> {
    let (base, carrier) = changed();
    let head = carrier.head.clone();
    change(carrier.files());
    let archives = carrier.delta(&base.archive(SQUASHFS), &carrier.archive(SQUASHFS));
    let Archives::Delta { base, carrier, .. } = archives else { panic!("it is a delta") };
    block_on(async {
        let mut archive = Archives::Delta { base, carrier, head }.open().await?;
        Ok(archive.list(&path(""), None, 10).await?.children.len())
    })
}

#[test]
fn carrier_that_was_changed_is_refused() {
    assert_eq!(list_with(|_| ()), Ok(3));
    let damaged = |change: fn(&Folder)| {
        let found = list_with(change);
        assert!(matches!(found, Err(Error::Damaged(_))), "{found:?}");
    };
    damaged(|files| files.write("head", "delta 1\n"));
    damaged(|files| files.write("lists", "/\0fz\0\0"));
    damaged(|files| files.write("payload.tar", [7; 2000]));
    damaged(|files| fs::remove_file(files.tree().join("payload.tar")).unwrap());
    damaged(|files| fs::remove_file(files.tree().join("head")).unwrap());
    damaged(|files| {
        let lists = files.tree().join("lists");
        fs::remove_file(&lists).unwrap();
        symlink("head", lists).unwrap();
    });
    damaged(|files| {
        let payload = files.tree().join("payload.tar");
        assert!(std::process::Command::new("gzip").arg("-k").arg(&payload).status().unwrap().success());
        fs::rename(payload.with_extension("tar.gz"), payload).unwrap();
    });
}

#[test]
fn carrier_of_a_later_version_is_refused() {
    let (base, mut carrier) = changed();
    let head = "delta 2\n";
    carrier.files().write("head", head);
    carrier.head = sha256(head.as_bytes());
    let open = block_on(carrier.delta(&base.archive(SQUASHFS), &carrier.archive(SQUASHFS)).open());
    assert!(matches!(open.err(), Some(Error::Unsupported(_))));
}

#[test]
fn hard_link_to_a_file_of_the_base_is_refused() {
    let (base, _) = changed();
    let changes = Folder::new();
    changes.write("a", "a");
    fs::hard_link(changes.tree().join("a"), changes.tree().join("b")).unwrap();
    let carrier = Carrier::new(&changes, &["", "a", "b"].map(str::to_owned), &[]);
    // The link is alone in the payload.
    let payload = carrier.files().tree().join("payload.tar");
    let tar = fs::read(&payload).unwrap();
    let link = tar.chunks(512).position(|block| block.starts_with(b"./b\0")).unwrap();
    fs::write(&payload, [&tar[..512], &tar[512 * link..]].concat()).unwrap();
    let mut archive = open_delta(&base, &carrier);
    assert_eq!(block_on(archive.stat(&path("b"))), Err(Error::Damaged("a hard link has no file")));
    assert_eq!(block_on(archive.stat(&path("z"))).unwrap().kind, Kind::File);
}
