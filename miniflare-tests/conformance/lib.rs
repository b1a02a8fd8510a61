//! Runs the conformance suite over the ports of a real Worker, in workerd.
//!
//! - `suite`: the cases that ports in memory pass too
//! - `storage`, `homes`, `bucket`: those about SQLite and R2 alone
//! - `hooks`: those about processes
//! - `real`: the world that they are played in
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

#[macro_use]
#[path = "../../tests/conformance/suite/mod.rs"]
mod suite;
mod bucket;
mod homes;
mod hooks;
mod real;
mod storage;

use std::panic;

use sandbox_snapshotter::cloudflare::directory_store::SqlDirectoryStore;
use sandbox_snapshotter::cloudflare::ledger::SqlLedger;
use sandbox_snapshotter::cloudflare::workspace_store::SqlWorkspaceStore;
use serde_json::json;
use wasm_bindgen::prelude::*;
use worker::Env;

use self::real::Real;
use self::storage::Object;
use self::suite::{Case, backups, directory_store, ledger, runtime, sandbox_ledgers, sandboxes, workspace_store};

#[wasm_bindgen]
extern "C" {
    /// A panic ends this module without a word to the promise that waits for it.
    #[wasm_bindgen(js_namespace = globalThis, js_name = panicked)]
    fn panicked(message: &str);
}

/// The names of all cases, by their subjects, as JSON.
#[wasm_bindgen]
pub fn cases() -> String {
    json!({
        "ledger": names(&ledger::cases::<SqlLedger>()),
        "storage": names(&storage::cases()),
        "home": names(&workspace_store::cases::<SqlWorkspaceStore>()),
        "index": names(&directory_store::cases::<SqlDirectoryStore>()),
        "homes": names(&homes::cases()),
        "sandboxes": names(&sandboxes::cases::<Real>()),
        "hooks": names(&hooks::cases()),
        "backups": names(&backups::cases::<Real>()),
        "workspaces": names(&sandbox_ledgers::cases::<Real>()),
        "bucket": names(&bucket::cases()),
        "runtime": names(&runtime::cases::<Real>()),
    })
    .to_string()
}

/// Makes sure of one of them, in a Durable Object of its own.
#[wasm_bindgen]
pub async fn run(subject: String, name: String, ctx: JsValue, env: Env) {
    panic::set_hook(Box::new(|panic| panicked(&panic.to_string())));
    match subject.as_str() {
        "ledger" => play(&ledger::cases(), &name, &SqlLedger::open(&ctx).unwrap()).await,
        "storage" => play(&storage::cases(), &name, &Object(ctx)).await,
        "home" => play(&workspace_store::cases(), &name, &SqlWorkspaceStore::open(&ctx).unwrap()).await,
        "index" => play(&directory_store::cases(), &name, &SqlDirectoryStore::open(&ctx).unwrap()).await,
        "homes" => play(&homes::cases(), &name, &Object(ctx)).await,
        "sandboxes" => play(&sandboxes::cases(), &name, &Real::new(env, ctx)).await,
        "hooks" => play(&hooks::cases(), &name, &Real::new(env, ctx)).await,
        "backups" => play(&backups::cases(), &name, &Real::new(env, ctx)).await,
        "workspaces" => play(&sandbox_ledgers::cases(), &name, &Real::new(env, ctx)).await,
        "bucket" => play(&bucket::cases(), &name, &Real::new(env, ctx)).await,
        "runtime" => play(&runtime::cases(), &name, &Real::new(env, ctx)).await,
        _ => panic!("there is no subject {subject}"),
    }
}

fn names<T>(cases: &[Case<T>]) -> Vec<&'static str> {
    cases.iter().map(|case| case.name).collect()
}

async fn play<T>(cases: &[Case<T>], name: &str, subject: &T) {
    let case = cases.iter().find(|case| case.name == name);
    (case.expect("there is such a case").run)(subject).await;
}
