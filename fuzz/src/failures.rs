//! What the SDK and the platform throw. The input is JSON: `{name?, message?, stack?, code?, httpStatus?, retryable?}`.

use sandbox_snapshotter::fuzzing::{class_of, problem, sandbox_failed, storage_failed};
use sandbox_snapshotter::model::{Failure, SandboxId};
use serde_json::Value;

use super::rules::{legible, short};
use super::words;

/// What must not be told, wherever it stands in a URL that may.
const SECRET: &str = "s3cr3t";

/// See the module.
pub fn read(data: &[u8]) {
    let Some(thrown) = words::json(data) else { return };
    let text = |member: &str| thrown.get(member).and_then(Value::as_str).unwrap_or_default();
    let mut failure = Failure::new(class_of(text("name"), text("stack")), text("message"));
    if let Some(code) = thrown.get("code").and_then(Value::as_str) {
        failure = failure.with_code(code);
    }
    failure.http_status = thrown.get("httpStatus").and_then(Value::as_u64).and_then(|status| status.try_into().ok());
    failure.retryable = thrown.get("retryable").and_then(Value::as_bool).unwrap_or_default();
    short(&failure);
    classified(&failure);
    untold(text("message"));
}

/// There is an error for whatever is thrown, and it keeps what that was.
fn classified(failure: &Failure) {
    let id = SandboxId::parse("agent-42").expect("an id");
    for error in sandbox_failed(failure, &id) {
        legible(&error);
        assert_eq!(error.cause(), Some(failure));
    }
    let error = storage_failed(failure.clone());
    legible(&error);
    assert_eq!(error.is_retryable(), !failure.is_protocol());
}

/// The query and the user of a URL are told nowhere, whatever stands around it.
fn untold(around: &str) {
    let (before, after) = around.split_at(around.floor_char_boundary(around.len() / 2));
    for url in [format!("https://x.example/a?token={SECRET}"), format!("https://me:{SECRET}@x.example/a")] {
        let failure = Failure::new("Error", &format!("{before} {url} {after}"));
        if !around.contains(SECRET) {
            assert!(!failure.message.contains(SECRET), "{}", failure.message);
            assert!(!problem(&storage_failed(failure)).1.to_string().contains(SECRET));
        }
    }
}
