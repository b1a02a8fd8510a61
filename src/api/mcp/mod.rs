//! `/mcp`: the tools over the Model Context Protocol, by Streamable HTTP.
//!
//! The Worker keeps no state between requests and opens no streams: each response is one JSON message. It supports two
//! kinds of protocol versions: those up to 2025-11-25, which begin with a handshake, and 2026-07-28, where each request
//! contains what it needs.
//!
//! - `json_rpc`: the parser of a body as a JSON-RPC message
//! - `protocol_version`: the headers that a message requires
//! - `methods`: the methods and their results
//! - `origin`: the web pages that may send requests
//! - `toolset`: the tools that a token permits
//!
//! Sources: the specification of the protocol, versions 2025-11-25 and 2026-07-28: transports, lifecycle, tools.

mod json_rpc;
mod methods;
mod origin;
mod protocol_version;
mod toolset;

use std::future::ready;

use futures_util::StreamExt;
use js_sys::Array;
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, Method, Request, Response, ResponseBuilder};

pub use json_rpc::{Fault, JsonRpc, Message};
pub use methods::{MethodAction, resolve_method};
pub use origin::AllowedOrigins;
pub use protocol_version::{Headers, ProtocolVersion, versions};
pub use toolset::authorized_toolset;

use super::access_log::log_refusal;
use super::execute::{Answer, Call, execute};
use super::operations::MAX_ARGUMENTS;
use super::{auth, problem};
use crate::cloudflare::deployment::{allowed_origins, api_token};
use crate::cloudflare::runtime::WorkerClock;
use crate::model::{Code, Error, Result, json};
use crate::ports::Clock;
use crate::service::access::Access;

/// Responds to a request to `/mcp`.
pub(super) async fn handle(mut request: Request, env: &Env, ctx: JsValue) -> worker::Result<Response> {
    let header = |name: &str| request.headers().get(name).ok().flatten();
    let origin = header("Origin");
    let allowed = match allowed_origins(env) {
        Ok(allowed) => AllowedOrigins::parse(allowed.as_deref()),
        Err(error) => return denied_response(&error, ResponseBuilder::new()),
    };
    let is_allowed = origin.as_deref().is_none_or(|origin| allowed.allows(origin, request.inner().url().as_str()));
    if !is_allowed {
        let message = "Web pages of this origin may not use this server.";
        return refuse_message(Fault::new(403, json_rpc::INVALID_REQUEST, message), None, ResponseBuilder::new());
    }
    let builder = || match &origin {
        Some(origin) => ResponseBuilder::new()
            .with_header("Access-Control-Allow-Origin", origin)
            .and_then(|builder| builder.with_header("Vary", "Origin"))
            .and_then(|builder| {
                builder.with_header("Access-Control-Expose-Headers", "WWW-Authenticate, X-Correlation-Id")
            }),
        None => Ok(ResponseBuilder::new()),
    };
    match request.method() {
        Method::Post => (),
        Method::Options if origin.is_some() => {
            return Ok(builder()?
                .with_status(204)
                .with_header("Access-Control-Allow-Methods", "POST")?
                .with_header("Access-Control-Allow-Headers", protocol_version::REQUEST_HEADERS)?
                .with_header("Access-Control-Max-Age", "86400")?
                .empty());
        }
        _ => return method_not_allowed(builder()?),
    }
    let (access, toolset) = match authorize(env, &ctx, header("Authorization").as_deref(), &request).await {
        Ok(authorized) => authorized,
        Err(error) => return denied_response(&error, builder()?),
    };
    let headers = Headers::read(header);
    let signal = request.inner().signal().into();
    let (message, version) = match read_message(&mut request, &headers).await {
        Ok(message) => message,
        Err((fault, id)) => return refuse_message(fault, id.as_ref(), builder()?),
    };
    let Message::Request { id, method, params } = message else { return Ok(builder()?.with_status(202).empty()) };
    let toolset = match toolset {
        Ok(toolset) => toolset,
        // Other methods succeed without tools, so that the client reaches the list of tools and shows this error.
        Err(_) if !method.starts_with("tools/") => Value::Null,
        Err(error) => {
            let correlation_id = log_refusal("mcp", &error);
            let builder = builder()?.with_header("X-Correlation-Id", &correlation_id)?;
            return fault_response(
                &version.with_status(methods::operation_fault(&error, &correlation_id)),
                Some(&id),
                builder,
            );
        }
    };
    let (result, correlation_id) = match resolve_method(version, &method, &params, &toolset) {
        Ok(MethodAction::Answer(result)) => (Ok(result), None),
        Ok(MethodAction::Operation(operation, arguments)) => {
            let call = ready(Ok(Call { arguments, signal, input: None }));
            let Answer { correlation_id, outcome } = execute(operation, access, call, env, ctx).await;
            let outcome = outcome.and_then(|answer| answer.parse().map_err(|_| Error::internal()));
            (outcome.map_err(|error| methods::operation_fault(&error, &correlation_id)), Some(correlation_id))
        }
        Err(fault) => return refuse_message(version.with_status(fault), Some(&id), builder()?),
    };
    let builder = match correlation_id {
        Some(correlation_id) => builder()?.with_header("X-Correlation-Id", &correlation_id)?,
        None => builder()?,
    };
    match result {
        Ok(result) => respond(200, &json_rpc::result_message(&id, &version.complete_result(&method, result)), builder),
        Err(fault) => fault_response(&version.with_status(fault), Some(&id), builder),
    }
}

