//! The request for what workspaces use.

use super::check_page;
use super::declare::request;
use crate::model::named::{Tenant, WorkspaceName};
use crate::model::prices::InstanceType;
#[cfg(feature = "schema")]
use crate::model::schema::needs;
use crate::model::{Error, Result};

request! {
    /// The request for the usage of one workspace, or for a page of the usage of a tenant's workspaces.
    #[derive(Eq)]
    #[cfg_attr(feature = "schema", schemars(rename = "UsageOptions", transform = needs(&[])))]
    pub struct UsageRequest {
        /// The name of the workspace; all workspaces of the tenant if absent.
        pub name: Option<WorkspaceName>,
        /// The tenant; the default tenant if absent.
        pub tenant: Tenant,
        /// The type of the containers, which the cost of their running time depends on.
        #[cfg_attr(feature = "schema", schemars(extend("default" = "lite")))]
        pub instance_type: InstanceType = |text| text.as_deref().map_or(Ok(InstanceType::default()), InstanceType::parse),
        /// The cursor of the previous page: the page begins after this name.
        pub cursor: Option<WorkspaceName> = |cursor| {
            cursor.as_deref().map(WorkspaceName::parse).transpose().map_err(|_| Error::invalid_cursor("usage"))
        },
        /// The maximum number of workspaces on the page.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
        pub limit: u32 = |limit| check_page(limit, Self::DEFAULT_LIMIT, Self::MAX_LIMIT),
    }
}

impl UsageRequest {
    /// The default number of workspaces on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of workspaces on a page. Each of them is asked.
    pub const MAX_LIMIT: u32 = 500;

    /// Returns a request for the first workspaces of a tenant.
    pub const fn of(tenant: Tenant) -> Self {
        Self { name: None, tenant, instance_type: InstanceType::Lite, cursor: None, limit: Self::DEFAULT_LIMIT }
    }

    /// Returns a request for one workspace.
    pub fn of_workspace(tenant: Tenant, name: WorkspaceName) -> Self {
        Self { name: Some(name), ..Self::of(tenant) }
    }
}

/// The type of an option that names a type of containers.
impl super::declare::Field for InstanceType {
    type Raw = Option<String>;

    fn take(fields: &mut super::fields::Fields, name: &str) -> Result<Self::Raw> {
        fields.string(name)
    }
}
