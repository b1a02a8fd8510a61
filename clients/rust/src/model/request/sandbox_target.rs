//! A sandbox, by its id or by the name of the workspace that it belongs to.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::declare::{Content, Field, decode};
use super::fields::Fields;
use crate::model::named::{Address, Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::{exactly_one_of_each, needs, not_both};
use crate::model::{Error, Result, SandboxId};

/// A sandbox, or the named workspace that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxTarget {
    /// The sandbox of a named workspace.
    Named(Address),
    /// A sandbox.
    Sandbox(SandboxId),
}

impl SandboxTarget {
    /// Returns the target that these options select.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) without exactly one of `name` and `sandboxId`, or with a
    /// `tenant` beside `sandboxId`.
    pub(super) fn of(
        name: Option<WorkspaceName>,
        tenant: Option<Tenant>,
        sandbox_id: Option<SandboxId>,
    ) -> Result<Self> {
        match (name, sandbox_id) {
            (Some(name), None) => {
                Ok(Self::Named(Address { tenant: tenant.unwrap_or_else(Tenant::default_tenant), name }))
            }
            (None, Some(_)) if tenant.is_some() => Err(Error::tenant_of_sandbox()),
            (None, Some(sandbox_id)) => Ok(Self::Sandbox(sandbox_id)),
            (Some(_), Some(_)) => Err(Error::two_targets()),
            (None, None) => Err(Error::no_target("name")),
        }
    }

    /// Removes the workspace from the options of an operation that takes a sandbox. Returns `None` if they contain none. `name` is
    /// the option with the name of the workspace.
    ///
    /// # Errors
    /// Those of [`WorkspaceName::parse`] and [`Tenant::parse`], and [`Code::InvalidArgument`](crate::model::Code::InvalidArgument)
    /// for a workspace beside a `sandboxId`.
    pub fn take_workspace(options: &mut Map<String, Value>, name: &str) -> Result<Option<Address>> {
        let [name, tenant] = [name, "tenant"].map(|option| options.remove(option).unwrap_or_default());
        if name.is_null() && tenant.is_null() {
            return Ok(None);
        }
        let sandbox_id = options.get("sandboxId").cloned().unwrap_or_default();
        match decode(&json!({ "name": name, "tenant": tenant, "sandboxId": sandbox_id }))? {
            Self::Named(address) => Ok(Some(address)),
            Self::Sandbox(_) => Ok(None),
        }
    }
}

impl From<SandboxId> for SandboxTarget {
    fn from(sandbox_id: SandboxId) -> Self {
        Self::Sandbox(sandbox_id)
    }
}

impl From<Address> for SandboxTarget {
    fn from(address: Address) -> Self {
        Self::Named(address)
    }
}

impl Serialize for SandboxTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(address) => address.serialize(serializer),
            Self::Sandbox(sandbox_id) => serializer.collect_map([("sandboxId", sandbox_id)]),
        }
    }
}

impl Field for SandboxTarget {
    /// The name, the tenant and the id.
    type Raw = [Option<String>; 3];

    fn take(fields: &mut Fields, _: &str) -> Result<Self::Raw> {
        let mut text = |name| fields.string(name);
        Ok([text("name")?, text("tenant")?, text("sandboxId")?])
    }
}

impl Content for SandboxTarget {
    fn check([name, tenant, sandbox_id]: Self::Raw) -> Result<Self> {
        let name = name.as_deref().map(WorkspaceName::parse).transpose()?;
        let tenant = tenant.as_deref().map(Tenant::parse).transpose()?;
        Self::of(name, tenant, sandbox_id.as_deref().map(SandboxId::parse).transpose()?)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SandboxTarget {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SandboxTarget".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        /// A sandbox, or the present one of a workspace.
        #[derive(schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        #[schemars(transform = needs(&[]))]
        #[schemars(transform = exactly_one_of_each(&[["name", "sandboxId"]]), transform = not_both("tenant", "sandboxId"))]
        #[allow(dead_code)]
        struct Form {
            /// The name of the workspace.
            name: Option<WorkspaceName>,
            /// The tenant of the workspace; the default tenant if absent.
            tenant: Option<Tenant>,
            /// The id of the sandbox.
            sandbox_id: Option<SandboxId>,
        }
        Form::json_schema(generator)
    }
}
