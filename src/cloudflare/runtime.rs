//! The Workers runtime: clock, randomness, work in the background, abort signals.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_channel::oneshot;
use futures_util::future::{LocalBoxFuture, ready};
use js_sys::futures::future_to_promise;
use js_sys::{Function, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen::{JsCast, JsValue};

use super::log::Line;
use crate::model::{Code, Error, Result, Timestamp};
use crate::ports::{Background, Clock, Entropy};
use crate::service::Abort;
use crate::service::trace::Trace;
use crate::timer;

/// The clock of the runtime, which stands still between two answers of the world.
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

/// `crypto.getRandomValues`.
pub struct WorkerEntropy;

impl Entropy for WorkerEntropy {
    fn bytes(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::new(Code::Internal, format!("The platform gave no random bytes: {error}."), "Try again.")
        })?;
        Ok(bytes)
    }
}

/// `ctx.waitUntil` of the event that is being handled.
pub struct WaitUntil(JsValue);

impl WaitUntil {
    /// That of `ctx`.
    pub fn of(ctx: JsValue) -> Self {
        Self(ctx)
    }
}

impl Background for WaitUntil {
    /// The work stays within the trace of its call. What it does after that was told is told in a line of its own.
    fn run(&self, work: LocalBoxFuture<'static, ()>) {
        let trace = Trace::current();
        let promise = future_to_promise(AssertUnwindSafe(async move {
            let Some(trace) = trace else {
                work.await;
                return Ok(JsValue::UNDEFINED);
            };
            trace.within(work).await;
            let deeds = trace.take_later();
            if !deeds.is_nothing() {
                Line::of("background", &trace.correlation_id).with_deeds(&deeds).write();
            }
            Ok(JsValue::UNDEFINED)
        }));
        if let Ok(wait_until) = Reflect::get(&self.0, &"waitUntil".into())
            && let Some(wait_until) = wait_until.dyn_ref::<Function>()
        {
            // Without it the work goes on for as long as the event lives, which is all that can be had.
            drop(wait_until.call1(&self.0, &promise));
        }
    }
}

/// What an `AbortSignal` says, to the service.
pub fn abort_of(signal: &web_sys::AbortSignal) -> Abort {
    if signal.aborted() {
        return Abort::when(ready(()));
    }
    let (sender, receiver) = oneshot::channel();
    let listener = Listener::on(signal.clone(), sender);
    Abort::when(async move {
        let fired = receiver.await.is_ok();
        drop(listener);
        if !fired {
            pending::<()>().await;
        }
    })
}

/// A listener to a signal, for as long as it lives.
struct Listener {
    signal: web_sys::AbortSignal,
    callback: Closure<dyn FnMut()>,
}

impl Listener {
    fn on(signal: web_sys::AbortSignal, sender: oneshot::Sender<()>) -> Self {
        let callback = Closure::once_assert_unwind_safe(move || {
            // Nobody waits any more when this fails.
            let _ = sender.send(());
        });
        let listener = Self { signal, callback };
        // It fails for no signal that there is.
        let _ = listener.signal.add_event_listener_with_callback("abort", listener.callback.as_ref().unchecked_ref());
        listener
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let callback = self.callback.as_ref().unchecked_ref();
        let _ = self.signal.remove_event_listener_with_callback("abort", callback);
    }
}
