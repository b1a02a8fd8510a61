//! The stable codes of failures, and the class of each.

use serde::{Deserialize, Serialize};

use super::later_code::LaterCode;

/// The class of a failure, for callers that handle failures by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Kind {
    /// It may pass without a change: the same call can be made again.
    Transient,
    /// It stays until the arguments, the configuration or the sandbox are changed.
    Permanent,
    /// The current state of the sandbox does not allow the call.
    Conflict,
    /// The object does not exist, or does not exist any more.
    NotFound,
    /// A limit was reached.
    ResourceExhausted,
    /// This deployment or platform does not support the call.
    Unsupported,
    /// The call is not permitted.
    PolicyDenied,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $kind:ident;)+) => {
        /// The stable code of a failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
            /// A code that only a later release defines. During a rollout, objects of both releases run, and after a
            /// rollback the rows of the later release remain.
            Later(LaterCode),
        }

        impl Code {
            /// Every code that this release defines.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as it is written outside of Rust.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)+
                    Self::Later(code) => code.as_str(),
                }
            }

            /// The class of failure that the code belongs to.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$name => Kind::$kind,)+
                    Self::Later(code) => code.kind(),
                }
            }

            /// The meaning of the code, for the generated documents.
            #[cfg(feature = "schema")]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                    Self::Later(_) => "A code of a later release.",
                }
            }
        }
    };
}

