//! The events of a command of a caller, read from the stream of the SDK.

use futures_util::StreamExt;
use serde::Deserialize;
use wasm_bindgen::{JsCast, JsValue};
use worker::ByteStream;

use super::scripts::CommandOutput;
use crate::model::exec::OutputStream;
use crate::model::exec_call::CommandEvent;
use crate::model::sse::{EventReader, ServerSentEvent};
use crate::model::{Failure, json};
use crate::ports::RunningCommand;

/// The maximum length of an event, in bytes. The SDK sends shorter ones, and a program that replaced its server may send any.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// A command that runs in a container.
pub struct CommandStream {
    bytes: ByteStream,
    decoder: EventDecoder,
    /// The decoded events that were not returned yet, the last one first.
    decoded: Vec<CommandEvent>,
}

impl CommandStream {
    /// Returns the command whose events are in a `ReadableStream` of the SDK.
    ///
    /// # Errors
    /// When the value is not a stream.
    pub(super) fn new(stream: JsValue) -> Result<Self, Failure> {
        let stream: web_sys::ReadableStream =
            stream.dyn_into().map_err(|_| Failure::protocol("the command", "the answer is not a stream"))?;
        Ok(Self { bytes: stream.into(), decoder: EventDecoder::default(), decoded: Vec::new() })
    }
}

impl RunningCommand for CommandStream {
    async fn next(&mut self) -> Result<Option<CommandEvent>, Failure> {
        loop {
            if let Some(event) = self.decoded.pop() {
                return Ok(Some(event));
            }
            if self.decoder.is_complete {
                return Ok(None);
            }
            let Some(chunk) = self.bytes.next().await else { return Ok(None) };
            let chunk = chunk.map_err(|error| Failure::new("Error", &error.to_string()))?;
            self.decoder.read(&chunk, &mut self.decoded)?;
            self.decoded.reverse();
        }
    }
}

/// An event of the SDK (0.12.10), as `execStream` returns it.
#[derive(Deserialize)]
struct SdkEvent {
    r#type: String,
    data: Option<String>,
    error: Option<String>,
}

/// Decodes the events of the SDK.
#[derive(Default)]
struct EventDecoder {
    reader: EventReader,
    output: CommandOutput,
    is_complete: bool,
}

impl EventDecoder {
    /// Reads a part of the stream, and adds the events of the command to `to`.
    fn read(&mut self, chunk: &[u8], to: &mut Vec<CommandEvent>) -> Result<(), Failure> {
        for event in self.reader.read(chunk) {
            self.decode(&event, to)?;
        }
        if self.reader.pending_bytes() > MAX_EVENT {
            return Err(Failure::protocol("the command", "an event is too long"));
        }
        Ok(())
    }

    /// Decodes an event of the SDK, and adds the events of the command to `to`. The last one comes when both outputs have
    /// ended, which the SDK reports with an event of its own.
    fn decode(&mut self, event: &ServerSentEvent, to: &mut Vec<CommandEvent>) -> Result<(), Failure> {
        let SdkEvent { r#type, data, error } =
            json::from_str(&event.data).map_err(|error| Failure::protocol("the command", error))?;
        let data = data.unwrap_or_default();
        match r#type.as_str() {
            "stdout" => self.output.read(OutputStream::Stdout, &data, to)?,
            "stderr" => self.output.read(OutputStream::Stderr, &data, to)?,
            "complete" => {
                self.is_complete = true;
                to.extend(self.output.end.take());
            }
            "error" => return Err(Failure::new("Error", error.as_ref().unwrap_or(&data))),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode(decoder: &mut EventDecoder, event: &serde_json::Value) -> Result<Vec<CommandEvent>, Failure> {
        let mut events = Vec::new();
        let event = ServerSentEvent { name: String::new(), data: event.to_string() };
        decoder.decode(&event, &mut events).map(|()| events)
    }

    #[test]
    fn end_of_a_command_comes_after_both_outputs() {
        let mut decoder = EventDecoder::default();
        let mut decode = |event| decode(&mut decoder, &event).unwrap();
        assert_eq!(decode(json!({ "type": "start" })), []);
        let lines = "→bytes\n→started\na→exit 3 0\n";
        let output = |stream, text: &str| CommandEvent::Output(stream, text.into());
        assert_eq!(
            decode(json!({ "type": "stdout", "data": lines })),
            [CommandEvent::Started, output(OutputStream::Stdout, "a")]
        );
        assert_eq!(decode(json!({ "type": "stderr", "data": "→bytes\nb" })), [output(OutputStream::Stderr, "b")]);
        let ended = CommandEvent::Ended { exit_code: 3, timed_out: false };
        assert_eq!(decode(json!({ "type": "complete", "exitCode": 0 })), [ended]);
        assert!(decoder.is_complete);
    }

    #[test]
    fn stream_without_the_last_line_of_the_script_has_no_end() {
        let mut decoder = EventDecoder::default();
        decode(&mut decoder, &json!({ "type": "stdout", "data": "→bytes\n→started\n" })).unwrap();
        assert_eq!(decode(&mut decoder, &json!({ "type": "complete", "exitCode": 137 })).unwrap(), []);
    }

    #[test]
    fn event_without_an_end_is_a_failure() {
        let mut decoder = EventDecoder::default();
        let part = vec![b'x'; MAX_EVENT / 2 + 1];
        assert!(decoder.read(&part, &mut Vec::new()).is_ok());
        assert!(decoder.read(&part, &mut Vec::new()).unwrap_err().is_protocol());
    }

    #[test]
    fn error_of_the_sdk_is_a_failure() {
        let failure = decode(&mut EventDecoder::default(), &json!({ "type": "error", "error": "gone" })).unwrap_err();
        assert_eq!(failure.message, "gone");
    }
}
