//! The settings of a named workspace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::image::check_image;
use super::{Autosave, StoragePolicy};

#[cfg(feature = "schema")]
use crate::model::schema::{A_COMMAND, PATH, nullable};
use crate::model::{Directory, Error, Policy, Result};

/// The maximum number of environment variables, of files that snapshots depend on, and of characters in a command.
pub(crate) const MAX_VARIABLES: usize = 100;
const MAX_FILES: usize = 32;
const MAX_COMMAND: usize = 8192;

/// The maximum length of a file path, in characters.
const MAX_PATH: usize = 1024;

/// The maximum length of a fingerprint, in characters.
pub(crate) const MAX_FINGERPRINT: usize = 256;

/// The environment variables that a workspace cannot set: the variables of the shell, and those that would hide the
/// programs that snapshots need.
pub(crate) const RESERVED_VARIABLES: [&str; 11] =
    ["PATH", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "BASHOPTS", "BASH_VERSINFO", "SHELLOPTS", "PPID", "UID", "EUID"];

/// The maximum time limit of a hook, in seconds.
const MAX_HOOK_SECONDS: u32 = 600;

/// The maximum time limit of a workspace, in seconds: one year.
const MAX_EXPIRY_SECONDS: u64 = 365 * 24 * 3600;

/// The settings of a named workspace, as its creator chooses them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The directory that persists.
    pub dir: Directory,
    /// Whether a stop takes a snapshot.
    pub persistent: bool,
    /// Where a stop stores the files.
    #[serde(default, skip_serializing_if = "StoragePolicy::is_default")]
    pub storage: StoragePolicy,
    /// Whether the files must be in an archive. Only without it can a platform snapshot be their only copy.
    #[serde(default = "durable_by_default")]
    pub durable: bool,
    /// Whether snapshots may contain only what changed since a full one; the deployment's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incremental: Option<bool>,
    /// The name of the image from which the containers start; the default of their class if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The retention policy of the workspace's snapshots.
    #[serde(default)]
    pub retention: Policy,
    /// The commands that run in the sandbox when the workspace starts and stops.
    #[serde(default)]
    pub hooks: Hooks,
    /// The time limits after which the workspace stops automatically.
    #[serde(default)]
    pub expiry: Expiry,
    /// When the files of the running workspace are saved automatically.
    #[serde(default, skip_serializing_if = "Autosave::is_default")]
    pub autosave: Autosave,
    /// What the workspace's snapshots depend on.
    #[serde(default)]
    pub depends_on: DependsOn,
    /// The environment variables of the sandbox, which every start sets again. They may be secrets; no answer contains
    /// their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// The commands that run in the sandbox when the workspace starts and stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hooks {
    /// Runs before a stop takes its snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_stop: Option<Hook>,
    /// Runs after the files are in place, before the start returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_start: Option<Hook>,
    /// Runs before an automatic stop, when a time limit of `expiry` is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<Hook>,
}

/// A command that runs in the sandbox with `sh -c`, in the workspace's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hook {
    /// The command.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_COMMAND), regex(pattern = A_COMMAND)))]
    pub command: String,
    /// The time limit, in seconds. A command that exceeds it is killed.
    #[serde(default = "default_hook_timeout")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_HOOK_SECONDS)))]
    pub timeout_seconds: u32,
    /// The effect of a failure.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// The effect of a hook's failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnFailure {
    /// The start or stop that ran the hook fails.
    #[default]
    Fail,
    /// The start or stop continues, and its answer reports the failure.
    Warn,
}

/// The time limits after which a workspace stops automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expiry {
    /// Seconds without a start, fork or update of the workspace, without a command, and without a changed file. 0 means never.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRY_SECONDS)))]
    pub idle_seconds: u64,
    /// Seconds after the last start, regardless of activity. 0 means never.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRY_SECONDS)))]
    pub max_seconds: u64,
}

impl Default for Expiry {
    /// Returns a limit of 10 idle minutes, which is the default of the SDK.
    fn default() -> Self {
        Self { idle_seconds: 600, max_seconds: 0 }
    }
}

/// What the snapshots of a workspace depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DependsOn {
    /// The files whose hashes are recorded with each snapshot: absolute paths, or paths relative to the workspace's
    /// directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = MAX_FILES), inner(length(min = 1, max = MAX_PATH), regex(pattern = PATH)))
    )]
    pub files: Vec<String>,
    /// A text that identifies the environment, such as a commit or a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_FINGERPRINT)))]
    pub fingerprint: Option<String>,
    /// The effect on a start if a file or the fingerprint differs from the snapshot's.
    pub on_mismatch: OnMismatch,
    /// The effect on a start if the sandbox's image differs from the snapshot's.
    pub on_image_change: OnImageChange,
}

/// The effect of a stale snapshot on a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnMismatch {
    /// The start fails.
    #[default]
    Fail,
    /// The start continues, and its answer reports the difference.
    Report,
}

impl OnMismatch {
    /// Returns whether the start fails.
    pub fn fails(self) -> bool {
        self == Self::Fail
    }
}

/// The effect on a start, a restore or a branch if the snapshot was taken on another image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnImageChange {
    /// The operation fails.
    Fail,
    /// The operation continues, and its answer reports the change. Most files remain valid on another image.
    #[default]
    Report,
    /// The operation continues, and its answer does not report the change.
    Allow,
}

impl OnImageChange {
    /// Returns whether the operation fails.
    pub fn fails(self) -> bool {
        self == Self::Fail
    }

