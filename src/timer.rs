//! The timer of the Workers runtime.

use std::time::Duration;

use js_sys::futures::JsFuture;
use js_sys::{Function, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, millis: u32) -> JsValue;
}

/// Waits. Not by `worker::Delay`: that wakes the task that polled it first, and never another one that goes on with the work.
pub(crate) async fn sleep(duration: Duration) {
    let millis = u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    let passes = Promise::new(&mut |passed, _| drop(set_timeout(&passed, millis)));
    // A timer does not fail.
    let _ = JsFuture::from(passes).await;
}
