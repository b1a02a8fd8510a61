//! Checkpoints inside of a sandbox: what is asked of the script, in which container, and what callers are told.

mod container;
mod order;
mod told;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Result;
use serde_json::{Value, json};

use super::support::{FILE, Stage};

/// The operations, with the name of a checkpoint where they take one.
const EVERY: [Operation; 4] =
    [Operation::CreateCheckpoint, Operation::ListCheckpoints, Operation::RestoreCheckpoint, Operation::DiffCheckpoint];

/// The arguments of an operation about the checkpoint `before` of a sandbox.
fn of(id: &str, operation: Operation) -> Value {
    match operation {
        Operation::ListCheckpoints => json!({ "sandboxId": id }),
        _ => json!({ "sandboxId": id, "name": "before" }),
    }
}

impl Stage {
    /// Carries out an operation on the checkpoint `before` of `agent-42`.
    fn checkpoint(&self, operation: Operation) -> Result<Value> {
        self.run(operation, &of("agent-42", operation))
    }

    /// What is in the file of `agent-42`.
    fn notes(&self) -> String {
        self.world.files("agent-42").unwrap()[FILE].clone()
    }

    /// `agent-42` had `first` in its file at the checkpoint `before`, and has `second` now; calls are counted from here.
    fn with_checkpoint() -> Self {
        let stage = Self::with_sandbox();
        stage.checkpoint(Operation::CreateCheckpoint).unwrap();
        stage.world.writes("agent-42", FILE, "second");
        stage.world.pass(60_000);
        stage.world.forget_calls();
        stage
    }
}
