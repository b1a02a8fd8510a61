//! The one error type of the product.
//!
//! Rules:
//! - An error says what happened to what (`message`), what to do about it (`remediation`), and whether
//!   the same call may succeed later (`retryable`). Programs switch on `code`, never on `message`.
//! - Where the platform or the SDK threw, that is kept as the [`cause`](Error::cause).
//! - "Not found" is said only on a definite answer; doubt is [`Kind::Transient`].
//! - No secret and no file content is ever in a message.

use serde::{Deserialize, Serialize};

use super::Failure;
use super::later::LaterCode;

/// The result of everything fallible in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What sort of failure it is, for callers that handle failures by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Kind {
    /// May pass by itself: the same call can be made again.
    Transient,
    /// Stays until something is changed: the arguments, the configuration, the sandbox.
    Permanent,
    /// The present state of the sandbox does not allow it.
    Conflict,
    /// It definitely does not exist (any more).
    NotFound,
    /// A limit was reached.
    ResourceExhausted,
    /// This deployment or platform can't do it.
    Unsupported,
    /// The caller may not do it.
    PolicyDenied,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $kind:ident;)+) => {
        /// The stable code of a failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
            /// A code that only a later release knows. Objects of both releases run during a rollout, and after a rollback
            /// its rows are still there.
            Later(LaterCode),
        }

        impl Code {
            /// Every code that this release has.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The code as it is written everywhere outside of Rust.
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

            /// What it means, for the documents that are made of this.
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
    /// A variable of this Worker has a value that can't be used.
    ConfigInvalid = "CONFIG_INVALID", Permanent;
    /// The HTTP API is closed because no token is configured.
    ApiTokenMissing = "API_TOKEN_MISSING", PolicyDenied;
    /// The bearer token is absent or wrong.
    Unauthorized = "UNAUTHORIZED", PolicyDenied;
    /// The arguments do not have the shape of the operation.
    InvalidArgument = "INVALID_ARGUMENT", Permanent;
    /// The sandbox id is not one that a sandbox can have.
    InvalidSandboxId = "INVALID_SANDBOX_ID", Permanent;
    /// The directory can't be backed up.
    InvalidDirectory = "INVALID_DIRECTORY", Permanent;
    /// A pattern of `excludes`, or a path that git ignores, contains a slash: the SDK would leave out more than it names.
    ExcludeUnsupported = "EXCLUDE_UNSUPPORTED", Unsupported;
    /// The label is not one that a snapshot can have.
    InvalidLabel = "INVALID_LABEL", Permanent;
    /// The ref is not a snapshot ref: truncated, of a wrong shape, or with unknown fields.
    InvalidRef = "INVALID_REF", Permanent;
    /// The ref belongs to another provider.
    ForeignRef = "FOREIGN_REF", Permanent;
    /// The ref has a schema version that this deployment does not read.
    UnsupportedRefVersion = "UNSUPPORTED_REF_VERSION", Unsupported;
    /// The ref does not agree with the backup that it names: forged or altered.
    RefMismatch = "REF_MISMATCH", PolicyDenied;
    /// The snapshot is of another lineage than the caller's session.
    CrossSession = "CROSS_SESSION", PolicyDenied;
    /// There is no such snapshot in the ledger (any more).
    SnapshotNotFound = "SNAPSHOT_NOT_FOUND", NotFound;
    /// The snapshot is pinned, or other workspaces need it.
    SnapshotHeld = "SNAPSHOT_HELD", Conflict;
    /// The snapshot is being made, or a sandbox is being made from it.
    SnapshotBusy = "SNAPSHOT_BUSY", Transient;
    /// Another snapshot of the workspace has the label.
    LabelTaken = "LABEL_TAKEN", Conflict;
    /// The name or the tenant is not one that a workspace can have.
    InvalidWorkspaceName = "INVALID_WORKSPACE_NAME", Permanent;
    /// The tenant has no workspace of that name (any more).
    WorkspaceNotFound = "WORKSPACE_NOT_FOUND", NotFound;
    /// The tenant has a workspace of that name already.
    NameTaken = "NAME_TAKEN", Conflict;
    /// The sandbox woke by itself without its files, and others were written since.
    WorkspaceDiverged = "WORKSPACE_DIVERGED", Conflict;
    /// There is no snapshot that the workspace could be started from.
    NothingRestorable = "NOTHING_RESTORABLE", Conflict;
    /// What the snapshot depends on is not what it was.
    SnapshotStale = "SNAPSHOT_STALE", Conflict;
    /// A command that runs at the start or the stop of a workspace failed.
    HookFailed = "HOOK_FAILED", Permanent;
    /// What was asked for can't be done on this platform.
    Unsupported = "UNSUPPORTED", Unsupported;
    /// The list of workspaces can't be read now.
    DirectoryUnavailable = "DIRECTORY_UNAVAILABLE", Transient;
    /// The idempotency key was used for another call.
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", Conflict;
    /// The workspace's storage did not take or give what it was asked for.
    LedgerUnavailable = "LEDGER_UNAVAILABLE", Transient;
    /// A row of the workspace's storage can't be read.
    LedgerCorrupt = "LEDGER_CORRUPT", Permanent;
    /// A later version of this Worker wrote the workspace's storage.
    LedgerTooNew = "LEDGER_TOO_NEW", Unsupported;
    /// The checkpoint's name is not one that a checkpoint can have.
    InvalidCheckpointName = "INVALID_CHECKPOINT_NAME", Permanent;
    /// There is no checkpoint of that name in the sandbox.
    CheckpointNotFound = "CHECKPOINT_NOT_FOUND", NotFound;
    /// Git could not make, compare or restore the checkpoint.
    CheckpointFailed = "CHECKPOINT_FAILED", Permanent;
    /// There is no git in the sandbox's image.
    GitMissing = "GIT_MISSING", Unsupported;
    /// There is no tool of that name for the caller.
    ToolNotFound = "TOOL_NOT_FOUND", NotFound;
    /// The sandbox is not running, so its files are not there to be captured.
    SandboxNotRunning = "SANDBOX_NOT_RUNNING", Conflict;
    /// The sandbox is starting and not ready yet.
    SandboxStarting = "SANDBOX_STARTING", Transient;
    /// The container was replaced or stopped while it was being captured; the backup was discarded.
    SandboxReplaced = "SANDBOX_REPLACED", Conflict;
    /// There is nothing in the directory that could be adopted.
    SandboxEmpty = "SANDBOX_EMPTY", Conflict;
    /// The sandbox can't be reached now, or has no container to run on.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE", Transient;
    /// A call to the sandbox was not answered within its time limit: what became of it is not known.
    SandboxTimeout = "SANDBOX_TIMEOUT", Transient;
    /// The sandbox of a workspace does not answer since its files were being restored: the workspace goes on in another one.
    SandboxUnresponsive = "SANDBOX_UNRESPONSIVE", Transient;
    /// So much is asked of the sandbox or the workspace at this time that the call was not taken on: nothing was done.
    SandboxBusy = "SANDBOX_BUSY", Transient;
    /// The class behind the binding does not answer a method that is needed.
    SandboxUnsupported = "SANDBOX_UNSUPPORTED", Unsupported;
    /// The workspace, which does the work, could not be reached, or was cut off: the outcome is not known.
    WorkspaceUnavailable = "WORKSPACE_UNAVAILABLE", Conflict;
    /// The sandbox refused or failed in a way that has no code of its own.
    SandboxFailed = "SANDBOX_FAILED", Permanent;
    /// The sandbox's Worker is not configured for backups, or refused the options.
    BackupConfigInvalid = "BACKUP_CONFIG_INVALID", Permanent;
    /// The backup could not be made.
    BackupFailed = "BACKUP_FAILED", Permanent;
    /// The sandbox was cut off while it was being backed up, and may have lost its files with that.
    BackupInterrupted = "BACKUP_INTERRUPTED", Conflict;
    /// What is in R2 is not the whole backup.
    BackupIncomplete = "BACKUP_INCOMPLETE", Permanent;
    /// The backup is not in R2 (any more).
    BackupNotFound = "BACKUP_NOT_FOUND", NotFound;
    /// The backup's time to live is over.
    BackupExpired = "BACKUP_EXPIRED", NotFound;
    /// The backup could not be applied to the new sandbox.
    RestoreFailed = "RESTORE_FAILED", Transient;
    /// The operation was cut off before its outcome was known.
    OperationInterrupted = "OPERATION_INTERRUPTED", Transient;
    /// R2 can't be reached or failed to answer.
    StorageUnavailable = "STORAGE_UNAVAILABLE", Transient;
    /// The caller's `AbortSignal` fired.
    Aborted = "ABORTED", Transient;
    /// There is no such route.
    RouteNotFound = "ROUTE_NOT_FOUND", NotFound;
    /// The route does not take this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", Unsupported;
    /// The body is not JSON by its `Content-Type`.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", Unsupported;
    /// The request's body is larger than any operation needs.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", ResourceExhausted;
    /// A defect of this Worker.
    Internal = "INTERNAL", Permanent;
}

