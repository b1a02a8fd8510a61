//! How a workspace that persists by name is to be kept.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fields::Fields;
use crate::model::named::settings::{DependsOn, Expiry, Hooks, Settings};
use crate::model::policy::Policy;
#[cfg(feature = "schema")]
use crate::model::schema::variables;
use crate::model::{Directory, Result};

/// How a workspace is kept. Each is taken as a whole, and what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceSettings"))]
pub struct Changes {
    /// Whether a stop takes a snapshot; yes where it was never said.
    pub persistent: Option<bool>,
    /// How long its snapshots are kept.
    pub retention: Option<Policy>,
    /// Commands that run in its sandbox.
    pub hooks: Option<Hooks>,
    /// When it is stopped by itself.
    pub expiry: Option<Expiry>,
    /// What its snapshots depend on.
    pub depends_on: Option<DependsOn>,
    /// Environment variables of its sandbox, which are set again at every start. They may be secrets, and are never told.
    #[cfg_attr(feature = "schema", schemars(transform = variables))]
    pub env: Option<BTreeMap<String, String>>,
}

impl Changes {
    pub(super) fn take(fields: &mut Fields) -> Result<Self> {
        Ok(Self {
            persistent: fields.choice("persistent")?,
            retention: fields.object("retention")?,
            hooks: fields.object("hooks")?,
            expiry: fields.object("expiry")?,
            depends_on: fields.object("dependsOn")?,
            env: fields.map("env")?,
        })
    }

    /// The settings, with these changes.
    #[must_use]
    pub fn apply(self, settings: Settings) -> Settings {
        Settings {
            persistent: self.persistent.unwrap_or(settings.persistent),
            retention: self.retention.unwrap_or(settings.retention),
            hooks: self.hooks.unwrap_or(settings.hooks),
            expiry: self.expiry.unwrap_or(settings.expiry),
            depends_on: self.depends_on.unwrap_or(settings.depends_on),
            env: self.env.unwrap_or(settings.env),
            dir: settings.dir,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let any_dir = Directory::parse("/workspace")?;
        self.clone().apply(Settings::of(any_dir)).check()
    }
}
