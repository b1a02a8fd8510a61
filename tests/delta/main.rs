//! The scripts of incremental snapshots, with the real programs, on random trees and random changes: a restore of the base and
//! the delta must have the files of the capture.
//!
//! `DELTA_CASES=10000 DELTA_SEED=1 cargo test-all --test delta` runs the cases of the seeds 1 to 10000, in the directory
//! `DELTA_DIR`. The scripts need Linux with a file system that records all changes, squashfs-tools and Perl.
// Helpers are not `#[test]` functions, so clippy's exceptions for tests do not apply to them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod container;
#[path = "../support/random.rs"]
#[allow(dead_code)] // The simulation uses all of it.
mod random;
mod reader;
mod tree;

use std::ops::Range;
use std::path::Path;
use std::{env, fs};

use container::{Base, Container, Outcome, Packed};
use random::SeededRng;
use sandbox_snapshotter::model::FullReason;
use sandbox_snapshotter::model::delta::{CaptureBegun, Carrier};

/// A mistake in a script: a text of it, and what replaces the text.
type Mistake = (&'static str, &'static str);

/// Mistakes that the cases must find, each with the seed of a case that finds it. The digest finds some of them: then the
/// restore fails.
const MISTAKES: [(&str, u64, Mistake); 6] = [
    ("no deletions", 1, ("remove(\"$here/$name\", $device) unless", "next unless")),
    ("links of unchanged names are ignored", 8, ("$inodes{\"$device $inode\"} = 1 if", "0 if")),
    ("the ctime is not compared", 1, ("%T@ %C@ %P", "%T@ %T@ %P")),
    ("parents are not archived", 21, ("while ($path ne '') { $path = parent($path); last if $stored{$path}++ }", "")),
    ("bits that a parent passes on are kept", 22, ("if ($mode & S_ISGID)", "if (0)")),
    ("the digest is of the changed entries", 1, ("print {$out} digest_line($first, @fields)", "print {$out} ''")),
];

/// Runs cases, and prints each difference at once.
fn find_differences(seeds: Range<u64>, run: impl Fn(u64) -> Result<(), String>) -> Vec<String> {
    seeds.filter_map(|seed| run(seed).inspect_err(|difference| println!("{difference}")).err()).collect()
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number, got {text:?}")))
}

/// Returns whether the reader of archives is tested in a case. It takes much of the time, so it is in every fifth one of many.
fn is_read(seed: u64) -> bool {
    number("DELTA_CASES", 20) <= 20 || seed.is_multiple_of(5)
}

/// Compares what the reader of archives returns with the capture, for archives in all formats.
fn read(expected: &tree::Listing, base: &Base, carrier: &Packed, head: &Carrier) -> Result<(), String> {
    let (Some([_, base_gzip]), Some([tar, gzip])) = (&base.archive.tars, &carrier.tars) else { return Ok(()) };
    let (base, carrier) = (&base.archive.squashfs, &carrier.squashfs);
    for (base, carrier) in [(base, carrier), (base, gzip), (base_gzip, tar)] {
        let found = reader::compare(expected, base, carrier, &head.head);
        found.map_err(|difference| format!("{} and {}: {difference}", base.display(), carrier.display()))?;
    }
    Ok(())
}

/// Runs a case: a base, and up to three deltas, each in the container of the one before or in a restored one. Returns the
/// difference that it found.
fn run_case(seed: u64, mistake: Option<Mistake>) -> Result<(), String> {
    let rng = SeededRng::new(seed);
    let mut container = Container::new(&format!("{seed}"), mistake);
    tree::change(&container.dir(), &rng, 1 + rng.below(40), true);
    tree::age_directories(&container.dir());
    let base = match container.capture_base(is_read(seed)) {
        Ok(base) => base,
        Err(why) => return Err(format!("seed {seed}: the base is refused: {why}")),
    };
    for number in 0..=rng.below(3) {
        tree::change(&container.dir(), &rng, rng.below(12), true);
        let expected = tree::list(&container.dir());
        let carrier = match container.begin_delta(&base, number) {
            CaptureBegun::Delta(carrier) => carrier,
            // The tree has no bytes, or all of them changed.
            CaptureBegun::Full { .. } => return Ok(()),
        };
        let archive = container.archive(&carrier, is_read(seed));
        let restored = Container::new(&format!("{seed}-{number}"), mistake);
        let found = match restored.restore(&base, &archive, &carrier) {
            Outcome::Restored { traced } if !traced => Err("the restored base is not recognized".to_owned()),
            Outcome::Restored { .. } => tree::compare(&expected, &tree::list(&restored.dir())),
            Outcome::Failed(why) => Err(format!("the restore failed: {why}")),
        };
        let found = found.and_then(|()| read(&expected, &base, &archive, &carrier));
        found.map_err(|difference| format!("seed {seed}, delta {number}: {difference}"))?;
        if rng.one_in(2) {
            container = restored;
        }
    }
    Ok(())
}

