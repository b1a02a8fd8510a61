//! Which failures each operation can end with.
//!
//! The lists say rather too much than too little: a caller who is told of a failure that never comes has lost nothing.

use crate::api::operations::Operation;
use crate::model::Code;

/// At the door, and of the deployment.
const ANY: &[Code] = &[
    Code::InvalidArgument,
    Code::Unauthorized,
    Code::MethodNotAllowed,
    Code::Aborted,
    Code::PayloadTooLarge,
    Code::UnsupportedMediaType,
    Code::ConfigInvalid,
    Code::Internal,
    Code::ApiTokenMissing,
    Code::SandboxBindingMissing,
];

/// Of the objects that do the work.
const OBJECT: &[Code] = &[
    Code::WorkspaceBindingMissing,
    Code::WorkspaceUnavailable,
    Code::LedgerUnavailable,
    Code::LedgerCorrupt,
    Code::LedgerTooNew,
    Code::OperationInterrupted,
    Code::SandboxBusy,
];

/// Of whatever is about one sandbox.
const SANDBOX: &[Code] = &[Code::InvalidSandboxId, Code::CrossSession];

/// Of naming a snapshot that there is.
const SELECTION: &[Code] = &[
    Code::InvalidSandboxId,
    Code::InvalidDirectory,
    Code::InvalidLabel,
    Code::InvalidRef,
    Code::ForeignRef,
    Code::UnsupportedRefVersion,
    Code::RefMismatch,
    Code::CrossSession,
    Code::SnapshotNotFound,
    Code::SnapshotBusy,
];

/// Of giving a snapshot a label.
const LABEL: &[Code] = &[Code::InvalidLabel, Code::LabelTaken];

/// Of an idempotency key.
const ONCE: &[Code] = &[Code::IdempotencyConflict];

/// Of looking into R2.
const STORAGE: &[Code] = &[Code::StorageUnavailable];

/// Of a backup that has to be whole.
const STORED: &[Code] = &[Code::BackupNotFound, Code::BackupExpired, Code::BackupIncomplete, Code::StorageUnavailable];

/// Of reaching a sandbox.
const REACHED: &[Code] = &[
    Code::SandboxStarting,
    Code::SandboxUnavailable,
    Code::SandboxTimeout,
    Code::SandboxUnsupported,
    Code::SandboxFailed,
    Code::OperationInterrupted,
    Code::BackupConfigInvalid,
    Code::StorageUnavailable,
];

/// Of work with the files of a running sandbox, which may have been that of a workspace.
const RUNNING: &[Code] = &[
    Code::SandboxNotRunning,
    Code::SandboxReplaced,
    Code::InvalidDirectory,
    Code::Unsupported,
    Code::WorkspaceNotFound,
];

/// Of making a backup.
const CAPTURED: &[Code] = &[
    Code::SandboxEmpty,
    Code::BackupFailed,
    Code::BackupInterrupted,
    Code::BackupIncomplete,
    Code::BackupNotFound,
    Code::BackupExpired,
];

/// Of making a sandbox from a backup.
const RESTORED: &[Code] = &[Code::RestoreFailed];

/// Of a named workspace.
const NAMED: &[Code] = &[Code::InvalidWorkspaceName, Code::WorkspaceNotFound];

/// Of giving a named workspace a sandbox with its files.
const STARTED: &[Code] = &[
    Code::InvalidDirectory,
    Code::InvalidLabel,
    Code::CrossSession,
    Code::SnapshotNotFound,
    Code::SnapshotBusy,
    Code::SnapshotStale,
    Code::WorkspaceDiverged,
    Code::NothingRestorable,
    Code::SandboxUnresponsive,
    Code::HookFailed,
];

/// Of the checkpoints in a sandbox.
const CHECKPOINT: &[Code] =
    &[Code::InvalidCheckpointName, Code::CheckpointNotFound, Code::CheckpointFailed, Code::GitMissing];

/// Of naming the workspaces that tools are for.
const TOOLS: &[Code] = &[
    Code::R2BindingMissing,
    Code::InvalidSandboxId,
    Code::InvalidDirectory,
    Code::InvalidWorkspaceName,
    Code::ToolNotFound,
];

/// The codes that an operation can fail with, in the order of the codes.
pub fn codes(operation: Operation) -> Vec<Code> {
    let parts: &[&[Code]] = match operation {
        Operation::Snapshot => &[OBJECT, SANDBOX, LABEL, ONCE, REACHED, RUNNING, CAPTURED, &[Code::ExcludeUnsupported]],
        Operation::Restore | Operation::Branch => &[OBJECT, SELECTION, ONCE, STORED, REACHED, RESTORED],
        Operation::Get | Operation::Manifest | Operation::Verify | Operation::Pin | Operation::Unpin => {
            &[OBJECT, SELECTION, STORAGE]
        }
        Operation::Label => &[OBJECT, SELECTION, STORAGE, LABEL],
        // Whether a workspace with a name has stopped, its sandbox is asked.
        Operation::Delete => &[OBJECT, SELECTION, STORAGE, REACHED, &[Code::SnapshotHeld]],
        Operation::List => &[OBJECT, SANDBOX, STORAGE, &[Code::InvalidLabel]],
        Operation::Import => {
            &[OBJECT, SANDBOX, LABEL, STORED, &[Code::InvalidDirectory, Code::InvalidRef, Code::RefMismatch]]
        }
        Operation::Lineage
        | Operation::Retention
        | Operation::SetRetention
        | Operation::ApplyRetention
        | Operation::RotateKey => &[OBJECT, SANDBOX, STORAGE],
        Operation::Sweep => &[OBJECT, STORAGE],
        Operation::CreateWorkspace | Operation::GetOrCreateWorkspace | Operation::ForkWorkspace => &[
            OBJECT,
            NAMED,
            SELECTION,
            STARTED,
            ONCE,
            STORED,
            REACHED,
            RUNNING,
            CAPTURED,
            RESTORED,
            &[Code::NameTaken, Code::LabelTaken],
        ],
        Operation::StartWorkspace | Operation::StopWorkspace | Operation::UpdateWorkspace => {
            &[OBJECT, NAMED, SELECTION, STARTED, STORED, REACHED, RUNNING, CAPTURED, RESTORED, LABEL]
        }
        Operation::DeleteWorkspace => &[OBJECT, NAMED, STORAGE, REACHED],
        Operation::GetWorkspaceByName => &[OBJECT, NAMED],
        Operation::ListWorkspaces => &[OBJECT, &[Code::InvalidWorkspaceName, Code::DirectoryUnavailable]],
        Operation::CreateCheckpoint
        | Operation::ListCheckpoints
        | Operation::RestoreCheckpoint
        | Operation::DiffCheckpoint => &[OBJECT, SANDBOX, REACHED, RUNNING, CHECKPOINT],
        Operation::ListTools | Operation::CallTool | Operation::GrantTools => &[TOOLS],
        Operation::Health => &[],
    };
    let bucket: &[Code] = if operation.needs_bucket() { &[Code::R2BindingMissing] } else { &[] };
    let can_be = |code: &Code| [ANY, bucket].iter().chain(parts).any(|part| part.contains(code));
    Code::ALL.iter().copied().filter(can_be).collect()
}
