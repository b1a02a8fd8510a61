//! The timer of the Workers runtime.

use std::sync::OnceLock;
use std::time::Duration;

use js_sys::futures::JsFuture;
use js_sys::{Function, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, millis: u32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// A timer that was set. It is cleared when it is not waited for any more: one that is left would keep its object in memory.
struct Timer(JsValue);

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.0);
    }
}

/// Waits. Not by `worker::Delay`: that wakes the task that polled it first, and never another one that goes on with the work.
pub(crate) async fn sleep(duration: Duration) {
    let millis = u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    let timer = OnceLock::new();
    let passes = Promise::new(&mut |passed, _| _ = timer.get_or_init(|| Timer(set_timeout(&passed, millis))));
    // A timer does not fail.
    let _ = JsFuture::from(passes).await;
    drop(timer);
}
