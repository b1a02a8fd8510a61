//! Errors about tools for language models.

use crate::model::ids::quoted;
use crate::model::{Code, Error};

const USE_OWN: &str = "Use a snapshot or workspace of this workspace, or one that was created from it.";

impl Error {
    /// [`Code::ToolNotFound`], for a name that no tool of the toolset has.
    pub fn tool_not_found(name: &str) -> Self {
        Self::new(
            Code::ToolNotFound,
            format!("There is no tool {} for these workspaces", quoted(name)),
            "Use the name of a tool exactly as tools/list returns it.",
        )
    }

    /// [`Code::CrossLineage`], for `what`, a snapshot or a workspace outside of the workspace of the tool.
    pub fn outside_tool_scope(what: &str) -> Self {
        Self::new(Code::CrossLineage, format!("The {what} does not belong to the workspace of the tool"), USE_OWN)
    }

    /// [`Code::SandboxNotRunning`], for a tool that requires the files of a workspace that is not active.
    pub fn workspace_not_started(name: &str) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!("The workspace {name:?} is not started, so its files are not available"),
            "Ask the application to start it.",
        )
    }

    /// Returns the error without what a model must not or cannot use: options that tools do not have, and the ids of
    /// other sandboxes.
    #[must_use]
    pub fn redact_for_model(&self) -> Self {
        let (message, remediation) = match self.code {
            Code::SandboxStarting => (self.message(), "Try again when the workspace is ready."),
            Code::SandboxNotRunning | Code::SandboxReplaced => (
                self.message(),
                "Continue in a workspace that restore or branch creates, or ask the application to start this one again.",
            ),
            Code::WorkspaceNotFound => (self.message(), "Ask the application to create it."),
            Code::CrossLineage => ("The requested snapshot or workspace belongs to another workspace.", USE_OWN),
            Code::SnapshotHasDependents => (
                "The snapshot is pinned, or a workspace still needs it.",
                "Keep it. A person can unpin it, or force the deletion.",
            ),
            Code::InvalidDirectory if self.remediation().contains("`workspaces/update`") => (
                self.message(),
                "Pass the path of an existing directory. If the directory of the workspace was deleted, continue in a workspace \
                 that restore or branch creates, or ask the application to go back to a snapshot.",
            ),
            Code::LabelTaken => (self.message(), "Use another label, or omit `label`."),
            _ => return self.clone(),
        };
        Self::new(self.code, message, remediation)
    }
}