/// Runs a case in production mode: the base is mounted, and each delta is taken from the overlay over it. It is restored into
/// another overlay, and on a disk.
fn run_overlay_case(seed: u64) -> Result<(), String> {
    let rng = SeededRng::new(seed);
    let first = Container::new(&format!("{seed}-first"), None);
    tree::change(&first.dir(), &rng, 1 + rng.below(40), false);
    fs::write(first.dir().join("large"), vec![0; 1_000_000]).unwrap();
    tree::age_directories(&first.dir());
    let base = first.capture_base(is_read(seed))?;
    let mut container = Container::mounted(&format!("{seed}"), &base);
    for number in 0..=rng.below(3) {
        tree::change(&container.dir(), &rng, rng.below(12), false);
        let expected = tree::list(&container.dir());
        let carrier = match container.begin_delta(&base, number) {
            CaptureBegun::Delta(carrier) => carrier,
            full @ CaptureBegun::Full { .. } => return Err(format!("seed {seed}, delta {number}: {full:?}")),
        };
        let archive = container.archive(&carrier, is_read(seed));
        let restored = Container::mounted(&format!("{seed}-{number}"), &base);
        for target in [&restored, &Container::new(&format!("{seed}-{number}-disk"), None)] {
            let found = match target.restore(&base, &archive, &carrier) {
                Outcome::Restored { .. } => tree::compare(&expected, &tree::list(&target.dir())),
                Outcome::Failed(why) => Err(format!("the restore failed: {why}")),
            };
            found.map_err(|difference| format!("seed {seed}, delta {number}: {difference}"))?;
        }
        let found = read(&expected, &base, &archive, &carrier);
        found.map_err(|difference| format!("seed {seed}, delta {number}: {difference}"))?;
        if rng.one_in(2) {
            container = restored;
        }
    }
    Ok(())
}

#[test]
fn files_restored_from_an_overlay_are_those_of_the_capture() {
    if !Container::can_mount() {
        println!("this machine has no squashfuse, fuse-overlayfs or /dev/fuse");
        return;
    }
    let (seed, cases) = (number("DELTA_SEED", 1), number("DELTA_CASES", 20));
    let found = find_differences(seed..seed + cases, run_overlay_case);
    println!("{cases} cases of overlays, {} differences", found.len());
    assert_eq!(found, [""; 0]);
}

#[test]
fn restored_files_are_those_of_the_capture() {
    let (seed, cases) = (number("DELTA_SEED", 1), number("DELTA_CASES", 20));
    let found = find_differences(seed..seed + cases, |seed| run_case(seed, None));
    println!("{cases} cases, {} differences", found.len());
    assert_eq!(found, [""; 0]);
}

#[test]
fn directory_that_is_elsewhere_while_the_base_is_archived_is_stored() {
    fn leave(dir: &Path) {
        fs::rename(dir.join("a"), dir.join("moved")).unwrap();
    }
    fn replace(dir: &Path) {
        leave(dir);
        fs::create_dir_all(dir.join("a/b")).unwrap();
    }
    fn come_back(dir: &Path) {
        drop(fs::remove_dir_all(dir.join("a")));
        fs::rename(dir.join("moved"), dir.join("a")).unwrap();
    }
    let moves: [[fn(&Path); 3]; 3] =
        [[leave, come_back, |_| ()], [leave, |_| (), come_back], [replace, |_| (), come_back]];
    for (number, [before, after, later]) in moves.into_iter().enumerate() {
        let container = Container::new(&format!("moved-{number}"), None);
        let dir = container.dir();
        fs::create_dir_all(dir.join("a/b")).unwrap();
        fs::write(dir.join("a/b/file"), "content").unwrap();
        let base = container.capture_base_during(false, before, after).unwrap();
        later(&dir);
        let CaptureBegun::Delta(carrier) = container.begin_delta(&base, 0) else { panic!("it is a delta") };
        let archive = container.archive(&carrier, false);
        let restored = Container::new(&format!("restored-{number}"), None);
        // The archive of the base differs from its listing, so a start does not write an inventory.
        let outcome = restored.restore(&base, &archive, &carrier);
        assert!(matches!(outcome, Outcome::Restored { traced: false }), "{number}");
        assert_eq!(tree::compare(&tree::list(&dir), &tree::list(&restored.dir())), Ok(()));
    }
}

