//! The requests of callers, decoded from JSON.
//!
//! - [`SnapshotRequest`]: takes a snapshot
//! - [`ImportRequest`]: imports a backup
//! - [`Selection`]: selects an existing snapshot, with the lineage scope of the caller; [`RestoreRequest`],
//!   [`DeleteRequest`] and [`LabelRequest`] extend it
//! - [`InWorkspace`]: selects a snapshot in a named workspace
//! - [`DiffRequest`]: compares two snapshots
//! - [`ReviveRequest`]: restores the files of a sandbox in the same sandbox
//! - [`SandboxTarget`]: a sandbox, or the workspace that it belongs to; [`SandboxSelection`] extends it
//! - [`ExecRequest`]: runs a command; [`StartCommandRequest`] and the requests about background commands
//! - [`ListFilesRequest`] and the requests about the files of a [`FileSource`]; [`WriteFileRequest`] and those that change
//!   files of a sandbox
//! - [`ListRequest`] and the other requests about a whole workspace
//! - [`CheckpointLocation`] and the requests about checkpoints
//! - [`CreateTokenRequest`] and the requests about access tokens
//! - [`Toolset`] and the requests about tools for language models
//! - [`UsageRequest`]: what workspaces use
//! - [`HealthRequest`]: checks the deployment
//! - [`CreateRequest`] and the other requests about named workspaces

mod background;
mod checkpoint;
mod create;
mod declare;
mod diff;
mod exec;
mod fields;
mod file_change;
mod file_source;
mod files;
mod health;
mod import;
mod in_workspace;
mod list_workspaces;
mod named;
mod revive;
mod sandbox_selection;
mod sandbox_target;
mod selection;
mod settings_update;
mod snapshot;
mod snapshot_text;
mod tokens;
mod tool_arguments;
mod tools;
mod usage;
mod workspace;

pub use background::{CommandOutputRequest, EndCommandRequest, StartCommandRequest};
#[cfg(feature = "schema")]
pub use checkpoint::CheckpointSandbox;
pub use checkpoint::{
    CheckpointLocation, CreateCheckpointRequest, DeleteCheckpointRequest, DiffCheckpointRequest,
    ListCheckpointsRequest, RestoreCheckpointRequest,
};
pub use create::{CreateRequest, GetOrCreateRequest, Source};
pub use diff::{DiffRequest, NestedFiles, NestedSelection};
pub use exec::ExecRequest;
#[cfg(feature = "schema")]
pub use fields::record_fields;
pub use file_change::{MakeDirectoryRequest, MoveFileRequest, RemoveFileRequest, WriteFileRequest};
pub use file_source::{FileSource, SandboxFiles};
pub use files::{
    ExportRequest, FileRequest, ListFilesRequest, ReadFileRequest, RestoreFilesRequest, StatFileRequest, SummaryRequest,
};
pub use health::HealthRequest;
pub use import::ImportRequest;
pub use in_workspace::{InWorkspace, InWorkspaceBy};
pub use list_workspaces::ListWorkspacesRequest;
pub use named::{ForkRequest, MigrateRequest, PromoteRequest, StartRequest, StopRequest, StopSnapshot, UpdateRequest};
pub use revive::ReviveRequest;
pub use sandbox_selection::SandboxSelection;
pub use sandbox_target::SandboxTarget;
pub use selection::{DeleteRequest, LabelRequest, RestoreRequest, Selection, Selector};
pub use settings_update::SettingsUpdate;
pub use snapshot::{CapturePurpose, SnapshotRequest};
pub use snapshot_text::{ForkFrom, PromoteFrom, SnapshotText};
pub use tokens::{CreateTokenRequest, CurrentTokenRequest, ListTokensRequest, RevokeTokenRequest};
pub use tool_arguments::ToolArguments;
pub use tools::{CallToolRequest, GrantRequest, NameStyle, ToolTarget, ToolWorkspace, Toolset};
pub use usage::UsageRequest;
pub use workspace::{
    ApplyRetentionRequest, LineageRequest, LineageScope, ListRequest, SandboxRequest, SetRetentionRequest,
    SnapshotCursor, SweepRequest,
};

