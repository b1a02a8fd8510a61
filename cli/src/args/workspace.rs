//! The commands for named workspaces.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{Confirmation, IdempotencyKey, Paging, RuntimeOption, runtime};
use super::duration::DurationArg;
use super::number::forks;
use super::secrets::Secrets;
use super::settings::Settings;
use sandbox_snapshotter_client::model::Runtime;
use sandbox_snapshotter_client::model::named::settings::OnDiverged;

/// The commands for named workspaces. A name is `NAME` or `TENANT/NAME`, with or without a leading `@`.
#[derive(Subcommand)]
pub enum Workspace {
    /// Create a workspace
    #[command(after_help = "\
Examples:
  snapshotter workspace create notebook
  snapshotter workspace create notebook --or-start --idle 30m \\
    --after-start 'npm start >server.log 2>&1 &'
  snapshotter workspace create try-2 --from-workspace @notebook
  snapshotter workspace create again --from-snapshot agent-42 before-upgrade
  API_KEY=… snapshotter workspace create notebook --env API_KEY --env-file vars")]
    Create(Create),
    /// List the workspaces of a tenant, sorted by name
    #[command(after_help = "\
Examples:
  snapshotter workspace list
  snapshotter workspace list --tenant customer-7 --prefix build-")]
    List(List),
    /// Show all details of a workspace; starts no container
    #[command(after_help = "\
Example:
  snapshotter workspace show notebook")]
    Show(Show),
    /// Start a workspace, and print the sandbox that has its files
    #[command(after_help = "\
Examples:
  snapshotter workspace start notebook
  snapshotter workspace start notebook --from before-upgrade
  snapshotter workspace start notebook --fingerprint \"$(git rev-parse HEAD)\"")]
    Start(Start),
    /// Stop a workspace: take a snapshot, end its commands, and destroy the sandbox
    #[command(after_help = "\
Example:
  snapshotter workspace stop notebook
  snapshotter workspace stop notebook --label before-upgrade --expires 7d")]
    Stop(Stop),
    /// Tell the Worker that an agent's turn has ended: it saves the files if they changed and the settings say so
    #[command(after_help = "\
Example:
  snapshotter workspace turn-ended notebook")]
    TurnEnded(TurnEnded),
    /// Create workspaces from the present files of this one, or from one of its snapshots
    #[command(after_help = "\
Examples:
  snapshotter workspace fork notebook
  snapshotter workspace fork notebook --new-name attempt --count 3
  snapshotter workspace fork notebook --from latest")]
    Fork(Fork),
    /// Go back to an earlier snapshot, in a new sandbox; the present files are saved before
    #[command(after_help = "\
Examples:
  snapshotter workspace rollback notebook before-upgrade
  snapshotter workspace rollback @notebook snap-9rbk8d2dduhnwf6u")]
    Rollback(Rollback),
    /// Change the settings of a workspace, or go back to an earlier snapshot
    ///
    /// Settings without an option stay unchanged, but for the variables, which are replaced together.
    #[command(after_help = "\
Examples:
  snapshotter workspace update notebook --idle 1h
  snapshotter workspace update notebook --autosave-every 5m
  snapshotter workspace update notebook --back-to before-upgrade")]
    Update(Update),
    /// Continue a workspace with the files of another workspace or snapshot of its lineage, in a new sandbox
    #[command(after_help = "\
Examples:
  snapshotter workspace promote @notebook --from @try-2
  snapshotter workspace promote notebook --from snap-9rbk8d2dduhnwf6u
  snapshotter workspace promote notebook --from before-upgrade
  snapshotter workspace promote notebook --from @try-2 --snapshot 'tests pass'")]
    Promote(Promote),
    /// Move a workspace to another runtime: stop it; the next start restores its files there
    #[command(after_help = "\
Examples:
  snapshotter workspace migrate @notebook --runtime container
  snapshotter workspace migrate @notebook --runtime sdk-0.12")]
    Migrate(Migrate),
    /// Delete workspaces and their snapshots, and free their names; asks for confirmation
    #[command(after_help = "\
Examples:
  snapshotter workspace delete notebook --yes
  snapshotter workspace delete try-1 try-2")]
    Delete(Delete),
}

/// `workspace create`
#[derive(Args)]
pub struct Create {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Start the workspace if it exists; its settings stay unchanged, except the fingerprint
    #[arg(long)]
    pub or_start: bool,
    /// The directory that persists [default: the source's directory, else the deployment's, usually /workspace]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<String>,
    /// The source of its files.
    #[command(flatten)]
    pub source: Source,
    /// The runtime of the sandbox.
    #[command(flatten)]
    pub runtime: RuntimeOption,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
    /// The settings.
    #[command(flatten)]
    pub settings: Settings,
    /// The start options, if the workspace exists.
    #[command(flatten)]
    pub start_options: StartOptions,
}

/// The source of a workspace's files. Without a source, the workspace begins empty.
#[derive(Args)]
#[group(multiple = false)]
pub struct Source {
    /// Start from the present files of another workspace of the tenant
    #[arg(long = "from-workspace", alias = "from", value_name = "@NAME")]
    pub workspace: Option<String>,
    /// Start from the files of a snapshot
    #[arg(long = "from-snapshot", num_args = 2, value_names = ["SANDBOX|@NAME", "ID|LABEL"])]
    pub snapshot: Option<Vec<String>>,
    /// Start from the files of the snapshot whose ref is in this JSON file
    #[arg(long = "from-ref", value_name = "FILE|-")]
    pub reference: Option<PathBuf>,
}

