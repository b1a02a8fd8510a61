//! The request to run a command.

use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use super::MAX_TEXT;
use super::declare::request;
use super::sandbox_selection::SandboxSelection;
use super::{check_range, check_text};
use crate::model::named::Address;
use crate::model::named::settings::{MAX_VARIABLES, is_variable_name};
#[cfg(feature = "schema")]
use crate::model::schema::{NO_NULL, exactly_one_of_each, extends, needs};
use crate::model::{Error, Result, SandboxId};

request! {
    /// The request to run a command in a sandbox, or in the sandbox of a named workspace.
    #[cfg_attr(
        feature = "schema",
        schemars(rename = "ExecOptions", transform = needs(&[]), transform = extends("SandboxSelection")),
        schemars(transform = exactly_one_of_each(&[["command", "argv"]]))
    )]
    pub struct ExecRequest {
        /// The sandbox.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub selection: SandboxSelection,
        /// Whether to revive the sandbox of `sandboxId` first if its files are gone, as `revive` does with its default
        /// options: the sandbox need not be running. A workspace is always started.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        pub revive: bool,
        /// A command line, which bash runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = MAX_TEXT), regex(pattern = NO_NULL)))]
        pub command: Option<String> = check_command,
        /// A program and its arguments, which run without a shell.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1), inner(regex(pattern = NO_NULL))))]
        pub argv: Vec<String> = check_argv,
        /// The working directory: absolute, or relative to the directory of the workspace.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Self::MAX_CWD), regex(pattern = NO_NULL)))]
        pub cwd: Option<String> = check_cwd,
        /// Environment variables for this command, in addition to those of the workspace.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(transform = variables))]
        pub env: Option<BTreeMap<String, String>> = check_env,
        /// The standard input. If absent, it is empty.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(length(max = MAX_TEXT)))]
        pub stdin: Option<String> = check_stdin,
        /// The time limit, in seconds. Then the command is killed, with all processes of its group.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_TIMEOUT), extend("default" = Self::DEFAULT_TIMEOUT)))]
        pub timeout_seconds: u32 = Self::check_timeout,
        /// The maximum length of each output, in bytes. A stream of events has no limit.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_OUTPUT), extend("default" = Self::MAX_OUTPUT)))]
        pub max_output_bytes: u32 = Self::check_output,
    }
    rule check_request;
}

impl ExecRequest {
    /// The default time limit, in seconds.
    pub const DEFAULT_TIMEOUT: u32 = 60;
    /// The maximum time limit, in seconds.
    pub const MAX_TIMEOUT: u32 = 3_600;
    /// The maximum length of an output in an answer, in bytes, which is also the default.
    pub const MAX_OUTPUT: u32 = 1024 * 1024;
    /// The maximum length of the command, its variables and its input, in bytes. Quotation marks count several times.
    pub const MAX_BYTES: usize = 80 * 1024;
    /// The maximum length of the working directory, in bytes.
    pub const MAX_CWD: usize = 4096;

    /// Returns a request to run a command line in a named workspace.
    pub fn named(address: Address, command: &str) -> Self {
        Self::of(SandboxSelection::named(address), command)
    }

    /// Returns a request to run a command line in a sandbox.
    pub fn sandbox(sandbox_id: SandboxId, command: &str) -> Self {
        Self::of(SandboxSelection::sandbox(sandbox_id), command)
    }

    /// Returns a request to run a command line in the selected sandbox.
    pub fn of(selection: SandboxSelection, command: &str) -> Self {
        Self {
            selection,
            revive: false,
            command: Some(command.to_owned()),
            argv: Vec::new(),
            cwd: None,
            env: None,
            stdin: None,
            timeout_seconds: Self::DEFAULT_TIMEOUT,
            max_output_bytes: Self::MAX_OUTPUT,
        }
    }

    fn check_timeout(seconds: Option<u64>) -> Result<u32> {
        let seconds = seconds.unwrap_or(Self::DEFAULT_TIMEOUT.into());
        check_range("timeoutSeconds", seconds, 1..=Self::MAX_TIMEOUT, |most| format!("Pass 1 to {most} seconds."))
    }

