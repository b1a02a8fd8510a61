//! The parsing of JSON-RPC messages.

use sandbox_snapshotter::api::mcp::{Fault, JsonRpc, Message};
use serde_json::{Value, json};

fn parse(body: &Value) -> Result<Message, Fault> {
    JsonRpc::parse(body.to_string().as_bytes())
}

#[track_caller]
fn expect_fault(body: &[u8], code: i32) {
    let fault = JsonRpc::parse(body).expect_err("a fault");
    assert_eq!((fault.status, fault.code), (400, code), "{}", String::from_utf8_lossy(body));
    assert_eq!(fault.body(None)["id"], Value::Null);
}

#[test]
fn request_has_an_id_and_a_method() {
    for id in [json!(0), json!(-1), json!(u64::MAX), json!(""), json!("a")] {
        let message = parse(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping", "params": { "a": 1 } })).unwrap();
        let Message::Request { id: read, method, params } = &message else { panic!("{message:?}") };
        assert_eq!((read, method.as_str(), &Value::Object(params.clone())), (&id, "ping", &json!({ "a": 1 })));
        assert_eq!(message.id(), Some(&id));
    }
}

#[test]
fn parameters_of_a_request_are_optional() {
    let message = parse(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })).unwrap();
    assert!(matches!(message, Message::Request { params, .. } if params.is_empty()));
}

#[test]
fn notifications_and_responses_need_no_reply() {
    for body in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "no" } }),
    ] {
        let message = parse(&body).unwrap();
        assert_eq!((&message, message.id()), (&Message::NoReply, None));
    }
}

#[test]
fn invalid_json_is_refused() {
    for body in [&b""[..], b"ping", b"{", b"{\"jsonrpc\":\"2.0\"", b"\xff", b"{} {}", b"{\"a\":\"\\ud83d\"}"] {
        expect_fault(body, -32700);
    }
}

#[test]
fn duplicate_key_is_refused() {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#;
    expect_fault(body, -32700);
    assert!(JsonRpc::parse(body).unwrap_err().message.contains("the key \"name\" occurs twice"));
}

#[test]
fn json_that_is_not_a_message_is_refused() {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for body in [
        json!(null),
        json!("ping"),
        json!([]),
        json!([ping]),
        json!({}),
        json!({ "id": 1, "method": "ping" }),
        json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }),
        json!({ "jsonrpc": 2.0, "id": 1, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1 }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": 1 }),
        json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": {}, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": true, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": [] }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": null }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": "a" }),
    ] {
        expect_fault(body.to_string().as_bytes(), -32600);
    }
}

#[test]
fn fault_is_an_error_response_to_its_request() {
    let mut fault = Fault::new(404, -32601, "There is no such method.");
    let error = json!({ "code": -32601, "message": "There is no such method." });
    assert_eq!(fault.body(Some(&json!("a"))), json!({ "jsonrpc": "2.0", "id": "a", "error": error }));
    fault.data = Some(json!({ "why": 1 }));
    assert_eq!(fault.body(None)["error"]["data"], json!({ "why": 1 }));
    let logged = fault.with_correlation_id("5be07d24683f1c9a");
    assert_eq!(logged.body(None)["error"]["data"], json!({ "why": 1, "correlationId": "5be07d24683f1c9a" }));
}
