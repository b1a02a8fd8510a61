//! The error codes of each operation.
//!
//! The lists may contain a code that an operation never returns, which is harmless, but must not omit one that it can
//! return.

use crate::api::operations::Operation;
use crate::model::Code;

/// The codes of every call: those of the request and of the deployment.
const COMMON: &[Code] = &[
    Code::InvalidArgument,
    Code::Unauthorized,
    Code::TokensUnavailable,
    Code::PermissionMissing,
    Code::NotPermitted,
    Code::MethodNotAllowed,
    Code::Aborted,
    Code::PayloadTooLarge,
    Code::UnsupportedMediaType,
    Code::ConfigInvalid,
    Code::Internal,
    Code::ApiTokenMissing,
    Code::SandboxBindingMissing,
];

/// The codes of calls to the Durable Objects of this Worker.
const DURABLE_OBJECT: &[Code] = &[
    Code::WorkspaceBindingMissing,
    Code::WorkspaceUnavailable,
    Code::LedgerUnavailable,
    Code::LedgerCorrupt,
    Code::LedgerTooNew,
    Code::OperationInterrupted,
    Code::SandboxBusy,
];

/// The codes of operations on one sandbox.
const SANDBOX: &[Code] = &[Code::InvalidSandboxId, Code::CrossLineage];

/// The codes of the selection of a snapshot, which may name a workspace of its lineage.
const SELECTION: &[Code] = &[
    Code::InvalidSandboxId,
    Code::InvalidDirectory,
    Code::InvalidLabel,
    Code::InvalidRef,
    Code::ForeignRef,
    Code::UnsupportedRefVersion,
    Code::RefMismatch,
    Code::CrossLineage,
    Code::SnapshotNotFound,
    Code::SnapshotBusy,
    Code::InvalidWorkspaceName,
    Code::WorkspaceNotFound,
    Code::OtherTenant,
    Code::OtherDirectory,
];

/// The codes of setting a label.
const LABEL: &[Code] = &[Code::InvalidLabel, Code::LabelTaken];

/// The codes of an idempotency key.
const IDEMPOTENCY: &[Code] = &[Code::IdempotencyConflict];

/// The codes of reading R2.
const STORAGE: &[Code] = &[Code::StorageUnavailable];

/// The codes of operations that require a complete backup.
const BACKUP: &[Code] = &[Code::BackupNotFound, Code::BackupExpired, Code::BackupIncomplete, Code::StorageUnavailable];

/// The codes of reading an archive.
const ARCHIVE: &[Code] = &[
    Code::BackupIncomplete,
    Code::StorageUnavailable,
    Code::FileNotFound,
    Code::NotADirectory,
    Code::ArchiveUnreadable,
];

/// The codes of calls to a sandbox.
const SANDBOX_CALL: &[Code] = &[
    Code::SandboxStarting,
    Code::SandboxUnavailable,
    Code::SandboxTimeout,
    Code::SandboxUnsupported,
    Code::SandboxFailed,
    Code::OperationInterrupted,
    Code::BackupConfigInvalid,
    Code::StorageUnavailable,
];

/// The codes of operations on the files of a running sandbox, which may belong or have belonged to a named workspace.
const RUNNING_SANDBOX: &[Code] = &[
    Code::SandboxNotRunning,
    Code::SandboxReplaced,
    Code::InvalidDirectory,
    Code::Unsupported,
    Code::WorkspaceNotFound,
];

/// The codes of creating a backup.
const CAPTURE: &[Code] = &[
    Code::SandboxEmpty,
    Code::BackupFailed,
    Code::BackupInterrupted,
    Code::BackupIncomplete,
    Code::BackupNotFound,
    Code::BackupExpired,
];

/// The codes of creating a sandbox from a backup.
const RESTORE: &[Code] = &[Code::RestoreFailed, Code::SnapshotStale];

/// The codes of operations on a named workspace.
const NAMED: &[Code] = &[Code::InvalidWorkspaceName, Code::WorkspaceNotFound];

/// The codes of starting a named workspace.
const START: &[Code] = &[
    Code::InvalidDirectory,
    Code::InvalidLabel,
    Code::CrossLineage,
    Code::SnapshotNotFound,
    Code::SnapshotBusy,
    Code::SnapshotStale,
    Code::WorkspaceDiverged,
    Code::NothingRestorable,
    Code::SandboxUnresponsive,
    Code::HookFailed,
];

/// The codes of a search for files with secrets.
const SECRETS: &[Code] = &[Code::ExcludeUnsupported, Code::SecretsFound];

