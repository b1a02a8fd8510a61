//! `/healthz`: what the configuration says of the deployment's health, for monitors. It needs no token and calls nothing.

use serde_json::json;
use worker::{Env, Request, Response, ResponseBuilder};

use super::http::not_read;
use crate::cloudflare::health::configuration;
use crate::cloudflare::runtime::WorkerClock;
use crate::model::health::Health;
use crate::ports::Clock;

/// Answers a request to `/healthz`: 200 where nothing is wrong, else 503.
pub(super) fn handle(request: &Request, env: &Env) -> worker::Result<Response> {
    // `Request::method` takes a method that it does not know, such as QUERY, for GET.
    let is_head = match request.inner().method().as_str() {
        "GET" => false,
        "HEAD" => true,
        _ => return not_read(request),
    };
    let health = Health::of(WorkerClock.now(), configuration(env));
    let builder = ResponseBuilder::new()
        .with_status(if health.ok { 200 } else { 503 })
        .with_header("Content-Type", "application/json")?
        .with_header("Cache-Control", "no-store")?;
    Ok(if is_head { builder.empty() } else { builder.fixed(json!(health).to_string().into_bytes()) })
}
