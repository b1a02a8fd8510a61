//! How a named workspace is to be kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::model::schema::{A_COMMAND, PATH};
use crate::model::{Code, Directory, Error, Policy, Result};

/// The most variables, files or characters of a command that somebody can mean.
pub(crate) const MAX_VARIABLES: usize = 100;
const MAX_FILES: usize = 32;
const MAX_COMMAND: usize = 8192;

/// The longest path of a file, in characters.
const MAX_PATH: usize = 1024;

/// The longest fingerprint, in characters.
pub(crate) const MAX_FINGERPRINT: usize = 256;

/// Variables that a workspace can't have: the shell's own, and those by which the programs would not be found any more that
/// snapshots are made with.
pub(crate) const RESERVED: [&str; 11] =
    ["PATH", "IFS", "ENV", "BASH_ENV", "LD_PRELOAD", "BASHOPTS", "BASH_VERSINFO", "SHELLOPTS", "PPID", "UID", "EUID"];

/// The longest time that a hook may take, in seconds.
const MAX_HOOK_SECONDS: u32 = 600;

/// The longest time limit of a workspace, in seconds: a year.
const MAX_EXPIRY_SECONDS: u64 = 365 * 24 * 3600;

/// Everything that its maker can choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The directory that persists.
    pub dir: Directory,
    /// Whether a stop takes a snapshot.
    pub persistent: bool,
    /// How long its snapshots are kept.
    #[serde(default)]
    pub retention: Policy,
    /// Commands that run in its sandbox.
    #[serde(default)]
    pub hooks: Hooks,
    /// When it is stopped by itself.
    #[serde(default)]
    pub expiry: Expiry,
    /// What its snapshots depend on.
    #[serde(default)]
    pub depends_on: DependsOn,
    /// Environment variables of its sandbox, which are set again at every start. They may be secrets, and are never told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// Commands that run in the sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hooks {
    /// Before the snapshot of a stop is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_stop: Option<Hook>,
    /// After the files are in place, before the workspace is handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_start: Option<Hook>,
    /// Before a stop that nobody asked for, because a time limit is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<Hook>,
}

/// A command that runs in the sandbox, by `sh -c`, in the workspace's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hook {
    /// The command.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_COMMAND), regex(pattern = A_COMMAND)))]
    pub command: String,
    /// How long it may take, in seconds; then it is killed.
    #[serde(default = "a_minute")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_HOOK_SECONDS)))]
    pub timeout_seconds: u32,
    /// What a failure means.
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// What the failure of a hook means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnFailure {
    /// What it belongs to fails too: the start, or the stop.
    #[default]
    Fail,
    /// It is only told.
    Warn,
}

/// When a workspace is stopped by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expiry {
    /// Seconds without a start, fork or update of it, and without a changed file; 0 is never.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRY_SECONDS)))]
    pub idle_seconds: u64,
    /// Seconds after it was started, whatever happens; 0 is never.
    #[cfg_attr(feature = "schema", schemars(range(max = MAX_EXPIRY_SECONDS)))]
    pub max_seconds: u64,
}

impl Default for Expiry {
    /// Ten minutes without anything: the SDK's own default.
    fn default() -> Self {
        Self { idle_seconds: 600, max_seconds: 0 }
    }
}

/// What the snapshots of a workspace depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DependsOn {
    /// Files whose hashes are taken with each snapshot: absolute, or in the workspace's directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = MAX_FILES), inner(length(min = 1, max = MAX_PATH), regex(pattern = PATH)))
    )]
    pub files: Vec<String>,
    /// Anything that says what the world is like: a commit, a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_FINGERPRINT)))]
    pub fingerprint: Option<String>,
    /// What it means when a file or the fingerprint is another one at a start.
    pub on_mismatch: OnMismatch,
    /// What it means when the sandbox's image is another one at a start.
    pub on_image_change: OnImageChange,
}

/// What it means that a snapshot is stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnMismatch {
    /// The start fails.
    #[default]
    Fail,
    /// It is only told.
    Report,
}

