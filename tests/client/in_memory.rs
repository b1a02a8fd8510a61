//! A transport to the service over in-memory ports.

use std::cell::Cell;
use std::time::Duration;

use futures_util::FutureExt;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter_client::{HttpResponse, Transport, TransportError};
use serde_json::{Value, json};

use super::support::Fixture;

/// The transport to the service of a fixture.
pub struct InMemoryTransport {
    pub fixture: Fixture,
    random_draws: Cell<u8>,
}

impl InMemoryTransport {
    pub fn new(fixture: Fixture) -> Self {
        Self { fixture, random_draws: Cell::new(0) }
    }
}

impl Transport for &InMemoryTransport {
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError> {
        let operation = Operation::by_name(operation).expect("a known operation");
        Ok(match self.fixture.run(operation, options) {
            Ok(answer) => HttpResponse { status: 200, body: answer.to_string() },
            Err(error) => HttpResponse { status: 500, body: json!(error.body("c0ffee")).to_string() },
        })
    }

    async fn sleep(&self, _: Duration) {}

    fn random(&self) -> Result<[u8; 16], TransportError> {
        self.random_draws.set(self.random_draws.get() + 1);
        Ok([self.random_draws.get(); 16])
    }
}

/// Runs a future that never waits, without an executor: the fixture has its own, and executors can't be nested.
pub fn run_ready<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("a future that never waits")
}
