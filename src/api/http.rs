//! The HTTP routes: every operation is `POST /v1/<name>`, with the JSON that its RPC method takes and returns.

use std::panic::AssertUnwindSafe;

use futures_util::StreamExt;
use js_sys::Promise;
use js_sys::futures::future_to_promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;
use worker::{Env, Method, Request, Response, ResponseBuilder};

use super::access_log::log_refusal;
use super::exec_stream::{self, Opened};
use super::execute::{Answer, Call, execute};
use super::operations::{MAX_ARGUMENTS, Operation};
use super::rpc::without_content;
use super::{auth, downloads, healthz, mcp, problem};
use crate::model::json::{self, RawJson};
use crate::model::{Code, Error, Result};
use crate::service::access::Access;

/// The HTTP method of every operation.
const POST: &str = "POST";

/// The media type of a body that is the standard input of a command, or the content of a file.
const INPUT_MEDIA_TYPE: &str = "application/octet-stream";

/// Handles `fetch(request)`.
#[wasm_bindgen]
pub fn fetch(request: web_sys::Request, env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let response = handle(request.into(), &env, ctx).await.and_then(with_nosniff).map_err(JsValue::from)?;
        Ok(web_sys::Response::from(response).into())
    }))
}

/// Returns the response to a request for a page with a method other than GET and HEAD.
#[wasm_bindgen(js_name = refusePageMethod)]
pub fn refuse_page_method(request: web_sys::Request) -> std::result::Result<web_sys::Response, JsValue> {
    Ok(refuse_method(&request.into()).and_then(with_nosniff).map_err(JsValue::from)?.into())
}

/// Adds the header that keeps browsers from guessing another media type.
fn with_nosniff(mut response: Response) -> worker::Result<Response> {
    response.headers_mut().set("X-Content-Type-Options", "nosniff")?;
    Ok(response)
}

/// Returns the response to a request with a method other than GET and HEAD.
fn refuse_method(request: &Request) -> worker::Result<Response> {
    let error = method_not_allowed(request, "GET");
    error_response(&error, &log_refusal("request", &error), "GET, HEAD")
}

async fn handle(mut request: Request, env: &Env, ctx: JsValue) -> worker::Result<Response> {
    if request.path() == "/mcp" {
        return Box::pin(mcp::handle(request, env, ctx)).await;
    }
    if request.path() == "/healthz" {
        // `Request::method` returns GET for an unknown method, such as QUERY.
        return match request.inner().method().as_str() {
            "GET" => healthz::respond(env, false),
            "HEAD" => healthz::respond(env, true),
            _ => refuse_method(&request),
        };
    }
    if let Some(form) = request.path().strip_prefix("/v1/").and_then(downloads::form_of) {
        return match request.inner().method().as_str() {
            "GET" | "HEAD" => match downloads::http::respond(form, &request, env, ctx).await? {
                Ok(response) => Ok(response),
                Err((error, correlation_id)) => error_response(&error, &correlation_id, downloads::http::METHODS),
            },
            _ => refuse_method(&request),
        };
    }
    let (operation, access) = match authorize_route(&request, env, &ctx).await {
        Ok(authorized) => authorized,
        Err(error) => return error_response(&error, &log_refusal("request", &error), POST),
    };
    if operation == Operation::Exec && accepts_events(&request) {
        return exec_as_stream(request, &access, env, ctx).await;
    }
    let signal = request.inner().signal().into();
    let is_content = operation == Operation::WriteFile && has_input(&request);
    let input = is_content.then(|| request.inner().body()).flatten();
    let call = async move {
        // A request without a body writes an empty file.
        let arguments = if is_content {
            without_content(read_url_options(&request)?)?
        } else {
            read_arguments(&mut request).await?
        };
        Ok(Call { arguments, signal, input })
    };
    let Answer { correlation_id, outcome } = execute(operation, access, call, env, ctx).await;
    match outcome {
        Ok(answer) => respond(ResponseBuilder::new(), "application/json", answer, &correlation_id),
        Err(error) => error_response(&error, &correlation_id, POST),
    }
}

/// Returns whether the caller accepts server-sent events.
fn accepts_events(request: &Request) -> bool {
    let accepted = request.headers().get("Accept").ok().flatten().unwrap_or_default();
    accepted
        .split(',')
        .filter_map(|range| range.split(';').next())
        .any(|media_type| media_type.trim() == exec_stream::MEDIA_TYPE)
}

