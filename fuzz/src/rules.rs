//! What holds of several targets.

use std::fmt::{Debug, Display};

use sandbox_snapshotter::api::status;
use sandbox_snapshotter::fuzzing::problem;
use sandbox_snapshotter::model::{Error, Failure, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The longest message, in bytes: it never quotes what a caller sent at any length.
const MAX_MESSAGE: usize = 4096;

/// How deep JSON may be, so that every reader of it reads it: objects and lists within each other.
const MAX_DEPTH: usize = 127;

/// An error is legible to people and programs, of a bounded length, and the same as `application/problem+json`.
pub fn legible(error: &Error) {
    told(error.message());
    told(error.remediation());
    if let Some(cause) = error.cause() {
        short(cause);
    }
    let (status_told, body) = problem(error);
    assert_eq!(status_told, status(error.code()));
    assert!((400..600).contains(&status_told));
    let member = |name: &str| body[name].as_str().expect("a text");
    assert_eq!(member("type"), format!("urn:sandbox-snapshotter:error:{}", error.code()));
    assert_eq!((member("detail"), member("message")), (error.message(), error.message()));
    assert_eq!(body["status"], status_told);
    assert_eq!(body["retryable"], error.is_retryable());
    assert!(["title", "kind", "correlationId"].iter().all(|name| !member(name).is_empty()));
    // Between the objects of this Worker it passes as text.
    let text = json::to_string(error).expect("it is written");
    let again: Error = json::from_str(&text).expect("it is read");
    assert_eq!(json::to_string(&again), Ok(text));
}

/// What the SDK threw is kept short.
pub fn short(failure: &Failure) {
    assert!(failure.name.chars().count() <= 501, "the name of a class has {} bytes", failure.name.len());
    assert!(failure.code.as_ref().is_none_or(|code| code.chars().count() <= 501), "a code is long");
    assert!(failure.message.chars().count() <= 501, "a message has {} bytes", failure.message.len());
}

fn told(text: &str) {
    assert!(!text.is_empty());
    assert!(text.len() <= MAX_MESSAGE, "a message has {} bytes: {:.200}", text.len(), text);
}

/// What is written is read again, as the same, by whoever reads it as text.
pub fn kept<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = json::to_string(value).expect("it is written");
    let again: T = json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    assert_eq!(&again, value);
}

/// A text that was read is written as such.
pub fn spelled<T: Display + PartialEq + Debug, E: Debug>(value: &T, parse: impl Fn(&str) -> Result<T, E>) {
    let text = value.to_string();
    assert_eq!(&parse(&text).expect("it reads what it writes"), value);
}

/// A value can be put as deep as this into another one, and is still read by every reader of JSON.
pub fn shallow(value: &Value, around: usize) {
    assert!(depth(value) + around <= MAX_DEPTH, "it is {} deep", depth(value));
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A value as it comes back from JavaScript, which knows one sort of number and keeps no `__proto__`.
pub fn by_javascript(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            let is_whole = number.fract() == 0.0 && number.abs() < 1e21;
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            let whole = (number.abs() < 9e18).then_some(number as i64).filter(|_| is_whole);
            whole.map_or_else(|| number.into(), Value::from)
        }
        Value::Array(items) => items.iter().map(by_javascript).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| *name != "__proto__");
            Value::Object(kept.map(|(name, value)| (name.clone(), by_javascript(value))).collect())
        }
        other => other.clone(),
    }
}
