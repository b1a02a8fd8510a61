//! The freeze of files during a capture, for programs that can stop to write, such as databases.

use serde::{Deserialize, Serialize};

use super::{Error, Result};
#[cfg(feature = "schema")]
use crate::model::schema::A_COMMAND;

/// The commands that freeze the files of a program before a capture, and thaw them after it. Both run in the container with
/// `sh -c`, in the directory that is captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Freeze {
    /// The command that freezes the files: when it has ended, the program writes nothing until the thaw. If it fails, the
    /// thaw command runs, and no snapshot is taken.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Self::MAX_COMMAND), regex(pattern = A_COMMAND)))]
    pub freeze: String,
    /// The command that thaws the files. It runs once for each freeze, and has a time limit of 30 seconds.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Self::MAX_COMMAND), regex(pattern = A_COMMAND)))]
    pub thaw: String,
    /// The time limit of the freeze, in seconds from its begin. Then the container thaws the files by itself.
    #[serde(default = "Freeze::default_seconds")]
    #[cfg_attr(feature = "schema", schemars(range(min = Self::MIN_SECONDS, max = Self::MAX_SECONDS)))]
    pub timeout_seconds: u32,
}

impl Freeze {
    /// The maximum length of a command, in characters.
    pub const MAX_COMMAND: usize = 8192;
    /// The minimum time limit, in seconds: one for the command, and one until it is killed.
    pub const MIN_SECONDS: u32 = 2;
    /// The maximum time limit, in seconds, which is also the default.
    pub const MAX_SECONDS: u32 = 60;
    /// The time limit of the thaw command, in seconds.
    pub const THAW_SECONDS: u32 = 30;

    const fn default_seconds() -> u32 {
        Self::MAX_SECONDS
    }

    /// Verifies the commands and the time limit.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](super::Code::InvalidArgument)
    pub fn check(&self) -> Result<()> {
        for (name, command) in [("freeze.freeze", &self.freeze), ("freeze.thaw", &self.thaw)] {
            let length = command.chars().count();
            if command.trim().is_empty() || length > Self::MAX_COMMAND || command.contains('\0') {
                return Err(Error::invalid_argument(
                    format!("`{name}` must be a command of 1–{} characters, got {length}", Self::MAX_COMMAND),
                    "Pass a command that is not blank and has no null bytes.",
                ));
            }
        }
        let limits = Self::MIN_SECONDS..=Self::MAX_SECONDS;
        if limits.contains(&self.timeout_seconds) {
            return Ok(());
        }
        Err(Error::invalid_argument(
            format!("`freeze.timeoutSeconds` must be 2–60, got {}", self.timeout_seconds),
            "Pass 2 to 60 seconds.",
        ))
    }
}

/// How a freeze ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreezeReport {
    /// Whether the files were frozen during the whole capture. If false, the container thawed them before its end, or that is
    /// not known: the files of the program may not be consistent.
    pub consistent: bool,
    /// Whether the thaw command succeeded. If false, it failed, or that is not known: the program may still be frozen.
    pub thawed: bool,
}
