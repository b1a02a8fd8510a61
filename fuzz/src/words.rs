//! Takes inputs apart.

use serde_json::Value;

/// A first line and what follows it, as text. Inputs of several parts begin so: people can read and write them.
pub fn line(data: &[u8]) -> Option<(&str, &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&data[..end]).ok()?, &data[end + 1..]))
}

/// JSON as a caller would send it.
pub fn json(data: &[u8]) -> Option<Value> {
    sandbox_snapshotter::model::json::parse_untrusted(data).ok()
}
