//! The operations of the service: one table, from which the entrypoints, the schemas and the Rust client follow.

pub use super::operation_properties::{Repeatability, Target};

use super::operation_properties::permissions;
use super::token::Permission;

/// The types of the requests and of the answers.
pub mod types {
    pub use crate::model::answer::{
        Deletion, KeyRotation, Manifest, Page, Retention, Summary, Sweep, Tree, Verification,
    };
    pub use crate::model::background::{CommandDescription, CommandList, CommandOutput};
    pub use crate::model::checkpoint::{
        CheckpointDiff, CheckpointPage, CreatedCheckpoint, DeletedCheckpoint, RestoredCheckpoint,
    };
    pub use crate::model::diff::SnapshotDiff;
    pub use crate::model::exec::ExecResult;
    pub use crate::model::files::{FileContent, FileDescription, FilePage, FilesSummary, RemovedFile, RestoredFiles};
    pub use crate::model::health::Health;
    pub use crate::model::named::answer::{
        DeletedWorkspace, StartedWorkspace, StoppedWorkspace, WorkspaceDescription, WorkspacePage,
    };
    pub use crate::model::named::{Address, TurnEnded};
    pub use crate::model::request::{
        ApplyRetentionRequest, CallToolRequest, CommandOutputRequest, CreateCheckpointRequest, CreateRequest,
        CreateTokenRequest, CurrentTokenRequest, DeleteCheckpointRequest, DeleteRequest, DiffCheckpointRequest,
        DiffRequest, EndCommandRequest, ExecRequest, ForkRequest, GetOrCreateRequest, GrantRequest, HealthRequest,
        ImportRequest, LabelRequest, LineageRequest, ListCheckpointsRequest, ListFilesRequest, ListRequest,
        ListTokensRequest, ListWorkspacesRequest, MakeDirectoryRequest, MigrateRequest, MoveFileRequest,
        PromoteRequest, ReadFileRequest, RemoveFileRequest, RestoreCheckpointRequest, RestoreFilesRequest,
        RestoreRequest, ReviveRequest, RevokeTokenRequest, SandboxRequest, SandboxSelection, Selection,
        SetRetentionRequest, SnapshotRequest, StartCommandRequest, StartRequest, StatFileRequest, StopRequest,
        SummaryRequest, SweepRequest, Toolset, UpdateRequest, UsageRequest, WriteFileRequest,
    };
    pub use crate::model::revive::RevivedSandbox;
    pub use crate::model::token::{CreatedToken, CurrentToken, RevokedToken, TokenList};
    pub use crate::model::tool::{ToolGrant, ToolList, ToolResult};
    pub use crate::model::usage::Usage;
    pub use crate::model::{TakenSnapshot, WorkspaceRef};

    /// The answer of `workspaces/fork`.
    pub type ForkedWorkspaces = crate::model::named::answer::ForkedWorkspaces<StartedWorkspace>;
}

