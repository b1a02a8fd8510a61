//! Retries: which calls the client repeats, and how long it waits before.

use std::time::Duration;

use serde_json::Value;

use crate::error::{Error, ErrorCode};
use crate::model::Code;
use crate::model::operation::{Operation, Repeatability};

/// The policy for retries of calls that failed with a transient error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of attempts per call.
    pub attempts: u32,
    /// The maximum delay before the second attempt. It doubles with each attempt.
    pub base_delay: Duration,
    /// The maximum delay before any attempt.
    pub max_delay: Duration,
}

impl RetryPolicy {
    /// The policy without retries: one attempt per call.
    pub const NEVER: Self = Self { attempts: 1, base_delay: Duration::ZERO, max_delay: Duration::ZERO };

    /// Returns the delay after `attempts` attempts. It is random, so that callers that failed at the same time do not
    /// retry at the same time.
    pub(crate) fn delay(&self, attempts: u32, random: [u8; 16]) -> Duration {
        let max = self.base_delay.saturating_mul(2_u32.saturating_pow(attempts - 1)).min(self.max_delay);
        max.mul_f64(f64::from(u16::from_le_bytes([random[0], random[1]])) / f64::from(u16::MAX))
    }
}

impl Default for RetryPolicy {
    /// Returns a policy of four attempts within about one second.
    fn default() -> Self {
        Self { attempts: 4, base_delay: Duration::from_millis(100), max_delay: Duration::from_secs(5) }
    }
}

impl Repeatability {
    /// Returns the repeatability of an operation with these options. Unknown operations, which a later snapshotter may
    /// have, count as not idempotent.
    pub(crate) fn of(operation: &str, options: &Value) -> Self {
        let has = |field| options.get(field).is_some_and(|value| !value.is_null());
        match Operation::by_name(operation) {
            None => Self::NotIdempotent,
            Some(Operation::CallTool) if is_tool_not_idempotent(options) => Self::NotIdempotent,
            // Between the calls, a label may move to another snapshot. A ref or an id always selects the same snapshot.
            Some(Operation::Label | Operation::Pin | Operation::Unpin | Operation::Delete)
                if !has("ref") && !has("snapshotId") =>
            {
                Self::NotIdempotent
            }
            // Each return to a snapshot creates another sandbox.
            Some(Operation::UpdateWorkspace) if has("currentSnapshotId") => Self::NotIdempotent,
            Some(Operation::StartWorkspace) if has("from") => Self::WithKey,
            Some(operation) => operation.repeatability(),
        }
    }

    /// Returns whether a second call has no effect beyond the first one.
    pub(crate) fn is_repeatable(self) -> bool {
        self != Self::NotIdempotent
    }

    /// Returns whether to retry a call that failed with `error`: a second call must be safe, and must have a chance to
    /// succeed.
    pub(crate) fn allows_retry(self, error: &Error) -> bool {
        match error.code() {
            ErrorCode::Known(Code::Aborted) => false,
            _ if had_no_effect(error) => true,
            ErrorCode::Known(Code::WorkspaceUnavailable) | ErrorCode::AnswerLost => self.is_repeatable(),
            _ => self.is_repeatable() && error.retryable(),
        }
    }
}

/// Returns whether a call that failed with `error` had no effect, so that any call can be repeated.
pub(crate) const fn had_no_effect(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::Known(Code::SandboxBusy | Code::SandboxStarting | Code::SnapshotBusy) | ErrorCode::Unreachable
    )
}

/// Returns whether the options of `tools/call` call a tool that a second call repeats: it restores a checkpoint, runs a
/// command, or writes a file.
fn is_tool_not_idempotent(options: &Value) -> bool {
    let tool = options.get("name").and_then(Value::as_str).unwrap_or_default();
    matches!(tool, "snapshot_restore" | "workspace_exec" | "workspace_start_command" | "workspace_write_file")
        || ["__snapshot_restore", "__exec", "__start_command", "__write_file"]
            .iter()
            .any(|suffix| tool.ends_with(suffix))
}
