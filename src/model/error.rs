//! The error type of the product.
//!
//! Rules:
//! - An error says what failed for which object (`message`), what to do about it (`remediation`), and whether the same
//!   call may succeed later (`retryable`). Programs switch on `code`, never on `message`.
//! - What the platform or the SDK threw is kept as the [`cause`](Error::cause).
//! - An error of [`Kind::NotFound`] requires a definite answer. An unknown outcome is [`Kind::Transient`].
//! - A message never contains a secret or the content of a file.

use serde::{Deserialize, Serialize};

use super::Failure;
use super::later_code::LaterCode;

/// The result of every fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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
    /// The arguments do not match the operation's schema.
    InvalidArgument = "INVALID_ARGUMENT", Permanent;
    /// The sandbox id is invalid.
    InvalidSandboxId = "INVALID_SANDBOX_ID", Permanent;
    /// The directory cannot be backed up.
    InvalidDirectory = "INVALID_DIRECTORY", Permanent;
    /// A pattern of `excludes`, or a path that git ignores, contains a slash: the SDK would leave out more than it
    /// names.
    ExcludeUnsupported = "EXCLUDE_UNSUPPORTED", Unsupported;
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
    /// The snapshot is not in the ledger, or not any more.
    SnapshotNotFound = "SNAPSHOT_NOT_FOUND", NotFound;
    /// The snapshot is pinned, or other workspaces depend on it.
    SnapshotHasDependents = "SNAPSHOT_HAS_DEPENDENTS", Conflict;
    /// The snapshot is being taken, or a sandbox is being made from it.
    SnapshotBusy = "SNAPSHOT_BUSY", Transient;
    /// Another snapshot of the workspace has this label.
    LabelTaken = "LABEL_TAKEN", Conflict;
    /// The workspace's name or tenant is invalid.
    InvalidWorkspaceName = "INVALID_WORKSPACE_NAME", Permanent;
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
    /// A command that runs at the start or the stop of a workspace failed.
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
    /// The sandbox has no checkpoint with this name.
    CheckpointNotFound = "CHECKPOINT_NOT_FOUND", NotFound;
    /// Git could not make, compare or restore the checkpoint.
    CheckpointFailed = "CHECKPOINT_FAILED", Permanent;
    /// The sandbox's image has no git.
    GitMissing = "GIT_MISSING", Unsupported;
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
                | Self::InvalidSandboxId
                | Self::InvalidDirectory
                | Self::InvalidLabel
                | Self::ExcludeUnsupported
                | Self::InvalidRef
                | Self::ForeignRef
                | Self::SnapshotNotFound
                | Self::InvalidWorkspaceName
                | Self::InvalidCheckpointName
                | Self::CheckpointNotFound
                | Self::CheckpointFailed
                | Self::ToolNotFound
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

/// A failure, readable by people and programs.
///
/// It is serialized when it passes between the objects of this Worker. The serialized form includes the kind of the
/// code, for a release that does not know the code. [`body`](Self::body) is the public form.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    code: Code,
    message: String,
    remediation: String,
    #[source]
    cause: Option<Box<Failure>>,
}

/// An error as it passes between objects, which may run different releases.
#[derive(Serialize, Deserialize)]
struct SerializedError {
    code: Code,
    /// Absent in an error of an earlier release. `None` if a later release wrote a kind that this one does not know.
    #[serde(default, deserialize_with = "deserialize_known_kind")]
    kind: Option<Kind>,
    message: String,
    remediation: String,
    cause: Option<Box<Failure>>,
}

fn deserialize_known_kind<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Kind>, D::Error> {
    serde_json::Value::deserialize(deserializer).map(|kind| Kind::deserialize(kind).ok())
}

impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { code, message, remediation, cause } = self.clone();
        SerializedError { code, kind: Some(code.kind()), message, remediation, cause }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let SerializedError { code, kind, message, remediation, cause } = SerializedError::deserialize(deserializer)?;
        let code = match (code, kind) {
            (Code::Later(later), Some(kind)) => Code::Later(later.with_kind(kind)),
            (code, _) => code,
        };
        Ok(Self { code, message, remediation, cause })
    }
}

impl Error {
    /// Creates a failure with `code`. `message` says what failed for which object, `remediation` what to do about it.
    pub fn new(code: Code, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        let mut message = message.into();
        // The message may end in text of the SDK, and other sentences may follow it.
        if !message.ends_with(['.', '?', '!', '…']) {
            message.push('.');
        }
        Self { code, message, remediation: remediation.into(), cause: None }
    }

    /// The failure of a panic.
    pub fn internal() -> Self {
        Self::new(
            Code::Internal,
            "This Worker failed where it never should.",
            "Report it, with the log lines of this Worker and its Workspace object at that time.",
        )
    }

    /// Adds what the platform or the SDK threw.
    #[must_use]
    pub fn caused_by(mut self, cause: Failure) -> Self {
        self.cause = Some(Box::new(cause));
        self
    }

    /// Adds a sentence to the message: what else failed, or what was left behind.
    #[must_use]
    pub fn with_note(mut self, sentence: &str) -> Self {
        self.message.push(' ');
        self.message.push_str(sentence);
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What failed, for which object.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn remediation(&self) -> &str {
        &self.remediation
    }

    /// What the platform or the SDK threw, if it threw something.
    pub fn cause(&self) -> Option<&Failure> {
        self.cause.as_deref()
    }

    /// Whether the same call may succeed later. See [`Code::is_retryable`].
    pub fn is_retryable(&self) -> bool {
        self.code.is_retryable()
    }

    /// Returns the public form of the error, which is the same over RPC and HTTP.
    pub fn body<'a>(&'a self, correlation_id: &'a str) -> ErrorBody<'a> {
        ErrorBody {
            code: self.code,
            kind: self.code.kind(),
            message: &self.message,
            remediation: &self.remediation,
            retryable: self.is_retryable(),
            correlation_id,
            cause: self.cause.as_deref(),
        }
    }
}

/// An error, in the form that RPC and HTTP share.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
pub struct ErrorBody<'a> {
    /// The stable code, for programs.
    code: Code,
    /// The class of the failure.
    kind: Kind,
    /// What failed, for which object.
    message: &'a str,
    /// What to do about it.
    remediation: &'a str,
    /// Whether the same call may succeed later.
    retryable: bool,
    /// The id under which the log contains the call.
    correlation_id: &'a str,
    /// What the platform or the SDK threw, if it threw something.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Failure>,
}
