//! The problem of a workspace that a call or an alarm has met.

use serde::{Deserialize, Serialize};

use crate::model::{Code, Error, Timestamp};

/// A problem of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceProblem"))]
pub struct WorkspaceProblem {
    /// The stable error code, for programs.
    pub code: Code,
    /// What failed, and for which object.
    pub message: String,
    /// How to correct the problem.
    pub remediation: String,
    /// When the problem occurred.
    pub at: Timestamp,
}

impl WorkspaceProblem {
    /// Returns the problem that describes `error`.
    pub fn from_error(error: &Error, at: Timestamp) -> Self {
        Self {
            code: error.code(),
            message: error.message().to_owned(),
            remediation: error.remediation().to_owned(),
            at,
        }
    }
}
