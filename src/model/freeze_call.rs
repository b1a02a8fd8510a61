//! The outcome of a freeze in a container.

/// A freeze command that failed. The files are thawed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeFailed {
    /// Its exit code; `None` where it exceeded the time limit.
    pub exit_code: Option<i32>,
    /// The begin of its output.
    pub output: String,
}
