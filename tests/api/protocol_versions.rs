//! The headers of a message, in the legacy and the current protocol versions.

use sandbox_snapshotter::api::mcp::{Fault, Headers, JsonRpc, Message, ProtocolVersion};
use serde_json::{Value, json};

use super::support::extended;

fn message(method: &str, params: Value) -> Message {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let body = extended(request, Value::from_iter([("params", params)]));
    JsonRpc::parse(body.to_string().as_bytes()).unwrap()
}

/// The `_meta` of a request of version 2026-07-28.
fn request_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn params(further: Value) -> Value {
    extended(json!({ "_meta": request_meta() }), further)
}

/// Headers with these names and values.
fn headers(given: &[(&str, &str)]) -> Headers {
    Headers::read(|name| {
        let found = given.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn version_header(version: &str) -> Headers {
    headers(&[("MCP-Protocol-Version", version)])
}

/// The headers of a call of a tool.
fn call_headers(version: &str, name: &str) -> Headers {
    headers(&[("MCP-Protocol-Version", version), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)])
}

#[track_caller]
fn expect_fault<T: std::fmt::Debug>(outcome: Result<T, Fault>, status: u16, code: i32) -> Fault {
    let fault = outcome.expect_err("a fault");
    assert_eq!((fault.status, fault.code), (status, code), "{}", fault.message);
    fault
}

#[test]
fn request_without_the_current_version_is_legacy() {
    for headers in
        [Headers::default(), version_header("2025-11-25"), version_header(" 2025-06-18 "), version_header("2024-11-05")]
    {
        assert_eq!(headers.protocol_version(&message("tools/list", json!({}))).unwrap(), ProtocolVersion::Legacy);
    }
}

#[test]
fn request_with_the_current_version_is_current() {
    let list = message("tools/list", params(json!({})));
    let headers = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    assert_eq!(headers.protocol_version(&list).unwrap(), ProtocolVersion::Current);
}

#[test]
fn notification_needs_no_headers() {
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let notification = JsonRpc::parse(body.as_bytes()).unwrap();
    assert!(version_header("1999-01-01").protocol_version(&notification).is_ok());
}

#[test]
fn unsupported_version_is_refused_with_the_supported_ones() {
    let later_meta = extended(request_meta(), json!({ "io.modelcontextprotocol/protocolVersion": "2027-01-01" }));
    for (headers, params) in [
        (version_header("1999-01-01"), json!({})),
        (version_header("2027-01-01"), json!({ "_meta": later_meta })),
        (Headers::default(), json!({ "_meta": later_meta })),
    ] {
        let fault = expect_fault(headers.protocol_version(&message("tools/list", params)), 400, -32022);
        let data = fault.data.unwrap();
        let supported = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
        assert_eq!(data["supported"], supported);
        assert!(fault.message.contains(data["requested"].as_str().unwrap()));
    }
}

#[test]
fn legacy_version_in_the_metadata_is_refused() {
    let legacy_meta = extended(request_meta(), json!({ "io.modelcontextprotocol/protocolVersion": "2025-11-25" }));
    let list = message("tools/list", json!({ "_meta": legacy_meta }));
    expect_fault(version_header("2025-11-25").protocol_version(&list), 400, -32022);
}

#[test]
fn current_request_requires_version_and_capabilities() {
    let current = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    let without = |member: &str| {
        let mut meta = request_meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{member}"));
        meta
    };
    let no_object = extended(request_meta(), json!({ "io.modelcontextprotocol/clientCapabilities": true }));
    let no_text = extended(request_meta(), json!({ "io.modelcontextprotocol/protocolVersion": 20_260_728 }));
    for invalid in [without("protocolVersion"), without("clientCapabilities"), no_object, no_text, json!({}), json!([])]
    {
        expect_fault(current.protocol_version(&message("tools/list", json!({ "_meta": invalid }))), 400, -32602);
    }
    expect_fault(current.protocol_version(&message("tools/list", json!({}))), 400, -32602);
}

#[test]
fn discover_is_a_current_request() {
    let discover = |params| message("server/discover", params);
    let current = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")]);
    assert_eq!(current.protocol_version(&discover(params(json!({})))).unwrap(), ProtocolVersion::Current);
    expect_fault(Headers::default().protocol_version(&discover(json!({}))), 400, -32602);
}

#[test]
fn headers_must_match_the_body() {
    let call = message("tools/call", params(json!({ "name": "workspace_list" })));
    let valid = call_headers("2026-07-28", "workspace_list");
    assert_eq!(valid.protocol_version(&call).unwrap(), ProtocolVersion::Current);
    let other = Some("other".to_owned());
    for invalid in [
        Headers { version: None, ..valid.clone() },
        Headers { version: Some("2025-11-25".to_owned()), ..valid.clone() },
        Headers { method: None, ..valid.clone() },
        Headers { method: other.clone(), ..valid.clone() },
        Headers { method: Some("Tools/Call".to_owned()), ..valid.clone() },
        Headers { name: None, ..valid.clone() },
        Headers { name: other, ..valid },
    ] {
        expect_fault(invalid.protocol_version(&call), 400, -32020);
    }
}

#[test]
fn name_header_is_required_for_calls_only() {
    let current = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    assert_eq!(
        current.protocol_version(&message("tools/list", params(json!({ "name": "a" })))).unwrap(),
        ProtocolVersion::Current
    );
}

#[test]
fn whitespace_around_header_values_is_ignored() {
    let call = message("tools/call", params(json!({ "name": "workspace_list" })));
    assert_eq!(
        call_headers(" 2026-07-28\t", "  workspace_list ").protocol_version(&call).unwrap(),
        ProtocolVersion::Current
    );
}

#[test]
fn base64_header_values_are_decoded() {
    let call = message("tools/call", params(json!({ "name": "häuser" })));
    assert_eq!(
        call_headers("2026-07-28", "=?base64?aMOkdXNlcg==?=").protocol_version(&call).unwrap(),
        ProtocolVersion::Current
    );
    for invalid in ["=?base64?aMOkdXNlcg?=", "=?base64?/w==?=", "=?base64?aMOkdXNlcg==", "h?user"] {
        expect_fault(call_headers("2026-07-28", invalid).protocol_version(&call), 400, -32020);
    }
}

#[test]
fn content_type_and_accept_must_allow_json() {
    let json = ("Content-Type", "application/json");
    for valid in [
        headers(&[json, ("Accept", "application/json, text/event-stream")]),
        headers(&[json, ("Accept", "text/event-stream;q=0.5, application/json;q=0.9")]),
        headers(&[json, ("Accept", "application/*")]),
        headers(&[json, ("Accept", "*/*")]),
        headers(&[json]),
        headers(&[("Content-Type", "Application/JSON; charset=utf-8")]),
    ] {
        assert_eq!(valid.check_media_types(), Ok(()));
    }
    for invalid in [headers(&[]), headers(&[("Content-Type", "text/plain")]), headers(&[("Content-Type", "")])] {
        expect_fault(invalid.check_media_types(), 415, -32600);
    }
    for accept in ["text/event-stream", "text/html", "application/jsonl", ""] {
        expect_fault(headers(&[json, ("Accept", accept)]).check_media_types(), 406, -32600);
    }
}

#[test]
fn current_result_has_its_type_and_the_server_info() {
    let result =
        ProtocolVersion::Current.complete_result("tools/call", json!({ "content": [], "_meta": { "mine": 1 } }));
    assert_eq!((&result["resultType"], &result["_meta"]["mine"]), (&json!("complete"), &json!(1)));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], json!("sandbox-snapshotter"));
    assert_eq!(result.get("ttlMs"), None);
}

#[test]
fn unchanging_results_are_cacheable() {
    for method in ["tools/list", "server/discover"] {
        let result = ProtocolVersion::Current.complete_result(method, json!({ "tools": [] }));
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("private")), "{method}");
    }
}

#[test]
fn legacy_result_is_unchanged() {
    let result = json!({ "tools": [] });
    assert_eq!(ProtocolVersion::Legacy.complete_result("tools/list", result.clone()), result);
}

#[test]
fn legacy_fault_has_status_200() {
    let not_found = Fault::new(404, -32601, "There is no such method.");
    assert_eq!(ProtocolVersion::Legacy.with_status(not_found.clone()), Fault { status: 200, ..not_found.clone() });
    assert_eq!(ProtocolVersion::Current.with_status(not_found.clone()), not_found);
}
