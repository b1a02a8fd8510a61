//! Runs the conformance suite against the in-memory implementations of the ports.
// Helpers are no `#[test]` functions, so clippy's exceptions for tests don't cover them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod in_memory;
mod suite;
#[path = "../service/support/mod.rs"]
#[allow(dead_code, unused_imports)] // The service tests use all of it.
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_executor::block_on;

use self::in_memory::InMemory;
use self::suite::{
    Case, backups, directory_store, ledger, runtime, sandbox_ledgers, sandboxes, token_store, workspace_store,
};
use self::support::{MemoryDirectoryStore, MemoryLedger, MemoryWorkspaceStore};

#[test]
fn memory_ledger_conforms() {
    run_cases::<MemoryLedger>(&ledger::cases());
}

#[test]
fn memory_workspace_store_conforms() {
    run_cases::<MemoryWorkspaceStore>(&workspace_store::cases());
}

#[test]
fn memory_token_store_conforms() {
    run_cases::<MemoryDirectoryStore>(&token_store::cases());
}

#[test]
fn memory_directory_store_conforms() {
    run_cases::<MemoryDirectoryStore>(&directory_store::cases());
}

#[test]
fn memory_sandboxes_conform() {
    run_cases::<InMemory>(&sandboxes::cases());
}

#[test]
fn memory_backup_store_conforms() {
    run_cases::<InMemory>(&backups::cases());
}

#[test]
fn memory_sandbox_ledgers_conform() {
    run_cases::<InMemory>(&sandbox_ledgers::cases());
}

#[test]
fn memory_runtime_conforms() {
    run_cases::<InMemory>(&runtime::cases());
}

/// Runs every case on a subject of its own, and lists the cases that fail.
fn run_cases<T: Default>(cases: &[Case<T>]) {
    let passes = |case: &&Case<T>| catch_unwind(AssertUnwindSafe(|| block_on((case.run)(&T::default())))).is_ok();
    let failed: Vec<_> = cases.iter().filter(|case| !passes(case)).map(|case| case.name).collect();
    assert!(failed.is_empty(), "{} of {} cases fail: {failed:#?}", failed.len(), cases.len());
}
