//! Damaged archives of squashfs: a reader returns an error or other content, never fails otherwise, and always ends.

use std::fs;

use bytes::Bytes;
use futures_executor::block_on;
use snapshot_archive::{Archive, Error, Result};

use crate::support::{Folder, Memory, path, random};

/// A small archive with entries of each kind.
fn archive(options: &str) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("aaaa/bbbb/file", "content");
    folder.write("aaaa/block", random(1, 5000));
    folder.write("hole", vec![0; 9000]);
    std::os::unix::fs::symlink("aaaa", folder.tree().join("link")).unwrap();
    fs::hard_link(folder.tree().join("hole"), folder.tree().join("hard")).unwrap();
    fs::read(folder.squashfs(&format!("-b 4096 -all-time 0 {options}"))).unwrap()
}

/// The size of an archive without its padding.
fn size(archive: &[u8]) -> usize {
    usize::try_from(u64::from_le_bytes(archive[40..48].try_into().unwrap())).unwrap()
}

/// Reads all that an archive has. Stops after 10 MB or 1000 entries.
pub fn read_all(archive: &[u8]) -> Result<usize> {
    block_on(async {
        let mut archive = Archive::open(Memory(Bytes::copy_from_slice(archive))).await?;
        archive.list(&path("/"), Some(b"b"), 10).await?;
        archive.stat(&path("aaaa/bbbb/file")).await.map_or_else(accept_missing, |_| Ok(()))?;
        let mut walk = archive.walk(&path("/")).await?;
        let (mut bytes, mut entries) = (0, 0);
        while archive.next_entry(&mut walk).await?.is_some() {
            entries += 1;
            while let Some(next) = archive.next_entry_bytes(&mut walk).await? {
                bytes += next.len();
                if bytes > 10_000_000 {
                    return Ok(bytes);
                }
            }
            if entries == 1000 {
                break;
            }
        }
        Ok(bytes)
    })
}

fn accept_missing(error: Error) -> Result<()> {
    if matches!(error, Error::NotFound | Error::NotADirectory) { Ok(()) } else { Err(error) }
}

/// Options that store all metadata and data as they are, so that a changed bit changes a field.
const PLAIN: &str = "-noI -noD -noF -noId";

#[test]
fn truncated_archive_is_damaged() {
    for options in [PLAIN, "-comp gzip", "-comp lz4", "-comp zstd"] {
        let archive = archive(options);
        let size = size(&archive);
        assert_eq!(read_all(&archive[..size]), Ok(23_007), "{options}");
        for length in 0..size {
            assert!(matches!(read_all(&archive[..length]), Err(Error::Damaged(_))), "{options} {length}");
        }
    }
}

#[test]
fn archive_without_its_tables_is_damaged() {
    let archive = archive(PLAIN);
    for length in 96..size(&archive) {
        let mut archive = archive[..length].to_vec();
        archive[40..48].copy_from_slice(&(length as u64).to_le_bytes());
        assert!(matches!(read_all(&archive), Err(Error::Damaged(_)) | Ok(_)), "{length}");
    }
}

#[test]
fn changed_bits_never_fail_otherwise_than_with_an_error() {
    for (options, step) in [(PLAIN, 1), ("-comp gzip", 7), ("-comp lz4", 7), ("-comp zstd", 7)] {
        let archive = archive(options);
        for bit in (0..size(&archive) * 8).step_by(step) {
            let mut changed = archive.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let _ = read_all(&changed);
        }
    }
}

#[test]
fn changed_bytes_never_fail_otherwise_than_with_an_error() {
    let archive = archive(PLAIN);
    let size = size(&archive);
    for seed in 0..20_000_u64 {
        let mut changed = archive.clone();
        for chunk in random(seed, 32).chunks(4) {
            let at = usize::from(u16::from_le_bytes([chunk[0], chunk[1]])) % size;
            changed[at] = [chunk[3], 0, 0xff][usize::from(chunk[2] % 3)];
        }
        let _ = read_all(&changed);
    }
}

/// Returns the positions of the entries of directories with a name of four letters.
fn entries_named(archive: &[u8], name: [u8; 4]) -> Vec<usize> {
    let entry = [[1, 0, 3, 0], name].concat();
    let found = archive.windows(8).enumerate().filter(|(_, window)| *window == entry);
    found.map(|(at, _)| at - 4).collect()
}

/// Makes the directory `aaaa/bbbb` the same as `aaaa`.
fn archive_with_a_loop() -> Vec<u8> {
    let mut archive = archive(PLAIN);
    let [outer, inner] = [*b"aaaa", *b"bbbb"].map(|name| entries_named(&archive, name)[0]);
    archive.copy_within(outer..outer + 2, inner);
    archive
}

#[test]
fn directory_that_contains_itself_is_damage() {
    assert_eq!(read_all(&archive_with_a_loop()), Err(Error::Damaged("a directory is in the archive twice")));
}

#[test]
fn path_into_a_loop_ends() {
    let mut archive = block_on(Archive::open(Memory(archive_with_a_loop().into()))).unwrap();
    let inside = path(format!("aaaa/{}file", "bbbb/".repeat(1000)));
    assert_eq!(block_on(archive.stat(&inside)), Err(Error::NotFound));
}

#[test]
fn names_that_lead_elsewhere_are_damage() {
    for name in [b"..\0\0", b"a/bb", b"bbb\0", b"/bbb"] {
        let mut archive = archive(PLAIN);
        let at = entries_named(&archive, *b"bbbb")[0] + 8;
        archive[at..at + 4].copy_from_slice(name);
        assert_eq!(read_all(&archive), Err(Error::Damaged("a name is not valid")), "{name:?}");
    }
    let mut archive = archive(PLAIN);
    let at = entries_named(&archive, *b"bbbb")[0] + 6;
    archive[at..at + 4].copy_from_slice(&[1, 0, b'.', b'.']);
    assert_eq!(read_all(&archive), Err(Error::Damaged("a name is not valid")));
}

#[test]
fn entries_out_of_order_are_damage() {
    let mut archive = archive(PLAIN);
    let at = entries_named(&archive, *b"bbbb")[0] + 8;
    archive[at..at + 4].copy_from_slice(b"zzzz");
    assert_eq!(read_all(&archive), Err(Error::Damaged("the entries of a directory are out of order")));
}

#[test]
fn entry_with_the_type_of_another_inode_is_damage() {
    let mut archive = archive(PLAIN);
    let at = entries_named(&archive, *b"bbbb")[0] + 4;
    archive[at] = 2;
    let expected = Err(Error::Damaged("a directory has another type for an entry than its inode"));
    assert_eq!(read_all(&archive), expected);
}
