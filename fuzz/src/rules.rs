//! The rules that several targets share.

use std::fmt::{Debug, Display};

use sandbox_snapshotter::api::status;
use sandbox_snapshotter::fuzzing::problem;
use sandbox_snapshotter::model::{Error, Failure, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The maximum length of a message, in bytes. Messages quote input only up to a limit.
const MAX_MESSAGE: usize = 4096;

/// The maximum depth of nested objects and lists that every JSON parser accepts.
const MAX_DEPTH: usize = 127;

/// Asserts that an error has a message and a remediation of bounded length, and the same members in
/// `application/problem+json`.
pub fn assert_legible(error: &Error) {
    assert_bounded(error.message());
    assert_bounded(error.remediation());
    if let Some(cause) = error.cause() {
        assert_short(cause);
    }
    let (http_status, body) = problem(error);
    assert_eq!(http_status, status(error.code()));
    assert!((400..600).contains(&http_status));
    let member = |name: &str| body[name].as_str().expect("a text");
    assert_eq!(member("type"), format!("urn:sandbox-snapshotter:error:{}", error.code()));
    assert_eq!((member("detail"), member("message")), (error.message(), error.message()));
    assert_eq!(body["status"], http_status);
    assert_eq!(body["retryable"], error.is_retryable());
    assert!(["title", "kind", "correlationId"].iter().all(|name| !member(name).is_empty()));
    // The objects of this Worker pass errors to each other as text.
    let text = json::to_string(error).expect("the error is serialized");
    let parsed: Error = json::from_str(&text).expect("the error is parsed");
    assert_eq!(json::to_string(&parsed), Ok(text));
}

/// Asserts that the stored texts of an exception are short.
pub fn assert_short(failure: &Failure) {
    assert!(failure.name.chars().count() <= 501, "the class name has {} bytes", failure.name.len());
    assert!(failure.code.as_ref().is_none_or(|code| code.chars().count() <= 501), "the code is too long");
    assert!(failure.message.chars().count() <= 501, "the message has {} bytes", failure.message.len());
}

fn assert_bounded(text: &str) {
    assert!(!text.is_empty());
    assert!(text.len() <= MAX_MESSAGE, "the message has {} bytes: {:.200}", text.len(), text);
}

/// Asserts that a value is equal after a round trip through JSON.
pub fn assert_json_round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = json::to_string(value).expect("the value is serialized");
    let parsed: T = json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&parsed, value);
}

/// Asserts that a value is equal after a round trip through its text form.
pub fn assert_text_round_trip<T: Display + PartialEq + Debug, E: Debug>(
    value: &T,
    parse: impl Fn(&str) -> Result<T, E>,
) {
    let text = value.to_string();
    assert_eq!(&parse(&text).expect("the text is parsed"), value);
}

/// Asserts that every JSON parser accepts the value within `around` further levels.
pub fn assert_depth(value: &Value, around: usize) {
    assert!(depth(value) + around <= MAX_DEPTH, "the depth is {}", depth(value));
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A value after a round trip through JavaScript, which has one type of number and drops `__proto__`.
pub fn through_javascript(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let is_whole = number.fract() == 0.0 && number.abs() < 1e21;
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            let whole = (number.abs() < 9e18).then_some(number as i64).filter(|_| is_whole);
            whole.map_or_else(|| number.into(), Value::from)
        }
        Value::Array(items) => items.iter().map(through_javascript).collect(),
        Value::Object(members) => {
            let retained = members.iter().filter(|(name, _)| *name != "__proto__");
            Value::Object(retained.map(|(name, value)| (name.clone(), through_javascript(value))).collect())
        }
        other => other.clone(),
    }
}