/// Passes the table of the operations to the macro `$callback`.
///
/// The operations are grouped by the type of the Rust client that has their methods. The columns are: the summary for
/// callers; the name; the method of the Rust client, unless it is written by hand; the request and the answer, from
/// [`types`]; the object that runs the operation, and its id in the request; and three properties,
/// [`Operation::permission`], [`Operation::needs_bucket`] and [`Operation::repeatability`].
macro_rules! operations {
    ($callback:ident) => {
        $callback! {
            Client<T> {
                /// Captures a directory of a running sandbox.
                Snapshot = "snapshot", fn snapshot(SnapshotRequest) -> TakenSnapshot,
                    in Sandbox(|it| &it.sandbox_id), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Creates a sandbox, `<origin>-restored-<id>`, with the files of a snapshot.
                Restore = "restore", fn restore(RestoreRequest) -> WorkspaceRef,
                    in Sandbox(|it| it.selection.selector.origin_id()), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Creates a sandbox, `<origin>-branch-<id>`, with the files of a snapshot, to continue from them
                /// independently.
                Branch = "branch", fn branch(RestoreRequest) -> WorkspaceRef,
                    in Sandbox(|it| it.selection.selector.origin_id()), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Restores the newest snapshot of a sandbox that has lost its files, in the same sandbox. A container that has
                /// its files is left alone.
                Revive = "revive", fn revive(ReviveRequest) -> RevivedSandbox,
                    in Sandbox(|it| &it.sandbox_id), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Lists the snapshots of a sandbox, or of the present and the former sandboxes of a workspace, newest first.
                List = "list", fn list(ListRequest) -> Page,
                    in Sandbox(|it| &it.target), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Returns one snapshot, in the form that `list` returns.
                Get = "get", fn get(Selection) -> Summary,
                    in Sandbox(|it| it.selector.origin_id()), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Returns all details of one snapshot.
                Manifest = "manifest", fn manifest(Selection) -> Manifest,
                    in Sandbox(|it| it.selector.origin_id()), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Checks in R2 whether a snapshot can be restored. Does not start a container.
                Verify = "verify", fn verify(Selection) -> Verification,
                    in Sandbox(|it| it.selector.origin_id()), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Compares the files of two snapshots of one lineage, or of a snapshot and a running sandbox. Does not start a
                /// container.
                Diff = "diff", fn diff(DiffRequest) -> SnapshotDiff,
                    in Sandbox(|it| it), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Changes the label of a snapshot.
                Label = "label", fn label(LabelRequest) -> Summary,
                    in Sandbox(|it| it.selection.selector.origin_id()), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Pins a snapshot, so that the retention policy never removes it.
                Pin = "pin", fn pin(Selection) -> Summary,
                    in Sandbox(|it| it.selector.origin_id()), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Unpins a snapshot, so that the retention policy applies to it again.
                Unpin = "unpin", fn unpin(Selection) -> Summary,
                    in Sandbox(|it| it.selector.origin_id()), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Deletes a snapshot. A snapshot that is pinned or has dependents is deleted only with `force: true`.
                Delete = "delete", fn delete(DeleteRequest) -> Deletion,
                    in Sandbox(|it| it.selection.selector.origin_id()), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Imports a backup that the SDK created directly, as a snapshot.
                Import = "import", fn import(ImportRequest) -> TakenSnapshot,
                    in Sandbox(|it| &it.sandbox_id), permission: API_TOKEN, needs_bucket: true, repeat: Idempotent;
                /// Returns the tree of sandboxes and snapshots that a sandbox belongs to.
                Lineage = "lineage", fn lineage(LineageRequest) -> Tree,
                    in Sandbox(|it| &it.sandbox_id), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Returns the retention policy of a sandbox, and its current effect on each snapshot.
                Retention = "retention", fn retention(SandboxRequest) -> Retention,
                    in Sandbox(|it| &it.sandbox_id), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Sets the retention policy of a sandbox, and applies it at once.
                SetRetention = "setRetention", fn set_retention(SetRetentionRequest) -> Retention,
                    in Sandbox(|it| &it.sandbox_id), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Removes the snapshots that the retention policy no longer keeps.
                ApplyRetention = "applyRetention", fn apply_retention(ApplyRetentionRequest) -> Retention,
                    in Sandbox(|it| &it.sandbox_id), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                // A second rotation invalidates the refs that are still valid after the first one.
                /// Creates a new key that signs the refs of a sandbox. Refs that the previous key signed stay valid.
                RotateKey = "rotateKey", fn rotate_key(SandboxRequest) -> KeyRotation,
                    in Sandbox(|it| &it.sandbox_id), permission: ADMIN, needs_bucket: true, repeat: NotIdempotent;
                /// Runs a command in a sandbox, or in the sandbox of a workspace, which is started if it is not running. Over
                /// HTTP with `Accept: text/event-stream`, the answer is the output while the command runs, as the events
                /// `stdout` and `stderr`, and at last `exit` or `error`.
                Exec = "exec", fn exec(ExecRequest) -> ExecResult,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: NotIdempotent;
                /// Returns what a workspace, or the workspaces of a tenant, use: stored bytes, operations and running time, and
                /// their cost by Cloudflare's price list.
                Usage = "usage", fn usage(UsageRequest) -> Usage,
                    in Entrypoint, permission: READ, needs_bucket: false, repeat: Idempotent;
                /// Deletes the backups in R2 that carry the snapshotter's mark and that no ledger lists.
                Sweep = "sweep", fn sweep(SweepRequest) -> Sweep,
                    in Entrypoint, permission: API_TOKEN, needs_bucket: true, repeat: Idempotent;
            }
            Workspaces<'_, T> {
                /// Creates a workspace. Fails with `NAME_TAKEN` if the name is in use.
                CreateWorkspace = "workspaces/create", fn create(CreateRequest) -> StartedWorkspace,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Starts a workspace, or creates it if it does not exist. The settings apply only when it is created:
                /// of an existing one, only the fingerprint is changed, and `update` changes the other settings.
                GetOrCreateWorkspace = "workspaces/getOrCreate",
                    fn get_or_create(GetOrCreateRequest) -> StartedWorkspace,
                    in Named(|it| &it.create.address), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Returns the description of a workspace. Does not start it.
                GetWorkspaceByName = "workspaces/getByName", fn get_by_name(Address) -> WorkspaceDescription,
                    in Named(|it| it), permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Lists the workspaces of a tenant, sorted by name. The list may not contain the latest changes yet.
                ListWorkspaces = "workspaces/list", fn list(ListWorkspacesRequest) -> WorkspacePage,
                    in Entrypoint, permission: READ, needs_bucket: true, repeat: Idempotent;
                /// Starts a workspace: a sandbox runs with the workspace's files in place, or with those of the snapshot `from`.
                StartWorkspace = "workspaces/start", fn start(StartRequest) -> StartedWorkspace,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Takes a snapshot if the workspace is persistent or `snapshot` is given, and destroys the sandbox.
                StopWorkspace = "workspaces/stop", (StopRequest) -> StoppedWorkspace,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Creates workspaces from the present files of this workspace, or from one of its snapshots, all from one snapshot.
                ForkWorkspace = "workspaces/fork", fn fork(ForkRequest) -> ForkedWorkspaces,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Changes the settings of a workspace, or restores an earlier snapshot in a new sandbox.
                UpdateWorkspace = "workspaces/update", fn update(UpdateRequest) -> WorkspaceDescription,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Tells the Worker that an agent's turn has ended. It saves the files soon, if they changed and the settings
                /// say so. Returns at once, and does not count as a use of the workspace.
                TurnEnded = "workspaces/turnEnded", fn turn_ended(Address) -> TurnEnded,
                    in Named(|it| it), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                /// Continues a workspace with the files of another workspace or snapshot of its lineage, in a new sandbox.
                PromoteWorkspace = "workspaces/promote", fn promote(PromoteRequest) -> WorkspaceDescription,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: WithKey;
                /// Stops a workspace, and moves it to another runtime: the next start restores its files there. Does
                /// nothing if the workspace is there already.
                MigrateWorkspace = "workspaces/migrate", fn migrate(MigrateRequest) -> StoppedWorkspace,
                    in Named(|it| &it.address), permission: SNAPSHOT, needs_bucket: true, repeat: Idempotent;
                // Another workspace may have the name by the time of the second deletion.
                /// Deletes a workspace and its snapshots, and frees its name. Snapshots that are pinned or have
                /// dependents are kept.
                DeleteWorkspace = "workspaces/delete", fn delete(Address) -> DeletedWorkspace,
                    in Named(|it| it), permission: SNAPSHOT, needs_bucket: true, repeat: NotIdempotent;
            }
            Checkpoints<'_, T> {
                /// Records the files of a running sandbox as a checkpoint in the sandbox.
                CreateCheckpoint = "checkpoints/create", fn create(CreateCheckpointRequest) -> CreatedCheckpoint,
                    in Sandbox(|it| &it.location.sandbox_id), permission: SNAPSHOT, needs_bucket: false, repeat: Idempotent;
                /// Lists the checkpoints in a running sandbox, newest first.
                ListCheckpoints = "checkpoints/list", fn list(ListCheckpointsRequest) -> CheckpointPage,
                    in Sandbox(|it| &it.location.sandbox_id), permission: READ, needs_bucket: false, repeat: Idempotent;
                // A second restore loses the files that were written in between.
                /// Restores the files of a running sandbox to a checkpoint.
                RestoreCheckpoint = "checkpoints/restore", fn restore(RestoreCheckpointRequest) -> RestoredCheckpoint,
                    in Sandbox(|it| &it.location.sandbox_id), permission: SNAPSHOT, needs_bucket: false, repeat: NotIdempotent;
                /// Compares the files of a running sandbox with a checkpoint.
                DiffCheckpoint = "checkpoints/diff", fn diff(DiffCheckpointRequest) -> CheckpointDiff,
                    in Sandbox(|it| &it.location.sandbox_id), permission: READ, needs_bucket: false, repeat: Idempotent;
                /// Deletes a checkpoint. Does nothing if there is none with this name.
                DeleteCheckpoint = "checkpoints/delete", fn delete(DeleteCheckpointRequest) -> DeletedCheckpoint,
                    in Sandbox(|it| &it.location.sandbox_id), permission: SNAPSHOT, needs_bucket: false, repeat: Idempotent;
            }
            Commands<'_, T> {
                // A second call starts a second command.
                /// Starts a command in the background of a sandbox, or of a workspace, which is started if it is not running.
                StartCommand = "commands/start", fn start(StartCommandRequest) -> CommandDescription,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: NotIdempotent;
                /// Lists the background commands of a running sandbox, newest first.
                ListCommands = "commands/list", fn list(SandboxSelection) -> CommandList,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: Idempotent;
                /// Returns a part of an output of a background command, while it runs and after it has ended.
                ReadCommandOutput = "commands/output", fn output(CommandOutputRequest) -> CommandOutput,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: Idempotent;
                /// Ends a background command, with all processes of its session. Changes nothing if it has ended.
                EndCommand = "commands/end", fn end(EndCommandRequest) -> CommandDescription,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: Idempotent;
            }
            Files<'_, T> {
                /// Lists the files in a directory of a snapshot or of a running sandbox, sorted by name.
                ListFiles = "files/list", fn list(ListFilesRequest) -> FilePage,
                    in Sandbox(|it| &it.source), permission: READ, needs_bucket: false, repeat: Idempotent;
                /// Returns the attributes of a file or a directory of a snapshot or of a running sandbox.
                StatFile = "files/stat", fn stat(StatFileRequest) -> FileDescription,
                    in Sandbox(|it| &it.source), permission: READ, needs_bucket: false, repeat: Idempotent;
                /// Returns the content of a file of a snapshot or of a running sandbox, or a range of it.
                ReadFile = "files/read", fn read(ReadFileRequest) -> FileContent,
                    in Sandbox(|it| &it.source), permission: READ, needs_bucket: false, repeat: Idempotent;
                /// Returns how many files and bytes a directory of a snapshot has, and where they are: its largest entries and files.
                SummarizeFiles = "files/summary", fn summary(SummaryRequest) -> FilesSummary,
                    in Sandbox(|it| it.selection.selector.origin_id()), permission: READ, needs_bucket: false, repeat: Idempotent;
                // A second call replaces what was written in between.
                /// Writes a file of a running sandbox. The file appears at once, when it is complete.
                WriteFile = "files/write", fn write(WriteFileRequest) -> FileDescription,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: NotIdempotent;
                /// Creates a directory in a running sandbox, with the directories above it. Changes nothing if it exists.
                MakeDirectory = "files/mkdir", fn mkdir(MakeDirectoryRequest) -> FileDescription,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: Idempotent;
                /// Moves a file or a directory of a running sandbox. Replaces an existing file only with `overwrite: true`.
                MoveFile = "files/move", fn move_file(MoveFileRequest) -> FileDescription,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: NotIdempotent;
                // A second call removes what was written in between.
                /// Removes a file of a running sandbox, or with `recursive: true` a directory with everything in it.
                RemoveFile = "files/remove", fn remove(RemoveFileRequest) -> RemovedFile,
                    in Entrypoint, permission: WORK, needs_bucket: false, repeat: NotIdempotent;
                // With `overwrite`, a second call replaces what was written in between.
                /// Writes files of a snapshot to a running sandbox. Replaces existing files only with `overwrite: true`.
                RestoreFiles = "files/restore", fn restore(RestoreFilesRequest) -> RestoredFiles,
                    in Sandbox(|it| it.target()), permission: WORK, needs_bucket: true, repeat: NotIdempotent;
            }
            Tools<'_, T> {
                /// Returns the definitions of tools for a language model.
                ListTools = "tools/list", fn list(Toolset) -> ToolList,
                    in Tools, permission: READ, needs_bucket: false, repeat: Idempotent;
                /// Calls a tool with the arguments that a language model passed.
                CallTool = "tools/call", fn call(CallToolRequest) -> ToolResult,
                    in Tools, permission: READ, needs_bucket: false, repeat: WithKey;
                /// Creates a token for `/mcp` that permits some tools and nothing else.
                GrantTools = "tools/grant", fn grant(GrantRequest) -> ToolGrant,
                    in Tools, permission: ADMIN, needs_bucket: false, repeat: Idempotent;
            }
            Tokens<'_, T> {
                // A second call creates a second token.
                /// Creates a token with permissions for the workspaces of a tenant. Only this answer contains the token.
                CreateToken = "tokens/create", fn create(CreateTokenRequest) -> CreatedToken,
                    in Entrypoint, permission: ADMIN, needs_bucket: false, repeat: NotIdempotent;
                /// Lists the tokens of a tenant that have not expired, newest first, without their secrets.
                ListTokens = "tokens/list", fn list(ListTokensRequest) -> TokenList,
                    in Entrypoint, permission: ADMIN, needs_bucket: false, repeat: Idempotent;
                /// Revokes a token. The Worker refuses it at most 30 seconds later.
                RevokeToken = "tokens/revoke", fn revoke(RevokeTokenRequest) -> RevokedToken,
                    in Entrypoint, permission: ADMIN, needs_bucket: false, repeat: Idempotent;
                /// Returns what the caller may do.
                CurrentToken = "tokens/current", (CurrentTokenRequest) -> CurrentToken,
                    in Entrypoint, permission: READ, needs_bucket: false, repeat: Idempotent;
            }
            Client<T> {
                /// Checks the configuration of the deployment, and whether the bucket and the list of workspaces
                /// respond.
                Health = "health", (HealthRequest) -> Health,
                    in Deployment, permission: READ, needs_bucket: false, repeat: Idempotent;
            }
        }
    };
}
pub(crate) use operations;

