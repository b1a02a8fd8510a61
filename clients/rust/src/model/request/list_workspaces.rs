//! The request for a list of named workspaces.

use serde::Deserialize;

use super::check_page;
use super::declare::request;
use crate::model::named::{Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::needs;
use crate::model::{Error, Result};

request! {
    /// The request for a page of a tenant's workspaces, sorted by name.
    #[derive(Eq, Deserialize)]
    #[cfg_attr(feature = "schema", schemars(rename = "ListWorkspacesOptions", transform = needs(&[])))]
    pub struct ListWorkspacesRequest {
        /// The tenant; the default tenant if absent.
        pub tenant: Tenant,
        /// The cursor of the previous page: the page begins after this name.
        pub cursor: Option<WorkspaceName> = |cursor| check_cursor(cursor.as_deref()),
        /// The maximum number of workspaces on the page.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LIMIT), extend("default" = Self::DEFAULT_LIMIT)))]
        pub limit: u32 = |limit| check_page(limit, Self::DEFAULT_LIMIT, Self::MAX_LIMIT),
        /// The prefix that the names of the workspaces must have.
        pub prefix: Option<String> = |prefix| Ok(prefix.filter(|prefix| !prefix.is_empty())),
    }
}

impl ListWorkspacesRequest {
    /// The default number of workspaces on a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum number of workspaces on a page.
    pub const MAX_LIMIT: u32 = 1000;

    /// Returns a request for the first page of a tenant's workspaces.
    pub const fn of(tenant: Tenant) -> Self {
        Self { tenant, cursor: None, limit: Self::DEFAULT_LIMIT, prefix: None }
    }
}

fn check_cursor(cursor: Option<&str>) -> Result<Option<WorkspaceName>> {
    cursor.map(WorkspaceName::parse).transpose().map_err(|_| Error::invalid_cursor("workspaces/list"))
}