codes! {
    /// No R2 bucket is bound under the configured name.
    R2BindingMissing = "R2_BINDING_MISSING", Permanent;
    /// The Durable Object namespace of this Worker's own workspaces is not bound.
    WorkspaceBindingMissing = "WORKSPACE_BINDING_MISSING", Permanent;
    /// No Durable Object namespace of sandboxes is bound under the configured name.
    SandboxBindingMissing = "SANDBOX_BINDING_MISSING", Permanent;
    /// A variable of this Worker has an invalid value.
    ConfigInvalid = "CONFIG_INVALID", Permanent;
    /// The HTTP API is closed because no token is configured.
    ApiTokenMissing = "API_TOKEN_MISSING", PolicyDenied;
    /// The bearer token is absent or wrong.
    Unauthorized = "UNAUTHORIZED", PolicyDenied;
    /// The object with the tokens of the tenant did not answer, so nothing is permitted.
    TokensUnavailable = "TOKENS_UNAVAILABLE", Transient;
    /// The token does not have the permission that the operation needs.
    PermissionMissing = "PERMISSION_MISSING", PolicyDenied;
    /// The token does not permit the sandbox, the snapshot or the workspace, whether or not it exists.
    NotPermitted = "NOT_PERMITTED", PolicyDenied;
    /// The tenant has the maximum number of tokens.
    TooManyTokens = "TOO_MANY_TOKENS", ResourceExhausted;
    /// The arguments do not match the operation's schema.
    InvalidArgument = "INVALID_ARGUMENT", Permanent;
    /// The sandbox id is invalid.
    InvalidSandboxId = "INVALID_SANDBOX_ID", Permanent;
    /// The directory cannot be backed up.
    InvalidDirectory = "INVALID_DIRECTORY", Permanent;
    /// A pattern of `excludes`, or a path that git ignores, contains a slash: the SDK would leave out more than it
    /// names. Or a file with secrets can't be left out without others.
    ExcludeUnsupported = "EXCLUDE_UNSUPPORTED", Unsupported;
    /// The sandbox has files that seem to contain secrets, and the call refuses them.
    SecretsFound = "SECRETS_FOUND", PolicyDenied;
    /// The label is invalid.
    InvalidLabel = "INVALID_LABEL", Permanent;
    /// The ref is not a snapshot ref: it is truncated, has the wrong shape, or has unknown fields.
    InvalidRef = "INVALID_REF", Permanent;
    /// The ref belongs to another provider.
    ForeignRef = "FOREIGN_REF", Permanent;
    /// The ref has a schema version that this deployment does not read.
    UnsupportedRefVersion = "UNSUPPORTED_REF_VERSION", Unsupported;
    /// The ref does not match the backup that it names: it is forged or altered.
    RefMismatch = "REF_MISMATCH", PolicyDenied;
    /// The snapshot is outside of the caller's lineage scope.
    CrossLineage = "CROSS_LINEAGE", PolicyDenied;
    /// The workspace or the snapshot is of another lineage than the workspace that is promoted.
    OtherLineage = "OTHER_LINEAGE", Conflict;
    /// The snapshot is of a workspace of another tenant.
    OtherTenant = "OTHER_TENANT", PolicyDenied;
    /// The snapshot is of another directory than the one of the workspace.
    OtherDirectory = "OTHER_DIRECTORY", Conflict;
    /// The snapshot is not in the ledger, or not any more.
    SnapshotNotFound = "SNAPSHOT_NOT_FOUND", NotFound;
    /// The snapshot is pinned, other sandboxes depend on it, or only it has the files of a workspace.
    SnapshotHasDependents = "SNAPSHOT_HAS_DEPENDENTS", Conflict;
    /// The snapshot is being taken, a sandbox is being made from it, or its workspace is being started or stopped.
    SnapshotBusy = "SNAPSHOT_BUSY", Transient;
    /// Another snapshot of the sandbox has this label.
    LabelTaken = "LABEL_TAKEN", Conflict;
    /// The workspace's name or tenant is invalid.
    InvalidWorkspaceName = "INVALID_WORKSPACE_NAME", Permanent;
    /// The class of the sandboxes has no image with this name.
    ImageNotFound = "IMAGE_NOT_FOUND", NotFound;
    /// The tenant has no workspace with this name, or not any more.
    WorkspaceNotFound = "WORKSPACE_NOT_FOUND", NotFound;
    /// The tenant already has a workspace with this name.
    NameTaken = "NAME_TAKEN", Conflict;
    /// The sandbox's container cold-started without the workspace's files, and other files were written since.
    WorkspaceDiverged = "WORKSPACE_DIVERGED", Conflict;
    /// The workspace has no snapshot from which it can be started.
    NothingRestorable = "NOTHING_RESTORABLE", Conflict;
    /// Something that the snapshot depends on has changed.
    SnapshotStale = "SNAPSHOT_STALE", Conflict;
    /// A command failed that runs at the start or the stop of a workspace, or that freezes files for a snapshot.
    HookFailed = "HOOK_FAILED", Permanent;
    /// This platform does not support the request.
    Unsupported = "UNSUPPORTED", Unsupported;
    /// The list of workspaces cannot be read at the moment.
    DirectoryUnavailable = "DIRECTORY_UNAVAILABLE", Transient;
    /// The idempotency key was used for a different call.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", Conflict;
    /// The workspace's storage failed to read or write.
    LedgerUnavailable = "LEDGER_UNAVAILABLE", Transient;
    /// A row of the workspace's storage cannot be read.
    LedgerCorrupt = "LEDGER_CORRUPT", Permanent;
    /// A later version of this Worker wrote the workspace's storage.
    LedgerTooNew = "LEDGER_TOO_NEW", Unsupported;
    /// The checkpoint's name is invalid.
    InvalidCheckpointName = "INVALID_CHECKPOINT_NAME", Permanent;
    /// The sandbox has no background command with this id, or not any more.
    CommandNotFound = "COMMAND_NOT_FOUND", NotFound;
    /// The sandbox has no checkpoint with this name.
    CheckpointNotFound = "CHECKPOINT_NOT_FOUND", NotFound;
    /// Git could not make, compare or restore the checkpoint.
    CheckpointFailed = "CHECKPOINT_FAILED", Permanent;
    /// The sandbox's image has no git.
    GitMissing = "GIT_MISSING", Unsupported;
    /// The snapshot or the sandbox contains no file or directory with this path.
    FileNotFound = "FILE_NOT_FOUND", NotFound;
    /// The path is not that of a regular file.
    NotAFile = "NOT_A_FILE", Conflict;
    /// The path is not that of a directory, or leads through something other than a directory.
    NotADirectory = "NOT_A_DIRECTORY", Conflict;
    /// Something exists at the path, and was left unchanged.
    FileExists = "FILE_EXISTS", Conflict;
    /// The file does not have the expected etag. Nothing was written.
    FileChanged = "FILE_CHANGED", Conflict;
    /// The directory is not empty, and was left unchanged.
    DirectoryNotEmpty = "DIRECTORY_NOT_EMPTY", Conflict;
    /// The archive of the snapshot can be restored, and cannot be read without a restore.
    ArchiveUnreadable = "ARCHIVE_UNREADABLE", Unsupported;
    /// The caller has no tool with this name.
    ToolNotFound = "TOOL_NOT_FOUND", NotFound;
    /// The sandbox is not running, so it has no files to capture.
    SandboxNotRunning = "SANDBOX_NOT_RUNNING", Conflict;
    /// The sandbox is starting and is not ready yet.
    SandboxStarting = "SANDBOX_STARTING", Transient;
    /// The container was replaced or stopped during the capture; the backup was discarded.
    SandboxReplaced = "SANDBOX_REPLACED", Conflict;
    /// The directory contains nothing to adopt.
    SandboxEmpty = "SANDBOX_EMPTY", Conflict;
    /// The sandbox cannot be reached at the moment, or has no container to run on.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE", Transient;
    /// A call to the sandbox was not answered within its time limit. Its outcome is unknown.
    SandboxTimeout = "SANDBOX_TIMEOUT", Transient;
    /// The workspace's sandbox stopped responding while its files were restored. The workspace continues in another
    /// sandbox.
    SandboxUnresponsive = "SANDBOX_UNRESPONSIVE", Transient;
    /// The sandbox or the workspace has too many calls at the moment, so this call was rejected. Nothing was done.
    SandboxBusy = "SANDBOX_BUSY", Transient;
    /// The request names another runtime than the one in which the sandbox is.
    RuntimeMismatch = "RUNTIME_MISMATCH", Conflict;
    /// The class behind the binding does not implement a required method.
    SandboxUnsupported = "SANDBOX_UNSUPPORTED", Unsupported;
    /// The workspace's object, which does the work, could not be reached or was interrupted. The outcome is unknown.
    WorkspaceUnavailable = "WORKSPACE_UNAVAILABLE", Conflict;
    /// The sandbox refused the call or failed, in a way that has no code of its own.
    SandboxFailed = "SANDBOX_FAILED", Permanent;
    /// The sandbox's Worker is not configured for backups, or refused the options.
    BackupConfigInvalid = "BACKUP_CONFIG_INVALID", Permanent;
    /// The backup could not be created.
    BackupFailed = "BACKUP_FAILED", Permanent;
    /// The sandbox was interrupted during the backup, and may have lost its files.
    BackupInterrupted = "BACKUP_INTERRUPTED", Conflict;
    /// The backup in R2 is incomplete.
    BackupIncomplete = "BACKUP_INCOMPLETE", Permanent;
    /// The backup is not in R2, or not any more.
    BackupNotFound = "BACKUP_NOT_FOUND", NotFound;
    /// The backup's time to live has ended.
    BackupExpired = "BACKUP_EXPIRED", NotFound;
    /// The backup could not be applied to the new sandbox.
    RestoreFailed = "RESTORE_FAILED", Transient;
    /// The operation was interrupted before its outcome was known.
    OperationInterrupted = "OPERATION_INTERRUPTED", Transient;
    /// R2 cannot be reached, or failed to respond.
    StorageUnavailable = "STORAGE_UNAVAILABLE", Transient;
    /// The caller's `AbortSignal` fired.
    Aborted = "ABORTED", Transient;
    /// No such route exists.
    RouteNotFound = "ROUTE_NOT_FOUND", NotFound;
    /// The route does not support this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", Unsupported;
    /// The `Content-Type` of the body is not JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", Unsupported;
    /// The request's body is larger than any operation accepts.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", ResourceExhausted;
    /// A defect of this Worker.
    Internal = "INTERNAL", Permanent;
}

