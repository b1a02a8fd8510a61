//! The Workers runtime: clock, randomness, background work, abort signals.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::futures::future_to_promise;
use js_sys::{Function, Reflect};
use sandbox_snapshotter_client::timer;
use wasm_bindgen::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use super::log::LogLine;
use crate::model::{Error, Result, Timestamp};
use crate::ports::{Background, Clock, Entropy};
use crate::service::CancellationToken;
use crate::service::calls::call_context::CallContext;

/// The clock of the runtime. It advances only after I/O.
pub struct WorkerClock;

impl Clock for WorkerClock {
    fn now(&self) -> Timestamp {
        #[allow(clippy::cast_possible_truncation)] // Whole milliseconds, far below 2^53.
        Timestamp::from_millis(js_sys::Date::now() as i64)
    }

    async fn sleep(&self, duration: Duration) {
        timer::sleep(duration).await;
    }
}

/// Random bytes from `crypto.getRandomValues`.
pub struct WorkerEntropy;

impl Entropy for WorkerEntropy {
    fn random_bytes(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(Error::no_random_bytes)?;
        Ok(bytes)
    }
}

/// `ctx.waitUntil` of the event that the Worker handles.
pub struct WaitUntil(JsValue);

impl WaitUntil {
    /// Returns the `waitUntil` of `ctx`.
    pub fn of(ctx: JsValue) -> Self {
        Self(ctx)
    }
}

impl Background for WaitUntil {
    /// Runs the work in the context of its call. Writes the side effects that come after the log line of that call to a
    /// log line of their own.
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        let context = CallContext::current();
        let promise = future_to_promise(AssertUnwindSafe(async move {
            let Some(context) = context else {
                work.await;
                return Ok(JsValue::UNDEFINED);
            };
            context.scope(work).await;
            let side_effects = context.take_late_effects();
            if !side_effects.is_empty() {
                LogLine::of("background", &context.correlation_id).with_side_effects(&side_effects).write();
            }
            Ok(JsValue::UNDEFINED)
        }));
        if let Ok(wait_until) = Reflect::get(&self.0, &"waitUntil".into())
            && let Some(wait_until) = wait_until.dyn_ref::<Function>()
        {
            // Without `waitUntil`, the work runs for the lifetime of the event, which is the most that is possible.
            drop(wait_until.call1(&self.0, &promise));
        }
    }
}

/// Converts an `AbortSignal` to a cancellation token.
pub fn cancellation_token(signal: &web_sys::AbortSignal) -> CancellationToken {
    if signal.aborted() {
        return CancellationToken::from_signal(ready(()));
    }
    let (sender, receiver) = oneshot::channel();
    let listener = AbortListener::listen(signal.clone(), sender);
    CancellationToken::from_signal(async move {
        let fired = receiver.await.is_ok();
        drop(listener);
        if !fired {
            pending::<()>().await;
        }
    })
}

/// A listener on an `AbortSignal`. Removes itself when it is dropped.
struct AbortListener {
    signal: web_sys::AbortSignal,
    callback: Closure<dyn FnMut()>,
}

impl AbortListener {
    fn listen(signal: web_sys::AbortSignal, sender: oneshot::Sender<()>) -> Self {
        let callback = Closure::once_assert_unwind_safe(move || {
            // It fails only when the receiver was dropped.
            let _ = sender.send(());
        });
        let listener = Self { signal, callback };
        // `addEventListener` does not fail on a valid signal.
        let _ = listener.signal.add_event_listener_with_callback("abort", listener.callback.as_ref().unchecked_ref());
        listener
    }
}

impl Drop for AbortListener {
    fn drop(&mut self) {
        let callback = self.callback.as_ref().unchecked_ref();
        let _ = self.signal.remove_event_listener_with_callback("abort", callback);
    }
}
