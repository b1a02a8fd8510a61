//! The RPC methods `files.download` and `files.export`.

use std::panic::AssertUnwindSafe;

use js_sys::futures::future_to_promise;
use js_sys::{Promise, Reflect};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use worker::Env;

use super::{Download, NAMES, Opened, form_of, open};
use crate::api::exception::to_exception;
use crate::api::rpc::read_options;
use crate::cloudflare::value::to_js;
use crate::model::archive::Form;
use crate::model::{Error, json as text};
use crate::service::access::Access;

/// Returns the names of the downloads. Each is an RPC method.
#[wasm_bindgen]
pub fn downloads() -> Vec<String> {
    NAMES.map(str::to_owned).to_vec()
}

/// Opens the download with the name `name`. Returns its description with its `body`, a `ReadableStream`.
#[wasm_bindgen]
#[allow(clippy::needless_pass_by_value)] // JavaScript passes it by value.
pub fn download(name: String, options: JsValue, env: Env, ctx: JsValue) -> Promise {
    future_to_promise(AssertUnwindSafe(async move {
        let form = form_of(&name).ok_or_else(|| to_exception(&Error::internal(), ""))?;
        let Opened { correlation_id, outcome } =
            open(form, &Access::Everything, read_options(&options), &env, ctx.clone()).await;
        let download = outcome.map_err(|error| to_exception(&error, &correlation_id))?;
        let size = (form == Form::Content).then_some(download.attributes.size_bytes);
        let answer = to_js(&describe(&download, size))?;
        let body = download.opened.bytes(size.map(|size| 0..size), &ctx, &JsValue::UNDEFINED)?;
        Reflect::set(&answer, &"body".into(), &body)?;
        Ok(answer)
    }))
}

fn describe(download: &Download, size: Option<u64>) -> Value {
    let mut description = json!({
        "snapshotId": download.snapshot_id,
        "path": download.path,
        "etag": download.etag,
    });
    if let Some(members) = description.as_object_mut() {
        let size = size.and_then(|size| text::to_value(&size).ok());
        members.extend(size.map(|size| ("sizeBytes".to_owned(), size)));
        let secrets = download.secrets.as_ref().and_then(|report| text::to_value(report).ok());
        members.extend(secrets.map(|secrets| ("secrets".to_owned(), secrets)));
    }
    description
}
