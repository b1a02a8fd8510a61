//! The requests about access tokens.

use super::check_range;
use super::declare::{Content, Field, request};
use super::fields::Fields;
use crate::model::named::{Tenant, WorkspaceName};
#[cfg(feature = "schema")]
use crate::model::schema::needs;
use crate::model::token::{Permission, TokenId};
use crate::model::{Error, Label, Result};

/// The maximum number of workspaces that a token names.
const MAX_WORKSPACES: usize = 100;

request! {
    /// The request to create a token.
    #[derive(Eq)]
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "CreateTokenOptions", transform = needs(&["permissions"]), transform = unlimited_admin)
    )]
    pub struct CreateTokenRequest {
        /// The tenant whose workspaces the token permits; the default tenant if absent.
        pub tenant: Tenant,
        /// What the bearer may do.
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        pub permissions: Vec<Permission>,
        /// The names of the workspaces that the token permits, with those that were made from them: 1–100. All workspaces
        /// of the tenant if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_WORKSPACES)))]
        pub workspaces: Option<Vec<WorkspaceName>>,
        /// A label for people.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub label: Option<Label>,
        /// The lifetime of the token, in seconds.
        #[cfg_attr(feature = "schema", schemars(range(min = Self::MIN_EXPIRATION, max = Self::MAX_EXPIRATION), extend("default" = Self::DEFAULT_EXPIRATION)))]
        pub expiration_seconds: u64 = Self::check_expiration,
    }
    rule Self::check_limits;
}

impl CreateTokenRequest {
    /// The default lifetime, in seconds: 30 days.
    pub const DEFAULT_EXPIRATION: u64 = 30 * 24 * 3600;
    /// The minimum lifetime, in seconds.
    pub const MIN_EXPIRATION: u64 = 60;
    /// The maximum lifetime, in seconds: one year.
    pub const MAX_EXPIRATION: u64 = 365 * 24 * 3600;

    /// Returns a request for a token of the default tenant, for all workspaces.
    pub fn of(permissions: Vec<Permission>) -> Self {
        let (tenant, expiration_seconds) = (Tenant::default_tenant(), Self::DEFAULT_EXPIRATION);
        Self { tenant, permissions, workspaces: None, label: None, expiration_seconds }
    }

    fn check_expiration(seconds: Option<u64>) -> Result<u64> {
        let range = Self::MIN_EXPIRATION..=Self::MAX_EXPIRATION;
        let seconds = seconds.unwrap_or(Self::DEFAULT_EXPIRATION);
        check_range("expirationSeconds", seconds, range, |most| {
            format!("Pass {} to {most} seconds.", Self::MIN_EXPIRATION)
        })
    }

    /// Verifies that a token for some workspaces does not manage the tokens of the whole tenant.
    fn check_limits(&self) -> Result<()> {
        if self.workspaces.is_some() && self.permissions.contains(&Permission::Admin) {
            return Err(Error::admin_token_limited());
        }
        Ok(())
    }
}

/// Excludes the permission `admin` together with `workspaces`.
#[cfg(feature = "schema")]
fn unlimited_admin(schema: &mut schemars::Schema) {
    let limited =
        serde_json::json!({ "properties": { "workspaces": { "type": "array" } }, "required": ["workspaces"] });
    let no_admin = serde_json::json!({ "properties": { "permissions": { "items": { "not": { "const": "admin" } } } } });
    schema.insert("if".into(), limited);
    schema.insert("then".into(), no_admin);
}

request! {
    /// The request to list the tokens of a tenant.
    #[derive(Eq)]
    #[cfg_attr(feature = "schema", schemars(rename = "ListTokensOptions", transform = needs(&[])))]
    pub struct ListTokensRequest {
        /// The tenant; the default tenant if absent.
        pub tenant: Tenant,
    }
}

request! {
    /// The request to revoke a token.
    #[derive(Eq)]
    #[cfg_attr(feature = "schema", schemars(rename = "RevokeTokenOptions", transform = needs(&["id"])))]
    pub struct RevokeTokenRequest {
        /// The tenant; the default tenant if absent.
        pub tenant: Tenant,
        /// The id of the token.
        pub id: TokenId,
    }
}

request! {
    /// The request for what the caller may do. It has no options.
    #[derive(Copy, Default, Eq)]
    #[cfg_attr(feature = "schema", schemars(rename = "CurrentTokenOptions"))]
    pub struct CurrentTokenRequest {}
}

impl Field for TokenId {
    type Raw = String;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.required(name)
    }
}

impl Content for TokenId {
    fn check(raw: Self::Raw) -> Result<Self> {
        Self::parse(&raw)
    }
}

impl Field for Vec<Permission> {
    type Raw = Vec<String>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.strings(name)
    }
}

impl Content for Vec<Permission> {
    fn check(raw: Self::Raw) -> Result<Self> {
        if raw.is_empty() {
            return Err(Error::permissions_empty());
        }
        let mut permissions = raw.iter().map(|text| Permission::parse(text)).collect::<Result<Self>>()?;
        permissions.sort_unstable();
        permissions.dedup();
        Ok(permissions)
    }
}

impl Field for Option<Vec<WorkspaceName>> {
    type Raw = Option<Vec<String>>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.optional_strings(name)
    }
}

impl Content for Option<Vec<WorkspaceName>> {
    fn check(raw: Self::Raw) -> Result<Self> {
        let Some(names) = raw else { return Ok(None) };
        // An empty list must not permit all workspaces.
        if names.is_empty() || names.len() > MAX_WORKSPACES {
            return Err(Error::token_workspaces_invalid(names.len(), MAX_WORKSPACES));
        }
        names.iter().map(|name| WorkspaceName::parse(name)).collect::<Result<_>>().map(Some)
    }
}
