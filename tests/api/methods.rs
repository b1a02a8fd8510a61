//! The methods of the Model Context Protocol.

use sandbox_snapshotter::api::mcp::{Fault, MethodAction, ProtocolVersion, resolve_method};
use sandbox_snapshotter::api::operations::Operation;
use serde_json::{Value, json};

use super::support::{extended, sandbox_toolset};

fn decode_request(version: ProtocolVersion, method: &str, params: Value) -> std::result::Result<MethodAction, Fault> {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    resolve_method(version, method, &params, &sandbox_toolset())
}

/// The result of a method that calls no operation.
fn answer(version: ProtocolVersion, method: &str, params: Value) -> Value {
    match decode_request(version, method, params) {
        Ok(MethodAction::Answer(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn expect_fault(outcome: std::result::Result<MethodAction, Fault>, status: u16, code: i32) -> Fault {
    let fault = outcome.expect_err("a fault");
    assert_eq!((fault.status, fault.code), (status, code), "{}", fault.message);
    fault
}

#[test]
fn initialize_negotiates_a_supported_version() {
    let negotiate = |requested: Value| {
        let result = answer(ProtocolVersion::Legacy, "initialize", json!({ "protocolVersion": requested }));
        result["protocolVersion"].clone()
    };
    for supported in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        assert_eq!(negotiate(json!(supported)), json!(supported));
    }
    for other in [json!("2026-07-28"), json!("1999-01-01"), json!(1), json!(null)] {
        assert_eq!(negotiate(other), json!("2025-11-25"));
    }
}

#[test]
fn both_versions_describe_the_server() {
    let legacy = answer(ProtocolVersion::Legacy, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let current = answer(ProtocolVersion::Current, "server/discover", json!({}));
    for result in [&legacy, &current] {
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], json!("sandbox-snapshotter"));
        assert!(result["instructions"].as_str().unwrap().contains("snapshot"));
    }
    let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    assert_eq!(current["supportedVersions"], versions);
}

#[test]
fn ping_is_answered_in_legacy_versions_only() {
    assert_eq!(answer(ProtocolVersion::Legacy, "ping", json!({})), json!({}));
    expect_fault(decode_request(ProtocolVersion::Current, "ping", json!({})), 404, -32601);
}

#[test]
fn list_uses_the_toolset_of_the_caller() {
    for version in [ProtocolVersion::Legacy, ProtocolVersion::Current] {
        let action = decode_request(version, "tools/list", json!({ "cursor": null })).unwrap();
        assert_eq!(action, MethodAction::Operation(Operation::ListTools, sandbox_toolset()));
    }
}

#[test]
fn list_accepts_no_cursor() {
    for cursor in [json!(""), json!("next"), json!(1)] {
        expect_fault(decode_request(ProtocolVersion::Current, "tools/list", json!({ "cursor": cursor })), 400, -32602);
    }
}

#[test]
fn call_uses_the_toolset_of_the_caller() {
    let params = json!({ "name": "workspace_list", "arguments": { "limit": 1 } });
    let action = decode_request(ProtocolVersion::Current, "tools/call", params.clone()).unwrap();
    assert_eq!(action, MethodAction::Operation(Operation::CallTool, extended(sandbox_toolset(), params)));
    let MethodAction::Operation(_, without) =
        decode_request(ProtocolVersion::Current, "tools/call", json!({ "name": "workspace_list" })).unwrap()
    else {
        panic!("a call is an operation");
    };
    assert_eq!(without["arguments"], json!({}));
}

#[test]
fn parameters_cannot_change_the_toolset() {
    let params = json!({ "name": "a", "workspaces": [], "style": "flat", "readOnly": false });
    let MethodAction::Operation(_, arguments) = decode_request(ProtocolVersion::Legacy, "tools/call", params).unwrap()
    else {
        panic!("a call is an operation");
    };
    assert_eq!(arguments, extended(sandbox_toolset(), json!({ "name": "a", "arguments": {} })));
}

#[test]
fn call_requires_the_name_of_a_tool() {
    for params in [json!({}), json!({ "name": 1 }), json!({ "name": null })] {
        expect_fault(decode_request(ProtocolVersion::Current, "tools/call", params), 400, -32602);
    }
}

#[test]
fn unsupported_methods_are_not_found() {
    for version in [ProtocolVersion::Legacy, ProtocolVersion::Current] {
        for method in ["resources/list", "prompts/list", "completion/complete", "logging/setLevel", "Tools/list", ""] {
            expect_fault(decode_request(version, method, json!({})), 404, -32601);
        }
    }
    expect_fault(decode_request(ProtocolVersion::Current, "initialize", json!({})), 404, -32601);
    expect_fault(decode_request(ProtocolVersion::Legacy, "server/discover", json!({})), 404, -32601);
}