use std::fmt::Display;
use std::ops::RangeInclusive;

use fields::Fields;

use super::policy::MAX_EXPIRATION;
use super::{Error, Label, Result, ShortRef, SnapshotId};

/// The maximum length of a text in options, in characters. All options have at most 64 KiB of JSON.
const MAX_TEXT: usize = 64_000;

/// The maximum length of an idempotency key, in characters.
const MAX_KEY_CHARS: usize = 128;

/// The minimum expiration of one snapshot, in seconds. 0 is allowed too and means never.
const MIN_EXPIRATION: u64 = 60;

/// Refuses the option `memory`: the platform cannot capture the memory of processes.
fn refuse_memory(fields: &mut Fields) -> Result<()> {
    if fields.refused_flag("memory")? {
        return Err(Error::memory_unsupported());
    }
    Ok(())
}

/// Verifies the length of a text.
fn check_text(name: &str, text: &str) -> Result<()> {
    match text.chars().count() {
        length if length > MAX_TEXT => Err(Error::invalid_argument(
            format!("`{name}` must have at most {MAX_TEXT} characters, got {length}"),
            "Send a longer text as a stream, or write it to a file in the sandbox.",
        )),
        _ => Ok(()),
    }
}

fn check_key(key: Option<String>) -> Result<Option<String>> {
    if let Some(key) = &key
        && (key.is_empty() || key.chars().count() > MAX_KEY_CHARS || key.chars().any(char::is_control))
    {
        return Err(Error::invalid_argument(
            format!(
                "`idempotencyKey` is empty, longer than {MAX_KEY_CHARS} characters, or contains control characters"
            ),
            "Pass a unique key for each intention, such as a UUID, and the same key when you repeat the call.",
        ));
    }
    Ok(key)
}

fn check_expiration(seconds: Option<u64>) -> Result<Option<u64>> {
    if let Some(seconds) =
        seconds.filter(|seconds| *seconds != 0 && !(MIN_EXPIRATION..=MAX_EXPIRATION).contains(seconds))
    {
        return Err(Error::invalid_argument(
            format!("`expirationSeconds` must be 0 or {MIN_EXPIRATION}–{MAX_EXPIRATION}, got {seconds}"),
            format!(
                "Pass {MIN_EXPIRATION} to {MAX_EXPIRATION} seconds after the last use, or 0 for a snapshot that never expires. Omit \
                 it to apply the retention policy."
            ),
        ));
    }
    Ok(seconds)
}

/// Parses a new label. A text with the form of the id or the short ref of a snapshot is refused: it would select that one.
fn parse_new_label(text: &str) -> Result<Label> {
    if SnapshotId::parse(text).is_ok() || text.starts_with(ShortRef::PREFIX) {
        return Err(Error::label_like_snapshot(text));
    }
    Label::parse(text)
}

/// Verifies that a request takes a label from another snapshot only if it has a label.
fn check_replace(replace: Option<bool>, label: Option<&Label>) -> Result<bool> {
    if replace == Some(true) && label.is_none() {
        return Err(Error::invalid_argument(
            "`replace` requires a `label`",
            "Pass the label to take from the other snapshot.",
        ));
    }
    Ok(replace.unwrap_or(false))
}

/// Verifies that a number is within a range.
fn check_range<T: TryFrom<u64> + PartialOrd + Display>(
    name: &str,
    number: u64,
    range: RangeInclusive<T>,
    remediation: impl FnOnce(&T) -> String,
) -> Result<T> {
    let (least, most) = (range.start(), range.end());
    let allowed = T::try_from(number).ok().filter(|number| range.contains(number));
    allowed.ok_or_else(|| {
        Error::invalid_argument(format!("`{name}` must be {least}–{most}, got {number}"), remediation(most))
    })
}

/// Verifies the number of items on a page.
fn check_page(limit: Option<u64>, default: u32, most: u32) -> Result<u32> {
    check_range("limit", limit.unwrap_or(default.into()), 1..=most, |most| {
        format!("Pass 1 to {most}, and continue with the cursor of the answer.")
    })
}
