//! The commands of callers that a sandbox receives, and their events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::exec::OutputStream;
use super::required_container::{Refusal, RequiredContainer};
use super::{Directory, Runtime, SandboxId, Timestamp};

/// The maximum number of commands of callers that run in a sandbox at the same time.
pub const MAX_COMMANDS: usize = 16;

/// What is to run in a sandbox. An error about a sandbox that is not running depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExecPurpose {
    /// A command, or a call about files.
    #[default]
    Command,
    /// A call about background commands that were started before.
    BackgroundCommands,
    /// A comparison of the files with a snapshot.
    Diff,
}

/// The request to prepare a command in a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrepareExecRequest {
    /// The runtime of the sandbox; that of the ledger or of the deployment if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// A sandbox in whose lineage the sandbox must be; any lineage if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage_scope: Option<SandboxId>,
    /// What is to run.
    #[serde(default)]
    pub purpose: ExecPurpose,
}

/// The sandbox in which a command is to run, as its ledger knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreparedExec {
    /// The container that has the files of the sandbox.
    pub container: RequiredContainer,
    /// The runtime of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    /// The directory of the sandbox.
    pub dir: Directory,
    /// Whether a start created the directory, as it does for a workspace. If it is missing, it was deleted or moved.
    #[serde(default)]
    pub has_dir: bool,
    /// The observation of the container, if its age decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedForExec>,
}

/// The observation of a container in which a command is to run, if its age decides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedForExec {
    /// See [`SandboxStatus::last_change`](super::SandboxStatus::last_change).
    pub last_change: f64,
    /// When the ledger's object observed it.
    pub observed_at: Timestamp,
    /// The number of the observation among the probes of the object.
    pub number: u64,
    /// Whether the command runs: then the container is verified.
    #[serde(default)]
    pub runs: bool,
}

/// A command for a container.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerCommand {
    /// An id, by which the command is killed.
    pub id: String,
    /// What runs.
    pub program: Program,
    /// The directory of the workspace, at which a relative `cwd` starts.
    pub dir: Directory,
    /// The working directory; the directory of the workspace if absent.
    pub cwd: Option<String>,
    /// The environment variables, in addition to those of the sandbox.
    pub env: BTreeMap<String, String>,
    /// The standard input.
    pub stdin: CommandInput,
    /// The time limit, in seconds.
    pub timeout_seconds: u32,
}

/// What a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A command line for the shell.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

impl Program {
    /// Returns what a request runs, which has either a command line or arguments.
    pub fn of(line: Option<&String>, argv: &[String]) -> Self {
        line.map_or_else(|| Self::Argv(argv.to_vec()), |line| Self::Shell(line.clone()))
    }
}

/// The standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandInput {
    /// A text, which may be empty.
    Text(String),
    /// A file in the container, which the command removes when it starts.
    File(String),
}

/// An event of a command in a container.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandEvent {
    /// The command did not run. It is the only event.
    Refused(Refusal<CommandRefusal>),
    /// The command runs. It is the first event.
    Started,
    /// A part of an output.
    Output(OutputStream, Vec<u8>),
    /// The command ended. It is the last event.
    Ended {
        /// The exit code.
        exit_code: i32,
        /// Whether the command exceeded its time limit.
        timed_out: bool,
    },
}

/// Why a command did not run in the required container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandRefusal {
    /// The sandbox runs the maximum number of commands.
    TooMany,
    /// The directory of the sandbox does not show its files: another file system is mounted over it.
    Hidden,
    /// The working directory can't be entered.
    NoDirectory,
    /// The caller cancelled the command before it started.
    Cancelled,
}
