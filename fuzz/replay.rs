//! Runs the fuzz targets on the corpus, as regression tests.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use base64ct::{Base64, Encoding};

#[path = "src/lib.rs"]
mod targets;

use targets::TARGETS;

/// The maximum size of the corpus in bytes. The repository contains it.
const MAX_BYTES: usize = 600_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The inputs of a target, with a name for each: those in its folder, and those in its file, one per line in Base64.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder().join("corpus").join(target)).expect("every target has a corpus");
    let named =
        entries.map(|entry| entry.unwrap().path()).map(|path| (path.display().to_string(), fs::read(path).unwrap()));
    let generated = fs::read_to_string(folder().join("corpus").join(format!("{target}.txt"))).unwrap();
    let decoded = generated
        .lines()
        .zip(1..)
        .map(|(line, number): (_, usize)| (format!("{target}.txt:{number}"), Base64::decode_vec(line).unwrap()));
    named.chain(decoded).collect()
}

#[test]
fn every_input_satisfies_the_rules_of_its_target() {
    let mut failed = Vec::new();
    for (target, read) in TARGETS {
        for (name, input) in corpus(target) {
            if catch_unwind(|| read(&input)).is_err() {
                failed.push(name);
            }
        }
    }
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn every_target_has_inputs_and_a_program() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let programs: Vec<_> = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next()).collect();
    let names: Vec<_> = TARGETS.iter().map(|(name, _)| Some(*name)).collect();
    assert_eq!(programs, names);
    let entries = fs::read_dir(folder().join("corpus")).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir());
    let folders: BTreeSet<_> = folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(folders, TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (name, _) in TARGETS {
        assert!(!corpus(name).is_empty(), "{name}");
    }
}

#[test]
fn corpus_is_within_its_maximum_size() {
    let size: usize = TARGETS.iter().flat_map(|(target, _)| corpus(target)).map(|(_, input)| input.len()).sum();
    assert!(size <= MAX_BYTES, "{size} bytes");
}
