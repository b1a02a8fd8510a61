//! The commands about named workspaces.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{Confirmation, IdempotencyKey, Paging};
use super::duration::DurationArg;
use super::policy::Policy;

/// The commands about named workspaces. A name is `NAME` or `TENANT/NAME`, with an `@` before it or without.
#[derive(Subcommand)]
pub enum Workspace {
    /// Make a workspace
    #[command(after_help = "\
Examples:
  snapshotter workspace create notebook
  snapshotter workspace create notebook --or-start --idle 30m \\
    --after-start 'npm start >server.log 2>&1 &'
  snapshotter workspace create try-2 --from-workspace notebook
  snapshotter workspace create again --from-snapshot agent-42 before-upgrade
  API_KEY=… snapshotter workspace create notebook --env API_KEY --env-file vars")]
    Create(Create),
    /// List the workspaces of a tenant, by their names
    #[command(after_help = "\
Examples:
  snapshotter workspace list
  snapshotter workspace list --tenant customer-7 --prefix build-")]
    List(List),
    /// Show everything that is known about a workspace; starts nothing
    #[command(after_help = "\
Example:
  snapshotter workspace show notebook")]
    Show(Show),
    /// Start a workspace: its files are in the sandbox that this prints
    #[command(after_help = "\
Examples:
  snapshotter workspace start notebook
  snapshotter workspace start notebook --fingerprint \"$(git rev-parse HEAD)\"")]
    Start(Start),
    /// Take a snapshot, and end the sandbox
    #[command(after_help = "\
Example:
  snapshotter workspace stop notebook")]
    Stop(Stop),
    /// Make other workspaces that begin where this one is now
    #[command(after_help = "\
Examples:
  snapshotter workspace fork notebook
  snapshotter workspace fork notebook --new-name attempt --count 3")]
    Fork(Fork),
    /// Change how a workspace is kept, or go back to an earlier snapshot
    ///
    /// Retention, hooks, time limits, dependencies and variables are each replaced as a whole, where an option of theirs is
    /// given; what nothing is said of stays as it is.
    #[command(after_help = "\
Examples:
  snapshotter workspace update notebook --idle 1h
  snapshotter workspace update notebook --back-to before-upgrade")]
    Update(Update),
    /// End a workspace, remove its snapshots and free its name; asks before
    #[command(after_help = "\
Example:
  snapshotter workspace delete notebook --yes")]
    Delete(Delete),
}

/// `workspace create`
#[derive(Args)]
pub struct Create {
    /// Its name, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Start it where there is one of that name already; that one is kept as it was
    #[arg(long)]
    pub or_start: bool,
    /// The directory that persists [default: that of the deployment, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// What it begins with.
    #[command(flatten)]
    pub source: Source,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
    /// How it is kept.
    #[command(flatten)]
    pub settings: Settings,
    /// How it is started, where there is one.
    #[command(flatten)]
    pub start_options: StartOptions,
}

/// What a workspace begins with: nothing, where nothing is said.
#[derive(Args)]
#[group(multiple = false)]
pub struct Source {
    /// Begin with the present files of another workspace of the tenant
    #[arg(long = "from-workspace", value_name = "NAME")]
    pub workspace: Option<String>,
    /// Begin with a snapshot
    #[arg(long = "from-snapshot", num_args = 2, value_names = ["SANDBOX|@NAME", "ID|TAG"])]
    pub snapshot: Option<Vec<String>>,
    /// Begin with the snapshot of a ref in JSON
    #[arg(long = "from-ref", value_name = "FILE|-")]
    pub reference: Option<PathBuf>,
}

