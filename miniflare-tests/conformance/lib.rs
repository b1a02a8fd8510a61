//! Runs the conformance suite over the ports of a real Worker, in workerd.
//!
//! - `suite`: the cases that the in-memory ports also run
//! - `ledger_storage`, `workspace_storage`, `bucket`: cases of SQLite and R2 alone
//! - `hooks`: cases of processes
//! - `arguments`: cases of JavaScript values
//! - `real`: the environment of the cases
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[macro_use]
#[path = "../../tests/conformance/suite/mod.rs"]
mod suite;
mod arguments;
mod bucket;
mod hooks;
mod ledger_storage;
mod real;
mod workspace_storage;

use std::panic;

use sandbox_snapshotter::cloudflare::directory_store::SqlDirectoryStore;
use sandbox_snapshotter::cloudflare::ledger::SqlLedger;
use sandbox_snapshotter::cloudflare::workspace_store::SqlWorkspaceStore;
use serde_json::json;
use wasm_bindgen::prelude::*;
use worker::Env;

use self::ledger_storage::Object;
use self::real::Real;
use self::suite::{
    Case, backups, directory_store, ledger, runtime, sandbox_ledgers, sandboxes, token_store, workspace_store,
};

#[wasm_bindgen]
extern "C" {
    /// Reports a panic. A panic ends this module, but does not reject the promise of the call.
    #[wasm_bindgen(js_namespace = globalThis, js_name = panicked)]
    fn panicked(message: &str);
}

/// Returns the names of all cases by subject, as JSON.
#[wasm_bindgen]
pub fn cases() -> String {
    json!({
        "ledger": names(&ledger::cases::<SqlLedger>()),
        "ledger-storage": names(&ledger_storage::cases()),
        "workspace-store": names(&workspace_store::cases::<SqlWorkspaceStore>()),
        "directory-store": names(&directory_store::cases::<SqlDirectoryStore>()),
        "token-store": names(&token_store::cases::<SqlDirectoryStore>()),
        "workspace-storage": names(&workspace_storage::cases()),
        "sandboxes": names(&sandboxes::cases::<Real>()),
        "hooks": names(&hooks::cases()),
        "backups": names(&backups::cases::<Real>()),
        "sandbox-ledgers": names(&sandbox_ledgers::cases::<Real>()),
        "bucket": names(&bucket::cases()),
        "arguments": names(&arguments::cases()),
        "runtime": names(&runtime::cases::<Real>()),
    })
    .to_string()
}

/// Runs a case, in its own Durable Object.
#[wasm_bindgen]
pub async fn run(subject: String, name: String, ctx: JsValue, env: Env) {
    panic::set_hook(Box::new(|panic| panicked(&panic.to_string())));
    match subject.as_str() {
        "ledger" => run_case(&ledger::cases(), &name, &SqlLedger::open(&ctx).unwrap()).await,
        "ledger-storage" => run_case(&ledger_storage::cases(), &name, &Object(ctx)).await,
        "workspace-store" => run_case(&workspace_store::cases(), &name, &SqlWorkspaceStore::open(&ctx).unwrap()).await,
        "directory-store" => run_case(&directory_store::cases(), &name, &SqlDirectoryStore::open(&ctx).unwrap()).await,
        "token-store" => run_case(&token_store::cases(), &name, &SqlDirectoryStore::open(&ctx).unwrap()).await,
        "workspace-storage" => run_case(&workspace_storage::cases(), &name, &Object(ctx)).await,
        "sandboxes" => run_case(&sandboxes::cases(), &name, &Real::new(env, ctx)).await,
        "hooks" => run_case(&hooks::cases(), &name, &Real::new(env, ctx)).await,
        "backups" => run_case(&backups::cases(), &name, &Real::new(env, ctx)).await,
        "sandbox-ledgers" => run_case(&sandbox_ledgers::cases(), &name, &Real::new(env, ctx)).await,
        "bucket" => run_case(&bucket::cases(), &name, &Real::new(env, ctx)).await,
        "arguments" => run_case(&arguments::cases(), &name, &()).await,
        "runtime" => run_case(&runtime::cases(), &name, &Real::new(env, ctx)).await,
        _ => panic!("unknown subject {subject}"),
    }
}

fn names<T>(cases: &[Case<T>]) -> Vec<&'static str> {
    cases.iter().map(|case| case.name).collect()
}

async fn run_case<T>(cases: &[Case<T>], name: &str, subject: &T) {
    let case = cases.iter().find(|case| case.name == name);
    (case.expect("a known case").run)(subject).await;
}
