//! Exceptions of the SDK and the platform. The input is JSON: `{name?, message?, stack?, code?, httpStatus?, retryable?}`.

use sandbox_snapshotter::fuzzing::{class_of, problem, sandbox_failed, storage_failed};
use sandbox_snapshotter::model::{Failure, SandboxId};
use serde_json::Value;

use super::input;
use super::rules::{assert_legible, assert_short};

/// A secret in a URL, which no message may contain.
const SECRET: &str = "s3cr3t";

/// See the module.
pub fn read(data: &[u8]) {
    let Some(thrown) = input::json(data) else { return };
    let text = |member: &str| thrown.get(member).and_then(Value::as_str).unwrap_or_default();
    let mut failure = Failure::new(class_of(text("name"), text("stack")), text("message"));
    if let Some(code) = thrown.get("code").and_then(Value::as_str) {
        failure = failure.with_code(code);
    }
    failure.http_status = thrown.get("httpStatus").and_then(Value::as_u64).and_then(|status| status.try_into().ok());
    failure.retryable = thrown.get("retryable").and_then(Value::as_bool).unwrap_or_default();
    assert_short(&failure);
    check_errors(&failure);
    check_secrets(text("message"));
}

/// Asserts that every exception maps to an error, with the exception as its cause.
fn check_errors(failure: &Failure) {
    let id = SandboxId::parse("agent-42").expect("an id");
    for error in sandbox_failed(failure, &id) {
        assert_legible(&error);
        assert_eq!(error.cause(), Some(failure));
    }
    let error = storage_failed(failure.clone());
    assert_legible(&error);
    assert_eq!(error.is_retryable(), !failure.is_protocol());
}

/// Asserts that no message contains the query or the user of a URL, whatever text surrounds it.
fn check_secrets(around: &str) {
    let (before, after) = around.split_at(around.floor_char_boundary(around.len() / 2));
    for url in [format!("https://x.example/a?token={SECRET}"), format!("https://me:{SECRET}@x.example/a")] {
        let failure = Failure::new("Error", &format!("{before} {url} {after}"));
        if !around.contains(SECRET) {
            assert!(!failure.message.contains(SECRET), "{}", failure.message);
            assert!(!problem(&storage_failed(failure)).1.to_string().contains(SECRET));
        }
    }
}