/// Starts a command, and responds with its events. The body of the request is JSON; or it is the standard input of the
/// command, and the options are in the URL.
async fn exec_as_stream(mut request: Request, access: &Access, env: &Env, ctx: JsValue) -> worker::Result<Response> {
    let signal = request.inner().signal().into();
    let is_input = has_input(&request);
    let input = is_input.then(|| request.inner().body()).flatten();
    let call = async move {
        let arguments = if is_input { read_url_options(&request)? } else { read_arguments(&mut request).await? };
        Ok(Call { arguments, signal, input: None })
    };
    let Opened { correlation_id, outcome } = exec_stream::open(access, call, input, env, ctx).await;
    match outcome {
        Ok(stream) => {
            stream.into_response(answer_headers(exec_stream::MEDIA_TYPE, ResponseBuilder::new(), &correlation_id)?)
        }
        Err(error) => error_response(&error, &correlation_id, POST),
    }
}

/// Returns whether the body is the standard input of a command, or the content of a file.
fn has_input(request: &Request) -> bool {
    media_type(request).eq_ignore_ascii_case(INPUT_MEDIA_TYPE)
}

/// Reads the options of a call with an input from the URL.
fn read_url_options(request: &Request) -> Result<Value> {
    let url = request.url().map_err(|error| Error::exec_options_unreadable(&error.to_string()))?;
    let options = url.query_pairs().find_map(|(name, value)| (name == "options").then(|| value.into_owned()));
    let options = options.ok_or_else(|| Error::exec_options_unreadable("it is missing"))?;
    json::parse_untrusted(options.as_bytes()).map_err(|why| Error::exec_options_unreadable(&why))
}

/// Verifies the token and the method of a request, and returns its operation, and what the caller may do.
///
/// # Errors
/// [`Code::RouteNotFound`], [`Code::MethodNotAllowed`], and those of [`auth::authenticate`].
async fn authorize_route(request: &Request, env: &Env, ctx: &JsValue) -> Result<(Operation, Access)> {
    let path = request.path();
    let not_found = || Error::route_not_found(&path);
    let name = path.strip_prefix("/v1/").ok_or_else(not_found)?;
    let authorization = request.headers().get("Authorization").ok().flatten();
    let access = auth::authenticate(env, ctx, authorization.as_deref()).await?;
    let operation = Operation::by_name(name).ok_or_else(not_found)?;
    if request.method() != Method::Post {
        return Err(method_not_allowed(request, POST));
    }
    Ok((operation, access))
}

fn method_not_allowed(request: &Request, allowed: &str) -> Error {
    Error::method_not_allowed(&request.path(), &request.inner().method(), allowed)
}

/// Returns the media type of the body.
fn media_type(request: &Request) -> String {
    let content_type = request.headers().get("Content-Type").ok().flatten().unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim().to_owned()
}

/// Reads the body as JSON.
///
/// # Errors
/// [`Code::UnsupportedMediaType`], [`Code::PayloadTooLarge`] over [`MAX_ARGUMENTS`] bytes, and
/// [`Code::InvalidArgument`].
async fn read_arguments(request: &mut Request) -> Result<Value> {
    let media_type = media_type(request);
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(Error::unsupported_media_type(&media_type));
    }
    let mut chunks = request.stream().map_err(Error::body_unreadable)?;
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        body.extend(chunk.map_err(Error::body_unreadable)?);
        if body.len() > MAX_ARGUMENTS {
            return Err(Error::arguments_too_large(MAX_ARGUMENTS));
        }
    }
    if body.is_empty() {
        return Err(Error::body_empty());
    }
    json::parse_untrusted(&body).map_err(Error::body_unreadable)
}

/// Returns the response of an error. `methods` are the methods of the route, for the header `Allow`.
fn error_response(error: &Error, correlation_id: &str, methods: &str) -> worker::Result<Response> {
    let (status, body) = problem::problem(error, correlation_id);
    let builder = ResponseBuilder::new().with_status(status);
    let builder = match error.code() {
        Code::Unauthorized => builder.with_header("WWW-Authenticate", "Bearer")?,
        Code::MethodNotAllowed => builder.with_header("Allow", methods)?,
        _ => builder,
    };
    respond(builder, problem::MEDIA_TYPE, RawJson::from_value(&body), correlation_id)
}

fn respond(
    builder: ResponseBuilder,
    media_type: &str,
    body: RawJson,
    correlation_id: &str,
) -> worker::Result<Response> {
    let builder = answer_headers(media_type, builder, correlation_id)?;
    Ok(builder.fixed(String::from(body).into_bytes()))
}

fn answer_headers(media_type: &str, builder: ResponseBuilder, correlation_id: &str) -> worker::Result<ResponseBuilder> {
    builder
        .with_header("Content-Type", media_type)?
        .with_header("Cache-Control", "no-store")?
        .with_header("X-Correlation-Id", correlation_id)
}