impl Code {
    /// Whether its message may quote what a caller sent, or what is in a sandbox: that is for the caller alone.
    pub fn may_quote(self) -> bool {
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

    /// Whether the same call, made again, may succeed without anything being changed.
    pub fn retryable(self) -> bool {
        self.kind() == Kind::Transient
    }
}

/// A failure, legible to people and programs.
///
/// It is serialized as it passes between the objects of this Worker, with the kind of its code, which a release that does not
/// know the code goes by; [`body`](Self::body) is its form outside.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    code: Code,
    message: String,
    remediation: String,
    #[source]
    cause: Option<Box<Failure>>,
}

/// An error as it passes between objects, perhaps of two releases.
#[derive(Serialize, Deserialize)]
struct Passed {
    code: Code,
    /// Absent where an earlier release wrote it, and nothing where a later one wrote a kind of its own.
    #[serde(default, deserialize_with = "known_kind")]
    kind: Option<Kind>,
    message: String,
    remediation: String,
    cause: Option<Box<Failure>>,
}

fn known_kind<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Kind>, D::Error> {
    serde_json::Value::deserialize(deserializer).map(|kind| Kind::deserialize(kind).ok())
}

impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self { code, message, remediation, cause } = self.clone();
        Passed { code, kind: Some(code.kind()), message, remediation, cause }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let Passed { code, kind, message, remediation, cause } = Passed::deserialize(deserializer)?;
        let code = match (code, kind) {
            (Code::Later(later), Some(kind)) => Code::Later(later.of_kind(kind)),
            (code, _) => code,
        };
        Ok(Self { code, message, remediation, cause })
    }
}

