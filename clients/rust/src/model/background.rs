//! Background commands: they run in a sandbox while no caller waits for them.

use std::fmt;

use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};

use super::exec::{OutputStream, StartedForExec, complete_len};
use super::files::ContentEncoding;
use super::ids::checked_string;
#[cfg(feature = "schema")]
use super::schema::extends;
use super::{Error, Result, SandboxId, Timestamp};

checked_string! {
    /// The id of a background command, which no other command of the sandbox has.
    CommandId
}

impl CommandId {
    /// The maximum length, in characters.
    pub const MAX: usize = 32;

    /// Parses an id. Fails with [`Code::InvalidArgument`](super::Code::InvalidArgument).
    pub fn parse(text: &str) -> Result<Self> {
        let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if text.is_empty() || text.len() > Self::MAX || !text.bytes().all(is_valid) {
            return Err(Error::invalid_argument(
                "`commandId` is not the id of a background command",
                "Pass the `commandId` that `commands.start` returned, unchanged.",
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The state of a background command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CommandState {
    /// It runs.
    Running,
    /// It exited.
    Exited,
    /// It was killed: by `commands/end`, or at its time limit.
    Killed,
}

/// A background command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundCommand {
    /// Its id.
    pub command_id: CommandId,
    /// The command line; for a program without a shell, the program and its arguments. At most 1,000 characters of it.
    pub command: String,
    /// Its state.
    pub state: CommandState,
    /// The exit code, as that of `exec`; absent while it runs, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether it exceeded its time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// When it started, by the clock of the container.
    pub started_at: Timestamp,
    /// When it ended, by the clock of the container; absent while it runs, and where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The length of its standard output so far, in bytes.
    pub stdout_bytes: u64,
    /// The length of its standard error so far, in bytes.
    pub stderr_bytes: u64,
    /// Whether the end of one of the outputs is left out, because it is longer than 16 MiB.
    pub truncated: bool,
}

/// A background command, and the sandbox in which it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("BackgroundCommand")))]
pub struct CommandDescription {
    /// The sandbox in which the command runs.
    pub sandbox_id: SandboxId,
    /// How the workspace was started for the command; absent if it was running. One further answer says that an earlier start
    /// may have lost files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedForExec>,
    /// The command.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub command: BackgroundCommand,
}

/// The background commands of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandList {
    /// The sandbox.
    pub sandbox_id: SandboxId,
    /// The commands that run, and up to 16 that ended, newest first.
    pub commands: Vec<BackgroundCommand>,
}

/// A part of an output of a background command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = extends("CommandDescription")))]
pub struct CommandOutput {
    /// The command, as it was before the output was read.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub description: CommandDescription,
    /// Which output it is.
    pub stream: OutputStream,
    /// The offset of the first byte.
    pub offset: u64,
    /// The offset of the next part.
    pub next_offset: u64,
    /// How the content is written.
    pub encoding: ContentEncoding,
    /// The content.
    pub content: String,
}

impl CommandOutput {
    /// Returns the part of an output that begins at `offset`. Of a character whose end is not in `bytes`, the next part has
    /// all bytes, unless there is no next part.
    pub fn of(description: CommandDescription, stream: OutputStream, offset: u64, mut bytes: Vec<u8>) -> Self {
        let total = match stream {
            OutputStream::Stdout => description.command.stdout_bytes,
            OutputStream::Stderr => description.command.stderr_bytes,
        };
        let is_last = description.command.state != CommandState::Running && offset + bytes.len() as u64 >= total;
        let complete = complete_len(&bytes);
        if !is_last && complete > 0 {
            bytes.truncate(complete);
        }
        let next_offset = offset + bytes.len() as u64;
        let (encoding, content) = match String::from_utf8(bytes) {
            Ok(text) => (ContentEncoding::Utf8, text),
            Err(error) => (ContentEncoding::Base64, Base64::encode_string(error.as_bytes())),
        };
        Self { description, stream, offset, next_offset, encoding, content }
    }

    /// Returns the bytes of the content; `None` if the content is not valid in its encoding.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.encoding.decode(&self.content)
    }
}

/// A signal that asks a command to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KillSignal"))]
pub enum Signal {
    /// SIGTERM
    #[default]
    Term,
    /// SIGINT, as Ctrl-C in a terminal
    Int,
    /// SIGHUP
    Hup,
    /// SIGQUIT
    Quit,
    /// SIGKILL, which a command can't handle
    Kill,
}

impl Signal {
    /// All signals.
    pub const ALL: [Self; 5] = [Self::Term, Self::Int, Self::Hup, Self::Quit, Self::Kill];

    /// Returns the name without `SIG`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Hup => "HUP",
            Self::Quit => "QUIT",
            Self::Kill => "KILL",
        }
    }

    /// Parses a name. Fails with [`Code::InvalidArgument`](super::Code::InvalidArgument).
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|signal| signal.name() == name).ok_or_else(|| {
            Error::invalid_argument("`killSignal` must be TERM, INT, HUP, QUIT or KILL", "Pass one of them.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(state: CommandState, total: u64, offset: u64, bytes: &[u8]) -> CommandOutput {
        let command = BackgroundCommand {
            command_id: CommandId::parse("c1").unwrap(),
            command: "make".into(),
            state,
            exit_code: None,
            timed_out: false,
            started_at: Timestamp::from_millis(0),
            ended_at: None,
            stdout_bytes: total,
            stderr_bytes: 0,
            truncated: false,
        };
        let sandbox_id = SandboxId::parse("box").unwrap();
        let description = CommandDescription { sandbox_id, started: None, command };
        CommandOutput::of(description, OutputStream::Stdout, offset, bytes.to_vec())
    }

    #[test]
    fn part_of_an_output_ends_with_a_whole_character() {
        let text = "aü".as_bytes();
        let running = part(CommandState::Running, 2, 0, &text[..2]);
        assert_eq!((running.content.as_str(), running.next_offset), ("a", 1));
        let next = part(CommandState::Running, 3, 1, &text[1..]);
        assert_eq!((next.content.as_str(), next.next_offset), ("ü", 3));
        let cut = part(CommandState::Exited, 2, 0, &text[..2]);
        assert_eq!((cut.encoding, cut.next_offset), (ContentEncoding::Base64, 2), "no byte comes after it");
    }

    #[test]
    fn part_that_begins_with_an_incomplete_character_is_not_empty() {
        let running = part(CommandState::Running, 1, 0, &[0xc3]);
        assert_eq!((running.encoding, running.next_offset), (ContentEncoding::Base64, 1));
    }

    #[test]
    fn output_of_any_bytes_is_returned() {
        let output = part(CommandState::Running, 3, 0, &[0, 255, 10]);
        assert_eq!(output.bytes(), Some(vec![0, 255, 10]));
        assert_eq!((output.encoding, output.next_offset), (ContentEncoding::Base64, 3));
    }
}
