//! The requests of operations on the checkpoints in a sandbox.

use super::declare::request;
use super::workspace::LineageScope;
use super::{MAX_EXPIRATION, MIN_EXPIRATION, check_expiration, check_page, check_range};
use crate::model::checkpoint::{CheckpointCursor, CheckpointDescription, CheckpointName};
#[cfg(feature = "schema")]
use crate::model::named::{Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{exactly_one_of_each, extends, needs, not_both, zero_or};
use crate::model::{Directory, Result, Runtime, SandboxId};

request! {
    /// The location of checkpoints: a sandbox and a directory in it.
    #[cfg_attr(feature = "schema", schemars(rename = "CheckpointsOptions", transform = extends("CheckpointsSandbox"), transform = extends("LineageScope")))]
    pub struct CheckpointLocation {
        /// The id of the sandbox.
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub sandbox_id: SandboxId,
        /// The runtime of the sandbox. If the sandbox is new to the snapshotter: the deployment's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// The directory; if absent, that of the sandbox's workspace, or the deployment's default.
        pub dir: Option<Directory>,
        /// The lineage that the caller works in.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
    }
    offers Self::WORKSPACE;
}

/// The sandbox that has checkpoints. Before the options are decoded, the Worker replaces a workspace by its present sandbox.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CheckpointsSandbox", transform = needs(&[]))]
#[schemars(transform = exactly_one_of_each(&[["workspace", "sandboxId"]]), transform = not_both("tenant", "sandboxId"))]
#[allow(dead_code)]
pub struct CheckpointSandbox {
    /// The name of the workspace: `name` is that of a checkpoint.
    workspace: Option<WorkspaceName>,
    /// The tenant of the workspace; the default tenant if absent.
    tenant: Option<Tenant>,
    /// The id of the sandbox.
    sandbox_id: Option<SandboxId>,
}

request! {
    /// The request for a page of the checkpoints in a sandbox.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ListCheckpointsOptions", transform = needs(&[]), transform = extends("CheckpointsOptions"))
    )]
    pub struct ListCheckpointsRequest {
        /// The sandbox and the directory.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub location: CheckpointLocation,
        /// The cursor of the previous page; the page begins with the newest checkpoint if absent.
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        pub cursor: Option<CheckpointCursor>,
        /// The maximum number of checkpoints on the page. A page with more than 1 MiB of checkpoints ends earlier.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
        pub limit: u32 = |limit| check_page(limit, Self::DEFAULT_LIMIT, Self::MAX_LIMIT),
    }
}

impl CheckpointLocation {
    /// The option with the name of the workspace that has the checkpoints.
    pub const WORKSPACE: &str = "workspace";
}

impl ListCheckpointsRequest {
    /// The default number of checkpoints on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of checkpoints on a page.
    pub const MAX_LIMIT: u32 = 1000;

    /// Returns a request for the newest checkpoints of a location.
    pub const fn of(location: CheckpointLocation) -> Self {
        Self { location, cursor: None, limit: Self::DEFAULT_LIMIT }
    }
}

request! {
    /// The request to create a checkpoint.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "CreateCheckpointOptions", transform = extends("CheckpointsOptions"))
    )]
    pub struct CreateCheckpointRequest {
        /// The sandbox and the directory.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub location: CheckpointLocation,
        /// The name of the checkpoint.
        pub name: CheckpointName,
        /// A description of the checkpoint; `snapshot: <name>` if absent.
        pub description: Option<CheckpointDescription>,
        /// The expiration, in seconds from now, by the clock of the container. 0 means never, as if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(transform = zero_or(MIN_EXPIRATION, MAX_EXPIRATION)))]
        pub expiration_seconds: Option<u64> = Self::check_expiration,
    }
}

impl CreateCheckpointRequest {
    fn check_expiration(seconds: Option<u64>) -> Result<Option<u64>> {
        check_expiration(seconds).map_err(|error| {
            error.with_remediation(&format!(
                "Pass {MIN_EXPIRATION} to {MAX_EXPIRATION} seconds from now, or 0 for a checkpoint that never expires."
            ))
        })
    }
}

request! {
    /// The request to restore a checkpoint.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "RestoreCheckpointOptions", transform = needs(&["name"])),
        schemars(transform = extends("CheckpointsOptions"))
    )]
    pub struct RestoreCheckpointRequest {
        /// The sandbox and the directory.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub location: CheckpointLocation,
        /// The name of the checkpoint.
        pub name: CheckpointName,
        /// Whether to remove all empty directories afterwards, except in the directories of git. Checkpoints contain no
        /// directories.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub prune_empty_directories: bool,
    }
}

request! {
    /// The request to delete a checkpoint.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "DeleteCheckpointOptions", transform = extends("CheckpointsOptions"))
    )]
    pub struct DeleteCheckpointRequest {
        /// The sandbox and the directory.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub location: CheckpointLocation,
        /// The name of the checkpoint.
        pub name: CheckpointName,
    }
}

request! {
    /// The request to compare the files of a sandbox with a checkpoint.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "DiffCheckpointOptions", transform = needs(&["name"])),
        schemars(transform = extends("CheckpointsOptions"))
    )]
    pub struct DiffCheckpointRequest {
        /// The sandbox and the directory.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub location: CheckpointLocation,
        /// The name of the checkpoint.
        pub name: CheckpointName,
        /// The maximum length of the diff, in bytes.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_BYTES), extend("default" = Self::DEFAULT_BYTES)))]
        pub max_bytes: u32 = Self::check_bytes,
    }
}

impl DiffCheckpointRequest {
    /// The default maximum length of a diff, in bytes.
    pub const DEFAULT_BYTES: u32 = 256 * 1024;
    /// The largest `max_bytes`.
    pub const MAX_BYTES: u32 = 4 * 1024 * 1024;

    fn check_bytes(bytes: Option<u64>) -> Result<u32> {
        let bytes = bytes.unwrap_or(Self::DEFAULT_BYTES.into());
        check_range("maxBytes", bytes, 1..=Self::MAX_BYTES, |most| format!("Pass 1 to {most}."))
    }
}
