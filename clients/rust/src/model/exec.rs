//! The results of commands that run in a sandbox.

use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::files::ContentEncoding;
use super::json;
use super::named::answer::{RestoredFrom, StartOutcome};
use super::sse::{EventReader, ServerSentEvent};
use super::{Error, SandboxId, Timestamp};

/// A command that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecResult {
    /// The sandbox in which the command ran.
    pub sandbox_id: SandboxId,
    /// The exit code: 124 if the command exceeded its time limit, 126 or 127 if a program could not be started, and
    /// 128 and the number of the signal that ended it.
    pub exit_code: i32,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// Whether the end of one of the outputs is left out, because it is longer than `maxOutputBytes`.
    pub truncated: bool,
    /// How `stdout` and `stderr` are written: absent if both are UTF-8, and otherwise `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<ContentEncoding>,
    /// Whether the command exceeded its time limit, and was killed with all processes of its group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// How long the command ran, in milliseconds.
    pub duration_ms: u64,
    /// How the workspace was started, or the sandbox revived; absent if it was running. One further answer says that an
    /// earlier start may have lost files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedForExec>,
}

/// How a workspace was started, or a sandbox revived, for a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartedForExec {
    /// How the sandbox got its files.
    pub how: StartOutcome,
    /// The snapshot from which the files were restored; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<RestoredFrom>,
    /// Whether files may be lost that were newer than `restoredFrom`. Without `restoredFrom`, absent or `true`: files of
    /// an earlier container may be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_lost: Option<bool>,
    /// Since when changes may be lost, as in the answer of a start; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<Timestamp>,
}

impl StartedForExec {
    /// Returns the sentence about lost files in the message of an error; `None` if no files may be lost.
    pub fn loss_note(&self) -> Option<&'static str> {
        (self.may_have_lost == Some(true)).then_some(match self.how {
            StartOutcome::Running => "An earlier start may have lost changes that are in no snapshot.",
            _ => "The sandbox was started for this call, and changes that are in no snapshot may be lost.",
        })
    }
}

/// The outputs of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OutputStream {
    /// The standard output.
    #[default]
    Stdout,
    /// The standard error.
    Stderr,
}

impl OutputStream {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// The end of a command, in a stream of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecExit {
    /// See [`ExecResult::sandbox_id`].
    pub sandbox_id: SandboxId,
    /// See [`ExecResult::exit_code`].
    pub exit_code: i32,
    /// See [`ExecResult::timed_out`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// See [`ExecResult::duration_ms`].
    pub duration_ms: u64,
    /// See [`ExecResult::started`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedForExec>,
}

/// An event of a command that runs, in the stream that `exec` returns to a caller who accepts `text/event-stream`.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecEvent {
    /// A part of an output.
    Output(OutputStream, Vec<u8>),
    /// The end of the command.
    Exit(ExecExit),
    /// The failure of the call, in the form of [`ErrorBody`](super::error::ErrorBody). It is the last event.
    Failed(Value),
}

/// The data of the event of an output.
#[derive(Serialize, Deserialize)]
struct OutputData {
    data: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<ContentEncoding>,
}

/// Writes the events of one command as text.
#[derive(Debug, Default)]
pub struct ExecEventWriter {
    /// The begin of a character whose end comes with the next part of the output.
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// The maximum length of a character of UTF-8 without its last byte.
const MAX_INCOMPLETE: usize = 3;

impl ExecEventWriter {
    /// Returns the text of an event; empty if it waits for the rest of a character.
    pub fn write(&mut self, event: ExecEvent) -> String {
        match event {
            ExecEvent::Output(stream, bytes) => {
                let pending = match stream {
                    OutputStream::Stdout => &mut self.stdout,
                    OutputStream::Stderr => &mut self.stderr,
                };
                let mut bytes = [std::mem::take(pending), bytes].concat();
                *pending = bytes.split_off(complete_len(&bytes));
                output_text(stream, bytes)
            }
            ExecEvent::Exit(exit) => self.rest() + &event_text("exit", &json!(exit)),
            ExecEvent::Failed(error) => self.rest() + &event_text("error", &error),
        }
    }

