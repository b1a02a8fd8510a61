//! What callers ask for, decoded from JSON.
//!
//! - [`SnapshotRequest`]: a snapshot to take
//! - [`ImportRequest`]: a backup to take in
//! - [`Selection`]: a snapshot that is there, and who asks; with what `restore`, `delete` and `label` add to it
//! - [`ListRequest`] and the requests about a whole workspace
//! - [`CheckpointsRequest`] and the requests about checkpoints
//! - [`Toolset`] and the requests about tools for language models
//! - [`HealthRequest`]: a look at the deployment
//! - [`CreateRequest`] and the requests about named workspaces

mod changes;
mod checkpoint;
mod create;
mod fields;
mod health;
mod import;
mod named;
mod select;
mod snapshot;
mod tools;
mod workspace;

pub use changes::Changes;
pub use checkpoint::{
    CheckpointsRequest, CreateCheckpointRequest, DiffCheckpointRequest, ListCheckpointsRequest,
    RestoreCheckpointRequest,
};
pub use create::{CreateRequest, GetOrCreateRequest, Source};
#[cfg(feature = "schema")]
pub use fields::asked;
pub use health::HealthRequest;
pub use import::ImportRequest;
pub use named::{ForkRequest, NameRequest, NamesRequest, StartRequest, StopRequest, UpdateRequest};
pub use select::{DeleteRequest, LabelRequest, RestoreRequest, Selection, Selector};
pub use snapshot::SnapshotRequest;
pub use tools::{CallToolRequest, Declared, GrantRequest, Ground, Style, ToolArguments, Toolset};
pub use workspace::{
    ApplyRetentionRequest, Cursor, LineageRequest, ListRequest, PolicyRequest, Session, SweepRequest, WorkspaceRequest,
};

use fields::Fields;

use super::policy::MAX_EXPIRATION;
use super::{Code, Error, Label, Result};

/// The longest idempotency key, in characters.
const MAX_KEY: usize = 128;

/// The shortest expiration of one snapshot, in seconds, apart from 0, which is never.
const MIN_EXPIRATION: u64 = 60;

fn invalid(what: &str, remediation: &str) -> Error {
    Error::new(Code::InvalidArgument, what, remediation)
}

/// Refuses to be asked for memory: the platform can't keep it.
fn no_memory(fields: &mut Fields) -> Result<()> {
    if fields.flag("memory")? {
        return Err(Error::new(
            Code::Unsupported,
            "Memory can't be captured: a snapshot keeps files, and neither processes nor what they hold. Nothing was written.",
            "Ask without `memory`. Have your processes write what they need to a file, and start them again by an `afterStart` hook.",
        ));
    }
    Ok(())
}

fn idempotency_key(key: Option<String>) -> Result<Option<String>> {
    if let Some(key) = &key
        && (key.is_empty() || key.chars().count() > MAX_KEY || key.chars().any(char::is_control))
    {
        return Err(invalid(
            &format!("`idempotencyKey` is empty, longer than {MAX_KEY} characters, or has control characters"),
            "Give each intention a key of its own, such as a UUID, and the same key when you ask again.",
        ));
    }
    Ok(key)
}

fn expiration(seconds: Option<u64>) -> Result<Option<u64>> {
    if let Some(seconds) =
        seconds.filter(|seconds| *seconds != 0 && !(MIN_EXPIRATION..=MAX_EXPIRATION).contains(seconds))
    {
        return Err(invalid(
            &format!("`expirationSeconds` is {seconds}"),
            &format!(
                "Give {MIN_EXPIRATION} to {MAX_EXPIRATION} seconds after the last use, 0 for a snapshot that is kept until it is \
                 deleted, or nothing for what the workspace's policy says."
            ),
        ));
    }
    Ok(seconds)
}

/// A label that is wanted, which may be taken from another snapshot.
fn wanted_label(label: Option<&str>, replace: bool) -> Result<Option<Label>> {
    if replace && label.is_none() {
        return Err(invalid("`replace` is given without a `label`", "Name the label that is to be replaced."));
    }
    label.map(Label::parse).transpose()
}