impl Code {
    /// Whether a message with this code may quote the caller's input or content of the sandbox. Such a message is for
    /// the caller only.
    pub fn may_quote_input(self) -> bool {
        matches!(
            self,
            Self::InvalidArgument
                | Self::NotPermitted
                | Self::InvalidSandboxId
                | Self::InvalidDirectory
                | Self::InvalidLabel
                | Self::ExcludeUnsupported
                | Self::SecretsFound
                | Self::InvalidRef
                | Self::ForeignRef
                | Self::SnapshotNotFound
                | Self::InvalidWorkspaceName
                | Self::InvalidCheckpointName
                | Self::CommandNotFound
                | Self::CheckpointNotFound
                | Self::CheckpointFailed
                | Self::FileNotFound
                | Self::NotAFile
                | Self::NotADirectory
                | Self::FileExists
                | Self::FileChanged
                | Self::DirectoryNotEmpty
                | Self::ToolNotFound
                | Self::ImageNotFound
                | Self::WorkspaceNotFound
                | Self::NameTaken
                | Self::SnapshotStale
                | Self::HookFailed
                | Self::LabelTaken
                | Self::IdempotencyConflict
                | Self::RouteNotFound
                | Self::MethodNotAllowed
                | Self::UnsupportedMediaType
                | Self::BackupFailed
                | Self::BackupNotFound
                | Self::RestoreFailed
                | Self::SandboxFailed
                | Self::Later(_)
        )
    }

    /// Whether the same call may succeed later without a change.
    pub fn is_retryable(self) -> bool {
        self.kind() == Kind::Transient
    }
}
