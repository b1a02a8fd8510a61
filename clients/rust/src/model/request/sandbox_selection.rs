//! The selection of a sandbox, by its id or by the name of its workspace.

use super::declare::request;
use super::sandbox_target::SandboxTarget;
use super::workspace::LineageScope;
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{exactly_one_of_each, extends, needs, not_both};
use crate::model::{Result, Runtime, SandboxId};

request! {
    /// The selection of a running sandbox, or of a named workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "SandboxSelection", transform = needs(&[]), transform = extends("LineageScope")),
        schemars(transform = exactly_one_of_each(&[["name", "sandboxId"]]), transform = not_both("tenant", "sandboxId"))
    )]
    pub struct SandboxSelection {
        /// The name of the workspace. If it is not running, it is started first, but not to list, read or end its commands.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name: Option<WorkspaceName>,
        /// The tenant of the workspace; the default tenant if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tenant: Option<Tenant>,
        /// The id of the sandbox, which must be running.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sandbox_id: Option<SandboxId>,
        /// The runtime of the sandbox. If the sandbox is new to the snapshotter: the deployment's default if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub runtime: Option<Runtime>,
        /// The lineage that the caller works in.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub lineage_scope: LineageScope,
    }
    rule check_target;
}

fn check_target(selection: &SandboxSelection) -> Result<()> {
    selection.target().map(drop)
}

impl From<SandboxTarget> for SandboxSelection {
    /// Selects a target, without a runtime and a lineage scope.
    fn from(target: SandboxTarget) -> Self {
        let (address, sandbox_id) = match target {
            SandboxTarget::Named(address) => (Some(address), None),
            SandboxTarget::Sandbox(id) => (None, Some(id)),
        };
        let (name, tenant) = address.map(|Address { tenant, name }| (name, tenant)).unzip();
        Self { name, tenant, sandbox_id, runtime: None, lineage_scope: LineageScope::UNRESTRICTED }
    }
}

impl SandboxSelection {
    /// Selects the sandbox of a named workspace.
    pub fn named(address: Address) -> Self {
        SandboxTarget::Named(address).into()
    }

    /// Selects a sandbox.
    pub fn sandbox(sandbox_id: SandboxId) -> Self {
        SandboxTarget::Sandbox(sandbox_id).into()
    }

    /// Selects another target, with the same runtime and lineage scope.
    pub(crate) fn with_address(self, address: Address) -> Self {
        Self { runtime: self.runtime, lineage_scope: self.lineage_scope, ..Self::named(address) }
    }

    /// Returns the sandbox or the workspace.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) without exactly one of `name` and `sandboxId`, or with a `tenant` beside
    /// `sandboxId`.
    pub fn target(&self) -> Result<SandboxTarget> {
        SandboxTarget::of(self.name.clone(), self.tenant.clone(), self.sandbox_id.clone())
    }
}
