//! `/mcp`: the tools over the Model Context Protocol, by Streamable HTTP.
//!
//! It keeps nothing between requests: a request has its answer as JSON, and that is all. Two eras of the protocol are in use.
//! The one up to 2025-11-25 begins with a handshake; in that of 2026-07-28 every request says itself what it needs.
//!
//! - `frame`: a body as a message of JSON-RPC
//! - `era`: the headers that have to go with it
//! - `methods`: what is asked for, and its answer
//! - `origin`: which web pages may ask
//! - `scope`: which tools a token gives
//!
//! Sources: the protocol's specification, versions 2025-11-25 and 2026-07-28: transports, lifecycle, tools.

mod era;
mod frame;
mod methods;
mod origin;
mod scope;

use std::future::ready;

use futures_util::StreamExt;
use js_sys::Array;
use serde_json::Value;
use wasm_bindgen::JsValue;
use worker::{Env, Method, Request, Response, ResponseBuilder};

pub use era::{Era, Headers, versions};
pub use frame::{Fault, Frame, Message};
pub use methods::{Asked, asked};
pub use origin::Origins;
pub use scope::scope;

use super::answer::{Answer, Call, answer};
use super::operations::MAX_ARGUMENTS;
use super::problem;
use super::tell::refused;
use crate::cloudflare::deployment::{allowed_origins, api_token};
use crate::cloudflare::runtime::WorkerClock;
use crate::model::{Code, Error, Result, json};
use crate::ports::Clock;

/// Answers a request to `/mcp`.
pub(super) async fn handle(mut request: Request, env: &Env, ctx: JsValue) -> worker::Result<Response> {
    let header = |name: &str| request.headers().get(name).ok().flatten();
    let origin = header("Origin");
    let allowed = match allowed_origins(env) {
        Ok(allowed) => Origins::parse(allowed.as_deref()),
        Err(error) => return denied(&error, ResponseBuilder::new()),
    };
    let is_allowed = origin.as_deref().is_none_or(|origin| allowed.allow(origin, request.inner().url().as_str()));
    if !is_allowed {
        let message = "Web pages of this origin may not use this server.";
        return refuse(Fault::new(403, frame::INVALID_REQUEST, message), None, ResponseBuilder::new());
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
                .with_header("Access-Control-Allow-Headers", era::REQUEST_HEADERS)?
                .with_header("Access-Control-Max-Age", "86400")?
                .empty());
        }
        _ => return not_allowed(builder()?),
    }
    let toolset = match authorized(env, header("Authorization").as_deref(), &request) {
        Ok(toolset) => toolset,
        Err(error) => return denied(&error, builder()?),
    };
    let headers = Headers::read(header);
    let signal = request.inner().signal().into();
    let (frame, era) = match receive(&mut request, &headers).await {
        Ok(received) => received,
        Err((fault, id)) => return refuse(fault, id.as_ref(), builder()?),
    };
    let Message::Request { id, method, params } = frame else { return Ok(builder()?.with_status(202).empty()) };
    let toolset = match toolset {
        Ok(toolset) => toolset,
        // What asks for no tools is answered all the same: so a client gets as far as asking, and shows why there are none.
        Err(_) if !method.starts_with("tools/") => Value::Null,
        Err(error) => {
            let correlation_id = refused("mcp", &error);
            let builder = builder()?.with_header("X-Correlation-Id", &correlation_id)?;
            return faulty(&era.fault(methods::fault(&error, &correlation_id)), Some(&id), builder);
        }
    };
    let (result, correlation_id) = match asked(era, &method, &params, &toolset) {
        Ok(Asked::Answer(result)) => (Ok(result), None),
        Ok(Asked::Operation(operation, arguments)) => {
            let call = ready(Ok(Call { arguments, signal }));
            let Answer { correlation_id, outcome } = answer(operation, call, env, ctx).await;
            let outcome = outcome.and_then(|answer| answer.read().map_err(|_| Error::defect()));
            (outcome.map_err(|error| methods::fault(&error, &correlation_id)), Some(correlation_id))
        }
        Err(fault) => return refuse(era.fault(fault), Some(&id), builder()?),
    };
    let builder = match correlation_id {
        Some(correlation_id) => builder()?.with_header("X-Correlation-Id", &correlation_id)?,
        None => builder()?,
    };
    match result {
        Ok(result) => respond(200, &frame::answer(&id, &era.complete(&method, result)), builder),
        Err(fault) => faulty(&era.fault(fault), Some(&id), builder),
    }
}