    /// Returns the text of incomplete characters.
    fn rest(&mut self) -> String {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        output_text(OutputStream::Stdout, stdout) + &output_text(OutputStream::Stderr, stderr)
    }
}

/// Returns the number of bytes without a character at the end that may be incomplete.
pub(super) fn complete_len(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && bytes.len() - error.valid_up_to() <= MAX_INCOMPLETE => {
            error.valid_up_to()
        }
        _ => bytes.len(),
    }
}

fn output_text(stream: OutputStream, bytes: Vec<u8>) -> String {
    if bytes.is_empty() {
        return String::new();
    }
    let data = match String::from_utf8(bytes) {
        Ok(data) => OutputData { data, encoding: None },
        Err(error) => {
            OutputData { data: Base64::encode_string(error.as_bytes()), encoding: Some(ContentEncoding::Base64) }
        }
    };
    event_text(stream.name(), &json!(data))
}

fn event_text(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Reads the events of one command from text.
#[derive(Debug, Default)]
pub struct ExecEventReader(EventReader);

impl ExecEventReader {
    /// Adds a chunk of the text, and returns the events that it completes. Leaves out events that a later release adds.
    ///
    /// # Errors
    /// The reason why an event can't be read.
    pub fn read(&mut self, chunk: &[u8]) -> Result<Vec<ExecEvent>, String> {
        self.0.read(chunk).iter().filter_map(|event| read_event(event).transpose()).collect()
    }
}

fn read_event(ServerSentEvent { name, data }: &ServerSentEvent) -> Result<Option<ExecEvent>, String> {
    Ok(Some(match name.as_str() {
        "stdout" => ExecEvent::Output(OutputStream::Stdout, read_output(data)?),
        "stderr" => ExecEvent::Output(OutputStream::Stderr, read_output(data)?),
        "exit" => ExecEvent::Exit(json::from_str(data)?),
        "error" => ExecEvent::Failed(json::from_str(data)?),
        _ => return Ok(None),
    }))
}

fn read_output(data: &str) -> Result<Vec<u8>, String> {
    let OutputData { data, encoding } = json::from_str(data)?;
    match encoding {
        Some(ContentEncoding::Base64) => Base64::decode_vec(&data).map_err(|error| error.to_string()),
        _ => Ok(data.into_bytes()),
    }
}

/// The outputs of a command, up to a limit for each.
#[derive(Debug)]
pub struct CollectedOutput {
    limit: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
}

impl CollectedOutput {
    /// Returns empty outputs that have at most `limit` bytes each.
    pub const fn new(limit: usize) -> Self {
        Self { limit, stdout: Vec::new(), stderr: Vec::new(), truncated: false }
    }

    /// Adds a part of an output. What exceeds the limit is left out.
    pub fn add(&mut self, stream: OutputStream, bytes: &[u8]) {
        let output = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let kept = bytes.get(..self.limit - output.len()).unwrap_or(bytes);
        output.extend_from_slice(kept);
        self.truncated |= kept.len() < bytes.len();
    }

    /// Returns the result of the command.
    pub fn into_result(self, exit: ExecExit) -> ExecResult {
        let Self { mut stdout, mut stderr, truncated, .. } = self;
        if truncated {
            // The limit may be within a character.
            stdout.truncate(complete_len(&stdout));
            stderr.truncate(complete_len(&stderr));
        }
        let (stdout, stderr, encoding) = match (String::from_utf8(stdout), String::from_utf8(stderr)) {
            (Ok(stdout), Ok(stderr)) => (stdout, stderr, None),
            (stdout, stderr) => {
                let encode = |output: Result<String, std::string::FromUtf8Error>| match output {
                    Ok(text) => Base64::encode_string(text.as_bytes()),
                    Err(error) => Base64::encode_string(error.as_bytes()),
                };
                (encode(stdout), encode(stderr), Some(ContentEncoding::Base64))
            }
        };
        let ExecExit { sandbox_id, exit_code, timed_out, duration_ms, started } = exit;
        ExecResult { sandbox_id, exit_code, stdout, stderr, truncated, encoding, timed_out, duration_ms, started }
    }
}

impl ExecResult {
    /// Returns the bytes of the standard output and of the standard error; `None` if they are not valid in their
    /// encoding.
    pub fn bytes(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let decode = |text: &String| match self.encoding {
            Some(ContentEncoding::Base64) => Base64::decode_vec(text).ok(),
            _ => Some(text.clone().into_bytes()),
        };
        Some((decode(&self.stdout)?, decode(&self.stderr)?))
    }
}

impl From<(&Error, &str)> for ExecEvent {
    /// Returns the event of a failure, with a correlation id.
    fn from((error, correlation_id): (&Error, &str)) -> Self {
        Self::Failed(json!(error.body(correlation_id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(exit_code: i32) -> ExecExit {
        let sandbox_id = SandboxId::parse("box").unwrap();
        ExecExit { sandbox_id, exit_code, timed_out: false, duration_ms: 7, started: None }
    }

    fn round_trip(events: &[ExecEvent]) -> Vec<ExecEvent> {
        let mut writer = ExecEventWriter::default();
        let text: String = events.iter().map(|event| writer.write(event.clone())).collect();
        ExecEventReader::default().read(text.as_bytes()).unwrap()
    }

    fn stdout(bytes: &[u8]) -> ExecEvent {
        ExecEvent::Output(OutputStream::Stdout, bytes.to_vec())
    }

    #[test]
    fn events_keep_every_byte_of_the_output() {
        let failed = ExecEvent::Failed(json!({ "code": "SANDBOX_FAILED" }));
        let events = [stdout(b"a\nb\r\n"), ExecEvent::Output(OutputStream::Stderr, vec![0, 255, 254, 10]), failed];
        assert_eq!(round_trip(&events), events);
        assert_eq!(round_trip(&[ExecEvent::Exit(exit(3))]), [ExecEvent::Exit(exit(3))]);
    }

    #[test]
    fn character_that_is_divided_between_two_parts_stays_text() {
        let mut writer = ExecEventWriter::default();
        let [first, second] = ["aü".as_bytes(), b"b"].map(<[u8]>::to_vec);
        let (begin, end) = first.split_at(2);
        assert_eq!(writer.write(stdout(begin)), "event: stdout\ndata: {\"data\":\"a\"}\n\n");
        assert_eq!(writer.write(stdout(&[end, &second].concat())), "event: stdout\ndata: {\"data\":\"üb\"}\n\n");
        assert_eq!(writer.write(stdout(begin)), "event: stdout\ndata: {\"data\":\"a\"}\n\n");
        let rest = writer.write(ExecEvent::Exit(exit(0)));
        assert!(rest.starts_with("event: stdout\ndata: {\"data\":\"ww==\",\"encoding\":\"base64\"}\n\nevent: exit\n"));
    }

    #[test]
    fn output_beyond_the_limit_is_left_out() {
        let mut output = CollectedOutput::new(4);
        output.add(OutputStream::Stdout, b"abc");
        output.add(OutputStream::Stdout, "dü".as_bytes());
        output.add(OutputStream::Stderr, b"abcd");
        let result = output.into_result(exit(0));
        assert_eq!((result.stdout.as_str(), result.stderr.as_str(), result.truncated), ("abcd", "abcd", true));
        let mut output = CollectedOutput::new(2);
        output.add(OutputStream::Stdout, "aü".as_bytes());
        let result = output.into_result(exit(0));
        assert_eq!((result.stdout.as_str(), result.truncated, result.encoding), ("a", true, None));
    }

    #[test]
    fn output_that_is_not_utf8_is_written_in_base64_with_the_other_output() {
        let mut output = CollectedOutput::new(10);
        output.add(OutputStream::Stdout, &[255]);
        output.add(OutputStream::Stderr, b"a");
        let result = output.into_result(exit(0));
        assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("/w==", "YQ=="));
        assert_eq!(result.encoding, Some(ContentEncoding::Base64));
        assert_eq!(result.bytes(), Some((vec![255], b"a".to_vec())));
    }
}
