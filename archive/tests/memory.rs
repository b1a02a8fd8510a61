//! The memory of a reader, counted by the allocator.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(unsafe_code)] // An allocator.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_executor::block_on;
use snapshot_archive::{Kind, Squashfs};

use support::{Counting, Folder, path, random};

/// The memory that any archive needs at most, in bytes.
const LIMIT: usize = 32 << 20;

struct CountingAllocator;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

// SAFETY: passes each call on to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(used, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Returns the memory that `work` uses at most, in bytes.
fn peak(work: impl FnOnce()) -> usize {
    let before = USED.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

/// Walks through an archive, reads all files, and lists a directory in pages. Returns the number of entries.
async fn read_all(archive: &std::path::Path, directory: &str) -> usize {
    let mut archive = Squashfs::open(Counting::open(archive).0).await.unwrap();
    let mut walk = archive.walk(&path("")).await.unwrap();
    let mut entries = 0;
    while let Some((_, entry)) = archive.next_entry(&mut walk).await.unwrap() {
        entries += 1;
        if entry.kind == Kind::File {
            let mut content = archive.content(&entry).await.unwrap();
            while archive.next_bytes(&mut content).await.unwrap().is_some() {}
        }
    }
    let mut after = None;
    loop {
        let page = archive.list(&path(directory), after.as_deref(), 1000).await.unwrap();
        after = page.next;
        if after.is_none() {
            return entries;
        }
    }
}

// The allocator counts all threads, so there is one test.
#[test]
fn any_archive_needs_at_most_32_mib() {
    let large = Folder::new();
    for number in 0..60 {
        large.write(format!("large/{number}"), random(number, 3_500_000));
    }
    for compressor in ["gzip", "lz4", "zstd -Xcompression-level 1"] {
        let archive = large.squashfs(&format!("-b 1048576 -comp {compressor}"));
        let memory = peak(|| assert_eq!(block_on(read_all(&archive, "large")), 61));
        println!("blocks of 1 MiB, {compressor}: {memory} bytes");
        assert!(memory <= LIMIT, "{compressor}: {memory}");
    }
    let many = Folder::new();
    let count = std::env::var("ARCHIVE_ENTRIES").map_or(100_000, |entries| entries.parse().unwrap());
    std::fs::create_dir(many.tree().join("many")).unwrap();
    for number in 0..count {
        File::create(many.tree().join(format!("many/a-name-that-is-long-{number}"))).unwrap();
    }
    for compressor in ["gzip", "lz4", "zstd"] {
        let archive = many.squashfs(&format!("-comp {compressor}"));
        let memory = peak(|| assert_eq!(block_on(read_all(&archive, "many")), count + 1));
        println!("{count} entries in a directory, {compressor}: {memory} bytes");
        assert!(memory <= LIMIT, "{compressor}: {memory}");
    }
}
