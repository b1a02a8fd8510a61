//! A transport that returns scripted replies.
#![allow(clippy::unnecessary_wraps)] // Every reply is a `Result`, as the transport returns it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use sandbox_snapshotter_client::{HttpResponse, Transport, TransportError};
use serde_json::{Value, json};

/// Returns scripted replies in order, and records the calls.
#[derive(Default)]
pub struct FakeTransport {
    replies: RefCell<VecDeque<Result<HttpResponse, TransportError>>>,
    calls: RefCell<Vec<(String, Value)>>,
    sleeps: RefCell<Vec<Duration>>,
}

impl FakeTransport {
    /// Creates a transport with these replies. A further call panics.
    pub fn new(replies: impl IntoIterator<Item = Result<HttpResponse, TransportError>>) -> Self {
        Self { replies: RefCell::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// The recorded calls: operation and options.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.calls.borrow().clone()
    }

    /// The recorded waits before calls.
    pub fn sleeps(&self) -> Vec<Duration> {
        self.sleeps.borrow().clone()
    }
}

impl Transport for &FakeTransport {
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError> {
        self.calls.borrow_mut().push((operation.to_owned(), options.clone()));
        self.replies.borrow_mut().pop_front().expect("a reply for each call")
    }

    async fn sleep(&self, duration: Duration) {
        self.sleeps.borrow_mut().push(duration);
    }

    fn random(&self) -> Result<[u8; 16], TransportError> {
        Ok([0xff; 16])
    }
}

/// A successful reply.
pub fn ok_reply(body: &Value) -> Result<HttpResponse, TransportError> {
    Ok(HttpResponse { status: 200, body: body.to_string() })
}

/// An error reply of the service, with a code and a kind.
pub fn error_reply(code: &str, kind: &str) -> Result<HttpResponse, TransportError> {
    let body = json!({
        "type": format!("urn:sandbox-snapshotter:error:{code}"),
        "status": 503,
        "code": code,
        "kind": kind,
        "message": "It happened.",
        "remediation": "Do something.",
        "retryable": kind == "transient",
        "correlationId": "c0ffee",
        "cause": { "name": "Error", "message": "thrown" },
        "started": { "how": "restored", "mayHaveLost": true },
    });
    Ok(HttpResponse { status: 503, body: body.to_string() })
}

/// A lost answer.
pub fn lost_reply() -> Result<HttpResponse, TransportError> {
    Err(TransportError::NoAnswer("the connection was closed".into()))
}
