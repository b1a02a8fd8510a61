//! Messages of the Model Context Protocol, with their headers. The input has the form of an HTTP request: one header per
//! line, an empty line, and the body.

use sandbox_snapshotter::api::mcp::{Fault, Headers, JsonRpc, Message, MethodAction, ProtocolVersion, resolve_method};
use sandbox_snapshotter::api::operations::{Operation, Request};
use sandbox_snapshotter::model::json;
use serde_json::{Value, json};

use super::input;
use super::rules::assert_legible;

/// See the module.
pub fn read(data: &[u8]) {
    let mut rest = data;
    let mut given = Vec::new();
    let body = loop {
        let Some((line, next)) = input::line(rest) else { return };
        rest = next;
        match line.split_once(": ") {
            Some(header) => given.push(header),
            None => break rest,
        }
    };
    let headers = Headers::read(|header| {
        let found = given.iter().find(|(name, _)| name.eq_ignore_ascii_case(header));
        found.map(|(_, value)| (*value).to_owned())
    });
    if let Err(fault) = headers.check_media_types() {
        check_fault(&fault, None);
    }
    let message = match JsonRpc::parse(body) {
        Ok(message) => message,
        Err(fault) => return check_fault(&fault, None),
    };
    match headers.protocol_version(&message) {
        Ok(version) => check_message(version, &message),
        Err(fault) => check_fault(&fault, message.id()),
    }
}

fn check_message(version: ProtocolVersion, message: &Message) {
    let Message::Request { id, method, params } = message else { return };
    let toolset = json!({ "workspaces": [{ "name": "work", "snapshot": true, "sandboxId": "agent-42" }] });
    match resolve_method(version, method, params, &toolset) {
        Ok(MethodAction::Answer(result)) => {
            let result = version.complete_result(method, result);
            assert!(result.is_object());
            assert_eq!(result.get("resultType").is_some(), version == ProtocolVersion::Current);
        }
        Ok(MethodAction::Operation(operation, arguments)) => {
            assert!(matches!(operation, Operation::ListTools | Operation::CallTool));
            // A message of a model can't select other workspaces.
            assert_eq!(arguments["workspaces"], toolset["workspaces"]);
            if let Err(error) = Request::decode(operation, &arguments) {
                assert_legible(&error);
            }
        }
        Err(fault) => check_fault(&version.with_status(fault), Some(id)),
    }
}

/// Asserts that a fault is a JSON-RPC response to the request with that id.
fn check_fault(fault: &Fault, id: Option<&Value>) {
    assert!(matches!(fault.status, 200 | 400..=499), "{fault:?}");
    assert!(!fault.message.is_empty() && fault.message.len() <= 4096, "{} bytes", fault.message.len());
    assert_legible(&fault.to_error());
    let body = fault.clone().with_correlation_id("0123456789abcdef").body(id);
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(&body["id"], id.unwrap_or(&Value::Null));
    assert_eq!((&body["error"]["code"], &body["error"]["message"]), (&json!(fault.code), &json!(fault.message)));
    assert_eq!(body["error"]["data"]["correlationId"], "0123456789abcdef");
    assert_eq!(json::from_str(&body.to_string()).as_ref(), Ok(&body));
}
