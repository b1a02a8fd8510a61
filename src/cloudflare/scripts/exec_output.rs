//! The output of the script that runs a command of a caller.

use base64ct::{Base64, Encoding};

use super::exec::LINE;
use super::required_container::read_container_refusal;
use crate::model::Failure;
use crate::model::exec::OutputStream;
use crate::model::exec_call::{CommandEvent, CommandRefusal};
use crate::model::required_container::Refusal;

/// The maximum length of a line of the script, or of a line of Base64, in bytes. The script prints shorter ones, and programs
/// in the container may print any.
const MAX_LINE: usize = 256 * 1024;

/// Reads the output of the script that [`run_command`](super::run_command) returns.
#[derive(Default)]
pub(in crate::cloudflare) struct CommandOutput {
    stdout: OutputReader,
    stderr: OutputReader,
    /// The last event, once the script has printed it.
    pub end: Option<CommandEvent>,
}

impl CommandOutput {
    /// Reads a part of an output, and adds the events in it to `to`, except for the last event.
    pub fn read(&mut self, stream: OutputStream, text: &str, to: &mut Vec<CommandEvent>) -> Result<(), Failure> {
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        let reader = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        reader.read(text, &mut bytes, &mut lines).ok_or_else(unreadable)?;
        for line in lines {
            match read_line(&line).ok_or_else(unreadable)? {
                CommandEvent::Started => to.push(CommandEvent::Started),
                end => self.end = Some(end),
            }
        }
        if !bytes.is_empty() {
            to.push(CommandEvent::Output(stream, bytes));
        }
        Ok(())
    }
}

fn unreadable() -> Failure {
    Failure::protocol("the command", "the output of the script can't be read")
}

/// Reads a line of the script, after the first one.
fn read_line(line: &str) -> Option<CommandEvent> {
    let words: Vec<&str> = line.split(' ').collect();
    Some(match words.as_slice() {
        ["started"] => CommandEvent::Started,
        ["exit", code, over] => CommandEvent::Ended { exit_code: code.parse().ok()?, timed_out: *over == "1" },
        ["busy"] => CommandEvent::Refused(CommandRefusal::TooMany.into()),
        ["hidden"] => CommandEvent::Refused(CommandRefusal::Hidden.into()),
        ["directory"] => CommandEvent::Refused(CommandRefusal::NoDirectory.into()),
        ["cancelled"] => CommandEvent::Refused(CommandRefusal::Cancelled.into()),
        _ => CommandEvent::Refused(Refusal::Container(read_container_refusal(line)?)),
    })
}

/// How the script encodes the bytes of an output.
#[derive(Clone, Copy)]
enum OutputEncoding {
    /// Each byte is the character with its number.
    Bytes,
    /// Each line is Base64.
    Base64,
}

/// Reads one of the outputs.
#[derive(Default)]
struct OutputReader {
    /// The encoding, which the first line of the script names. What comes before it is not of the script.
    encoding: Option<OutputEncoding>,
    /// The begin of a line of the script.
    line: Option<String>,
    /// The begin of a line of Base64.
    pending: String,
}

impl OutputReader {
    /// Adds the bytes of the command to `bytes`, and the lines of the script to `lines`.
    fn read(&mut self, mut text: &str, bytes: &mut Vec<u8>, lines: &mut Vec<String>) -> Option<()> {
        while !text.is_empty() {
            if let Some(line) = &mut self.line {
                let Some((rest, after)) = text.split_once('\n') else {
                    line.push_str(text);
                    return (line.len() <= MAX_LINE).then_some(());
                };
                line.push_str(rest);
                text = after;
                let line = self.line.take()?;
                match (self.encoding, line.as_str()) {
                    (None, "bytes") => self.encoding = Some(OutputEncoding::Bytes),
                    (None, "base64") => self.encoding = Some(OutputEncoding::Base64),
                    _ => lines.push(line),
                }
            } else if let Some((output, after)) = text.split_once(LINE) {
                self.decode(output, bytes)?;
                self.line = Some(String::new());
                text = after;
            } else {
                return self.decode(text, bytes);
            }
        }
        Some(())
    }

