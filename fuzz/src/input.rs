//! Splits inputs into their parts.

use serde_json::Value;

/// Splits an input into its first line and the rest. Inputs of several parts have this form, so that people can read and
/// write them. Returns `None` without a line break, or if the line is not UTF-8.
pub fn line(data: &[u8]) -> Option<(&str, &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&data[..end]).ok()?, &data[end + 1..]))
}

/// Parses JSON as the product parses a request.
pub fn json(data: &[u8]) -> Option<Value> {
    sandbox_snapshotter::model::json::parse_untrusted(data).ok()
}
