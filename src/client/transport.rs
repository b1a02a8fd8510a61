//! A way to the snapshotter.

use std::time::Duration;

use serde_json::Value;

/// A way to the snapshotter, with what the client needs of the platform on it.
#[allow(async_fn_in_trait)] // Workers are one thread.
pub trait Transport {
    /// Makes a call once: `POST /v1/<operation>`, with its options as JSON.
    async fn send(&self, operation: &str, options: &Value) -> Result<Reply, Loss>;

    /// Waits, before a call is made again.
    async fn sleep(&self, duration: Duration);

    /// Random bytes, for idempotency keys and for how long is waited.
    fn random(&self) -> Result<[u8; 16], Loss>;
}

/// What was answered, by whomever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Nobody took the call: nothing was done.
    Unreachable(String),
    /// The call was sent, and may have been carried out.
    Lost(String),
    /// The caller does not want the answer any more.
    Aborted,
}