    fn decode(&mut self, text: &str, bytes: &mut Vec<u8>) -> Option<()> {
        match self.encoding {
            None => {}
            Some(OutputEncoding::Bytes) => {
                if text.is_ascii() {
                    bytes.extend_from_slice(text.as_bytes());
                    return Some(());
                }
                bytes.reserve(text.len());
                for character in text.chars() {
                    bytes.push(u8::try_from(u32::from(character)).ok()?);
                }
            }
            Some(OutputEncoding::Base64) => {
                self.pending.push_str(text);
                while let Some((line, rest)) = self.pending.split_once('\n') {
                    bytes.extend(Base64::decode_vec(line).ok()?);
                    self.pending = rest.to_owned();
                }
                if self.pending.len() > MAX_LINE {
                    return None;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::required_container::ContainerRefusal;

    /// Reads parts of the standard output, and returns all events, with adjacent outputs joined.
    fn read<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Vec<CommandEvent>, Failure> {
        let (mut output, mut events) = (CommandOutput::default(), Vec::new());
        for part in parts {
            output.read(OutputStream::Stdout, part, &mut events)?;
        }
        events.extend(output.end);
        let mut joined: Vec<CommandEvent> = Vec::new();
        for event in events {
            match (joined.last_mut(), event) {
                (Some(CommandEvent::Output(_, bytes)), CommandEvent::Output(_, more)) => bytes.extend(more),
                (_, event) => joined.push(event),
            }
        }
        Ok(joined)
    }

    fn output(bytes: &[u8]) -> CommandEvent {
        CommandEvent::Output(OutputStream::Stdout, bytes.to_vec())
    }

    const ENDED: CommandEvent = CommandEvent::Ended { exit_code: 124, timed_out: true };

    #[test]
    fn output_is_read_from_parts_of_any_size() {
        for (text, bytes) in [
            ("noise→bytes\n→started\na\nÿ\u{0}→exit 124 1\n", &b"a\n\xff\x00"[..]),
            ("→base64\n→started\nYQ==\nYf8A\n→exit 124 1\n", &b"aa\xff\x00"[..]),
        ] {
            let expected = Ok(vec![CommandEvent::Started, output(bytes), ENDED]);
            assert_eq!(read([text]), expected);
            let characters: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(read(characters.iter().map(String::as_str)), expected);
        }
    }

    #[test]
    fn refusals_are_read() {
        for (line, refusal) in [
            ("young 123", Refusal::Container(ContainerRefusal::TooYoung { age_millis: 1230 })),
            ("other", Refusal::Container(ContainerRefusal::OtherContainer)),
            ("busy", CommandRefusal::TooMany.into()),
            ("hidden", CommandRefusal::Hidden.into()),
            ("directory", CommandRefusal::NoDirectory.into()),
            ("cancelled", CommandRefusal::Cancelled.into()),
        ] {
            assert_eq!(read([format!("→bytes\n→{line}\n").as_str()]), Ok(vec![CommandEvent::Refused(refusal)]));
        }
    }

    #[test]
    fn line_without_an_end_is_a_failure() {
        let part = "A".repeat(MAX_LINE / 2 + 1);
        for begin in ["→bytes\n→started\n→", "→base64\n→started\n"] {
            assert!(read([begin, &part]).is_ok());
            assert!(read([begin, &part, &part]).unwrap_err().is_protocol());
        }
    }

    #[test]
    fn malformed_output_is_a_failure() {
        for text in ["→bytes\n→odd\n", "→bytes\n→exit x 0\n", "→bytes\nĀ", "→base64\n→started\n?\n"] {
            assert!(read([text]).unwrap_err().is_protocol(), "{text}");
        }
    }
}
