//! The transport over a service binding.

use std::fmt;
use std::time::Duration;

use js_sys::Array;
use serde_json::Value;
use wasm_bindgen::JsValue;
use web_sys::{AbortSignal, Headers, RequestInit};
use worker::{Fetcher, Request, Response};

use crate::timer;
use crate::transport::{HttpResponse, StreamTransport, StreamedResponse, Transport, TransportError};

/// The base URL of all calls. The binding determines the receiver, so the host has no effect.
const BASE_URL: &str = "https://snapshotter/v1/";

/// A service binding to the snapshotter, called over its `fetch`.
#[derive(Clone)]
pub struct ServiceBinding {
    fetcher: Fetcher,
    token: String,
    signal: Option<AbortSignal>,
    timeout: Option<Duration>,
}

impl ServiceBinding {
    /// Creates a transport over `env.service("SNAPSHOTTER")`, with the `API_TOKEN` of the snapshotter's deployment.
    pub fn new(fetcher: Fetcher, token: &str) -> Self {
        // A token that was piped into `wrangler secret put` may end with a line break.
        Self { fetcher, token: token.trim().to_owned(), signal: None, timeout: None }
    }

    /// Sets a signal that aborts calls. When it fires, calls fail with `ABORTED`, and the snapshotter rolls back their
    /// work where possible.
    #[must_use]
    pub fn with_signal(self, signal: AbortSignal) -> Self {
        Self { signal: Some(signal), ..self }
    }

    /// Sets the time limit for the answer to each attempt.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Returns the signal that aborts one attempt.
    fn abort_signal(&self) -> Option<AbortSignal> {
        let to_millis = |timeout: Duration| u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let timeout = self.timeout.map(|timeout| AbortSignal::timeout_with_u32(to_millis(timeout)));
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
        init.set_signal(self.abort_signal().as_ref());
        Ok(web_sys::Request::new_with_str_and_init(&format!("{BASE_URL}{operation}"), &init)?.into())
    }

    fn download_request(&self, name: &str, query: &str) -> Result<Request, JsValue> {
        let headers = Headers::new()?;
        headers.set("Authorization", &format!("Bearer {}", self.token))?;
        let init = RequestInit::new();
        init.set_headers(&headers);
        // The stream can take longer than the time limit of an attempt.
        init.set_signal(self.signal.as_ref());
        Ok(web_sys::Request::new_with_str_and_init(&format!("{BASE_URL}{name}?{query}"), &init)?.into())
    }

    fn transport_error(&self, error: &worker::Error) -> TransportError {
        if self.is_aborted() { TransportError::Aborted } else { TransportError::NoAnswer(error.to_string()) }
    }

    fn is_aborted(&self) -> bool {
        self.signal.as_ref().is_some_and(AbortSignal::aborted)
    }
}

/// Omits the token.
impl fmt::Debug for ServiceBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceBinding").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl StreamTransport for ServiceBinding {
    type Body = Response;

    async fn open(&self, name: &str, query: &str) -> Result<StreamedResponse<Response>, TransportError> {
        if self.is_aborted() {
            return Err(TransportError::Aborted);
        }
        let request = self.download_request(name, query);
        let request = request.map_err(|_| TransportError::Unreachable("the token can't be sent in a header".into()))?;
        let mut response = self.fetcher.fetch_request(request).await.map_err(|error| self.transport_error(&error))?;
        let header = |name: &str| response.headers().get(name).ok().flatten();
        if let (200, Some(snapshot_id)) = (response.status_code(), header("X-Snapshot-Id")) {
            let etag = header("ETag").unwrap_or_default();
            let length = header("Content-Length").and_then(|length| length.parse().ok());
            let secrets = header("X-Secrets");
            return Ok(StreamedResponse::Stream { snapshot_id, etag, length, secrets, body: response });
        }
        let body = response.text().await.map_err(|error| self.transport_error(&error))?;
        Ok(StreamedResponse::Other(HttpResponse { status: response.status_code(), body }))
    }
}

impl Transport for ServiceBinding {
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError> {
        if self.is_aborted() {
            return Err(TransportError::Aborted);
        }
        let request = self
            .request(operation, options)
            .map_err(|_| TransportError::Unreachable("the token can't be sent in a header".into()))?;
        let mut response = self.fetcher.fetch_request(request).await.map_err(|error| self.transport_error(&error))?;
        let body = response.text().await.map_err(|error| self.transport_error(&error))?;
        Ok(HttpResponse { status: response.status_code(), body })
    }

    async fn sleep(&self, duration: Duration) {
        timer::sleep(duration).await;
    }

    fn random(&self) -> Result<[u8; 16], TransportError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| TransportError::Unreachable(format!("the platform returned no random bytes: {error}")))?;
        Ok(bytes)
    }
}
