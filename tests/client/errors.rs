//! Whatever fails has a code, says what to do, and keeps what it was told.

use sandbox_snapshotter::client::{Client, Error, ErrorCode, HttpResponse, RetryPolicy, TransportError};
use sandbox_snapshotter::model::{Code, Kind, SandboxId};
use serde_json::json;

use super::fake_transport::{FakeTransport, error_reply, lost_reply, ok_reply};
use super::in_memory::run_ready;

/// What a call that gets this reply fails with.
fn call_error(operation: &str, reply: Result<HttpResponse, TransportError>) -> Error {
    let scripted = FakeTransport::new([reply]);
    let call = async { Client::new(&scripted).with_retry(RetryPolicy::NEVER).call(operation, json!({})).await };
    run_ready(call).unwrap_err()
}

#[test]
fn an_error_of_the_snapshotter_arrives_whole() {
    let error = call_error("get", error_reply("SNAPSHOT_NOT_FOUND", "not_found"));
    assert_eq!(*error.code(), Code::SnapshotNotFound);
    assert_eq!((error.kind(), error.retryable()), (Kind::NotFound, false));
    assert_eq!((error.message(), error.remediation()), ("It happened.", "Do something."));
    assert_eq!(error.correlation_id(), Some("c0ffee"));
    assert_eq!(error.cause().unwrap().message, "thrown");
    assert_eq!(error.to_string(), "SNAPSHOT_NOT_FOUND: It happened. Do something.");
}

#[test]
fn every_code_is_known() {
    for code in Code::ALL {
        assert_eq!(*call_error("get", error_reply(code.as_str(), "permanent")).code(), *code);
    }
}

#[test]
fn a_code_of_a_later_snapshotter_keeps_its_text() {
    let error = call_error("get", error_reply("SNAPSHOT_FROZEN", "frozen"));
    assert_eq!(*error.code(), ErrorCode::Other("SNAPSHOT_FROZEN".into()));
    assert_eq!(error.kind(), Kind::Permanent);
    assert!(error.to_string().starts_with("SNAPSHOT_FROZEN: "), "{error}");
}

#[test]
fn what_is_no_error_of_the_snapshotter_is_told_apart() {
    let page = |status| Ok(HttpResponse { status, body: "<html>".into() });
    for (reply, code, kind) in [
        (page(200), "FOREIGN_ANSWER", Kind::Permanent),
        (page(302), "FOREIGN_ANSWER", Kind::Permanent),
        (page(404), "FOREIGN_ANSWER", Kind::Permanent),
        (page(429), "SERVICE_UNREACHABLE", Kind::Transient),
        (page(500), "ANSWER_LOST", Kind::Transient),
        (Ok(HttpResponse { status: 503, body: "{}".into() }), "ANSWER_LOST", Kind::Transient),
        (lost_reply(), "ANSWER_LOST", Kind::Transient),
        (Err(TransportError::Unreachable("no such service".into())), "SERVICE_UNREACHABLE", Kind::Transient),
        (Err(TransportError::Aborted), "ABORTED", Kind::Transient),
    ] {
        let error = call_error("get", reply);
        assert_eq!((error.code().as_str(), error.kind()), (code, kind));
        assert!(!error.remediation().is_empty() && error.correlation_id().is_none());
    }
}

#[test]
fn a_lost_answer_is_worth_another_try_only_where_that_does_no_harm() {
    assert!(call_error("get", lost_reply()).retryable());
    assert!(call_error("restore", lost_reply()).retryable());
    assert!(!call_error("rotateKey", lost_reply()).retryable());
}

#[test]
fn an_answer_that_can_not_be_read_is_foreign() {
    let scripted = FakeTransport::new([ok_reply(&json!({ "snapshots": 1 }))]);
    let request = sandbox_snapshotter::model::request::ListRequest::of(SandboxId::parse("agent-42").unwrap());
    let error = run_ready(async { Client::new(&scripted).list(&request).await }).unwrap_err();
    assert_eq!(*error.code(), ErrorCode::ForeignAnswer);
    assert!(error.message().contains("list"), "{error}");
}

#[test]
fn what_is_wrong_with_an_id_is_an_error_as_the_snapshotters_own() {
    let error = Error::from(SandboxId::parse("-").unwrap_err());
    assert_eq!(*error.code(), Code::InvalidSandboxId);
    assert!(!error.retryable());
}
