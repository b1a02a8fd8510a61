//! The settings that a request sets for a named workspace.

use std::collections::BTreeMap;

use super::declare::request;
#[cfg(feature = "schema")]
use crate::model::named::image::MAX_IMAGE;
use crate::model::named::settings::{DependsOn, Expiry, Hooks, Settings};
#[cfg(feature = "schema")]
use crate::model::named::settings::{MAX_VARIABLES, RESERVED_VARIABLES};
use crate::model::named::{Autosave, ImageChoice, StoragePolicy};
use crate::model::policy::Policy;
#[cfg(feature = "schema")]
use crate::model::schema::{NO_CONTROL, NO_NULL};
use crate::model::{Directory, Result};

request! {
    /// The settings of a workspace. Each setting is replaced as a whole; a setting that is absent stays unchanged.
    #[derive(Default)]
    #[cfg_attr(feature = "schema", schemars(rename = "WorkspaceSettings"))]
    pub struct SettingsUpdate {
        /// Whether a stop takes a snapshot; true if it was never set. If it was never true, a start without any snapshot is empty.
        pub persistent: Option<bool>,
        /// Where a stop stores the files; `archive` if it was never set. `both` and `platform` need a class of sandboxes over
        /// `ctx.container`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub storage: Option<StoragePolicy>,
        /// Whether the files must be in an archive; true if it was never set. `storage: "platform"` requires false.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub durable: Option<bool>,
        /// Whether snapshots may contain only what changed since a full one; the deployment's default if it was never set.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub incremental: Option<bool>,
        /// The name of the image from which the containers start: one of `[containers.images]` of their class, which must be a
        /// class over `ctx.container`. `null` is the default of the class, and is not the same as an absent `image`. A running
        /// container keeps its image.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(
            feature = "schema",
            schemars(with = "Option<String>", length(min = 1, max = MAX_IMAGE), regex(pattern = NO_CONTROL)),
            schemars(extend("x-null-is-a-value" = true))
        )]
        pub image: Option<ImageChoice>,
        /// The retention policy of the workspace's snapshots.
        pub retention: Option<Policy>,
        /// The commands that run in the sandbox when the workspace starts and stops.
        pub hooks: Option<Hooks>,
        /// The time limits after which the workspace stops automatically.
        pub expiry: Option<Expiry>,
        /// When the files of the running workspace are saved automatically. `{}` is off.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub autosave: Option<Autosave>,
        /// What the workspace's snapshots depend on.
        pub depends_on: Option<DependsOn>,
        /// The environment variables of the sandbox, which every start sets again. They may be secrets; no answer
        /// contains their values.
        #[cfg_attr(feature = "schema", schemars(transform = variables))]
        pub env: Option<BTreeMap<String, String>>,
    }
    rule Self::check_settings;
}

impl SettingsUpdate {
    /// Returns `settings` with these changes.
    #[must_use]
    pub fn apply(self, settings: Settings) -> Settings {
        Settings {
            persistent: self.persistent.unwrap_or(settings.persistent),
            storage: self.storage.unwrap_or(settings.storage),
            durable: self.durable.unwrap_or(settings.durable),
            incremental: self.incremental.or(settings.incremental),
            image: self.image.map_or(settings.image, |ImageChoice(image)| image),
            retention: self.retention.unwrap_or(settings.retention),
            hooks: self.hooks.unwrap_or(settings.hooks),
            expiry: self.expiry.unwrap_or(settings.expiry),
            autosave: self.autosave.unwrap_or(settings.autosave),
            depends_on: self.depends_on.unwrap_or(settings.depends_on),
            env: self.env.unwrap_or(settings.env),
            dir: settings.dir,
        }
    }

    pub(super) fn check_settings(&self) -> Result<()> {
        let any_dir = Directory::parse("/workspace")?;
        self.clone().apply(Settings::new(any_dir)).check()
    }
}

/// Requires environment variables that a workspace can have.
#[cfg(feature = "schema")]
fn variables(schema: &mut schemars::Schema) {
    schema.insert("maxProperties".into(), MAX_VARIABLES.into());
    let names = serde_json::json!({ "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": { "enum": RESERVED_VARIABLES } });
    schema.insert("propertyNames".into(), names);
    schema.insert("additionalProperties".into(), serde_json::json!({ "type": "string", "pattern": NO_NULL }));
}