impl OnMismatch {
    /// Whether a start fails by it.
    pub fn fails(self) -> bool {
        self == Self::Fail
    }
}

/// What it means that a snapshot was taken on another image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum OnImageChange {
    /// The start fails.
    Fail,
    /// It is only told: files mostly outlive an image.
    #[default]
    Report,
}

impl OnImageChange {
    /// Whether a start fails by it.
    pub fn fails(self) -> bool {
        self == Self::Fail
    }
}

const fn a_minute() -> u32 {
    60
}

impl Settings {
    /// Those of a workspace about which nothing was said.
    pub fn of(dir: Directory) -> Self {
        Self {
            dir,
            persistent: true,
            retention: Policy::default(),
            hooks: Hooks::default(),
            expiry: Expiry::default(),
            depends_on: DependsOn::default(),
            env: BTreeMap::new(),
        }
    }

    /// Checks what the types leave open ([`Code::InvalidArgument`]).
    pub fn check(&self) -> Result<()> {
        self.retention.check()?;
        for (name, hook) in self.hooks.all() {
            hook.check(name)?;
        }
        if self.expiry.idle_seconds.max(self.expiry.max_seconds) > MAX_EXPIRY_SECONDS {
            return Err(invalid("`expiry` has more seconds than a year", "Give fewer, or 0 for never."));
        }
        self.depends_on.check()?;
        check_env(&self.env)
    }
}

impl Hooks {
    /// Those that there are, by their names.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Hook)> {
        let named =
            [("beforeStop", &self.before_stop), ("afterStart", &self.after_start), ("onTimeout", &self.on_timeout)];
        named.into_iter().filter_map(|(name, hook)| Some((name, hook.as_ref()?)))
    }
}

impl Hook {
    fn check(&self, name: &str) -> Result<()> {
        let what = if self.command.trim().is_empty() {
            "has no command"
        } else if self.command.chars().count() > MAX_COMMAND || self.command.contains('\0') {
            "has a command that is too long, or holds a null byte"
        } else if !(1..=MAX_HOOK_SECONDS).contains(&self.timeout_seconds) {
            "has a time limit that it can't have"
        } else {
            return Ok(());
        };
        Err(invalid(
            &format!("The hook `{name}` {what}"),
            &format!("Give a command of up to {MAX_COMMAND} characters, and 1 to {MAX_HOOK_SECONDS} `timeoutSeconds`."),
        ))
    }
}

impl DependsOn {
    fn check(&self) -> Result<()> {
        let is_path = |path: &String| {
            let goes_up = path.split('/').any(|part| part == "..");
            !path.is_empty() && path.chars().count() <= MAX_PATH && !path.contains(['\0', '\n']) && !goes_up
        };
        if self.files.len() > MAX_FILES || !self.files.iter().all(is_path) {
            return Err(invalid(
                "`dependsOn.files` are too many, or one is no path",
                &format!("Give up to {MAX_FILES} paths, absolute or in the workspace's directory, without \"..\"."),
            ));
        }
        if self.fingerprint.as_ref().is_some_and(|text| text.is_empty() || text.chars().count() > MAX_FINGERPRINT) {
            return Err(invalid("`dependsOn.fingerprint` is empty or too long", "Give 1 to 256 characters."));
        }
        Ok(())
    }
}

fn check_env(env: &BTreeMap<String, String>) -> Result<()> {
    if let Some(name) = RESERVED.iter().find(|name| env.contains_key(**name)) {
        return Err(invalid(
            &format!("`env` sets {name}, which the sandbox itself depends on"),
            "Set it in your commands, or in the sandbox's image.",
        ));
    }
    let is_name = |name: &String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if env.len() > MAX_VARIABLES || !env.keys().all(is_name) || env.values().any(|value| value.contains('\0')) {
        return Err(invalid(
            "`env` has too many variables, one with an odd name, or a value with a null byte",
            &format!("Give up to {MAX_VARIABLES} variables, with names of letters, digits and _."),
        ));
    }
    Ok(())
}

fn invalid(what: &str, remediation: &str) -> Error {
    Error::new(Code::InvalidArgument, what, remediation)
}
