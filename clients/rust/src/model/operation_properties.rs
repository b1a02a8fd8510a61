//! The properties of operations: the permission, the effect of a second call, and the object that runs them.

use super::SandboxId;
use super::named::Address;
use super::request::{DiffRequest, FileSource, SandboxTarget};

/// The permissions, as the table names them.
pub(super) mod permissions {
    use crate::model::token::Permission;

    pub const READ: Option<Permission> = Some(Permission::Read);
    pub const SNAPSHOT: Option<Permission> = Some(Permission::Snapshot);
    pub const WORK: Option<Permission> = Some(Permission::Work);
    pub const ADMIN: Option<Permission> = Some(Permission::Admin);
    /// No token of a tenant permits the operation.
    pub const API_TOKEN: Option<Permission> = None;
}

/// The effect of a second call when the first one took effect and its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Repeatability {
    /// The second call gets the answer of the first one, because both have the same idempotency key.
    WithKey,
    /// The second call changes nothing more.
    Idempotent,
    /// The second call does the work again, or does it to another object.
    NotIdempotent,
}

/// The object that runs an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The Workspace object of a sandbox: of the one to capture, or of the one that the snapshot was taken of.
    Sandbox(SandboxId),
    /// The object of a named workspace.
    Named(Address),
    /// The entrypoint itself, on the bucket or on the Directory of a tenant.
    Entrypoint,
    /// The entrypoint itself, for a toolset.
    Tools,
    /// The entrypoint itself, even where a binding is missing.
    Deployment,
}

impl From<&SandboxId> for Target {
    fn from(id: &SandboxId) -> Self {
        Self::Sandbox(id.clone())
    }
}

impl From<&Address> for Target {
    fn from(address: &Address) -> Self {
        Self::Named(address.clone())
    }
}

impl From<&DiffRequest> for Target {
    /// The entrypoint itself compares the files of a running sandbox.
    fn from(request: &DiffRequest) -> Self {
        match &*request.to.0 {
            FileSource::Snapshot(_) => request.from.0.selector.origin_id().into(),
            FileSource::Sandbox(_) => Self::Entrypoint,
        }
    }
}

impl From<&SandboxTarget> for Target {
    /// The entrypoint itself collects what the sandboxes of a workspace have.
    fn from(target: &SandboxTarget) -> Self {
        match target {
            SandboxTarget::Sandbox(id) => id.into(),
            SandboxTarget::Named(_) => Self::Entrypoint,
        }
    }
}

impl From<&FileSource> for Target {
    /// The entrypoint itself reads the files of a running sandbox.
    fn from(source: &FileSource) -> Self {
        match source {
            FileSource::Snapshot(selection) => selection.selector.origin_id().into(),
            FileSource::Sandbox(_) => Self::Entrypoint,
        }
    }
}
