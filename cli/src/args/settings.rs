//! The settings of a workspace, as options.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::duration::DurationArg;
use super::number::positive;
use super::policy::Policy;
use super::snapshot::ImageAction;

/// The settings of a workspace.
#[derive(Args)]
#[command(next_help_heading = "Settings")]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct Settings {
    /// Settings in JSON, as the API takes them: persistent, storage, durable, incremental, image, retention, hooks, expiry, autosave,
    /// dependsOn, env; options override them
    #[arg(long = "settings", value_name = "FILE|-")]
    pub file: Option<PathBuf>,
    /// Whether a stop takes a snapshot
    #[arg(long, value_name = "BOOL")]
    pub persistent: Option<bool>,
    /// Where a stop stores the files [default: archive]
    #[arg(long, value_name = "STORAGE")]
    pub storage: Option<StorageChoice>,
    /// Whether the files must be in an archive; `--storage platform` requires false [default: true]
    #[arg(long, value_name = "BOOL")]
    pub durable: Option<bool>,
    /// Whether snapshots may contain only what changed since a full one [default: the deployment decides]
    #[arg(long, value_name = "BOOL")]
    pub incremental: Option<bool>,
    /// The image from which the containers start, by its name in `[containers.images]` of their class; a running container
    /// keeps its image
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,
    /// Start the containers from the default image of their class again
    #[arg(long, conflicts_with = "image")]
    pub default_image: bool,
    /// Stop the workspace after this time without a start, fork, update or changed file; 0 means never [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub idle: Option<DurationArg>,
    /// Stop the workspace this long after its last start, regardless of activity; 0 means never [default: never]
    #[arg(long, value_name = "TIME")]
    pub max_age: Option<DurationArg>,
    /// Save the files of the running workspace this often, if they changed: at least 1m; 0 means never [default: never]
    #[arg(long, value_name = "TIME")]
    pub autosave_every: Option<DurationArg>,
    /// Whether to save the files after each `turn-ended`, at most once a minute [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub autosave_after_turn: Option<bool>,
    /// The number of newest automatic snapshots that stay [default: 5]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub autosave_keep: Option<NonZeroU32>,
    /// Run this command before a stop takes its snapshot
    #[arg(long, value_name = "COMMAND")]
    pub before_stop: Option<String>,
    /// Run this command after the files are in place
    #[arg(long, value_name = "COMMAND")]
    pub after_start: Option<String>,
    /// Run this command before an automatic stop, when a time limit is reached
    #[arg(long, value_name = "COMMAND")]
    pub on_timeout: Option<String>,
    /// Remove all hooks
    #[arg(long, conflicts_with_all = ["before_stop", "after_start", "on_timeout", "hook_timeout", "hook_failure"])]
    pub no_hooks: bool,
    /// The time limit of each of these commands [default: 1m]
    #[arg(long, value_name = "TIME")]
    pub hook_timeout: Option<DurationArg>,
    /// The effect of a failure of these commands [default: fail]
    #[arg(long, value_name = "ACTION")]
    pub hook_failure: Option<HookFailure>,
    /// Set an environment variable in the sandbox: NAME=VALUE, or NAME to copy the value from this environment;
    /// repeatable. Variables are replaced together: pass all that the workspace is to have
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Set the environment variables of a file, which has one NAME=VALUE per line
    #[arg(long, value_name = "FILE|-")]
    pub env_file: Option<PathBuf>,
    /// Remove all environment variables
    #[arg(long, conflicts_with_all = ["env", "env_file"])]
    pub no_env: bool,
    /// A file that the snapshots depend on; repeatable
    #[arg(long = "depends-on", value_name = "PATH")]
    pub depends_on: Vec<String>,
    /// A text that identifies the environment, such as a commit; recorded with each snapshot
    #[arg(long, value_name = "TEXT")]
    pub fingerprint: Option<String>,
    /// The effect on a start if a file or the fingerprint differs from the snapshot's [default: fail]
    #[arg(long, value_name = "ACTION")]
    pub on_mismatch: Option<MismatchAction>,
    /// The effect on a start if the sandbox's image differs from the snapshot's [default: report]
    #[arg(long, value_name = "ACTION")]
    pub on_image_change: Option<ImageAction>,
    /// The retention policy of the snapshots.
    #[command(flatten)]
    pub policy: Policy,
}

impl Settings {
    /// Returns whether an option changes a part of a setting, whose other parts stay as they are.
    pub fn changes_part(&self) -> bool {
        let has_hook = [&self.before_stop, &self.after_start, &self.on_timeout].iter().any(|hook| hook.is_some());
        let has_autosave =
            self.autosave_every.is_some() || self.autosave_after_turn.is_some() || self.autosave_keep.is_some();
        let has_change = self.fingerprint.is_some() || self.on_mismatch.is_some() || self.on_image_change.is_some();
        let has_dependency = has_change || !self.depends_on.is_empty();
        let has_limit = self.idle.is_some() || self.max_age.is_some();
        has_hook || has_autosave || has_dependency || has_limit || self.policy.is_given()
    }
}

/// The storages of a workspace's files.
#[derive(Clone, Copy, ValueEnum)]
pub enum StorageChoice {
    /// An archive of the directory in R2
    Archive,
    /// An archive, and a platform snapshot of the whole disk
    Both,
    /// Only a platform snapshot, which the platform deletes after 30 days without a start
    Platform,
}

/// The effect of a hook's failure.
#[derive(Clone, Copy, ValueEnum)]
pub enum HookFailure {
    /// The start or stop fails
    Fail,
    /// The start or stop continues, and the answer reports the failure
    Warn,
}

/// The effect of a changed dependency on a start.
#[derive(Clone, Copy, ValueEnum)]
pub enum MismatchAction {
    /// The start fails
    Fail,
    /// The start continues, and the answer reports the difference
    Report,
}