/// How a workspace is kept.
#[derive(Args)]
#[command(next_help_heading = "How it is kept")]
pub struct Settings {
    /// Settings in JSON, as the API takes them: persistent, retention, hooks, expiry, dependsOn, env. Other options take precedence
    #[arg(long = "settings", value_name = "FILE|-")]
    pub file: Option<PathBuf>,
    /// Whether a stop takes a snapshot
    #[arg(long, value_name = "BOOL")]
    pub persistent: Option<bool>,
    /// Stop it after so long without a start or a changed file; 0 is never [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub idle: Option<DurationArg>,
    /// Stop it so long after it was started, whatever happens; 0 is never
    #[arg(long, value_name = "TIME")]
    pub max_age: Option<DurationArg>,
    /// Run this command before the snapshot of a stop
    #[arg(long, value_name = "COMMAND")]
    pub before_stop: Option<String>,
    /// Run this command after its files are in place
    #[arg(long, value_name = "COMMAND")]
    pub after_start: Option<String>,
    /// Run this command before a stop that nobody asked for
    #[arg(long, value_name = "COMMAND")]
    pub on_timeout: Option<String>,
    /// How long each of these commands may take [default: 1m]
    #[arg(long, value_name = "TIME")]
    pub hook_timeout: Option<DurationArg>,
    /// What it means that one of these commands fails
    #[arg(long, value_name = "WHAT")]
    pub hook_failure: Option<HookFailure>,
    /// Set a variable in its sandbox: NAME=VALUE, or NAME for the value that it has here; can be given several times
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub env: Vec<String>,
    /// Set the variables of a file with a line NAME=VALUE for each
    #[arg(long, value_name = "FILE|-")]
    pub env_file: Option<PathBuf>,
    /// A file that its snapshots depend on; can be given several times
    #[arg(long = "depends-on", value_name = "PATH")]
    pub depends_on: Vec<String>,
    /// What the world is like now, such as a commit: its snapshots are marked with it
    #[arg(long, value_name = "TEXT")]
    pub fingerprint: Option<String>,
    /// What it means when a file or the fingerprint is another one at a start
    #[arg(long, value_name = "WHAT")]
    pub on_mismatch: Option<MismatchAction>,
    /// What it means when the sandbox's image is another one at a start
    #[arg(long, value_name = "WHAT")]
    pub on_image_change: Option<MismatchAction>,
    /// How long its snapshots are kept.
    #[command(flatten)]
    pub policy: Policy,
}

/// What the failure of a hook means.
#[derive(Clone, Copy, ValueEnum)]
pub enum HookFailure {
    /// The start or the stop fails too
    Fail,
    /// It is only told
    Warn,
}

/// What it means that something has changed.
#[derive(Clone, Copy, ValueEnum)]
pub enum MismatchAction {
    /// The start fails
    Fail,
    /// It is only told
    Report,
}

/// How a workspace is started.
#[derive(Args)]
#[command(next_help_heading = "How it is started")]
pub struct StartOptions {
    /// What becomes of files that were written since its sandbox woke by itself [default: fail]
    #[arg(long, value_name = "WHAT")]
    pub on_diverged: Option<DivergedAction>,
    /// Start it empty where there is nothing to restore
    #[arg(long)]
    pub allow_empty: bool,
    /// Start it although its snapshot is stale
    #[arg(long)]
    pub accept_stale: bool,
    /// What a file must have been at the snapshot; can be given several times
    #[arg(long = "expect", value_name = "PATH=SHA256")]
    pub expect: Vec<String>,
}

/// What becomes of files that were written since a sandbox woke by itself.
#[derive(Clone, Copy, ValueEnum)]
pub enum DivergedAction {
    /// The start fails, and nothing is touched
    Fail,
    /// They are the workspace's from now on
    Adopt,
    /// They are kept as a snapshot of their own
    Rescue,
    /// They go
    Discard,
}

/// `workspace list`
#[derive(Args)]
pub struct List {
    /// Whose [default: default]
    #[arg(long, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// Only those whose name begins like this
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Which page.
    #[command(flatten)]
    pub paging: Paging,
}

/// `workspace show`
#[derive(Args)]
pub struct Show {
    /// Its name, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `workspace start`
#[derive(Args)]
pub struct Start {
    /// Its name, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What the world is like now, such as a commit
    #[arg(long, value_name = "TEXT")]
    pub fingerprint: Option<String>,
    /// How it is started.
    #[command(flatten)]
    pub options: StartOptions,
}

/// `workspace stop`
#[derive(Args)]
pub struct Stop {
    /// Its name, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `workspace fork`
#[derive(Args)]
pub struct Fork {
    /// The name of the one that they begin with, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What the fork is called; <NEW-NAME>-1, <NEW-NAME>-2… where there are several [default: NAME-fork-…]
    #[arg(long, value_name = "NEW-NAME")]
    pub new_name: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u32,
    /// Give them the environment variables, which may be secrets
    #[arg(long)]
    pub copy_env: bool,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
}

/// `workspace update`
#[derive(Args)]
pub struct Update {
    /// Its name, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Go back to this snapshot, in a new sandbox
    #[arg(long, value_name = "ID|TAG")]
    pub back_to: Option<String>,
    /// Go back although the snapshot is stale
    #[arg(long, requires = "back_to")]
    pub accept_stale: bool,
    /// How it is kept.
    #[command(flatten)]
    pub settings: Settings,
}

/// `workspace delete`
#[derive(Args)]
pub struct Delete {
    /// Its name, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Whether to ask.
    #[command(flatten)]
    pub confirmation: Confirmation,
}
