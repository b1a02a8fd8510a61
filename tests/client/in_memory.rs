//! A way to the service over in-memory ports.

use std::cell::Cell;
use std::time::Duration;

use futures_util::FutureExt;
use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::client::{Loss, Reply, Transport};
use serde_json::{Value, json};

use super::support::Stage;

/// The service of a stage.
pub struct InMemory {
    pub stage: Stage,
    drawn: Cell<u8>,
}

impl InMemory {
    pub fn new(stage: Stage) -> Self {
        Self { stage, drawn: Cell::new(0) }
    }
}

impl Transport for &InMemory {
    async fn send(&self, operation: &str, options: &Value) -> Result<Reply, Loss> {
        let operation = Operation::by_name(operation).expect("there is such an operation");
        Ok(match self.stage.run(operation, options) {
            Ok(answer) => Reply { status: 200, body: answer.to_string() },
            Err(error) => Reply { status: 500, body: json!(error.body("c0ffee")).to_string() },
        })
    }

    async fn sleep(&self, _: Duration) {}

    fn random(&self) -> Result<[u8; 16], Loss> {
        self.drawn.set(self.drawn.get() + 1);
        Ok([self.drawn.get(); 16])
    }
}

/// What comes of work that waits for nothing. The service has an executor of its own, and there is none around it.
pub fn done<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("it waits for something")
}
