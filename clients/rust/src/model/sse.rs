//! Server-sent events: the format of streams.

/// A server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSentEvent {
    /// The name of the event; empty if it has none.
    pub name: String,
    /// The data.
    pub data: String,
}

/// Reads server-sent events from the bytes of a stream, in chunks of any size.
#[derive(Debug, Default)]
pub struct EventReader {
    /// The bytes of the event that is not complete yet.
    pending: Vec<u8>,
    /// The number of pending bytes that were searched for the end of the event.
    searched: usize,
}

impl EventReader {
    /// Returns the number of bytes of the event that is not complete yet.
    pub const fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Adds a chunk, and returns the events that it completes.
    pub fn read(&mut self, chunk: &[u8]) -> Vec<ServerSentEvent> {
        self.pending.extend_from_slice(chunk);
        let mut events = Vec::new();
        let mut start = 0;
        let mut from = self.searched;
        while let Some(end) = find_blank_line(&self.pending, from) {
            events.extend(self.pending.get(start..end).and_then(parse));
            start = end + 2;
            from = start;
        }
        self.pending.drain(..start);
        self.searched = self.pending.len().saturating_sub(1);
        events
    }
}

/// Returns the position of two consecutive line breaks.
fn find_blank_line(bytes: &[u8], from: usize) -> Option<usize> {
    bytes.get(from..)?.windows(2).position(|pair| pair == b"\n\n").map(|at| from + at)
}

/// Parses the lines of one event; `None` for a comment.
fn parse(lines: &[u8]) -> Option<ServerSentEvent> {
    let text = String::from_utf8_lossy(lines);
    let mut event = ServerSentEvent { name: String::new(), data: String::new() };
    let mut has_data = false;
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event.name),
            "data" => {
                if has_data {
                    event.data.push('\n');
                }
                event.data.push_str(value);
                has_data = true;
            }
            _ => {}
        }
    }
    has_data.then_some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> ServerSentEvent {
        ServerSentEvent { name: name.into(), data: data.into() }
    }

    #[test]
    fn events_are_read_from_chunks_of_any_size() {
        let text = "event: stdout\ndata: {\"data\":\"ü\"}\n\n: comment\n\ndata: a\ndata:b\n\nevent: exit\n\n";
        for size in 1..=text.len() {
            let mut reader = EventReader::default();
            let events: Vec<_> = text.as_bytes().chunks(size).flat_map(|chunk| reader.read(chunk)).collect();
            assert_eq!(events, [event("stdout", "{\"data\":\"ü\"}"), event("", "a\nb")], "chunks of {size}");
        }
    }

    #[test]
    fn incomplete_event_is_not_returned() {
        let mut reader = EventReader::default();
        assert_eq!(reader.read(b"data: a\n"), []);
        assert_eq!(reader.read(b"\n"), [event("", "a")]);
    }
}
