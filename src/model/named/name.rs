//! What a workspace is called, and by whom.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::ids::{checked_string, draw, quoted};
#[cfg(feature = "schema")]
use crate::model::schema::needs;
use crate::model::{Code, Error, Result, SandboxId};

/// The longest name, in characters.
const MAX: usize = 63;

/// The length of the random end of a sandbox's id. It is not that of a minted id's, so no name can look like a lineage.
const RANDOM: usize = 10;

checked_string! {
    /// The name of a workspace: `[A-Za-z0-9_][A-Za-z0-9_.-]*`, up to 63 characters. Unique for its tenant.
    WorkspaceName
}

checked_string! {
    /// The owner of workspaces, of the same form as their names. One tenant's names are nothing to another.
    Tenant
}

impl WorkspaceName {
    /// Checks a name, or says what is wrong with it ([`Code::InvalidWorkspaceName`]).
    pub fn parse(text: &str) -> Result<Self> {
        checked("name", text).map(Self)
    }

    /// The id of a new sandbox for a workspace of this name: what of the name an id may hold, `-`, and 10 random characters.
    /// `None` when too few of the bytes are usable.
    pub fn draw_sandbox_id(&self, random: &[u8]) -> Option<SandboxId> {
        let random = draw(random, RANDOM)?;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let stem: String = self.0.chars().map(plain).take(SandboxId::MAX - RANDOM - 1).collect();
        let stem = stem.trim_matches('-');
        let stem = if stem.is_empty() { "workspace" } else { stem };
        SandboxId::parse(&format!("{stem}-{random}")).ok()
    }

    /// The name of the fork `number` (from 1) of `count` that is to be called like this.
    pub fn numbered(&self, number: u32, count: u32) -> Result<Self> {
        if count == 1 { Ok(self.clone()) } else { Self::parse(&format!("{}-{number}", self.0)) }
    }

    /// A name for a fork of this workspace, by a text of at most 8 characters.
    pub fn fork(&self, by: &str) -> Result<Self> {
        let suffix = format!("-fork-{by}");
        let stem: String = self.0.chars().take(MAX - suffix.len()).collect();
        Self::parse(&format!("{stem}{suffix}"))
    }
}

impl Tenant {
    /// Whose workspaces those are where a caller names no tenant.
    pub const DEFAULT: &str = "default";

    /// Checks a tenant, or says what is wrong with it ([`Code::InvalidWorkspaceName`]).
    pub fn parse(text: &str) -> Result<Self> {
        checked("tenant", text).map(Self)
    }

    /// The tenant of a caller who names none.
    pub fn fallback() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

/// A workspace, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "WorkspaceAddress"),
    schemars(transform = needs(&["name"]))
)]
pub struct Address {
    /// Whose it is; the default tenant's where absent.
    pub tenant: Tenant,
    /// What it is called. Unique for its tenant.
    pub name: WorkspaceName,
}

impl Address {
    /// The workspace of a name, of the default tenant.
    pub fn of(name: WorkspaceName) -> Self {
        Self { tenant: Tenant::fallback(), name }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Result<Self> {
        let (tenant, name) = text.split_once('/').unwrap_or_default();
        Ok(Self { tenant: Tenant::parse(tenant)?, name: WorkspaceName::parse(name)? })
    }
}

/// Its text, `<tenant>/<name>`, is the name of the object that keeps the workspace.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither of them can hold the slash.
        write!(f, "{}/{}", self.tenant, self.name)
    }
}

fn checked(what: &str, text: &str) -> Result<String> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_first = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.len() <= MAX && text.starts_with(is_first) && text.chars().all(is_inner) {
        return Ok(text.to_owned());
    }
    Err(Error::new(
        Code::InvalidWorkspaceName,
        format!("The {what} {} is not one that a workspace can have.", quoted(text)),
        format!("Give 1 to {MAX} of the characters A-Z a-z 0-9 _ . - and begin with none of the last two."),
    ))
}
