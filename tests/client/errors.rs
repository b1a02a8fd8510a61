//! Every error of the client has a code and a remediation, and keeps the details that the service returned.

use sandbox_snapshotter::model::{Code, Kind, SandboxId};
use sandbox_snapshotter_client::{Client, Error, ErrorCode, HttpResponse, RetryPolicy, TransportError};
use serde_json::json;

use super::fake_transport::{FakeTransport, error_reply, lost_reply, ok_reply};
use super::in_memory::run_ready;

/// Returns the error of a call that receives this reply.
fn call_error(operation: &str, reply: Result<HttpResponse, TransportError>) -> Error {
    let transport = FakeTransport::new([reply]);
    let call = async { Client::new(&transport).with_retry(RetryPolicy::NEVER).call(operation, json!({})).await };
    run_ready(call).unwrap_err()
}

#[test]
fn error_of_the_service_keeps_all_its_fields() {
    let error = call_error("get", error_reply("SNAPSHOT_NOT_FOUND", "not_found"));
    assert_eq!(*error.code(), Code::SnapshotNotFound);
    assert_eq!((error.kind(), error.retryable()), (Kind::NotFound, false));
    assert_eq!((error.message(), error.remediation()), ("It happened.", "Do something."));
    assert_eq!(error.correlation_id(), Some("c0ffee"));
    assert_eq!(error.cause().unwrap().message, "thrown");
    assert_eq!(error.started().unwrap().may_have_lost, Some(true));
    assert_eq!(error.to_string(), "SNAPSHOT_NOT_FOUND: It happened. → Do something.");
}

#[test]
fn every_code_is_recognized() {
    for code in Code::ALL {
        assert_eq!(*call_error("get", error_reply(code.as_str(), "permanent")).code(), *code);
    }
}

#[test]
fn unknown_code_keeps_its_text() {
    let error = call_error("get", error_reply("SNAPSHOT_FROZEN", "frozen"));
    assert_eq!(*error.code(), ErrorCode::Other("SNAPSHOT_FROZEN".into()));
    assert_eq!(error.kind(), Kind::Permanent);
    assert!(error.to_string().starts_with("SNAPSHOT_FROZEN: "), "{error}");
}

#[test]
fn replies_without_a_service_error_have_client_codes() {
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
fn lost_answer_is_retryable_only_where_repeating_is_safe() {
    assert!(call_error("get", lost_reply()).retryable());
    assert!(call_error("restore", lost_reply()).retryable());
    assert!(!call_error("rotateKey", lost_reply()).retryable());
}

#[test]
fn unreadable_answer_is_foreign() {
    let transport = FakeTransport::new([ok_reply(&json!({ "snapshots": 1 }))]);
    let request = sandbox_snapshotter::model::request::ListRequest::of(SandboxId::parse("agent-42").unwrap());
    let error = run_ready(async { Client::new(&transport).list(&request).await }).unwrap_err();
    assert_eq!(*error.code(), ErrorCode::ForeignAnswer);
    assert!(error.message().contains("list"), "{error}");
}

#[test]
fn invalid_id_is_an_error_with_the_code_of_the_service() {
    let error = Error::from(SandboxId::parse("-").unwrap_err());
    assert_eq!(*error.code(), Code::InvalidSandboxId);
    assert!(!error.retryable());
}
