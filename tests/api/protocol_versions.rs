//! The headers that go with a message, in both eras of the protocol.

use sandbox_snapshotter::api::mcp::{Fault, Headers, JsonRpc, Message, ProtocolVersion};
use serde_json::{Value, json};

use super::support::extended;

fn message(method: &str, params: Value) -> Message {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let body = extended(request, Value::from_iter([("params", params)]));
    JsonRpc::parse(body.to_string().as_bytes()).unwrap()
}

/// The `_meta` that a request of 2026-07-28 has.
fn request_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn params(further: Value) -> Value {
    extended(json!({ "_meta": request_meta() }), further)
}

/// Headers, by their names.
fn headers(given: &[(&str, &str)]) -> Headers {
    Headers::read(|name| {
        let found = given.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn version_header(version: &str) -> Headers {
    headers(&[("MCP-Protocol-Version", version)])
}

/// The headers that go with a call of the tool.
fn call_headers(version: &str, name: &str) -> Headers {
    headers(&[("MCP-Protocol-Version", version), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)])
}

#[track_caller]
fn expect_fault<T: std::fmt::Debug>(outcome: Result<T, Fault>, status: u16, code: i32) -> Fault {
    let fault = outcome.expect_err("it should be refused");
    assert_eq!((fault.status, fault.code), (status, code), "{}", fault.message);
    fault
}

#[test]
fn a_request_without_a_version_is_of_the_era_before() {
    for headers in
        [Headers::default(), version_header("2025-11-25"), version_header(" 2025-06-18 "), version_header("2024-11-05")]
    {
        assert_eq!(headers.protocol_version(&message("tools/list", json!({}))).unwrap(), ProtocolVersion::Legacy);
    }
}

#[test]
fn a_request_that_says_its_version_is_of_the_era_now() {
    let list = message("tools/list", params(json!({})));
    let headers = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    assert_eq!(headers.protocol_version(&list).unwrap(), ProtocolVersion::Current);
}

#[test]
fn what_wants_no_answer_needs_no_headers() {
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let notification = JsonRpc::parse(body.as_bytes()).unwrap();
    assert!(version_header("1999-01-01").protocol_version(&notification).is_ok());
}

#[test]
fn a_version_that_is_not_spoken_is_refused_with_those_that_are() {
    let elsewhere = extended(request_meta(), json!({ "io.modelcontextprotocol/protocolVersion": "2027-01-01" }));
    for (headers, params) in [
        (version_header("1999-01-01"), json!({})),
        (version_header("2027-01-01"), json!({ "_meta": elsewhere })),
        (Headers::default(), json!({ "_meta": elsewhere })),
    ] {
        let refused = expect_fault(headers.protocol_version(&message("tools/list", params)), 400, -32022);
        let data = refused.data.unwrap();
        let supported = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
        assert_eq!(data["supported"], supported);
        assert!(refused.message.contains(data["requested"].as_str().unwrap()));
    }
}

#[test]
fn a_version_with_a_handshake_is_not_said_in_each_request() {
    let before = extended(request_meta(), json!({ "io.modelcontextprotocol/protocolVersion": "2025-11-25" }));
    let list = message("tools/list", json!({ "_meta": before }));
    expect_fault(version_header("2025-11-25").protocol_version(&list), 400, -32022);
}

#[test]
fn a_request_says_its_version_and_what_the_client_can() {
    let now = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    let without = |member: &str| {
        let mut meta = request_meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{member}"));
        meta
    };
    let no_object = extended(request_meta(), json!({ "io.modelcontextprotocol/clientCapabilities": true }));
    let no_text = extended(request_meta(), json!({ "io.modelcontextprotocol/protocolVersion": 20_260_728 }));
    for wrong in [without("protocolVersion"), without("clientCapabilities"), no_object, no_text, json!({}), json!([])] {
        expect_fault(now.protocol_version(&message("tools/list", json!({ "_meta": wrong }))), 400, -32602);
    }
    expect_fault(now.protocol_version(&message("tools/list", json!({}))), 400, -32602);
}

#[test]
fn who_asks_what_the_server_is_is_of_the_era_now() {
    let discover = |params| message("server/discover", params);
    let now = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")]);
    assert_eq!(now.protocol_version(&discover(params(json!({})))).unwrap(), ProtocolVersion::Current);
    expect_fault(Headers::default().protocol_version(&discover(json!({}))), 400, -32602);
}

#[test]
fn headers_say_what_the_body_does() {
    let call = message("tools/call", params(json!({ "name": "workspace_list" })));
    let right = call_headers("2026-07-28", "workspace_list");
    assert_eq!(right.protocol_version(&call).unwrap(), ProtocolVersion::Current);
    let other = Some("other".to_owned());
    for wrong in [
        Headers { version: None, ..right.clone() },
        Headers { version: Some("2025-11-25".to_owned()), ..right.clone() },
        Headers { method: None, ..right.clone() },
        Headers { method: other.clone(), ..right.clone() },
        Headers { method: Some("Tools/Call".to_owned()), ..right.clone() },
        Headers { name: None, ..right.clone() },
        Headers { name: other, ..right },
    ] {
        expect_fault(wrong.protocol_version(&call), 400, -32020);
    }
}

#[test]
fn only_a_call_has_a_name() {
    let now = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    assert_eq!(
        now.protocol_version(&message("tools/list", params(json!({ "name": "a" })))).unwrap(),
        ProtocolVersion::Current
    );
}

#[test]
fn blanks_around_a_headers_value_make_no_difference() {
    let call = message("tools/call", params(json!({ "name": "workspace_list" })));
    assert_eq!(
        call_headers(" 2026-07-28\t", "  workspace_list ").protocol_version(&call).unwrap(),
        ProtocolVersion::Current
    );
}

#[test]
fn what_can_not_be_in_a_header_is_in_it_as_base64() {
    let call = message("tools/call", params(json!({ "name": "häuser" })));
    assert_eq!(
        call_headers("2026-07-28", "=?base64?aMOkdXNlcg==?=").protocol_version(&call).unwrap(),
        ProtocolVersion::Current
    );
    for wrong in ["=?base64?aMOkdXNlcg?=", "=?base64?/w==?=", "=?base64?aMOkdXNlcg==", "h?user"] {
        expect_fault(call_headers("2026-07-28", wrong).protocol_version(&call), 400, -32020);
    }
}

#[test]
fn messages_are_json_and_so_are_answers() {
    let json = ("Content-Type", "application/json");
    for right in [
        headers(&[json, ("Accept", "application/json, text/event-stream")]),
        headers(&[json, ("Accept", "text/event-stream;q=0.5, application/json;q=0.9")]),
        headers(&[json, ("Accept", "application/*")]),
        headers(&[json, ("Accept", "*/*")]),
        headers(&[json]),
        headers(&[("Content-Type", "Application/JSON; charset=utf-8")]),
    ] {
        assert_eq!(right.check_media_types(), Ok(()));
    }
    for wrong in [headers(&[]), headers(&[("Content-Type", "text/plain")]), headers(&[("Content-Type", "")])] {
        expect_fault(wrong.check_media_types(), 415, -32600);
    }
    for accept in ["text/event-stream", "text/html", "application/jsonl", ""] {
        expect_fault(headers(&[json, ("Accept", accept)]).check_media_types(), 406, -32600);
    }
}

#[test]
fn a_result_of_the_era_now_says_that_it_is_whole_and_whose() {
    let result =
        ProtocolVersion::Current.complete_result("tools/call", json!({ "content": [], "_meta": { "mine": 1 } }));
    assert_eq!((&result["resultType"], &result["_meta"]["mine"]), (&json!("complete"), &json!(1)));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], json!("sandbox-snapshotter"));
    assert_eq!(result.get("ttlMs"), None);
}

#[test]
fn what_does_not_change_may_be_kept_by_who_asked() {
    for method in ["tools/list", "server/discover"] {
        let result = ProtocolVersion::Current.complete_result(method, json!({ "tools": [] }));
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("private")), "{method}");
    }
}

#[test]
fn a_result_of_the_era_before_is_as_it_is() {
    let result = json!({ "tools": [] });
    assert_eq!(ProtocolVersion::Legacy.complete_result("tools/list", result.clone()), result);
}

#[test]
fn a_request_of_the_era_before_that_fails_was_understood() {
    let not_found = Fault::new(404, -32601, "There is no such method.");
    assert_eq!(ProtocolVersion::Legacy.with_status(not_found.clone()), Fault { status: 200, ..not_found.clone() });
    assert_eq!(ProtocolVersion::Current.with_status(not_found.clone()), not_found);
}