    /// Returns whether this is the default.
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The start options of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StartSettings", transform = nullable))]
pub struct StartSettings {
    /// How to handle files that were written after the sandbox was cold-started.
    #[serde(default)]
    pub on_diverged: OnDiverged,
    /// Whether to start the workspace empty if there is nothing to restore.
    #[serde(default)]
    pub allow_empty: bool,
    /// Whether to start the workspace although its snapshot is stale.
    #[serde(default)]
    pub accept_stale: bool,
    /// The hashes that files must have had at the snapshot: SHA-256 in hexadecimal, by the paths of `dependsOn.files`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, String>,
}

/// How to handle files that were written after the sandbox was cold-started, that is, started without the workspace's
/// files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnDiverged {
    /// The start fails and changes nothing.
    #[default]
    Fail,
    /// The start adopts the files as the workspace's own.
    #[serde(alias = "keep")]
    Adopt,
    /// The start saves the files in a rescue snapshot, and restores the newest snapshot before it.
    #[serde(alias = "save")]
    Rescue,
    /// The start discards the files, and restores the newest snapshot.
    Discard,
}

const fn durable_by_default() -> bool {
    true
}

const fn default_hook_timeout() -> u32 {
    60
}

impl Settings {
    /// Returns the default settings for a workspace whose files are in `dir`.
    pub fn new(dir: Directory) -> Self {
        Self {
            dir,
            persistent: true,
            storage: StoragePolicy::default(),
            durable: true,
            incremental: None,
            image: None,
            retention: Policy::default(),
            hooks: Hooks::default(),
            expiry: Expiry::default(),
            autosave: Autosave::default(),
            depends_on: DependsOn::default(),
            env: BTreeMap::new(),
        }
    }

    /// Verifies the limits that the types do not enforce.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] if a setting is outside of its limits.
    pub fn check(&self) -> Result<()> {
        self.retention.check()?;
        if self.durable && !self.storage.has_archive() {
            return Err(Error::invalid_argument(
                "`storage` \"platform\" requires `durable: false`: the platform keeps the only copy of the files for 30 days",
                "Pass `durable: false`, or `storage: \"both\"` to also store the files in R2.",
            ));
        }
        self.image.as_deref().map_or(Ok(()), check_image)?;
        for (name, hook) in self.hooks.all() {
            hook.check(name)?;
        }
        if self.expiry.idle_seconds.max(self.expiry.max_seconds) > MAX_EXPIRY_SECONDS {
            return Err(Error::invalid_argument(
                format!("`expiry.idleSeconds` and `expiry.maxSeconds` must be 0–{MAX_EXPIRY_SECONDS}"),
                format!("Pass at most {MAX_EXPIRY_SECONDS} seconds, or 0 for never."),
            ));
        }
        self.autosave.check()?;
        self.depends_on.check()?;
        check_env(&self.env)
    }
}

impl Hooks {
    /// Returns the hooks that are set, with their names.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Hook)> {
        let hooks =
            [("beforeStop", &self.before_stop), ("afterStart", &self.after_start), ("onTimeout", &self.on_timeout)];
        hooks.into_iter().filter_map(|(name, hook)| Some((name, hook.as_ref()?)))
    }
}

impl Hook {
    fn check(&self, name: &str) -> Result<()> {
        let what = if self.command.trim().is_empty() {
            "has no command"
        } else if self.command.chars().count() > MAX_COMMAND || self.command.contains('\0') {
            "has a command that is too long or contains a null byte"
        } else if !(1..=MAX_HOOK_SECONDS).contains(&self.timeout_seconds) {
            "has an invalid `timeoutSeconds`"
        } else {
            return Ok(());
        };
        Err(Error::invalid_argument(
            format!("The hook `{name}` {what}"),
            format!("Pass a command of 1–{MAX_COMMAND} characters, and `timeoutSeconds` of 1–{MAX_HOOK_SECONDS}."),
        ))
    }
}

impl DependsOn {
    fn check(&self) -> Result<()> {
        let is_path = |path: &String| {
            let has_parent = path.split('/').any(|part| part == "..");
            !path.is_empty() && path.chars().count() <= MAX_PATH && !path.contains(['\0', '\n']) && !has_parent
        };
        if self.files.len() > MAX_FILES || !self.files.iter().all(is_path) {
            return Err(Error::invalid_argument(
                "`dependsOn.files` has too many paths, or an invalid path",
                format!(
                    "Pass up to {MAX_FILES} paths, absolute or relative to the workspace's directory, without \"..\"."
                ),
            ));
        }
        if self.fingerprint.as_ref().is_some_and(|text| text.is_empty() || text.chars().count() > MAX_FINGERPRINT) {
            return Err(Error::invalid_argument(
                format!("`dependsOn.fingerprint` must have 1–{MAX_FINGERPRINT} characters"),
                format!("Pass 1 to {MAX_FINGERPRINT} characters."),
            ));
        }
        Ok(())
    }
}

fn check_env(env: &BTreeMap<String, String>) -> Result<()> {
    if let Some(name) = RESERVED_VARIABLES.iter().find(|name| env.contains_key(**name)) {
        return Err(Error::invalid_argument(
            format!("`env` must not set {name}, because the sandbox itself depends on it"),
            "Set it in your commands, or in the sandbox's image.",
        ));
    }
    let has_invalid_name = env.keys().any(|name| !is_variable_name(name));
    if env.len() > MAX_VARIABLES || has_invalid_name || env.values().any(|value| value.contains('\0')) {
        return Err(Error::invalid_env(MAX_VARIABLES));
    }
    Ok(())
}

/// Returns whether an environment variable can have this name.
pub(crate) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
