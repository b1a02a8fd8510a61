//! The requests about background commands.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use super::MAX_TEXT;
use super::check_range;
use super::declare::{Content, Field, request};
#[cfg(feature = "schema")]
use super::exec::{ExecRequest, variables};
use super::exec::{check_argv, check_command, check_cwd, check_env, check_stdin, check_words};
use super::fields::Fields;
use super::sandbox_selection::SandboxSelection;
use crate::model::background::{CommandId, Signal};
use crate::model::exec::OutputStream;
use crate::model::named::Address;
#[cfg(feature = "schema")]
use crate::model::schema::{NO_NULL, exactly_one_of_each, extends, needs};
use crate::model::{Error, Result, SandboxId};

request! {
    /// The request to start a background command in a sandbox, or in the sandbox of a named workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "StartCommandOptions", transform = needs(&[]), transform = extends("SandboxSelection")),
        schemars(transform = exactly_one_of_each(&[["command", "argv"]]))
    )]
    pub struct StartCommandRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: SandboxSelection,
        /// A command line, which the shell of the image runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_TEXT), regex(pattern = NO_NULL)))]
        pub command: Option<String> = check_command,
        /// A program and its arguments, which run without a shell.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1), inner(regex(pattern = NO_NULL))))]
        pub argv: Vec<String> = check_argv,
        /// The working directory: absolute, or relative to the directory of the workspace.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = ExecRequest::MAX_CWD), regex(pattern = NO_NULL)))]
        pub cwd: Option<String> = check_cwd,
        /// Environment variables for this command, in addition to those of the workspace.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(transform = variables))]
        pub env: Option<BTreeMap<String, String>> = check_env,
        /// The standard input. If absent, it is empty.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(max = MAX_TEXT)))]
        pub stdin: Option<String> = check_stdin,
        /// The time limit, in seconds. Then the command is killed, with all processes of its session.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_TIMEOUT), extend("default" = Self::DEFAULT_TIMEOUT)))]
        pub timeout_seconds: u32 = Self::check_timeout,
    }
    rule check_start;
}

fn check_start(request: &StartCommandRequest) -> Result<()> {
    let StartCommandRequest { command, argv, cwd, env, stdin, .. } = request;
    check_words(command.as_ref(), argv, cwd.as_ref(), env.as_ref(), stdin.as_ref())
}

impl StartCommandRequest {
    /// The default time limit, in seconds.
    pub const DEFAULT_TIMEOUT: u32 = 3_600;
    /// The maximum time limit, in seconds.
    pub const MAX_TIMEOUT: u32 = 86_400;

    /// Returns a request to start a command line in a named workspace.
    pub fn named(address: Address, command: &str) -> Self {
        Self::of(SandboxSelection::named(address), command)
    }

    /// Returns a request to start a command line in a sandbox.
    pub fn sandbox(sandbox_id: SandboxId, command: &str) -> Self {
        Self::of(SandboxSelection::sandbox(sandbox_id), command)
    }

    /// Returns a request to start a command line in the selected sandbox.
    pub fn of(selection: SandboxSelection, command: &str) -> Self {
        Self {
            selection,
            command: Some(command.to_owned()),
            argv: Vec::new(),
            cwd: None,
            env: None,
            stdin: None,
            timeout_seconds: Self::DEFAULT_TIMEOUT,
        }
    }

    fn check_timeout(seconds: Option<u64>) -> Result<u32> {
        let seconds = seconds.unwrap_or(Self::DEFAULT_TIMEOUT.into());
        check_range("timeoutSeconds", seconds, 1..=Self::MAX_TIMEOUT, |most| format!("Pass 1 to {most} seconds."))
    }
}

