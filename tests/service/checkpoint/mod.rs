//! Checkpoints inside a sandbox: the calls of the script, the container that they run in, and the answers to callers.

mod answers;
mod container_guard;
mod queue;

use sandbox_snapshotter::api::operations::Operation;
use sandbox_snapshotter::model::Result;
use serde_json::{Value, json};

use crate::support::{FILE, Fixture};

/// The checkpoint operations.
const OPERATIONS: [Operation; 5] = [
    Operation::CreateCheckpoint,
    Operation::ListCheckpoints,
    Operation::RestoreCheckpoint,
    Operation::DiffCheckpoint,
    Operation::DeleteCheckpoint,
];

/// Returns the arguments of an operation on the checkpoint `before` of a sandbox.
fn checkpoint_args(id: &str, operation: Operation) -> Value {
    match operation {
        Operation::ListCheckpoints => json!({ "sandboxId": id }),
        _ => json!({ "sandboxId": id, "name": "before" }),
    }
}

impl Fixture {
    /// Runs an operation on the checkpoint `before` of `agent-42`.
    fn checkpoint(&self, operation: Operation) -> Result<Value> {
        self.run(operation, &checkpoint_args("agent-42", operation))
    }

    /// Returns the content of the file of `agent-42`.
    fn notes_content(&self) -> String {
        self.world.files("agent-42").unwrap()[FILE].clone()
    }

    /// The sandbox `agent-42`, with `first` in its file at the checkpoint `before`, and `second` now. Calls are counted
    /// from here.
    fn with_checkpoint() -> Self {
        let fixture = Self::with_sandbox();
        fixture.checkpoint(Operation::CreateCheckpoint).unwrap();
        fixture.world.write_file("agent-42", FILE, "second");
        fixture.world.advance_clock(60_000);
        fixture.world.reset_calls();
        fixture
    }
}
