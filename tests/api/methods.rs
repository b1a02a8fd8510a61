//! What a request asks for.

use sandbox_snapshotter::api::mcp::{Fault, MethodAction, ProtocolVersion, resolve_method};
use sandbox_snapshotter::api::operations::Operation;
use serde_json::{Value, json};

use super::support::{extended, sandbox_toolset};

fn decode_request(era: ProtocolVersion, method: &str, params: Value) -> std::result::Result<MethodAction, Fault> {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    resolve_method(era, method, &params, &sandbox_toolset())
}

/// The result of what needs no operation.
fn answer(era: ProtocolVersion, method: &str, params: Value) -> Value {
    match decode_request(era, method, params) {
        Ok(MethodAction::Answer(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn expect_fault(outcome: std::result::Result<MethodAction, Fault>, status: u16, code: i32) -> Fault {
    let fault = outcome.expect_err("it should be refused");
    assert_eq!((fault.status, fault.code), (status, code), "{}", fault.message);
    fault
}

#[test]
fn a_handshake_is_of_the_clients_version_where_that_is_spoken() {
    let version = |asked: Value| {
        let result = answer(ProtocolVersion::Legacy, "initialize", json!({ "protocolVersion": asked }));
        result["protocolVersion"].clone()
    };
    for spoken in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        assert_eq!(version(json!(spoken)), json!(spoken));
    }
    for other in [json!("2026-07-28"), json!("1999-01-01"), json!(1), json!(null)] {
        assert_eq!(version(other), json!("2025-11-25"));
    }
}

#[test]
fn both_eras_say_what_the_server_is() {
    let before = answer(ProtocolVersion::Legacy, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let now = answer(ProtocolVersion::Current, "server/discover", json!({}));
    for result in [&before, &now] {
        assert_eq!(result["capabilities"], json!({ "tools": {} }));
        assert_eq!(result["serverInfo"]["name"], json!("sandbox-snapshotter"));
        assert!(result["instructions"].as_str().unwrap().contains("snapshot"));
    }
    let versions = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    assert_eq!(now["supportedVersions"], versions);
}

#[test]
fn a_ping_is_answered_in_the_era_that_has_it() {
    assert_eq!(answer(ProtocolVersion::Legacy, "ping", json!({})), json!({}));
    expect_fault(decode_request(ProtocolVersion::Current, "ping", json!({})), 404, -32601);
}

#[test]
fn a_list_is_of_the_callers_tools() {
    for era in [ProtocolVersion::Legacy, ProtocolVersion::Current] {
        let asked = decode_request(era, "tools/list", json!({ "cursor": null })).unwrap();
        assert_eq!(asked, MethodAction::Operation(Operation::ListTools, sandbox_toolset()));
    }
}

#[test]
fn a_list_has_one_page() {
    for cursor in [json!(""), json!("next"), json!(1)] {
        expect_fault(decode_request(ProtocolVersion::Current, "tools/list", json!({ "cursor": cursor })), 400, -32602);
    }
}

#[test]
fn a_call_is_of_one_of_the_callers_tools() {
    let params = json!({ "name": "workspace_list", "arguments": { "limit": 1 } });
    let asked = decode_request(ProtocolVersion::Current, "tools/call", params.clone()).unwrap();
    assert_eq!(asked, MethodAction::Operation(Operation::CallTool, extended(sandbox_toolset(), params)));
    let MethodAction::Operation(_, without) =
        decode_request(ProtocolVersion::Current, "tools/call", json!({ "name": "workspace_list" })).unwrap()
    else {
        panic!("a call is an operation");
    };
    assert_eq!(without["arguments"], json!({}));
}

#[test]
fn no_parameter_says_which_tools_the_caller_has() {
    let params = json!({ "name": "a", "workspaces": [], "style": "flat", "readOnly": false });
    let MethodAction::Operation(_, arguments) = decode_request(ProtocolVersion::Legacy, "tools/call", params).unwrap()
    else {
        panic!("a call is an operation");
    };
    assert_eq!(arguments, extended(sandbox_toolset(), json!({ "name": "a", "arguments": {} })));
}

#[test]
fn a_call_names_its_tool() {
    for params in [json!({}), json!({ "name": 1 }), json!({ "name": null })] {
        expect_fault(decode_request(ProtocolVersion::Current, "tools/call", params), 400, -32602);
    }
}

#[test]
fn what_a_server_of_tools_does_not_have_is_not_found() {
    for era in [ProtocolVersion::Legacy, ProtocolVersion::Current] {
        for method in ["resources/list", "prompts/list", "completion/complete", "logging/setLevel", "Tools/list", ""] {
            expect_fault(decode_request(era, method, json!({})), 404, -32601);
        }
    }
    expect_fault(decode_request(ProtocolVersion::Current, "initialize", json!({})), 404, -32601);
    expect_fault(decode_request(ProtocolVersion::Legacy, "server/discover", json!({})), 404, -32601);
}
