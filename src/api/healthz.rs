//! `/healthz`: the health of the deployment according to its configuration, for monitors. It needs no token and calls
//! nothing.

use serde_json::json;
use worker::{Env, Response, ResponseBuilder};

use crate::cloudflare::health::check_configuration;
use crate::cloudflare::runtime::WorkerClock;
use crate::model::health::Health;
use crate::ports::Clock;

/// Responds to a GET or HEAD of `/healthz`: 200 when no check is unhealthy, otherwise 503.
pub(super) fn respond(env: &Env, is_head: bool) -> worker::Result<Response> {
    let health = Health::new(env!("CARGO_PKG_VERSION"), WorkerClock.now(), check_configuration(env));
    let builder = ResponseBuilder::new()
        .with_status(if health.ok { 200 } else { 503 })
        .with_header("Content-Type", "application/json")?
        .with_header("Cache-Control", "no-store")?;
    Ok(if is_head { builder.empty() } else { builder.fixed(json!(health).to_string().into_bytes()) })
}