#[test]
fn changed_directory_of_a_mounted_base_has_no_extended_attributes() {
    if !Container::can_mount() {
        return;
    }
    let first = Container::new("attributes-first", None);
    for name in ["plain", "with"] {
        fs::create_dir(first.dir().join(name)).unwrap();
    }
    fs::write(first.dir().join("large"), vec![0; 1_000_000]).unwrap();
    // A base with them is refused on a disk, but not where it is a snapshot of an overlay.
    let base = first.capture_base_during(false, |dir| tree::set_attribute(dir, "with"), |_| ()).unwrap();
    let container = Container::mounted("attributes", &base);
    fs::remove_dir(container.dir().join("plain")).unwrap();
    fs::create_dir(container.dir().join("plain")).unwrap();
    assert!(matches!(container.begin_delta(&base, 0), CaptureBegun::Delta(_)));
    fs::remove_dir(container.dir().join("with")).unwrap();
    fs::create_dir(container.dir().join("with")).unwrap();
    let CaptureBegun::Full { reason, .. } = container.begin_delta(&base, 1) else { panic!("it is full") };
    assert_eq!(reason, Some(FullReason::Attributes));
}

#[test]
fn restore_deletes_nothing_in_a_mounted_file_system() {
    if !Container::can_mount() {
        return;
    }
    let container = Container::new("unmounted", None);
    fs::write(container.dir().join("file"), "content").unwrap();
    let base = container.capture_base(false).unwrap();
    fs::remove_file(container.dir().join("file")).unwrap();
    let CaptureBegun::Delta(carrier) = container.begin_delta(&base, 0) else { panic!("it is a delta") };
    let archive = container.archive(&carrier, false);
    let mut restored = Container::new("with-mount", None);
    let precious = restored.mount_in_directory().join("precious");
    fs::write(&precious, "not of the snapshot").unwrap();
    assert!(matches!(restored.restore(&base, &archive, &carrier), Outcome::Failed(_)));
    assert!(precious.exists());
}

#[test]
fn image_that_lacks_a_program_makes_full_snapshots_and_restores_no_delta() {
    let container = Container::new("complete", None);
    fs::write(container.dir().join("file"), "content").unwrap();
    let base = container.capture_base(false).unwrap();
    let CaptureBegun::Delta(carrier) = container.begin_delta(&base, 0) else { panic!("it is a delta") };
    let archive = container.archive(&carrier, false);
    for program in ["perl", "find", "timeout"] {
        let lacking = Container::without(program);
        fs::write(lacking.dir().join("file"), "content").unwrap();
        let tools = Some(FullReason::Tools);
        assert_eq!(lacking.begin_full(0), CaptureBegun::Full { reason: tools, untraced: tools }, "{program}");
        let Outcome::Failed(why) = lacking.restore(&base, &archive, &carrier) else { panic!("{program}") };
        assert!(why.contains("Tools"), "{program}: {why}");
    }
}

#[test]
fn small_files_are_no_base() {
    let container = Container::new("small", None);
    fs::create_dir(container.dir().join("a")).unwrap();
    fs::write(container.dir().join("a/file"), [1; 999]).unwrap();
    let small = Some(FullReason::BaseSmall);
    assert_eq!(container.begin_full(1000), CaptureBegun::Full { reason: small, untraced: small });
    fs::write(container.dir().join("b"), [1]).unwrap();
    assert_eq!(container.begin_full(1000), CaptureBegun::Full { reason: None, untraced: None });
}

#[test]
fn cases_find_every_mistake() {
    for (name, seed, mistake) in MISTAKES {
        // A search finds the first case, for a script or a case that changed.
        let seeds = seed..seed + number("DELTA_SEARCH", 1);
        let found = seeds.clone().find(|seed| run_case(*seed, Some(mistake)).is_err());
        println!("{name}: {found:?}");
        assert!(found.is_some(), "{name} was not found in the cases {seeds:?}");
    }
}
