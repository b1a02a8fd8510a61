//! `GET /v1/files/download` and `GET /v1/files/export`.

use wasm_bindgen::JsValue;
use web_sys::UrlSearchParams;
use worker::{Env, Request, Response, ResponseBuilder};

use super::conditions::{Conditions, Selected};
use super::file_name::content_disposition;
use super::query::to_options;
use super::{Download, Opened, open, secrets};
use crate::api::access_log::log_refusal;
use crate::api::auth;
use crate::model::archive::Form;
use crate::model::{Error, Result};

/// The methods of a download.
pub(in crate::api) const METHODS: &str = "GET, HEAD";

/// Responds to a request for a download; or returns the error with its correlation id.
pub(in crate::api) async fn respond(
    form: Form,
    request: &Request,
    env: &Env,
    ctx: JsValue,
) -> worker::Result<std::result::Result<Response, (Error, String)>> {
    let authorization = request.headers().get("Authorization").ok().flatten();
    let access = match auth::authenticate(env, &ctx, authorization.as_deref()).await {
        Ok(access) => access,
        Err(error) => {
            let correlation_id = log_refusal("request", &error);
            return Ok(Err((error, correlation_id)));
        }
    };
    let is_head = request.inner().method() == "HEAD";
    let Opened { correlation_id, outcome } = open(form, &access, read_query(request), env, ctx.clone()).await;
    let download = match outcome {
        Ok(download) => download,
        Err(error) => return Ok(Err((error, correlation_id))),
    };
    let header = |name: &str| request.headers().get(name).ok().flatten();
    let conditions = Conditions {
        if_none_match: header("If-None-Match"),
        if_range: header("If-Range"),
        range: header("Range").filter(|_| !is_head),
    };
    let event = Event { ctx: &ctx, signal: request.inner().signal().into(), is_head, correlation_id: &correlation_id };
    build(form, &download, &conditions, &event).map(Ok)
}

fn read_query(request: &Request) -> Result<serde_json::Value> {
    let query = request.inner().url();
    let query = query.split_once('?').map_or("", |(_, query)| query);
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    let parameters = UrlSearchParams::new_with_str(query).map_err(|_| Error::internal())?;
    let pairs = js_sys::Array::from(&parameters);
    let text = |pair: &js_sys::Array, at: u32| pair.get(at).as_string().unwrap_or_default();
    to_options(pairs.iter().map(|pair| {
        let pair = js_sys::Array::from(&pair);
        (text(&pair, 0), text(&pair, 1))
    }))
}

/// The event of a request.
struct Event<'a> {
    /// Its context.
    ctx: &'a JsValue,
    /// An `AbortSignal` that fires when the client disconnects.
    signal: JsValue,
    is_head: bool,
    correlation_id: &'a str,
}

fn build(form: Form, download: &Download, conditions: &Conditions, event: &Event) -> worker::Result<Response> {
    let size = (form == Form::Content).then_some(download.attributes.size_bytes);
    let selected = conditions.select(&download.etag, size);
    let builder = ResponseBuilder::new()
        .with_header("Cache-Control", "private, no-cache")?
        .with_header("Content-Security-Policy", "default-src 'none'; sandbox")?
        .with_header("ETag", &download.etag)?
        .with_header("X-Correlation-Id", event.correlation_id)?
        .with_header("X-Snapshot-Id", download.snapshot_id.as_str())?
        .with_header("Accept-Ranges", if size.is_some() { "bytes" } else { "none" })?;
    let builder = match &download.secrets {
        Some(report) => builder.with_header(secrets::HEADER, &secrets::to_header(report))?,
        None => builder,
    };
    let builder = match &selected {
        Selected::NotModified => builder.with_status(304),
        Selected::NotSatisfiable => {
            builder.with_status(416).with_header("Content-Range", &format!("bytes */{}", size.unwrap_or_default()))?
        }
        Selected::Whole => builder,
        Selected::Part(range) => builder.with_status(206).with_header(
            "Content-Range",
            &format!("bytes {}-{}/{}", range.start, range.end - 1, size.unwrap_or_default()),
        )?,
    };
    let range = match selected {
        Selected::NotModified | Selected::NotSatisfiable => {
            download.opened.close();
            return Ok(builder.empty());
        }
        Selected::Whole => size.map(|size| 0..size),
        Selected::Part(range) => Some(range),
    };
    let name = match form {
        Form::Content => file_name(download),
        Form::Tar => format!("{}.tar", file_name(download)),
    };
    let builder = builder
        .with_header("Content-Type", "application/octet-stream")?
        .with_header("Content-Disposition", &content_disposition(&name))?;
    if !event.is_head {
        return Ok(builder.stream(download.opened.bytes(range, event.ctx, &event.signal)?));
    }
    download.opened.close();
    match range {
        Some(range) => Ok(builder.with_header("Content-Length", &(range.end - range.start).to_string())?.empty()),
        None => Ok(builder.empty()),
    }
}

/// Returns the last name of the path, or the id of the snapshot.
fn file_name(download: &Download) -> String {
    let mut names = download.path.as_str().split('/').filter(|name| !matches!(*name, "" | "."));
    names.next_back().map_or_else(|| download.snapshot_id.to_string(), str::to_owned)
}
