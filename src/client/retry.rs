//! When a call is made again, and after which wait.

use std::time::Duration;

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
    /// It does the work a second time.
    Repeats,
}

impl Again {
    /// That of an operation. Those that a later snapshotter may have are taken for the worst.
    pub fn of(operation: &str, goes_back: bool) -> Self {
        match operation {
            "snapshot" | "restore" | "branch" | "workspaces/create" | "workspaces/getOrCreate" | "workspaces/fork" => {
                Self::Keyed
            }
            // Going back makes another sandbox each time.
            "workspaces/update" if goes_back => Self::Repeats,
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
            | "workspaces/delete"
            | "checkpoints/create"
            | "checkpoints/list"
            | "checkpoints/diff"
            | "tools/list"
            | "tools/grant" => Self::Settles,
            // A second rotation ends the refs that the first one still let pass; a second restore of a checkpoint loses
            // what was written in between; and what a tool does depends on the tool.
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
