//! An empty Rust Worker, which returns the same response to every request.

use std::panic::AssertUnwindSafe;

use js_sys::Promise;
use js_sys::futures::future_to_promise;
use wasm_bindgen::prelude::*;
use worker::Response;

/// The `fetch` handler.
#[wasm_bindgen]
pub fn fetch() -> Promise {
    future_to_promise(AssertUnwindSafe(async {
        let response = Response::ok("nothing").map_err(JsValue::from)?;
        Ok(web_sys::Response::from(response).into())
    }))
}
