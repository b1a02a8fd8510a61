//! Errors about arguments that are not valid.

use crate::model::ids::quoted;
use crate::model::{Code, Directory, Error};

impl Error {
    /// [`Code::InvalidArgument`], for an argument that does not match the schema of its operation.
    pub fn invalid_argument(message: impl Into<String>, remediation: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message, remediation)
    }

    /// [`Code::InvalidArgument`], for the name of a workspace where an operation takes the id of its sandbox.
    /// `workspace` is the option that takes the name.
    pub fn sandbox_of_workspace_needed(message: impl Into<String>, workspace: Option<&str>) -> Self {
        let remediation = workspace.map_or_else(
            || {
                "For a named workspace, pass the `sandboxId` that `workspaces/getByName` returns, or call the method of its handle."
                    .to_owned()
            },
            |workspace| format!("Pass the name of a workspace as `{workspace}`."),
        );
        Self::invalid_argument(message, remediation)
    }

    /// [`Code::InvalidArgument`], for arguments that select both a workspace and a sandbox.
    pub fn two_targets() -> Self {
        Self::invalid_argument("The arguments select both a workspace and a sandbox", "Pass only one of them.")
    }

    /// [`Code::InvalidArgument`], for arguments that select neither a workspace nor a sandbox. `workspace` is the option with the
    /// name of a workspace.
    pub fn no_target(workspace: &str) -> Self {
        Self::invalid_argument(
            "No workspace or sandbox is selected",
            format!("Pass the name of a workspace as `{workspace}`, or the `sandboxId` of a sandbox."),
        )
    }

    /// [`Code::InvalidArgument`], for the tenant of a sandbox.
    pub fn tenant_of_sandbox() -> Self {
        Self::invalid_argument("`tenant` is not an option of a sandbox", "Omit it, or pass a `name`.")
    }

    /// [`Code::InvalidArgument`], for the retention policy of a workspace, which has several sandboxes, in a call about one.
    pub fn retention_of_workspace(operation: &str) -> Self {
        Self::invalid_argument(
            format!("`{operation}` is about one sandbox, by its `sandboxId`"),
            "The policy of a workspace is its setting `retention`, which `workspaces/getByName` returns and `workspaces/update` sets, for \
             all its sandboxes.",
        )
    }

    /// [`Code::InvalidArgument`], for a cursor that the operation `list` did not return.
    pub fn invalid_cursor(list: &str) -> Self {
        Self::invalid_argument(
            format!("`cursor` is not a cursor that `{list}` returned"),
            "Start again without a cursor.",
        )
    }

    /// [`Code::InvalidSandboxId`], for an id that the SDK does not accept.
    pub fn invalid_sandbox_id(text: &str, why: &str) -> Self {
        Self::new(
            Code::InvalidSandboxId,
            format!("The sandbox id {} {why}.", quoted(text)),
            "Pass the id of a sandbox: 1 to 63 characters, no leading or trailing \"-\", \
             no reserved name, no control characters.",
        )
    }

    /// [`Code::InvalidDirectory`], for a path that is not under one of the directories `roots`.
    pub fn invalid_directory(text: &str, why: &str, roots: &[&str]) -> Self {
        Self::new(
            Code::InvalidDirectory,
            format!("The directory {} {why}.", quoted(text)),
            format!("Pass an absolute path at or under one of {}, without \"..\".", roots.join(", ")),
        )
    }

    /// [`Code::InvalidDirectory`], for a directory that the sandbox uses itself.
    pub fn directory_in_use(dir: &Directory, why: &str) -> Self {
        Self::new(
            Code::InvalidDirectory,
            format!(
                "The directory {} cannot be restored: {why}, and a restore would never finish.",
                quoted(dir.as_str())
            ),
            "Pass a directory of your own, such as /workspace or /tmp/work.",
        )
    }

    /// [`Code::InvalidLabel`], for a label with a wrong length or characters that are not allowed.
    pub fn invalid_label(text: &str, why: &str, max_chars: usize) -> Self {
        Self::new(
            Code::InvalidLabel,
            format!("The label {} {why}.", quoted(text)),
            format!(
                "Pass 1 to {max_chars} characters without control characters and without whitespace at either end, or omit the label.",
            ),
        )
    }

    /// [`Code::InvalidLabel`], for a new label with the form of the id or the short ref of a snapshot.
    pub fn label_like_snapshot(text: &str) -> Self {
        Self::new(
            Code::InvalidLabel,
            format!(
                "The label {} has the form of the id or the short ref of a snapshot, and would select that one.",
                quoted(text)
            ),
            "Pass another label.",
        )
    }

    /// [`Code::InvalidWorkspaceName`], for `what`, the name or the tenant of a workspace.
    pub fn invalid_workspace_name(what: &str, text: &str, max_chars: usize) -> Self {
        let without_at = if text.starts_with('@') { "Pass the name without the \"@\": " } else { "Pass " };
        Self::new(
            Code::InvalidWorkspaceName,
            format!("The {what} {} is not valid for a workspace.", quoted(text)),
            format!(
                "{without_at}1 to {max_chars} of the characters A-Z a-z 0-9 _ . - that do not begin with \".\" or \"-\"."
            ),
        )
    }

    /// [`Code::InvalidCheckpointName`], for a name that git does not accept.
    pub fn invalid_checkpoint_name(message: &str, max_chars: usize) -> Self {
        Self::new(
            Code::InvalidCheckpointName,
            message,
            format!(
                "Pass a name of at most {max_chars} characters that matches ^[A-Za-z0-9_][A-Za-z0-9_.-]*$, does not contain \"..\", \
                 and does not end in \".\" or \".lock\"."
            ),
        )
    }

    /// [`Code::ExcludeUnsupported`], for patterns that would exclude more than they name.
    pub fn excludes_with_slash(patterns: &str) -> Self {
        Self::new(
            Code::ExcludeUnsupported,
            format!(
                "`excludes` contains patterns with a slash, but a snapshot excludes names, at any depth: {patterns}"
            ),
            "Use patterns without a slash, such as \"node_modules\" or \"*.log\": each excludes everything of that name, at any \
             depth. A leading \"**/\" and a trailing \"/**\" or \"/\" have no effect and are accepted.",
        )
    }

    /// [`Code::ExcludeUnsupported`], for paths in `dir` that git does not ignore, but that have the names of ignored ones.
    pub fn ignored_names_kept(dir: &str, paths: &str) -> Self {
        Self::new(
            Code::ExcludeUnsupported,
            format!(
                "`gitignore` would leave out paths of {dir:?} that git does not ignore, because they have the same name as ignored \
                 ones, and a snapshot excludes names, at any depth: {paths}"
            ),
            "Take the snapshot without `gitignore`. To make it smaller, pass as `excludes` those ignored names that no other path \
             has, such as \"node_modules\": each excludes everything of that name, at any depth.",
        )
    }

    /// [`Code::ExcludeUnsupported`], for a directory `dir` in which git ignores files with too many names.
    pub fn too_many_ignored_names(dir: &str, most: usize) -> Self {
        Self::new(
            Code::ExcludeUnsupported,
            format!("git ignores more than {most} names in {dir:?}, and a snapshot excludes names, at any depth."),
            "Take the snapshot without `gitignore`, and pass patterns such as \"*.o\" as `excludes`.",
        )
    }

    /// [`Code::Unsupported`], for the option `memory`.
    pub fn memory_unsupported() -> Self {
        Self::new(
            Code::Unsupported,
            "Memory cannot be captured: a snapshot contains files, and neither processes nor their memory. Nothing was written.",
            "Omit `memory`. Let your processes write their state to files, and start them again in an `afterStart` hook.",
        )
    }
}