    fn check_output(bytes: Option<u64>) -> Result<u32> {
        check_range("maxOutputBytes", bytes.unwrap_or(Self::MAX_OUTPUT.into()), 1..=Self::MAX_OUTPUT, |most| {
            format!("Pass 1 to {most}, and read longer outputs as a stream.")
        })
    }
}

pub(super) fn check_command(command: Option<String>) -> Result<Option<String>> {
    if command.as_ref().is_some_and(|command| command.is_empty() || command.contains('\0')) {
        return Err(Error::invalid_argument("`command` is empty, or contains a null byte", "Pass a command line."));
    }
    command.iter().try_for_each(|command| check_text("command", command))?;
    Ok(command)
}

pub(super) fn check_stdin(stdin: Option<String>) -> Result<Option<String>> {
    stdin.iter().try_for_each(|stdin| check_text("stdin", stdin))?;
    Ok(stdin)
}

pub(super) fn check_argv(argv: Vec<String>) -> Result<Vec<String>> {
    if argv.iter().any(|argument| argument.contains('\0')) {
        return Err(Error::invalid_argument(
            "`argv` has an argument with a null byte",
            "Pass a program and its arguments.",
        ));
    }
    Ok(argv)
}

pub(super) fn check_cwd(cwd: Option<String>) -> Result<Option<String>> {
    if cwd.as_ref().is_some_and(|cwd| cwd.is_empty() || cwd.len() > ExecRequest::MAX_CWD || cwd.contains('\0')) {
        return Err(Error::invalid_argument(
            format!("`cwd` is empty, longer than {} bytes, or contains a null byte", ExecRequest::MAX_CWD),
            "Pass the path of a directory: absolute, or relative to the directory of the workspace.",
        ));
    }
    Ok(cwd)
}

/// Requires environment variables that a command can have.
#[cfg(feature = "schema")]
pub(super) fn variables(schema: &mut schemars::Schema) {
    schema.insert("maxProperties".into(), MAX_VARIABLES.into());
    schema.insert("propertyNames".into(), serde_json::json!({ "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }));
    schema.insert("additionalProperties".into(), serde_json::json!({ "type": "string", "pattern": NO_NULL }));
}

pub(super) fn check_env(env: Option<BTreeMap<String, String>>) -> Result<Option<BTreeMap<String, String>>> {
    let is_valid = |env: &BTreeMap<String, String>| {
        env.len() <= MAX_VARIABLES
            && env.keys().all(|name| is_variable_name(name))
            && !env.values().any(|value| value.contains('\0'))
    };
    if env.as_ref().is_none_or(is_valid) {
        return Ok(env);
    }
    Err(Error::invalid_env(MAX_VARIABLES))
}

fn check_request(request: &ExecRequest) -> Result<()> {
    let ExecRequest { command, argv, cwd, env, stdin, .. } = request;
    check_words(command.as_ref(), argv, cwd.as_ref(), env.as_ref(), stdin.as_ref())
}

/// Verifies that there is exactly one command, and that the shell accepts its length.
pub(super) fn check_words(
    command: Option<&String>,
    argv: &[String],
    cwd: Option<&String>,
    env: Option<&BTreeMap<String, String>>,
    stdin: Option<&String>,
) -> Result<()> {
    if command.is_some() != argv.is_empty() {
        return Err(Error::invalid_argument(
            "The arguments must contain exactly one command",
            "Pass a command line as `command`, or a program and its arguments as `argv`.",
        ));
    }
    // All of it passes to the shell in one argument, which quotes it.
    let quoted = |text: &String| text.len() + 3 * text.matches('\'').count() + 3;
    let env = env.into_iter().flatten().map(|(name, value)| quoted(name) + quoted(value));
    let words = command.into_iter().chain(argv).chain(cwd).chain(stdin).map(quoted);
    if env.chain(words).sum::<usize>() > ExecRequest::MAX_BYTES {
        return Err(Error::exec_too_long(ExecRequest::MAX_BYTES));
    }
    Ok(())
}