/// The start options of a workspace.
#[derive(Args)]
#[command(next_help_heading = "Start options")]
pub struct StartOptions {
    /// How to handle files that were written after the sandbox was cold-started [default: fail]
    #[arg(long, value_name = "ACTION")]
    pub on_diverged: Option<DivergedAction>,
    /// Start the workspace empty if there is nothing to restore
    #[arg(long)]
    pub allow_empty: bool,
    /// Start the workspace although its snapshot is stale
    #[arg(long)]
    pub accept_stale: bool,
    /// The SHA-256 hash that a --depends-on file must have had at the snapshot; repeatable
    #[arg(long = "expect", value_name = "PATH=SHA256")]
    pub expect: Vec<String>,
}

/// How to handle files that were written after a sandbox was cold-started.
#[derive(Clone, Copy, ValueEnum)]
pub enum DivergedAction {
    /// The start fails and changes nothing
    Fail,
    /// Adopt the files as the workspace's own
    Adopt,
    /// Save the files in a rescue snapshot, and restore the newest snapshot before it
    Rescue,
    /// Discard the files, and restore the newest snapshot
    Discard,
}

impl From<DivergedAction> for OnDiverged {
    fn from(action: DivergedAction) -> Self {
        match action {
            DivergedAction::Fail => Self::Fail,
            DivergedAction::Adopt => Self::Adopt,
            DivergedAction::Rescue => Self::Rescue,
            DivergedAction::Discard => Self::Discard,
        }
    }
}

/// `workspace list`
#[derive(Args)]
pub struct List {
    /// The tenant [default: default]
    #[arg(long, value_name = "TENANT")]
    pub tenant: Option<String>,
    /// List only workspaces whose name starts with this text
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// The page.
    #[command(flatten)]
    pub paging: Paging,
}

/// `workspace show`
#[derive(Args)]
pub struct Show {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `workspace start`
#[derive(Args)]
pub struct Start {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A text that identifies the present environment, such as a commit
    #[arg(long, value_name = "TEXT")]
    pub fingerprint: Option<String>,
    /// Continue from this snapshot, in a new sandbox; the present files are saved before
    #[arg(long, value_name = "ID|REF|LABEL")]
    pub from: Option<String>,
    /// The idempotency key, for `--from`.
    #[command(flatten)]
    pub key: IdempotencyKey,
    /// The start options.
    #[command(flatten)]
    pub options: StartOptions,
}

/// `workspace stop`
#[derive(Args)]
pub struct Stop {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The label of the snapshot, a name for people [default: derived from the time]
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Take the label from another snapshot that has it
    #[arg(long, requires = "label")]
    pub replace: bool,
    /// The snapshot expires this long after its last use; 0 means never [default: the retention policy decides]
    #[arg(long, value_name = "TIME")]
    pub expires: Option<DurationArg>,
}

/// `workspace turn-ended`
#[derive(Args)]
pub struct TurnEnded {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// `workspace fork`
#[derive(Args)]
pub struct Fork {
    /// The name of the workspace to fork, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The name of the fork; several forks are named <NEW-NAME>-1, <NEW-NAME>-2… [default: NAME-fork-…]
    #[arg(long, value_name = "NEW-NAME")]
    pub new_name: Option<String>,
    /// The number of forks
    #[arg(long, value_name = "N", value_parser = forks, default_value_t = 1)]
    pub count: u32,
    /// Begin with this snapshot, or with the newest one (`latest`), without a new capture [default: the present files]
    #[arg(long, value_name = "latest|ID|REF|LABEL")]
    pub from: Option<String>,
    /// Copy the environment variables, which may be secrets, to the forks
    #[arg(long)]
    pub copy_env: bool,
    /// What to do with files that seem to contain secrets [default: copy them, and search for none]
    #[arg(long, value_name = "MODE", conflicts_with = "from")]
    pub secrets: Option<Secrets>,
    /// The runtime of the forks.
    #[command(flatten)]
    pub runtime: RuntimeOption,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
}

/// `workspace rollback`
#[derive(Args)]
pub struct Rollback {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The snapshot with the files; `latest` is the newest one
    #[arg(value_name = "ID|REF|LABEL")]
    pub snapshot: String,
    /// Go back to the snapshot although it is stale
    #[arg(long)]
    pub accept_stale: bool,
}

/// `workspace update`
#[derive(Args)]
pub struct Update {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Go back to this snapshot, in a new sandbox
    #[arg(long, value_name = "ID|REF|LABEL")]
    pub back_to: Option<String>,
    /// Go back to the snapshot although it is stale
    #[arg(long, requires = "back_to")]
    pub accept_stale: bool,
    /// The settings.
    #[command(flatten)]
    pub settings: Settings,
}

/// `workspace promote`
#[derive(Args)]
pub struct Promote {
    /// The name of the workspace that gets the files, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The workspace of the tenant, or the snapshot, that has the files. A label selects a snapshot of NAME itself
    #[arg(long, value_name = "@NAME|ID|REF|LABEL")]
    pub from: String,
    /// The snapshot of `--from`, which is then @NAME or a sandbox [default: the newest files of the workspace]
    #[arg(long, value_name = "ID|LABEL")]
    pub snapshot: Option<String>,
    /// Promote the snapshot although it is stale
    #[arg(long)]
    pub accept_stale: bool,
    /// The idempotency key.
    #[command(flatten)]
    pub key: IdempotencyKey,
}

/// `workspace migrate`
#[derive(Args)]
pub struct Migrate {
    /// The name of the workspace, or TENANT/NAME
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The runtime in which the workspace continues
    #[arg(long, value_name = "RUNTIME", value_parser = runtime())]
    pub runtime: Runtime,
}

/// `workspace delete`
#[derive(Args)]
pub struct Delete {
    /// The name of the workspace, or TENANT/NAME; repeatable
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// The confirmation.
    #[command(flatten)]
    pub confirmation: Confirmation,
}
