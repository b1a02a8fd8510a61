//! The SHA-256 of a stream, computed by the platform in constant memory.

use futures_util::future::join;
use js_sys::Promise;
use js_sys::Uint8Array;
use js_sys::futures::JsFuture;
use wasm_bindgen::prelude::*;
use worker::ResponseBody;

use super::js_error::to_failure;
use crate::model::Failure;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto)]
    type DigestStream;
    #[wasm_bindgen(constructor, catch, js_namespace = crypto)]
    fn new(algorithm: &str) -> Result<DigestStream, JsValue>;
    #[wasm_bindgen(method, getter)]
    fn digest(this: &DigestStream) -> Promise;

    type ReadableStream;
    #[wasm_bindgen(method, catch, js_name = pipeTo)]
    fn pipe_to(this: &ReadableStream, destination: &DigestStream) -> Result<Promise, JsValue>;
}

/// Reads a body to its end, and returns its SHA-256.
pub(super) async fn sha256(body: ResponseBody) -> Result<Vec<u8>, Failure> {
    let ResponseBody::Stream(body) = body else {
        return Err(Failure::protocol("R2", "a body is no stream".to_owned()));
    };
    let hash = DigestStream::new("SHA-256").map_err(|thrown| to_failure(&thrown))?;
    let digest = JsFuture::from(hash.digest());
    let read = body.unchecked_ref::<ReadableStream>().pipe_to(&hash).map_err(|thrown| to_failure(&thrown))?;
    // Both fail if the body does.
    let (read, digest) = join(JsFuture::from(read), digest).await;
    let digest = read.and(digest).map_err(|thrown| to_failure(&thrown))?;
    Ok(Uint8Array::new(&digest).to_vec())
}
