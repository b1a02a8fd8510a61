//! The headers that go with a message, in both eras of the protocol.

use sandbox_snapshotter::api::mcp::{Era, Fault, Frame, Headers, Message};
use serde_json::{Value, json};

use super::support::with;

fn message(method: &str, params: Value) -> Message {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
    let body = with(request, Value::from_iter([("params", params)]));
    Frame::parse(body.to_string().as_bytes()).unwrap()
}

/// The `_meta` that a request of 2026-07-28 has.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn params(further: Value) -> Value {
    with(json!({ "_meta": meta() }), further)
}

/// Headers, by their names.
fn headers(given: &[(&str, &str)]) -> Headers {
    Headers::read(|name| {
        let found = given.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn version(version: &str) -> Headers {
    headers(&[("MCP-Protocol-Version", version)])
}

/// The headers that go with a call of the tool.
fn of_call(version: &str, name: &str) -> Headers {
    headers(&[("MCP-Protocol-Version", version), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)])
}

#[track_caller]
fn fault<T: std::fmt::Debug>(outcome: Result<T, Fault>, status: u16, code: i32) -> Fault {
    let fault = outcome.expect_err("it should be refused");
    assert_eq!((fault.status, fault.code), (status, code), "{}", fault.message);
    fault
}

#[test]
fn a_request_without_a_version_is_of_the_era_before() {
    for headers in [Headers::default(), version("2025-11-25"), version(" 2025-06-18 "), version("2024-11-05")] {
        assert_eq!(headers.era(&message("tools/list", json!({}))).unwrap(), Era::Before);
    }
}

#[test]
fn a_request_that_says_its_version_is_of_the_era_now() {
    let list = message("tools/list", params(json!({})));
    let headers = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    assert_eq!(headers.era(&list).unwrap(), Era::Now);
}

#[test]
fn what_wants_no_answer_needs_no_headers() {
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let notification = Frame::parse(body.as_bytes()).unwrap();
    assert!(version("1999-01-01").era(&notification).is_ok());
}

#[test]
fn a_version_that_is_not_spoken_is_refused_with_those_that_are() {
    let elsewhere = with(meta(), json!({ "io.modelcontextprotocol/protocolVersion": "2027-01-01" }));
    for (headers, params) in [
        (version("1999-01-01"), json!({})),
        (version("2027-01-01"), json!({ "_meta": elsewhere })),
        (Headers::default(), json!({ "_meta": elsewhere })),
    ] {
        let refused = fault(headers.era(&message("tools/list", params)), 400, -32022);
        let data = refused.data.unwrap();
        let supported = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
        assert_eq!(data["supported"], supported);
        assert!(refused.message.contains(data["requested"].as_str().unwrap()));
    }
}

#[test]
fn a_version_with_a_handshake_is_not_said_in_each_request() {
    let before = with(meta(), json!({ "io.modelcontextprotocol/protocolVersion": "2025-11-25" }));
    let list = message("tools/list", json!({ "_meta": before }));
    fault(version("2025-11-25").era(&list), 400, -32022);
}

#[test]
fn a_request_says_its_version_and_what_the_client_can() {
    let now = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    let without = |member: &str| {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{member}"));
        meta
    };
    let no_object = with(meta(), json!({ "io.modelcontextprotocol/clientCapabilities": true }));
    let no_text = with(meta(), json!({ "io.modelcontextprotocol/protocolVersion": 20_260_728 }));
    for wrong in [without("protocolVersion"), without("clientCapabilities"), no_object, no_text, json!({}), json!([])] {
        fault(now.era(&message("tools/list", json!({ "_meta": wrong }))), 400, -32602);
    }
    fault(now.era(&message("tools/list", json!({}))), 400, -32602);
}

#[test]
fn who_asks_what_the_server_is_is_of_the_era_now() {
    let discover = |params| message("server/discover", params);
    let now = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")]);
    assert_eq!(now.era(&discover(params(json!({})))).unwrap(), Era::Now);
    fault(Headers::default().era(&discover(json!({}))), 400, -32602);
}

#[test]
fn headers_say_what_the_body_does() {
    let call = message("tools/call", params(json!({ "name": "workspace_list" })));
    let right = of_call("2026-07-28", "workspace_list");
    assert_eq!(right.era(&call).unwrap(), Era::Now);
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
        fault(wrong.era(&call), 400, -32020);
    }
}

#[test]
fn only_a_call_has_a_name() {
    let now = headers(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    assert_eq!(now.era(&message("tools/list", params(json!({ "name": "a" })))).unwrap(), Era::Now);
}

#[test]
fn blanks_around_a_headers_value_make_no_difference() {
    let call = message("tools/call", params(json!({ "name": "workspace_list" })));
    assert_eq!(of_call(" 2026-07-28\t", "  workspace_list ").era(&call).unwrap(), Era::Now);
}

#[test]
fn what_can_not_be_in_a_header_is_in_it_as_base64() {
    let call = message("tools/call", params(json!({ "name": "häuser" })));
    assert_eq!(of_call("2026-07-28", "=?base64?aMOkdXNlcg==?=").era(&call).unwrap(), Era::Now);
    for wrong in ["=?base64?aMOkdXNlcg?=", "=?base64?/w==?=", "=?base64?aMOkdXNlcg==", "h?user"] {
        fault(of_call("2026-07-28", wrong).era(&call), 400, -32020);
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
        fault(wrong.check_media_types(), 415, -32600);
    }
    for accept in ["text/event-stream", "text/html", "application/jsonl", ""] {
        fault(headers(&[json, ("Accept", accept)]).check_media_types(), 406, -32600);
    }
}

#[test]
fn a_result_of_the_era_now_says_that_it_is_whole_and_whose() {
    let result = Era::Now.complete("tools/call", json!({ "content": [], "_meta": { "mine": 1 } }));
    assert_eq!((&result["resultType"], &result["_meta"]["mine"]), (&json!("complete"), &json!(1)));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], json!("sandbox-snapshotter"));
    assert_eq!(result.get("ttlMs"), None);
}

#[test]
fn what_does_not_change_may_be_kept_by_who_asked() {
    for method in ["tools/list", "server/discover"] {
        let result = Era::Now.complete(method, json!({ "tools": [] }));
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("private")), "{method}");
    }
}

#[test]
fn a_result_of_the_era_before_is_as_it_is() {
    let result = json!({ "tools": [] });
    assert_eq!(Era::Before.complete("tools/list", result.clone()), result);
}

#[test]
fn a_request_of_the_era_before_that_fails_was_understood() {
    let not_found = Fault::new(404, -32601, "There is no such method.");
    assert_eq!(Era::Before.fault(not_found.clone()), Fault { status: 200, ..not_found.clone() });
    assert_eq!(Era::Now.fault(not_found.clone()), not_found);
}