/// Verifies the token. Returns what the caller may do, and the tools that the caller may use.
async fn authorize(
    env: &Env,
    ctx: &JsValue,
    authorization: Option<&str>,
    request: &Request,
) -> Result<(Access, Result<Value>)> {
    let url = web_sys::Url::new(&request.inner().url()).map_err(|_| Error::internal())?;
    let pair = |pair: JsValue| {
        let pair = Array::from(&pair);
        let text = |index| pair.get(index).as_string().unwrap_or_default();
        (text(0), text(1))
    };
    let query: Vec<_> = Array::from(&url.search_params()).iter().map(pair).collect();
    if auth::access_token(authorization).is_some() {
        return Ok((auth::authenticate(env, ctx, authorization).await?, toolset::toolset_of_query(&query)));
    }
    let toolset = authorized_toolset(api_token(env)?.as_deref(), authorization, &query, WorkerClock.now())?;
    Ok((Access::Everything, toolset))
}

/// Reads the message, and verifies its headers.
async fn read_message(
    request: &mut Request,
    headers: &Headers,
) -> std::result::Result<(Message, ProtocolVersion), (Fault, Option<Value>)> {
    headers.check_media_types().map_err(|fault| (fault, None))?;
    let mut body = Vec::new();
    let unreadable = |_| (Fault::new(400, json_rpc::PARSE_ERROR, "The body cannot be read."), None);
    let mut chunks = request.stream().map_err(unreadable)?;
    while let Some(chunk) = chunks.next().await {
        body.extend(chunk.map_err(unreadable)?);
        if body.len() > MAX_ARGUMENTS {
            let message = format!("The message is larger than {MAX_ARGUMENTS} bytes.");
            return Err((Fault::new(413, json_rpc::INVALID_REQUEST, message), None));
        }
    }
    let message = JsonRpc::parse(&body).map_err(|fault| (fault, None))?;
    match headers.protocol_version(&message) {
        Ok(version) => Ok((message, version)),
        Err(fault) => Err((fault, message.id().cloned())),
    }
}

/// Returns the response for a caller without permission, or for a deployment that is not configured.
fn denied_response(error: &Error, builder: ResponseBuilder) -> worker::Result<Response> {
    let correlation_id = log_refusal("mcp", error);
    let (status, body) = problem::problem(error, &correlation_id);
    let builder = if error.code() == Code::Unauthorized {
        builder.with_header("WWW-Authenticate", "Bearer error=\"invalid_token\"")?
    } else {
        builder
    };
    let mut fault =
        Fault::new(status, json_rpc::INVALID_REQUEST, format!("{} {}", error.message(), error.remediation()));
    fault.data = Some(body);
    fault_response(&fault, None, builder.with_header("X-Correlation-Id", &correlation_id)?)
}

/// Returns the response for a method other than POST. A client of the protocol concludes that the server has no
/// streams.
fn method_not_allowed(builder: ResponseBuilder) -> worker::Result<Response> {
    let error = Error::mcp_method_not_allowed();
    let builder = builder.with_header("X-Correlation-Id", &log_refusal("mcp", &error))?;
    Ok(builder.with_status(405).with_header("Allow", "POST")?.empty())
}

/// Responds to a message that is refused, and logs the refusal.
fn refuse_message(fault: Fault, id: Option<&Value>, builder: ResponseBuilder) -> worker::Result<Response> {
    let correlation_id = log_refusal("mcp", &fault.to_error());
    fault_response(
        &fault.with_correlation_id(&correlation_id),
        id,
        builder.with_header("X-Correlation-Id", &correlation_id)?,
    )
}

fn fault_response(fault: &Fault, id: Option<&Value>, builder: ResponseBuilder) -> worker::Result<Response> {
    respond(fault.status, &fault.body(id), builder)
}

fn respond(status: u16, body: &Value, builder: ResponseBuilder) -> worker::Result<Response> {
    let builder = builder
        .with_status(status)
        .with_header("Content-Type", "application/json")?
        .with_header("Cache-Control", "no-store")?;
    Ok(builder.fixed(json::value_to_string(body).into_bytes()))
}