request! {
    /// The request for a part of an output of a background command.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "CommandOutputOptions", transform = needs(&["commandId"]), transform = extends("SandboxSelection"))
    )]
    pub struct CommandOutputRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: SandboxSelection,
        /// The id of the command.
        pub command_id: CommandId,
        /// The output.
        #[cfg_attr(feature = "schema", schemars(extend("default" = "stdout")))]
        pub stream: OutputStream,
        /// The offset of the first byte; 0 if absent.
        #[cfg_attr(feature = "schema", schemars(range(max = Self::MAX_OFFSET), extend("default" = 0)))]
        pub offset: u64 = Self::check_offset,
        /// The maximum number of bytes.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_LENGTH), extend("default" = Self::MAX_LENGTH)))]
        pub length: u32 = Self::check_length,
        /// How long the call waits, in seconds, until there is output after `offset` or the command has ended.
        #[cfg_attr(feature = "schema", schemars(range(max = Self::MAX_WAIT), extend("default" = 0)))]
        pub wait_seconds: u32 = Self::check_wait,
    }
}

impl CommandOutputRequest {
    /// The maximum offset: the largest integer that JavaScript represents exactly.
    pub const MAX_OFFSET: u64 = (1 << 53) - 1;
    /// The maximum number of bytes of a part, which is also the default.
    pub const MAX_LENGTH: u32 = 1024 * 1024;
    /// The maximum wait, in seconds.
    pub const MAX_WAIT: u32 = 30;

    /// Returns a request for the begin of the standard output.
    pub fn of(selection: SandboxSelection, command_id: CommandId) -> Self {
        let stream = OutputStream::default();
        Self { selection, command_id, stream, offset: 0, length: Self::MAX_LENGTH, wait_seconds: 0 }
    }

    fn check_offset(offset: Option<u64>) -> Result<u64> {
        check_range("offset", offset.unwrap_or_default(), 0..=Self::MAX_OFFSET, |_| {
            "Pass the `nextOffset` of the previous part.".to_owned()
        })
    }

    fn check_length(length: Option<u64>) -> Result<u32> {
        check_range("length", length.unwrap_or(Self::MAX_LENGTH.into()), 1..=Self::MAX_LENGTH, |most| {
            format!("Pass 1 to {most}, and read the rest of the output with another `offset`.")
        })
    }

    fn check_wait(seconds: Option<u64>) -> Result<u32> {
        check_range("waitSeconds", seconds.unwrap_or_default(), 0..=Self::MAX_WAIT, |most| {
            format!("Pass 0 to {most}, and repeat the call.")
        })
    }
}

request! {
    /// The request to end a background command.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "EndCommandOptions", transform = needs(&["commandId"]), transform = extends("SandboxSelection"))
    )]
    pub struct EndCommandRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: SandboxSelection,
        /// The id of the command.
        pub command_id: CommandId,
        /// The signal that all processes of the command get first.
        #[cfg_attr(feature = "schema", schemars(extend("default" = "TERM")))]
        pub kill_signal: Signal,
        /// The time after the signal, in seconds, after which the processes that still run are killed.
        #[cfg_attr(feature = "schema", schemars(range(max = Self::MAX_GRACE), extend("default" = Self::DEFAULT_GRACE)))]
        pub grace_seconds: u32 = Self::check_grace,
    }
}

impl EndCommandRequest {
    /// The default time between the signal and the kill, in seconds.
    pub const DEFAULT_GRACE: u32 = 10;
    /// The maximum time between the signal and the kill, in seconds.
    pub const MAX_GRACE: u32 = 60;

    /// Returns a request to end a command with SIGTERM.
    pub fn of(selection: SandboxSelection, command_id: CommandId) -> Self {
        Self { selection, command_id, kill_signal: Signal::default(), grace_seconds: Self::DEFAULT_GRACE }
    }

    fn check_grace(seconds: Option<u64>) -> Result<u32> {
        let seconds = seconds.unwrap_or(Self::DEFAULT_GRACE.into());
        check_range("graceSeconds", seconds, 0..=Self::MAX_GRACE, |most| format!("Pass 0 to {most} seconds."))
    }
}

impl Field for OutputStream {
    type Raw = Option<String>;

    fn take(fields: &mut Fields, name: &str) -> Result<Self::Raw> {
        fields.string(name)
    }
}

impl Content for OutputStream {
    fn check(raw: Self::Raw) -> Result<Self> {
        match raw.as_deref() {
            None | Some("stdout") => Ok(Self::Stdout),
            Some("stderr") => Ok(Self::Stderr),
            Some(_) => Err(Error::invalid_argument("`stream` must be stdout or stderr", "Pass one of them.")),
        }
    }
}
