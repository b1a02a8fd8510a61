//! What a request asks for.

use sandbox_snapshotter::api::mcp::{Asked, Era, Fault, asked};
use sandbox_snapshotter::api::operations::Operation;
use serde_json::{Value, json};

use super::support::{of_sandbox, with};

fn ask(era: Era, method: &str, params: Value) -> std::result::Result<Asked, Fault> {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    asked(era, method, &params, &of_sandbox())
}

/// The result of what needs no operation.
fn answer(era: Era, method: &str, params: Value) -> Value {
    match ask(era, method, params) {
        Ok(Asked::Answer(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn fault(outcome: std::result::Result<Asked, Fault>, status: u16, code: i32) -> Fault {
    let fault = outcome.expect_err("it should be refused");
    assert_eq!((fault.status, fault.code), (status, code), "{}", fault.message);
    fault
}

#[test]
fn a_handshake_is_of_the_clients_version_where_that_is_spoken() {
    let version = |asked: Value| {
        let result = answer(Era::Before, "initialize", json!({ "protocolVersion": asked }));
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
    let before = answer(Era::Before, "initialize", json!({ "protocolVersion": "2025-11-25" }));
    let now = answer(Era::Now, "server/discover", json!({}));
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
    assert_eq!(answer(Era::Before, "ping", json!({})), json!({}));
    fault(ask(Era::Now, "ping", json!({})), 404, -32601);
}

#[test]
fn a_list_is_of_the_callers_tools() {
    for era in [Era::Before, Era::Now] {
        let asked = ask(era, "tools/list", json!({ "cursor": null })).unwrap();
        assert_eq!(asked, Asked::Operation(Operation::ListTools, of_sandbox()));
    }
}

#[test]
fn a_list_has_one_page() {
    for cursor in [json!(""), json!("next"), json!(1)] {
        fault(ask(Era::Now, "tools/list", json!({ "cursor": cursor })), 400, -32602);
    }
}

#[test]
fn a_call_is_of_one_of_the_callers_tools() {
    let params = json!({ "name": "workspace_list", "arguments": { "limit": 1 } });
    let asked = ask(Era::Now, "tools/call", params.clone()).unwrap();
    assert_eq!(asked, Asked::Operation(Operation::CallTool, with(of_sandbox(), params)));
    let Asked::Operation(_, without) = ask(Era::Now, "tools/call", json!({ "name": "workspace_list" })).unwrap() else {
        panic!("a call is an operation");
    };
    assert_eq!(without["arguments"], json!({}));
}

#[test]
fn no_parameter_says_which_tools_the_caller_has() {
    let params = json!({ "name": "a", "workspaces": [], "style": "flat", "readOnly": false });
    let Asked::Operation(_, arguments) = ask(Era::Before, "tools/call", params).unwrap() else {
        panic!("a call is an operation");
    };
    assert_eq!(arguments, with(of_sandbox(), json!({ "name": "a", "arguments": {} })));
}

#[test]
fn a_call_names_its_tool() {
    for params in [json!({}), json!({ "name": 1 }), json!({ "name": null })] {
        fault(ask(Era::Now, "tools/call", params), 400, -32602);
    }
}

#[test]
fn what_a_server_of_tools_does_not_have_is_not_found() {
    for era in [Era::Before, Era::Now] {
        for method in ["resources/list", "prompts/list", "completion/complete", "logging/setLevel", "Tools/list", ""] {
            fault(ask(era, method, json!({})), 404, -32601);
        }
    }
    fault(ask(Era::Now, "initialize", json!({})), 404, -32601);
    fault(ask(Era::Before, "server/discover", json!({})), 404, -32601);
}
