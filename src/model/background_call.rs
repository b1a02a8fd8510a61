//! The calls about background commands that a sandbox receives, and their outcomes.

use std::collections::BTreeMap;

use super::Directory;
use super::background::{BackgroundCommand, CommandId, Signal};
use super::exec::OutputStream;
use super::exec_call::{CommandRefusal, Program};

/// The maximum number of background commands that run in a sandbox at the same time.
pub const MAX_BACKGROUND: usize = 16;

/// The number of background commands that ended and are kept in a container.
pub const MAX_ENDED: usize = 16;

/// A call about the background commands of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundCall {
    /// An id that no other call has. A command that the call starts gets it.
    pub id: CommandId,
    /// The directory of the workspace, at which a relative working directory starts.
    pub dir: Directory,
    /// What to do.
    pub action: BackgroundAction,
}

impl BackgroundCall {
    /// Returns how long the container may wait before it answers, in seconds.
    pub const fn wait_seconds(&self) -> u32 {
        match &self.action {
            BackgroundAction::Start(_) | BackgroundAction::List => 0,
            BackgroundAction::Read(part) => part.wait_seconds,
            BackgroundAction::End { grace_seconds, .. } => *grace_seconds,
        }
    }
}

/// What to do with background commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundAction {
    /// Starts one: [`BackgroundOutcome::Command`].
    Start(BackgroundStart),
    /// Lists them: [`BackgroundOutcome::List`].
    List,
    /// Reads an output: [`BackgroundOutcome::Output`].
    Read(OutputPart),
    /// Ends one: [`BackgroundOutcome::Command`].
    End {
        /// The command.
        command_id: CommandId,
        /// The signal that its processes get first.
        signal: Signal,
        /// The time after which those that still run are killed, in seconds.
        grace_seconds: u32,
    },
}

/// A background command that is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundStart {
    /// What runs.
    pub program: Program,
    /// The working directory; the directory of the workspace if absent.
    pub cwd: Option<String>,
    /// The environment variables, in addition to those of the sandbox.
    pub env: BTreeMap<String, String>,
    /// The standard input.
    pub stdin: String,
    /// The time limit, in seconds.
    pub timeout_seconds: u32,
}

/// A part of an output of a background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPart {
    /// The command.
    pub command_id: CommandId,
    /// The output.
    pub stream: OutputStream,
    /// The offset of the first byte.
    pub offset: u64,
    /// The maximum number of bytes.
    pub length: u32,
    /// How long to wait until there is output after the offset, or the command has ended, in seconds.
    pub wait_seconds: u32,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundOutcome {
    /// One command.
    Command(BackgroundCommand),
    /// All commands, newest first.
    List(Vec<BackgroundCommand>),
    /// A command, and a part of its output, which was read later.
    Output(BackgroundCommand, Vec<u8>),
}

/// Why a call was refused. It changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundRefusal {
    /// The command that carries out the call was refused.
    Command(CommandRefusal),
    /// The sandbox runs the maximum number of background commands.
    TooMany,
    /// There is no command with the id.
    NotFound,
    /// A program failed. Has its output.
    Failed(String),
}
