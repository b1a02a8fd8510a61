//! The transport of calls to the snapshotter.

use std::time::Duration;

use serde_json::Value;

/// The transport of calls to the snapshotter, and the platform functions that the client needs.
#[allow(async_fn_in_trait)] // Workers are single-threaded.
pub trait Transport {
    /// Sends a call once: `POST /v1/<operation>` with its options as JSON.
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError>;

    /// Waits before a retry.
    async fn sleep(&self, duration: Duration);

    /// Returns random bytes, for idempotency keys and retry delays.
    fn random(&self) -> Result<[u8; 16], TransportError>;
}

/// A transport that also streams downloads.
#[allow(async_fn_in_trait)] // Workers are single-threaded.
pub trait StreamTransport: Transport {
    /// The bytes of a download.
    type Body;

    /// Requests a download once: `GET /v1/<name>?<query>`.
    async fn open(&self, name: &str, query: &str) -> Result<StreamedResponse<Self::Body>, TransportError>;
}

/// The response to the request for a download.
#[derive(Clone, Debug)]
pub enum StreamedResponse<B> {
    /// A response with the status 200 and the header `X-Snapshot-Id`.
    Stream {
        /// The header `X-Snapshot-Id`.
        snapshot_id: String,
        /// The header `ETag`.
        etag: String,
        /// The header `Content-Length`.
        length: Option<u64>,
        /// The header `X-Secrets`.
        secrets: Option<String>,
        /// The body.
        body: B,
    },
    /// Another response, such as an error.
    Other(HttpResponse),
}

/// An HTTP response, from the snapshotter or from another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// The call did not reach the snapshotter, and had no effect.
    Unreachable(String),
    /// The call was sent, and may have taken effect.
    NoAnswer(String),
    /// The caller aborted the call.
    Aborted,
}
