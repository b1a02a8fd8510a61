//! A way to nobody: it answers what it was told to.
#![allow(clippy::unnecessary_wraps)] // A reply, or that there is none.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use sandbox_snapshotter::client::{HttpResponse, Transport, TransportError};
use serde_json::{Value, json};

/// Answers what it was told to, in this order, and remembers what it was asked for.
#[derive(Default)]
pub struct FakeTransport {
    replies: RefCell<VecDeque<Result<HttpResponse, TransportError>>>,
    calls: RefCell<Vec<(String, Value)>>,
    sleeps: RefCell<Vec<Duration>>,
}

impl FakeTransport {
    /// These replies, and then none any more.
    pub fn new(replies: impl IntoIterator<Item = Result<HttpResponse, TransportError>>) -> Self {
        Self { replies: RefCell::new(replies.into_iter().collect()), ..Self::default() }
    }

    /// What was called, with which options.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.calls.borrow().clone()
    }

    /// How long it was waited before calls.
    pub fn sleeps(&self) -> Vec<Duration> {
        self.sleeps.borrow().clone()
    }
}

impl Transport for &FakeTransport {
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError> {
        self.calls.borrow_mut().push((operation.to_owned(), options.clone()));
        self.replies.borrow_mut().pop_front().expect("a call too many")
    }

    async fn sleep(&self, duration: Duration) {
        self.sleeps.borrow_mut().push(duration);
    }

    fn random(&self) -> Result<[u8; 16], TransportError> {
        Ok([0xff; 16])
    }
}

/// An answer.
pub fn ok_reply(body: &Value) -> Result<HttpResponse, TransportError> {
    Ok(HttpResponse { status: 200, body: body.to_string() })
}

/// An error of the snapshotter, with this code.
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
    });
    Ok(HttpResponse { status: 503, body: body.to_string() })
}

/// No answer.
pub fn lost_reply() -> Result<HttpResponse, TransportError> {
    Err(TransportError::NoAnswer("the connection was closed".into()))
}
