//! The memory of a reader, counted by the allocator.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(unsafe_code)] // An allocator.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures_executor::block_on;
use snapshot_archive::{Archives, Download, Form, diff, summarize};

use support::{Carrier, Counting, FORMATS, Folder, Format, full, path, random};

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

/// Walks through an archive, reads all files, and lists pages of a directory. Returns the number of entries.
async fn read_all(archives: Archives<Counting>, directory: &str, pages: usize) -> usize {
    let mut archive = archives.open().await.unwrap();
    let mut walk = archive.walk(&path("")).await.unwrap();
    let mut entries = 0;
    while archive.next_entry(&mut walk).await.unwrap().is_some() {
        entries += 1;
        while archive.next_entry_bytes(&mut walk).await.unwrap().is_some() {}
    }
    let mut after = None;
    for _ in 0..pages {
        let page = archive.list(&path(directory), after.as_deref(), 1000).await.unwrap();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    entries
}

/// Returns the number of files of a snapshot, as its summary has it.
async fn count_files(archives: Archives<Counting>) -> u64 {
    summarize(&mut archives.open().await.unwrap(), &path("")).await.unwrap().totals.files
}

/// Exports an archive as a tar. Returns its size.
async fn export(archives: Archives<Counting>) -> u64 {
    let mut download = Download::open(archives, path(""), Form::Tar, false).await.unwrap();
    let mut size = 0;
    while let Some(bytes) = download.next().await.unwrap() {
        size += bytes.len() as u64;
    }
    size
}

/// Compares an archive with itself, up to `pages` pages.
async fn compare_with_itself(archives: impl Fn() -> Archives<Counting>, pages: usize) {
    let mut after = Vec::new();
    for _ in 0..pages {
        let page = diff(archives().into(), archives().into(), &after, 1000, None).await.unwrap();
        assert_eq!(page.changes, []);
        let Some(next) = page.next else { break };
        after = next.to_vec();
    }
}

// The allocator counts all threads, so there is one test.
#[test]
fn any_archive_needs_at_most_32_mib() {
    let large = Folder::new();
    for number in 0..60 {
        large.write(format!("large/{number}"), random(number, 3_500_000));
    }
    let large_formats = [
        Format::Squashfs("-b 1048576 -comp gzip"),
        Format::Squashfs("-b 1048576 -comp lz4"),
        Format::Squashfs("-b 1048576 -comp zstd -Xcompression-level 1"),
        Format::Tar(None),
        Format::Tar(Some("gzip -1")),
        Format::Tar(Some("zstd -q -T0 -1")),
        Format::Tar(Some("zstd -q --long=23")),
    ];
    for format in large_formats {
        let archive = large.archive(format);
        let memory = peak(|| assert_eq!(block_on(read_all(full(&archive), "large", usize::MAX)), 61));
        println!("large files, {format:?}: {memory} bytes");
        assert!(memory <= LIMIT, "{format:?}: {memory}");
        let memory = peak(|| assert!(block_on(export(full(&archive))) > 60 * 3_500_000));
        println!("large files, exported, {format:?}: {memory} bytes");
        assert!(memory <= LIMIT, "{format:?}: {memory}");
    }
    let many = Folder::new();
    let count = std::env::var("ARCHIVE_ENTRIES").map_or(50_000, |entries| entries.parse().unwrap());
    std::fs::create_dir(many.tree().join("many")).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for number in 0..count {
        let file = File::create(many.tree().join(format!("many/a-name-that-is-long-{number}"))).unwrap();
        file.set_modified(time).unwrap();
    }
    for format in FORMATS {
        let archive = many.archive(format);
        // A page of a tar costs a read of all of it.
        let pages = if matches!(format, Format::Tar(_)) { 2 } else { usize::MAX };
        let memory = peak(|| assert_eq!(block_on(read_all(full(&archive), "many", pages)), count + 1));
        println!("{count} entries in a directory, {format:?}: {memory} bytes");
        assert!(memory <= LIMIT, "{format:?}: {memory}");
        let memory = peak(|| assert!(block_on(export(full(&archive))) > 512 * count as u64));
        println!("{count} entries in a directory, exported, {format:?}: {memory} bytes");
        assert!(memory <= LIMIT, "{format:?}: {memory}");
        let memory = peak(|| assert_eq!(block_on(count_files(full(&archive))), count as u64));
        println!("{count} entries in a directory, summarized, {format:?}: {memory} bytes");
        assert!(memory <= LIMIT, "{format:?}: {memory}");
        let memory = peak(|| block_on(compare_with_itself(|| full(&archive), pages)));
        println!("{count} entries in a directory, compared, {format:?}: {memory} bytes");
        assert!(memory <= 2 * LIMIT, "{format:?}: {memory}");
    }
    // All entries are in the base, and again in the carrier.
    let names = (0..count).map(|number| format!("a-name-that-is-long-{number}"));
    let paths = ["", "many"].into_iter().map(str::to_owned).chain(names.clone().map(|name| format!("many/{name}")));
    let lists = [("/many", names.map(|name| format!("f{name}")).collect::<Vec<_>>())];
    let carrier = Carrier::new(&many, &paths.collect::<Vec<_>>(), &lists);
    for (base, changes) in [(FORMATS[0], FORMATS[0]), (FORMATS[2], FORMATS[3]), (FORMATS[5], FORMATS[5])] {
        let (base, changes) = (many.archive(base), carrier.archive(changes));
        let delta = || carrier.delta(&base, &changes);
        let names = format!("a delta of {count} entries, {} and {}", base.display(), changes.display());
        let memory = peak(|| assert_eq!(block_on(read_all(delta(), "many", 2)), count + 1));
        println!("{names}: {memory} bytes");
        assert!(memory <= LIMIT, "{names}: {memory}");
        let memory = peak(|| assert!(block_on(export(delta())) > 512 * count as u64));
        println!("{names}, exported: {memory} bytes");
        assert!(memory <= LIMIT, "{names}: {memory}");
        let memory = peak(|| block_on(compare_with_itself(delta, 1)));
        println!("{names}, compared: {memory} bytes");
        assert!(memory <= 2 * LIMIT, "{names}: {memory}");
    }
}
