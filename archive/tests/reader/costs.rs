//! What a reader fetches.

use std::fs;

use futures_executor::block_on;
use snapshot_archive::Archive;

use crate::support::{Counting, Folder, path, random};

/// A tree with `files` files in folders of 100. Every tenth file has 1 MB more than 10 kB.
fn tree(files: u64) -> Folder {
    let folder = Folder::new();
    for number in 0..files {
        let size = if number % 10 == 0 { 1_010_000 } else { 10_000 };
        folder.write(format!("project/src/{}/{number}", number / 100), random(number, size));
    }
    folder
}

#[test]
fn one_small_file_costs_less_than_1_mib() {
    // `ARCHIVE_FILES=10000` makes an archive of 1.1 GB.
    let files = std::env::var("ARCHIVE_FILES").map_or(1000, |files| files.parse().unwrap());
    let folder = tree(files);
    for compressor in ["lz4", "gzip", "zstd -Xcompression-level 1"] {
        let archive = folder.squashfs(&format!("-comp {compressor}"));
        let (source, reads) = Counting::open(&archive);
        let number = files / 2 + 5;
        let bytes = block_on(async {
            let mut archive = Archive::open(source).await.unwrap();
            let file = path(format!("project/src/{}/{number}", number / 100));
            let mut content = archive.read(&file, 0..u64::MAX).await.unwrap();
            let bytes = archive.next_bytes(&mut content).await.unwrap().unwrap();
            assert_eq!(content.remaining(), 0);
            bytes
        });
        assert!(bytes == random(number, 10_000));
        let size = fs::metadata(&archive).unwrap().len();
        println!("{compressor}: {} bytes in {} reads of {size}", reads.bytes.get(), reads.count.get());
        assert!(reads.bytes.get() <= 1 << 20);
        assert!(reads.count.get() <= 12);
    }
}

#[test]
fn export_reads_ranges_of_4_mib() {
    let folder = tree(1000);
    let (source, reads) = Counting::open(&folder.squashfs("-comp lz4"));
    let bytes = block_on(async {
        let mut archive = Archive::open(source).await.unwrap();
        let mut walk = archive.walk(&path("")).await.unwrap();
        let mut bytes = 0;
        while archive.next_entry(&mut walk).await.unwrap().is_some() {
            while let Some(next) = archive.next_entry_bytes(&mut walk).await.unwrap() {
                bytes += next.len() as u64;
            }
        }
        bytes
    });
    assert_eq!(bytes, 1000 * 10_000 + 100 * 1_000_000);
    let (fetched, count) = (reads.bytes.get(), reads.count.get());
    println!("{fetched} bytes in {count} reads for {bytes}");
    assert!(fetched < bytes + bytes / 20);
    // A fragment block can be far behind the data of its files: then it is a read of its own.
    assert!(count <= 2 * bytes / (4 << 20) + 20);
}
