//! The way over a service binding.

use std::fmt;
use std::time::Duration;

use js_sys::Array;
use serde_json::Value;
use wasm_bindgen::JsValue;
use web_sys::{AbortSignal, Headers, RequestInit};
use worker::{Fetcher, Request};

use super::transport::{Loss, Reply, Transport};
use crate::timer;

/// The binding says who is asked, so the host is of no account.
const URL: &str = "https://snapshotter/v1/";

/// A service binding to the snapshotter, called over its `fetch`.
#[derive(Clone)]
pub struct Service {
    fetcher: Fetcher,
    token: String,
    signal: Option<AbortSignal>,
    timeout: Option<Duration>,
}

impl Service {
    /// Over `env.service("SNAPSHOTTER")`, with the `API_TOKEN` of its deployment.
    pub fn new(fetcher: Fetcher, token: &str) -> Self {
        // A token that was piped into `wrangler secret put` may end in a line break.
        Self { fetcher, token: token.trim().to_owned(), signal: None, timeout: None }
    }

    /// Until the signal fires: calls end with `ABORTED` then, and what they began is taken back where that can be.
    #[must_use]
    pub fn until(self, signal: AbortSignal) -> Self {
        Self { signal: Some(signal), ..self }
    }

    /// Waits for an answer only so long, for each attempt.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// What ends one attempt.
    fn end(&self) -> Option<AbortSignal> {
        let millis = |timeout: Duration| u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let timeout = self.timeout.map(|timeout| AbortSignal::timeout_with_u32(millis(timeout)));
        match (&self.signal, timeout) {
            (Some(signal), Some(timeout)) => Some(AbortSignal::any(&Array::of2(signal, &timeout))),
            (signal, timeout) => timeout.or_else(|| signal.clone()),
        }
    }

    fn request(&self, operation: &str, options: &Value) -> Result<Request, JsValue> {
        let headers = Headers::new()?;
        headers.set("Authorization", &format!("Bearer {}", self.token))?;
        headers.set("Content-Type", "application/json")?;
        let init = RequestInit::new();
        init.set_method("POST");
        init.set_headers(&headers);
        init.set_body(&options.to_string().into());
        init.set_signal(self.end().as_ref());
        Ok(web_sys::Request::new_with_str_and_init(&format!("{URL}{operation}"), &init)?.into())
    }

    fn loss(&self, error: &worker::Error) -> Loss {
        if self.is_aborted() { Loss::Aborted } else { Loss::Lost(error.to_string()) }
    }

    fn is_aborted(&self) -> bool {
        self.signal.as_ref().is_some_and(AbortSignal::aborted)
    }
}

/// Without the token.
impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Transport for Service {
    async fn send(&self, operation: &str, options: &Value) -> Result<Reply, Loss> {
        if self.is_aborted() {
            return Err(Loss::Aborted);
        }
        let request = self
            .request(operation, options)
            .map_err(|_| Loss::Unreachable("the token can't be sent in a header".into()))?;
        let mut response = self.fetcher.fetch_request(request).await.map_err(|error| self.loss(&error))?;
        let body = response.text().await.map_err(|error| self.loss(&error))?;
        Ok(Reply { status: response.status_code(), body })
    }

    async fn sleep(&self, duration: Duration) {
        timer::sleep(duration).await;
    }

    fn random(&self) -> Result<[u8; 16], Loss> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Loss::Unreachable(format!("there is no randomness: {error}")))?;
        Ok(bytes)
    }
}
