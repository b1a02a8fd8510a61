//! Names of workspaces, their tenants, and the address that combines both.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::ids::{checked_string, random_text};
#[cfg(feature = "schema")]
use crate::model::schema::{needs, string_schemas};
use crate::model::{Error, Result, SandboxId};

/// The maximum length of a name, in characters.
const MAX_LENGTH: usize = 63;

/// The length of the random suffix of a sandbox id. It differs from the suffix length of minted ids, so no name can
/// look like a minted id.
const RANDOM_LENGTH: usize = 10;

checked_string! {
    /// The name of a workspace: `[A-Za-z0-9_][A-Za-z0-9_.-]*`, up to 63 characters. Unique within its tenant.
    WorkspaceName
}

checked_string! {
    /// The owner of workspaces, in the same form as a workspace name. Different tenants can use the same names.
    Tenant
}

#[cfg(feature = "schema")]
string_schemas! {
    WorkspaceName { "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$" }
    Tenant { "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$" }
}

impl WorkspaceName {
    /// Parses a name.
    ///
    /// # Errors
    /// [`Code::InvalidWorkspaceName`] if the name does not have the form.
    pub fn parse(text: &str) -> Result<Self> {
        check_name("name", text).map(Self)
    }

    /// Returns the id of a new sandbox for a workspace of this name: the name, reduced to the characters and the length
    /// that an id allows, then `-` and 10 random characters. Returns `None` if too few of the random bytes are usable.
    pub fn random_sandbox_id(&self, random: &[u8]) -> Option<SandboxId> {
        let random = random_text(random, RANDOM_LENGTH)?;
        let to_id_char = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let stem: String = self.0.chars().map(to_id_char).take(SandboxId::MAX - RANDOM_LENGTH - 1).collect();
        let stem = stem.trim_matches('-');
        let stem = if stem.is_empty() { "workspace" } else { stem };
        SandboxId::parse(&format!("{stem}-{random}")).ok()
    }

    /// Returns the name of the fork `number` (from 1) of `count` forks: this name if there is one fork, otherwise this
    /// name with `-<number>`.
    pub fn fork_name(&self, number: u32, count: u32) -> Result<Self> {
        if count == 1 { Ok(self.clone()) } else { Self::parse(&format!("{}-{number}", self.0)) }
    }

    /// Returns a name for a fork of this workspace: this name with `-fork-<short_id>`, where `short_id` has at most 8
    /// characters.
    pub fn default_fork_name(&self, short_id: &str) -> Result<Self> {
        let suffix = format!("-fork-{short_id}");
        let stem: String = self.0.chars().take(MAX_LENGTH - suffix.len()).collect();
        Self::parse(&format!("{stem}{suffix}"))
    }
}

impl Tenant {
    /// The tenant of calls that name none.
    pub const DEFAULT: &str = "default";

    /// Parses a tenant.
    ///
    /// # Errors
    /// [`Code::InvalidWorkspaceName`] if the tenant does not have the form.
    pub fn parse(text: &str) -> Result<Self> {
        check_name("tenant", text).map(Self)
    }

    /// Returns the tenant of calls that name none.
    pub fn default_tenant() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

/// The address of a workspace: its tenant and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceAddress"),
    schemars(transform = needs(&["name"]))
)]
pub struct Address {
    /// The tenant that owns the workspace; the default tenant if absent.
    pub tenant: Tenant,
    /// The name of the workspace, unique within its tenant.
    pub name: WorkspaceName,
}

impl Address {
    /// Returns the address of a workspace of the default tenant.
    pub fn in_default_tenant(name: WorkspaceName) -> Self {
        Self { tenant: Tenant::default_tenant(), name }
    }

    /// Returns the name for a message: after its tenant, unless that is the default one.
    pub fn short(&self) -> String {
        if self.tenant.as_str() == Tenant::DEFAULT { self.name.to_string() } else { self.to_string() }
    }

    /// Parses the text that [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Result<Self> {
        let (tenant, name) = text.split_once('/').unwrap_or_default();
        Ok(Self { tenant: Tenant::parse(tenant)?, name: WorkspaceName::parse(name)? })
    }
}

/// Writes `<tenant>/<name>`, which is also the name of the Durable Object that stores the workspace.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither part can contain a slash.
        write!(f, "{}/{}", self.tenant, self.name)
    }
}

fn check_name(what: &str, text: &str) -> Result<String> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_first = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.len() <= MAX_LENGTH && text.starts_with(is_first) && text.chars().all(is_inner) {
        return Ok(text.to_owned());
    }
    Err(Error::invalid_workspace_name(what, text, MAX_LENGTH))
}
