//! A test Worker in Rust that calls the snapshotter through the client.
#![allow(missing_docs)]

use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join;
use sandbox_snapshotter_client::model::named::{Address, WorkspaceName};
use sandbox_snapshotter_client::model::request::{CreateRequest, DeleteRequest, ListRequest};
use sandbox_snapshotter_client::model::{Label, RestoreRequest, SandboxId, Selection, SnapshotRequest};
use sandbox_snapshotter_client::{Client, Error, Result, RetryPolicy, ServiceBinding};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use web_sys::AbortController;
use worker::{Env, Fetcher};

/// Runs a scenario, and returns `{value}` or `{error}` as JSON.
#[wasm_bindgen]
pub async fn run_scenario(env: Env, name: String) -> std::result::Result<String, JsValue> {
    let (fetcher, token) = (env.service("SNAPSHOTTER")?, env.var("TOKEN")?.to_string());
    let service = ServiceBinding::new(fetcher.clone(), &token);
    let outcome = match name.as_str() {
        "take, restore, delete" => take_restore_delete(service).await,
        "read pages" => read_pages(service).await,
        "create a workspace" => create_workspace(service).await,
        "use a wrong token" => use_wrong_token(fetcher).await,
        "abort before the call" => abort_before_call(service).await,
        "abort during the call" => abort_during_call(service).await,
        "use a short timeout" => use_short_timeout(service).await,
        _ => return Err(format!("unknown scenario {name:?}").into()),
    };
    Ok(match outcome {
        Ok(value) => json!({ "value": value }),
        Err(error) => json!({ "error": to_json(&error) }),
    }
    .to_string())
}

fn to_json(error: &Error) -> Value {
    json!({
        "code": error.code().as_str(),
        "kind": error.kind(),
        "message": error.to_string(),
        "correlationId": error.correlation_id(),
    })
}

fn agent() -> Result<SandboxId> {
    Ok(SandboxId::parse("agent-42")?)
}

/// Takes a snapshot, restores it, deletes it, and restores it again.
async fn take_restore_delete(service: ServiceBinding) -> Result<Value> {
    let client = Client::new(service);
    let label = Some(Label::parse("before")?);
    let taken = client.snapshot(&SnapshotRequest { label, ..SnapshotRequest::of(agent()?) }).await?;
    let restore = RestoreRequest::of(taken.snapshot.clone());
    let restored = client.restore(&restore).await?;
    let selection = Selection::of(taken.snapshot);
    let listed = client.get(&selection).await?;
    client.delete(&DeleteRequest::of(selection, true)).await?;
    let Err(error) = client.restore(&restore).await else { return Ok(Value::Null) };
    Ok(json!({ "restored": restored.sandbox_id(), "label": listed.label, "errorAfterDelete": to_json(&error) }))
}

/// Takes three snapshots, and reads them from pages of two.
async fn read_pages(service: ServiceBinding) -> Result<Value> {
    let client = Client::new(service);
    for label in ["a", "b", "c"] {
        let label = Some(Label::parse(label)?);
        client.snapshot(&SnapshotRequest { label, ..SnapshotRequest::of(agent()?) }).await?;
    }
    let pages = client.snapshots(ListRequest { limit: 2, ..ListRequest::of(agent()?) });
    let labels: Vec<_> = pages.map_ok(|summary| summary.label.to_string()).try_collect().await?;
    Ok(json!(labels))
}

async fn create_workspace(service: ServiceBinding) -> Result<Value> {
    let client = Client::new(service);
    let address = Address::in_default_tenant(WorkspaceName::parse("work")?);
    let created = client.workspaces().create(&CreateRequest::of(address.clone())).await?;
    client.workspaces().delete(&address).await?;
    Ok(json!(created.description.state))
}

async fn use_wrong_token(fetcher: Fetcher) -> Result<Value> {
    let page = Client::new(ServiceBinding::new(fetcher, "wrong")).list(&ListRequest::of(agent()?)).await?;
    Ok(json!(page))
}

async fn abort_before_call(service: ServiceBinding) -> Result<Value> {
    let client = Client::new(service.with_signal(web_sys::AbortSignal::abort()));
    Ok(json!(client.snapshot(&SnapshotRequest::of(agent()?)).await?))
}

async fn abort_during_call(service: ServiceBinding) -> Result<Value> {
    let Ok(controller) = AbortController::new() else { return Ok(Value::Null) };
    let client = Client::new(service.with_signal(controller.signal()));
    let request = SnapshotRequest::of(agent()?);
    // The call is sent before the signal fires.
    let (outcome, ()) = join(client.snapshot(&request), async { controller.abort() }).await;
    Ok(json!(outcome?))
}

async fn use_short_timeout(service: ServiceBinding) -> Result<Value> {
    let client = Client::new(service.with_timeout(Duration::from_millis(50))).with_retry(RetryPolicy::NEVER);
    Ok(json!(client.snapshot(&SnapshotRequest::of(agent()?)).await?))
}