/// Declares [`Operation`].
macro_rules! declare {
    ($($client:ty {$(
        $(#[doc = $summary:literal])+
        $name:ident = $text:literal, $(fn $method:ident)? ($Request:ident) -> $Answer:ident,
            in $object:ident $(($id:expr))?,
            permission: $permission:ident, needs_bucket: $needs_bucket:literal, repeat: $repeat:ident;
    )+})+) => {
        /// An operation of the service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation { $($($(#[doc = $summary])+ $name,)+)+ }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)+)+];

            /// Returns the name of the route under `/v1`. The name of the RPC method is the same, with dots for
            /// slashes.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$name => $text,)+)+ }
            }

            /// Returns the summary for callers, in sentences.
            pub fn summary(self) -> &'static str {
                match self { $($(Self::$name => concat!($($summary),+).trim_start(),)+)+ }
            }

            /// Returns the permission that a token needs for the operation. Some options need another one too. `None` for
            /// an operation on all tenants, which needs the API token or a service binding.
            pub const fn permission(self) -> Option<Permission> {
                match self { $($(Self::$name => permissions::$permission,)+)+ }
            }

            /// Returns whether the operation always needs the bucket. For the operations on tools, the toolset decides.
            pub const fn needs_bucket(self) -> bool {
                match self { $($(Self::$name => $needs_bucket,)+)+ }
            }

            /// Returns the effect of a second call, with most options. A client checks the exceptions.
            pub const fn repeatability(self) -> Repeatability {
                match self { $($(Self::$name => Repeatability::$repeat,)+)+ }
            }

            /// Returns the schemas of the request and of the answer.
            #[cfg(feature = "schema")]
            pub fn schemas(
                self,
                requests: &mut schemars::SchemaGenerator,
                answers: &mut schemars::SchemaGenerator,
            ) -> (schemars::Schema, schemars::Schema) {
                match self {$($(
                    Self::$name => {
                        (requests.subschema_for::<types::$Request>(), answers.subschema_for::<types::$Answer>())
                    }
                )+)+}
            }
        }
    };
}
operations!(declare);

impl Operation {
    /// Returns the operation with the name `name`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}
