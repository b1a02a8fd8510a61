//! When a call is made again, and after which wait.

use std::time::Duration;

use serde_json::Value;

use super::error::{Error, ErrorCode};
use crate::model::Code;

/// How calls are made again that failed in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often a call is made at most.
    pub attempts: u32,
    /// The longest wait before the second attempt. It doubles with each attempt.
    pub base: Duration,
    /// The longest wait before any attempt.
    pub longest: Duration,
}

impl Retry {
    /// Each call is made once.
    pub const NEVER: Self = Self { attempts: 1, base: Duration::ZERO, longest: Duration::ZERO };

    /// How long to wait after so many attempts: at random, so that callers who failed together do not come together again.
    pub(super) fn wait(&self, attempts: u32, random: [u8; 16]) -> Duration {
        let most = self.base.saturating_mul(2_u32.saturating_pow(attempts - 1)).min(self.longest);
        most.mul_f64(f64::from(u16::from_le_bytes([random[0], random[1]])) / f64::from(u16::MAX))
    }
}

impl Default for Retry {
    /// Four attempts, within about a second.
    fn default() -> Self {
        Self { attempts: 4, base: Duration::from_millis(100), longest: Duration::from_secs(5) }
    }
}

/// What a second call does when the first was carried out and its answer got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It gets the answer of the first, by the idempotency key.
    Keyed,
    /// It changes nothing more.
    Settles,
    /// It does the work a second time, or does it to something else.
    Repeats,
}

impl Again {
    /// That of an operation with these options. Those that a later snapshotter may have are taken for the worst.
    pub fn of(operation: &str, options: &Value) -> Self {
        let has = |option| options.get(option).is_some_and(|value| !value.is_null());
        match operation {
            "snapshot" | "restore" | "branch" | "workspaces/create" | "workspaces/getOrCreate" | "workspaces/fork" => {
                Self::Keyed
            }
            // Every tool but the one that does what `checkpoints/restore` does.
            "tools/call" if !restores_checkpoint(options) => Self::Keyed,
            // A label may have gone to another snapshot in between; a ref and an id stay with theirs.
            "label" | "pin" | "unpin" | "delete" if !has("ref") && !has("snapshotId") => Self::Repeats,
            // Going back makes another sandbox each time.
            "workspaces/update" if has("currentSnapshotId") => Self::Repeats,
            "list"
            | "get"
            | "manifest"
            | "verify"
            | "label"
            | "pin"
            | "unpin"
            | "delete"
            | "import"
            | "lineage"
            | "retention"
            | "setRetention"
            | "applyRetention"
            | "sweep"
            | "workspaces/getByName"
            | "workspaces/list"
            | "workspaces/start"
            | "workspaces/stop"
            | "workspaces/update"
            | "checkpoints/create"
            | "checkpoints/list"
            | "checkpoints/diff"
            | "tools/list"
            | "tools/grant"
            | "health" => Self::Settles,
            // A second rotation ends the refs that the first one still let pass; a second restore of a checkpoint loses
            // what was written in between; and there may be another workspace of the name when it is deleted again.
            _ => Self::Repeats,
        }
    }

    /// Whether making the call twice does no more than making it once.
    pub fn is_repeatable(self) -> bool {
        self != Self::Repeats
    }

    /// Whether a call that failed like this may be made again, without any harm and with some hope.
    pub fn after(self, error: &Error) -> bool {
        match error.code() {
            ErrorCode::Known(Code::Aborted) => false,
            ErrorCode::Known(Code::SandboxBusy | Code::SandboxStarting | Code::SnapshotBusy)
            | ErrorCode::Unreachable => {
                // Nothing was done.
                true
            }
            ErrorCode::Known(Code::WorkspaceUnavailable) | ErrorCode::AnswerLost => self.is_repeatable(),
            _ => self.is_repeatable() && error.retryable(),
        }
    }
}

/// Whether a call of a tool puts the files of a sandbox back as they were at a checkpoint.
fn restores_checkpoint(options: &Value) -> bool {
    let tool = options.get("name").and_then(Value::as_str).unwrap_or_default();
    tool == "snapshot_restore" || tool.ends_with("__snapshot_restore")
}
