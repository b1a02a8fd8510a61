//! Durable tasks.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// A durable task: the alarm runs it when no call is working on the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingTask {
    /// When the task runs next.
    #[serde(alias = "due")]
    pub due_at: Timestamp,
    /// How often the task has run.
    #[serde(alias = "tries")]
    pub attempt: u32,
}
