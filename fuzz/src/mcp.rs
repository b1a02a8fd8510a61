//! Messages of the Model Context Protocol, with their headers. The input is written like a request: headers in lines of their
//! own, an empty line, and the body.

use sandbox_snapshotter::api::mcp::{Fault, Headers, JsonRpc, Message, MethodAction, ProtocolVersion, resolve_method};
use sandbox_snapshotter::api::operations::{Operation, decode_target};
use sandbox_snapshotter::model::json;
use serde_json::{Value, json};

use super::rules::legible;
use super::words;

/// See the module.
pub fn read(data: &[u8]) {
    let mut rest = data;
    let mut given = Vec::new();
    let body = loop {
        let Some((line, next)) = words::line(rest) else { return };
        rest = next;
        match line.split_once(": ") {
            Some(header) => given.push(header),
            None => break rest,
        }
    };
    let headers = Headers::read(|wanted| {
        let found = given.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| (*value).to_owned())
    });
    if let Err(fault) = headers.check_media_types() {
        refused(&fault, None);
    }
    let message = match JsonRpc::parse(body) {
        Ok(message) => message,
        Err(fault) => return refused(&fault, None),
    };
    match headers.protocol_version(&message) {
        Ok(era) => answered(era, &message),
        Err(fault) => refused(&fault, message.id()),
    }
}

fn answered(era: ProtocolVersion, message: &Message) {
    let Message::Request { id, method, params } = message else { return };
    let toolset = json!({ "workspaces": [{ "name": "work", "snapshot": true, "sandboxId": "agent-42" }] });
    match resolve_method(era, method, params, &toolset) {
        Ok(MethodAction::Answer(result)) => {
            let result = era.complete_result(method, result);
            assert!(result.is_object());
            assert_eq!(result.get("resultType").is_some(), era == ProtocolVersion::Current);
        }
        Ok(MethodAction::Operation(operation, arguments)) => {
            assert!(matches!(operation, Operation::ListTools | Operation::CallTool));
            // Nobody gets at other workspaces by what a model sends.
            assert_eq!(arguments["workspaces"], toolset["workspaces"]);
            if let Err(error) = decode_target(operation, &arguments) {
                legible(&error);
            }
        }
        Err(fault) => refused(&era.with_status(fault), Some(id)),
    }
}

/// A fault is a message of JSON-RPC that answers the one with that id.
fn refused(fault: &Fault, id: Option<&Value>) {
    assert!(matches!(fault.status, 200 | 400..=499), "{fault:?}");
    assert!(!fault.message.is_empty() && fault.message.len() <= 4096, "{} bytes", fault.message.len());
    legible(&fault.to_error());
    let body = fault.clone().with_correlation_id("0123456789abcdef").body(id);
    assert_eq!(body["jsonrpc"], "2.0");
    assert_eq!(&body["id"], id.unwrap_or(&Value::Null));
    assert_eq!((&body["error"]["code"], &body["error"]["message"]), (&json!(fault.code), &json!(fault.message)));
    assert_eq!(body["error"]["data"]["correlationId"], "0123456789abcdef");
    assert_eq!(json::from_str(&body.to_string()).as_ref(), Ok(&body));
}
