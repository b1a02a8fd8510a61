//! Errors about the storage of the objects.

use crate::model::{Code, Error, Failure};

impl Error {
    /// [`Code::LedgerUnavailable`], when the storage failed to read or write.
    pub fn ledger_unavailable(cause: Failure) -> Self {
        let message = format!("The storage of the workspace failed: {}", cause.message);
        Self::new(Code::LedgerUnavailable, message, "Try again.").caused_by(cause)
    }

    /// [`Code::LedgerCorrupt`], for a row that cannot be read. The message leaves its content out, because it may be
    /// secret.
    pub fn row_unreadable(table: &str, key: &str) -> Self {
        Self::new(
            Code::LedgerCorrupt,
            format!("The row {key:?} of the table {table} can't be read."),
            "Deploy the release that wrote it, or a later one. If that does not help, repair the row as \
             docs/operations.md describes.",
        )
    }

    /// [`Code::LedgerTooNew`], for storage of a later version than `latest`.
    pub fn ledger_too_new(version: usize, latest: usize) -> Self {
        Self::new(
            Code::LedgerTooNew,
            format!(
                "The storage of the workspace has version {version}, and this release of the Worker supports versions up \
                 to {latest}. Nothing was changed."
            ),
            "Deploy the release that wrote it, or a later one.",
        )
    }
}
