//! Errors about calls: repeated, cancelled, too many, or failed because of a defect.

use std::fmt::Display;

use crate::model::named::WorkspaceName;
use crate::model::{Code, Error, SnapshotId};

const REPORT_IF_PERSISTENT: &str = "Try again. If the error persists, report it.";

impl Error {
    /// [`Code::SandboxBusy`], for a call that is refused because too much work is in progress.
    pub fn busy(why: &str) -> Self {
        Self::new(
            Code::SandboxBusy,
            format!("{why} Nothing was changed."),
            "Try again later, with exponential backoff and jitter.",
        )
    }

    /// [`Code::IdempotencyConflict`], for a key that was used for another call.
    pub fn idempotency_conflict(key: &str) -> Self {
        Self::new(
            Code::IdempotencyConflict,
            format!("The idempotency key {key:?} was used for a different call."),
            "Use a new key for each operation, and repeat a call with the same arguments.",
        )
    }

    /// [`Code::Aborted`], for an operation that its caller cancelled.
    pub fn cancelled() -> Self {
        Self::new(
            Code::Aborted,
            "The caller's AbortSignal fired. The operation is rolled back.",
            "Call again without a signal, or with one that has not fired.",
        )
    }

    /// [`Code::Aborted`], for a caller that no longer waits for an operation on a workspace.
    pub fn wait_cancelled() -> Self {
        Self::new(
            Code::Aborted,
            "The caller's AbortSignal fired. The operation continues if it had begun; otherwise it does not run.",
            "Call `workspaces/getByName` to see the outcome.",
        )
    }

    /// [`Code::Internal`], after a panic, or when a state is impossible.
    pub fn internal() -> Self {
        Self::new(
            Code::Internal,
            "An internal error occurred in this Worker.",
            "Report it, with the log lines of this Worker and its Workspace object at that time.",
        )
    }

    /// [`Code::Internal`], when all random ids for a sandbox of a workspace are taken.
    pub fn workspace_ids_taken(attempts: u32, name: &WorkspaceName) -> Self {
        Self::new(
            Code::Internal,
            format!("All {attempts} random sandbox ids for {:?} are already taken.", name.as_str()),
            REPORT_IF_PERSISTENT,
        )
    }

    /// [`Code::Internal`], when all random ids for the sandbox of a restore are taken.
    pub fn restore_ids_taken(attempts: u32, snapshot: &SnapshotId) -> Self {
        Self::new(
            Code::Internal,
            format!("All {attempts} random sandbox ids for a restore of {snapshot} are already taken."),
            REPORT_IF_PERSISTENT,
        )
    }

    /// [`Code::Internal`], when no id could be derived from random bytes.
    pub fn no_usable_id() -> Self {
        Self::new(Code::Internal, "None of 4 random values gave a usable id.", REPORT_IF_PERSISTENT)
    }

    /// [`Code::Internal`], when the platform returned no random bytes.
    pub fn no_random_bytes(why: impl Display) -> Self {
        Self::new(Code::Internal, format!("The platform returned no random bytes: {why}."), "Try again.")
    }

    /// [`Code::Internal`], for an answer that cannot be written as JSON.
    pub fn answer_unwritable(why: impl Display) -> Self {
        Self::new(Code::Internal, format!("The answer cannot be written as JSON: {why}."), "Report it.")
    }

    /// [`Code::Internal`], for the answer of a call with an idempotency key.
    #[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
    pub fn stored_answer_unreadable(why: String) -> Self {
        Self::new(Code::Internal, format!("A stored answer can't be written or read: {why}."), "Report it.")
    }

    /// [`Code::Internal`], for a message between objects.
    #[allow(clippy::needless_pass_by_value)] // The shape of `map_err`.
    pub fn message_unreadable(why: String) -> Self {
        Self::new(
            Code::Internal,
            format!("An object of this Worker can't read a message of another: {why}."),
            "Report it.",
        )
    }

    /// [`Code::Internal`], for a Durable Object that received `what`, which the entrypoint does not send.
    pub fn protocol(what: &str) -> Self {
        Self::new(
            Code::Internal,
            format!("The Durable Object received {what}."),
            "Call the entrypoint of this Worker, not its Durable Objects.",
        )
    }
}