impl Error {
    /// A failure with `code`; `message` says what happened to what, `remediation` what to do.
    pub fn new(code: Code, message: impl Into<String>, remediation: impl Into<String>) -> Self {
        let mut message = message.into();
        // It may end in the words of the SDK, and other sentences follow it.
        if !message.ends_with(['.', '?', '!', '…']) {
            message.push('.');
        }
        Self { code, message, remediation: remediation.into(), cause: None }
    }

    /// The failure of a panic.
    pub fn defect() -> Self {
        Self::new(
            Code::Internal,
            "This Worker failed where it never should.",
            "Report it, with the log lines of this Worker and its Workspace object at that time.",
        )
    }

    /// Keeps what the platform or the SDK threw.
    #[must_use]
    pub fn caused_by(mut self, cause: Failure) -> Self {
        self.cause = Some(Box::new(cause));
        self
    }

    /// Adds a sentence to the message, about what else went wrong or was left behind.
    #[must_use]
    pub fn and(mut self, sentence: &str) -> Self {
        self.message.push(' ');
        self.message.push_str(sentence);
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What happened, to what.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn remediation(&self) -> &str {
        &self.remediation
    }

    /// What the platform or the SDK threw, where something did.
    pub fn cause(&self) -> Option<&Failure> {
        self.cause.as_deref()
    }

    /// Whether the same call may succeed later. See [`Code::retryable`].
    pub fn retryable(&self) -> bool {
        self.code.retryable()
    }

    /// The members that the error has outside of Rust, over RPC and HTTP alike.
    pub fn body<'a>(&'a self, correlation_id: &'a str) -> ErrorBody<'a> {
        ErrorBody {
            code: self.code,
            kind: self.code.kind(),
            message: &self.message,
            remediation: &self.remediation,
            retryable: self.retryable(),
            correlation_id,
            cause: self.cause.as_deref(),
        }
    }
}

/// What an error carries, over RPC and HTTP alike.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Problem"))]
pub struct ErrorBody<'a> {
    /// The stable code, for programs.
    code: Code,
    /// What sort of failure it is.
    kind: Kind,
    /// What happened, to what.
    message: &'a str,
    /// What to do about it.
    remediation: &'a str,
    /// Whether the same call may succeed later.
    retryable: bool,
    /// By which the call is found in the log.
    correlation_id: &'a str,
    /// What the platform or the SDK threw, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a Failure>,
}
