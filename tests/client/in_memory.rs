//! A way to the service over in-memory ports.

use std::cell::Cell;
use std::time::Duration;

use futures_util::FutureExt;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::{HttpResponse, Transport, TransportError};
use serde_json::{Value, json};

use super::support::Fixture;

/// The service of a stage.
pub struct InMemoryTransport {
    pub stage: Fixture,
    random_draws: Cell<u8>,
}

impl InMemoryTransport {
    pub fn new(stage: Fixture) -> Self {
        Self { stage, random_draws: Cell::new(0) }
    }
}

impl Transport for &InMemoryTransport {
    async fn send(&self, operation: &str, options: &Value) -> Result<HttpResponse, TransportError> {
        let operation = Operation::by_name(operation).expect("there is such an operation");
        Ok(match self.stage.run(operation, options) {
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

/// What comes of work that waits for nothing. The service has an executor of its own, and there is none around it.
pub fn run_ready<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("it waits for something")
}