/// The tools that the caller may use.
fn authorized(env: &Env, authorization: Option<&str>, request: &Request) -> Result<Result<Value>> {
    let url = web_sys::Url::new(&request.inner().url()).map_err(|_| Error::defect())?;
    let pair = |pair: JsValue| {
        let pair = Array::from(&pair);
        let text = |index| pair.get(index).as_string().unwrap_or_default();
        (text(0), text(1))
    };
    let query: Vec<_> = Array::from(&url.search_params()).iter().map(pair).collect();
    scope(api_token(env)?.as_deref(), authorization, &query, WorkerClock.now())
}

/// Reads the message, and checks what goes with it.
async fn receive(
    request: &mut Request,
    headers: &Headers,
) -> std::result::Result<(Message, Era), (Fault, Option<Value>)> {
    headers.check_media_types().map_err(|fault| (fault, None))?;
    let mut body = Vec::new();
    let unreadable = |_| (Fault::new(400, frame::PARSE_ERROR, "The body can't be read."), None);
    let mut chunks = request.stream().map_err(unreadable)?;
    while let Some(chunk) = chunks.next().await {
        body.extend(chunk.map_err(unreadable)?);
        if body.len() > MAX_ARGUMENTS {
            let message = format!("The message is larger than {MAX_ARGUMENTS} bytes.");
            return Err((Fault::new(413, frame::INVALID_REQUEST, message), None));
        }
    }
    let message = Frame::parse(&body).map_err(|fault| (fault, None))?;
    match headers.era(&message) {
        Ok(era) => Ok((message, era)),
        Err(fault) => Err((fault, message.id().cloned())),
    }
}

/// The answer to who may not ask, or to a deployment that can't be asked.
fn denied(error: &Error, builder: ResponseBuilder) -> worker::Result<Response> {
    let correlation_id = refused("mcp", error);
    let (status, body) = problem::problem(error, &correlation_id);
    let builder = if error.code() == Code::Unauthorized {
        builder.with_header("WWW-Authenticate", "Bearer error=\"invalid_token\"")?
    } else {
        builder
    };
    let mut fault = Fault::new(status, frame::INVALID_REQUEST, format!("{} {}", error.message(), error.remediation()));
    fault.data = Some(body);
    faulty(&fault, None, builder.with_header("X-Correlation-Id", &correlation_id)?)
}

/// The answer to another method. A client of the protocol takes it for "there is no stream here".
fn not_allowed(builder: ResponseBuilder) -> worker::Result<Response> {
    let error = Error::new(Code::MethodNotAllowed, "/mcp takes POST alone.", "Send messages by POST.");
    let builder = builder.with_header("X-Correlation-Id", &refused("mcp", &error))?;
    Ok(builder.with_status(405).with_header("Allow", "POST")?.empty())
}

/// Answers a message that nothing comes of, and tells of it in the log.
fn refuse(fault: Fault, id: Option<&Value>, builder: ResponseBuilder) -> worker::Result<Response> {
    let correlation_id = refused("mcp", &fault.error());
    faulty(&fault.known_by(&correlation_id), id, builder.with_header("X-Correlation-Id", &correlation_id)?)
}

fn faulty(fault: &Fault, id: Option<&Value>, builder: ResponseBuilder) -> worker::Result<Response> {
    respond(fault.status, &fault.body(id), builder)
}

fn respond(status: u16, body: &Value, builder: ResponseBuilder) -> worker::Result<Response> {
    let builder = builder
        .with_status(status)
        .with_header("Content-Type", "application/json")?
        .with_header("Cache-Control", "no-store")?;
    Ok(builder.fixed(json::text(body).into_bytes()))
}