/// The codes of choosing the image of a named workspace.
const IMAGE: &[Code] = &[Code::ImageNotFound];

/// The codes of reviving a sandbox.
const REVIVE: &[&[Code]] = &[
    DURABLE_OBJECT,
    SANDBOX,
    START,
    IDEMPOTENCY,
    BACKUP,
    SANDBOX_CALL,
    RUNNING_SANDBOX,
    CAPTURE,
    RESTORE,
    LABEL,
    &[Code::Unsupported],
];

/// The codes of operations on checkpoints.
const CHECKPOINT: &[Code] = &[
    Code::InvalidCheckpointName,
    Code::CheckpointNotFound,
    Code::CheckpointFailed,
    Code::GitMissing,
    Code::RuntimeMismatch,
];

/// The codes of operations on access tokens.
const TOKENS: &[Code] = &[Code::InvalidWorkspaceName, Code::InvalidLabel, Code::TooManyTokens];

/// The codes of the selection of the workspaces for tools.
const TOOLS: &[Code] = &[
    Code::R2BindingMissing,
    Code::InvalidSandboxId,
    Code::InvalidDirectory,
    Code::InvalidWorkspaceName,
    Code::ToolNotFound,
];

/// The codes of operations that run in the container of a sandbox or a workspace, which is started first.
const EXEC: &[&[Code]] = &[
    DURABLE_OBJECT,
    SANDBOX,
    NAMED,
    SELECTION,
    START,
    BACKUP,
    SANDBOX_CALL,
    RUNNING_SANDBOX,
    CAPTURE,
    RESTORE,
    LABEL,
    &[Code::R2BindingMissing, Code::RuntimeMismatch],
];

/// Returns the codes of a download.
pub fn codes_of_downloads() -> Vec<Code> {
    let parts = [COMMON, DURABLE_OBJECT, SELECTION, ARCHIVE, &[Code::R2BindingMissing]];
    Code::ALL.iter().copied().filter(|code| parts.iter().any(|part| part.contains(code))).collect()
}

const fn runs_in_container(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Exec
            | Operation::StartCommand
            | Operation::ListCommands
            | Operation::ReadCommandOutput
            | Operation::EndCommand
            | Operation::ListFiles
            | Operation::StatFile
            | Operation::ReadFile
            | Operation::WriteFile
            | Operation::MakeDirectory
            | Operation::MoveFile
            | Operation::RemoveFile
    )
}

