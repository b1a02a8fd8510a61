//! What the fuzzing has kept is read again: what was found once stays found.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

#[path = "src/lib.rs"]
mod targets;

use targets::TARGETS;

/// The most that the corpus may have in all, in bytes: a clone brings it along.
const MOST: u64 = 600_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The inputs that are kept for a target.
fn kept(target: &str) -> Vec<PathBuf> {
    let inputs = fs::read_dir(folder().join("corpus").join(target)).expect("every target has a corpus");
    inputs.map(|input| input.unwrap().path()).collect()
}

#[test]
fn every_input_that_was_kept_is_read_as_it_must_be() {
    let mut broken = Vec::new();
    for (name, read) in TARGETS {
        for input in kept(name) {
            let data = fs::read(&input).unwrap();
            if catch_unwind(|| read(&data)).is_err() {
                broken.push(input);
            }
        }
    }
    assert_eq!(broken, Vec::<PathBuf>::new());
}

#[test]
fn every_target_has_inputs_and_a_program() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let programs: Vec<_> = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next()).collect();
    let names: Vec<_> = TARGETS.iter().map(|(name, _)| Some(*name)).collect();
    assert_eq!(programs, names);
    let folders = fs::read_dir(folder().join("corpus")).unwrap();
    let folders: BTreeSet<_> = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(folders, TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (name, _) in TARGETS {
        assert!(!kept(name).is_empty(), "{name}");
    }
}

#[test]
fn the_corpus_is_small() {
    let size = |input: PathBuf| fs::metadata(input).unwrap().len();
    let sizes: Vec<u64> = TARGETS.iter().flat_map(|(name, _)| kept(name)).map(size).collect();
    assert!(sizes.iter().sum::<u64>() <= MOST, "{} bytes", sizes.iter().sum::<u64>());
}
