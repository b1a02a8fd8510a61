//! The conformance suite over the ports in memory.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't reach them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod in_memory;
mod suite;
#[path = "../service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // What the tests of the service need.
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_executor::block_on;

use self::in_memory::InMemory;
use self::suite::{Case, backups, directory_store, ledger, runtime, sandbox_ledgers, sandboxes, workspace_store};
use self::support::{MemoryDirectoryStore, MemoryLedger, MemoryWorkspaceStore};

#[test]
fn the_ledger_in_memory() {
    run_cases::<MemoryLedger>(&ledger::cases());
}

#[test]
fn the_home_of_a_named_workspace_in_memory() {
    run_cases::<MemoryWorkspaceStore>(&workspace_store::cases());
}

#[test]
fn the_index_in_memory() {
    run_cases::<MemoryDirectoryStore>(&directory_store::cases());
}

#[test]
fn the_sandboxes_in_memory() {
    run_cases::<InMemory>(&sandboxes::cases());
}

#[test]
fn the_bucket_in_memory() {
    run_cases::<InMemory>(&backups::cases());
}

#[test]
fn the_workspaces_in_memory() {
    run_cases::<InMemory>(&sandbox_ledgers::cases());
}

#[test]
fn the_runtime_in_memory() {
    run_cases::<InMemory>(&runtime::cases());
}

/// Plays every case on a subject of its own, and names those that do not hold.
fn run_cases<T: Default>(cases: &[Case<T>]) {
    let holds = |case: &&Case<T>| catch_unwind(AssertUnwindSafe(|| block_on((case.run)(&T::default())))).is_ok();
    let broken: Vec<_> = cases.iter().filter(|case| !holds(case)).map(|case| case.name).collect();
    assert!(broken.is_empty(), "{} of {} cases do not hold: {broken:#?}", broken.len(), cases.len());
}
