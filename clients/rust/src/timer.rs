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

/// A pending timer. Dropping it clears the timer: a timer that stays set keeps its object in memory.
struct Timer(JsValue);

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.0);
    }
}

/// Waits for `duration`. It does not use `worker::Delay`, which wakes only the task that polled it first, and not
/// another task that has taken over the future.
pub async fn sleep(duration: Duration) {
    let millis = u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
    let timer = OnceLock::new();
    let elapsed = Promise::new(&mut |resolve, _| _ = timer.get_or_init(|| Timer(set_timeout(&resolve, millis))));
    // A timer promise never rejects.
    let _ = JsFuture::from(elapsed).await;
    drop(timer);
}