/// Returns the codes that an operation can return, in the order of [`Code::ALL`].
pub fn error_codes(operation: Operation) -> Vec<Code> {
    let parts: &[&[Code]] = match operation {
        Operation::Snapshot => &[
            &[Code::HookFailed],
            DURABLE_OBJECT,
            SANDBOX,
            NAMED,
            LABEL,
            IDEMPOTENCY,
            SANDBOX_CALL,
            RUNNING_SANDBOX,
            CAPTURE,
            &[Code::ExcludeUnsupported, Code::SecretsFound, Code::RuntimeMismatch],
        ],
        Operation::Restore | Operation::Branch => {
            &[DURABLE_OBJECT, SELECTION, IDEMPOTENCY, BACKUP, SANDBOX_CALL, RESTORE, &[Code::Unsupported]]
        }
        Operation::Revive => REVIVE,
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            &[DURABLE_OBJECT, SELECTION, STORAGE]
        }
        Operation::Diff => {
            &[DURABLE_OBJECT, SELECTION, ARCHIVE, NAMED, SANDBOX_CALL, RUNNING_SANDBOX, &[Code::RuntimeMismatch]]
        }
        Operation::ListFiles | Operation::StatFile | Operation::ReadFile => &[ARCHIVE, &[Code::NotAFile]],
        Operation::SummarizeFiles => &[DURABLE_OBJECT, SELECTION, ARCHIVE],
        Operation::WriteFile | Operation::MakeDirectory | Operation::MoveFile | Operation::RemoveFile => {
            const CHANGE: &[Code] = &[Code::FileExists, Code::FileChanged, Code::DirectoryNotEmpty];
            &[ARCHIVE, &[Code::NotAFile], CHANGE]
        }
        Operation::RestoreFiles => &[
            DURABLE_OBJECT,
            SELECTION,
            ARCHIVE,
            SANDBOX_CALL,
            RUNNING_SANDBOX,
            &[Code::NotAFile, Code::RuntimeMismatch],
        ],
        Operation::Label => &[DURABLE_OBJECT, SELECTION, STORAGE, LABEL],
        // To find out whether a named workspace has stopped, `delete` calls its sandbox.
        Operation::Delete => &[DURABLE_OBJECT, SELECTION, STORAGE, SANDBOX_CALL, &[Code::SnapshotHasDependents]],
        Operation::List => &[DURABLE_OBJECT, SANDBOX, NAMED, STORAGE, &[Code::InvalidLabel]],
        Operation::Import => {
            const IMPORT: &[Code] =
                &[Code::InvalidDirectory, Code::InvalidRef, Code::RefMismatch, Code::RuntimeMismatch];
            &[DURABLE_OBJECT, SANDBOX, LABEL, BACKUP, IMPORT]
        }
        Operation::Lineage => &[DURABLE_OBJECT, SANDBOX, NAMED, STORAGE],
        Operation::Retention | Operation::SetRetention | Operation::ApplyRetention | Operation::RotateKey => {
            &[DURABLE_OBJECT, SANDBOX, STORAGE]
        }
        Operation::Sweep => &[DURABLE_OBJECT, STORAGE],
        Operation::CreateCheckpoint
        | Operation::ListCheckpoints
        | Operation::RestoreCheckpoint
        | Operation::DeleteCheckpoint
        | Operation::DiffCheckpoint => &[DURABLE_OBJECT, SANDBOX, NAMED, SANDBOX_CALL, RUNNING_SANDBOX, CHECKPOINT],
        Operation::ListTools | Operation::CallTool | Operation::GrantTools => &[DURABLE_OBJECT, TOOLS],
        Operation::CreateToken | Operation::ListTokens | Operation::RevokeToken => &[DURABLE_OBJECT, TOKENS],
        Operation::ReadCommandOutput | Operation::EndCommand => &[&[Code::CommandNotFound]],
        Operation::Exec
        | Operation::StartCommand
        | Operation::ListCommands
        | Operation::CurrentToken
        | Operation::Health => &[],
        _ => codes_of_workspaces(operation),
    };
    let bucket: &[Code] = if operation.needs_bucket() { &[Code::R2BindingMissing] } else { &[] };
    let exec: &[&[Code]] = if runs_in_container(operation) { EXEC } else { &[] };
    let search: &[Code] = if operation == Operation::ForkWorkspace { SECRETS } else { &[] };
    let matches =
        |code: &Code| [COMMON, bucket, search].iter().chain(parts).chain(exec).any(|part| part.contains(code));
    Code::ALL.iter().copied().filter(matches).collect()
}

/// Returns the codes of an operation on named workspaces.
fn codes_of_workspaces(operation: Operation) -> &'static [&'static [Code]] {
    match operation {
        Operation::CreateWorkspace | Operation::GetOrCreateWorkspace | Operation::ForkWorkspace => &[
            DURABLE_OBJECT,
            NAMED,
            SELECTION,
            START,
            IMAGE,
            IDEMPOTENCY,
            BACKUP,
            SANDBOX_CALL,
            RUNNING_SANDBOX,
            CAPTURE,
            RESTORE,
            &[Code::NameTaken, Code::LabelTaken, Code::RuntimeMismatch],
        ],
        Operation::StartWorkspace | Operation::StopWorkspace | Operation::MigrateWorkspace => &[
            DURABLE_OBJECT,
            NAMED,
            SELECTION,
            START,
            IMAGE,
            IDEMPOTENCY,
            BACKUP,
            SANDBOX_CALL,
            RUNNING_SANDBOX,
            CAPTURE,
            RESTORE,
            LABEL,
        ],
        Operation::UpdateWorkspace | Operation::PromoteWorkspace => &[
            DURABLE_OBJECT,
            NAMED,
            SELECTION,
            START,
            IMAGE,
            IDEMPOTENCY,
            BACKUP,
            SANDBOX_CALL,
            RUNNING_SANDBOX,
            CAPTURE,
            RESTORE,
            LABEL,
            &[Code::OtherLineage, Code::OtherTenant, Code::OtherDirectory],
        ],
        Operation::DeleteWorkspace => &[DURABLE_OBJECT, NAMED, STORAGE, SANDBOX_CALL],
        Operation::GetWorkspaceByName | Operation::TurnEnded => &[DURABLE_OBJECT, NAMED],
        Operation::Usage => &[DURABLE_OBJECT, NAMED, &[Code::DirectoryUnavailable]],
        Operation::ListWorkspaces => &[DURABLE_OBJECT, &[Code::InvalidWorkspaceName, Code::DirectoryUnavailable]],
        _ => &[],
    }
}
