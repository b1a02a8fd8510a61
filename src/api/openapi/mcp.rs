//! The route for language models.

use serde_json::{Map, Value, json};

use super::headers::CONTENT_TYPE_OPTIONS;
use super::{headers, problems};
use crate::api::mcp::versions;

/// The statuses of refusals, and their conditions.
const REFUSALS: [(u16, &str); 9] = [
    (
        400,
        "It is no message of JSON-RPC 2.0, is of a version that is not spoken here, or has other parameters than its method.",
    ),
    (401, "The token is absent or wrong, or has expired."),
    (403, "Web pages of this origin may not use it: see the var ALLOWED_ORIGINS."),
    (404, "There is no such method."),
    (406, "The caller does not accept `application/json`."),
    (413, "The message is larger than any has to be."),
    (415, "The message is not sent as `application/json`."),
    (500, "The deployment is not configured as it has to be, or has a defect."),
    (503, "It is closed, because no API_TOKEN is configured."),
];

/// Returns the path.
pub fn paths() -> Map<String, Value> {
    let mut responses = Map::from_iter([
        ("200".to_owned(), answer(200, "The result of the request, or its error.", &example_result())),
        (
            "202".to_owned(),
            json!({ "description": "It was a notification, and is taken.", "headers": headers::references([CONTENT_TYPE_OPTIONS]) }),
        ),
        (
            "405".to_owned(),
            json!({
                "description": "Only POST is taken: no stream is kept open.",
                "headers": headers::references(["X-Correlation-Id", CONTENT_TYPE_OPTIONS].into_iter().chain(headers::status_header(405))),
            }),
        ),
    ]);
    responses.extend(
        REFUSALS.map(|(status, condition)| (status.to_string(), answer(status, condition, &example_refusal(status)))),
    );
    responses.sort_keys();
    let route = json!({
        "operationId": "mcp",
        "tags": ["tools"],
        "summary": "The tools over the Model Context Protocol, by Streamable HTTP",
        "description": "One message of JSON-RPC 2.0 at a time, of the versions up to 2025-11-25 or of 2026-07-28. Nothing is kept \
            between requests. A token of `tools/grant` says itself which tools there are, and the URL then has no query; with \
            the API_TOKEN, the URL says it.",
        "parameters": parameters(),
        "requestBody": {
            "required": true,
            "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/JsonRpcMessage" },
                "example": { "jsonrpc": "2.0", "id": 1, "method": "tools/list" },
            } },
        },
        "responses": responses,
    });
    Map::from_iter([("/mcp".to_owned(), json!({ "post": route }))])
}

/// Returns the schemas that only this route uses.
pub fn schemas() -> Map<String, Value> {
    let message = json!({
        "description": "A request, or a notification: that has no `id`.",
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0", "description": "The version of JSON-RPC." },
            "id": { "type": ["string", "integer"], "description": "What the answer is known by." },
            "method": { "type": "string", "description": "What is asked for, such as `tools/call`." },
            "params": { "type": "object", "description": "With what." },
        },
        "required": ["jsonrpc", "method"],
    });
    let answer = json!({
        "description": "The answer to a request: a result or an error.",
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0", "description": "The version of JSON-RPC." },
            "id": { "type": ["string", "integer", "null"], "description": "That of the request, where it could be read." },
            "result": { "type": "object", "description": "What was asked for, as the protocol has it." },
            "error": { "$ref": "#/components/schemas/JsonRpcError", "description": "Why there is none." },
        },
        "required": ["jsonrpc", "id"],
        "oneOf": [{ "required": ["result"] }, { "required": ["error"] }],
    });
    let error = json!({
        "description": "An error of JSON-RPC.",
        "type": "object",
        "properties": {
            "code": { "type": "integer", "description": "The code of JSON-RPC or of the protocol." },
            "message": { "type": "string", "description": "What happened, and what to do about it." },
            "data": { "type": "object", "description": "The error of the snapshotter, where it is one; its `correlationId` in any case." },
        },
        "required": ["code", "message"],
    });
    Map::from_iter(
        [("JsonRpcMessage", message), ("JsonRpcAnswer", answer), ("JsonRpcError", error)]
            .map(|(name, schema)| (name.to_owned(), schema)),
    )
}

fn parameters() -> Value {
    let query = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "query", "description": description, "schema": schema });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let text = || json!({ "type": "string" });
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "description": description, "schema": text() });
    json!([
        query("sandbox", "A sandbox that there are tools for; as often as there are sandboxes.", texts()),
        query("workspace", "A workspace that there are tools for, by its name; as often as there are.", texts()),
        query("tenant", "Whose these workspaces are.", text()),
        query("dir", "The directory of these sandboxes.", text()),
        query("style", "How the tools are called.", json!({ "type": "string", "enum": ["namespaced", "flat"] })),
        query("readOnly", "Whether there are only tools that change nothing.", json!({ "type": "boolean" })),
        json!({
            "name": "MCP-Protocol-Version",
            "in": "header",
            "description": "The version of the protocol.",
            "schema": { "type": "string", "enum": versions() },
        }),
        header("Mcp-Method", "The message's `method`, as version 2026-07-28 wants it."),
        header("Mcp-Name", "The tool's name, as version 2026-07-28 wants it."),
        header("Origin", "Which web page asks, where one does."),
    ])
}

fn answer(status: u16, description: &str, example: &Value) -> Value {
    // A successful response may come without an operation, and then has no log line.
    let correlation = (status != 200).then_some("X-Correlation-Id");
    let schema = json!({ "$ref": "#/components/schemas/JsonRpcAnswer" });
    json!({
        "description": description,
        "headers": headers::references(["Cache-Control", CONTENT_TYPE_OPTIONS].into_iter().chain(correlation).chain(headers::status_header(status))),
        "content": { "application/json": { "schema": schema, "example": example } },
    })
}

fn example_result() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } })
}

fn example_refusal(status: u16) -> Value {
    let (code, message) = match status {
        404 => (-32601, "There is no method \"resources/list\"."),
        400 => (-32700, "The body can't be read as JSON: EOF while parsing a value at line 1 column 0."),
        401 => (-32600, "The bearer token is wrong. Send the header `Authorization: Bearer <API_TOKEN>`."),
        403 => (-32600, "Web pages of this origin may not use this server."),
        406 => (-32600, "Answers are application/json: name it in `Accept`, beside text/event-stream."),
        413 => (-32600, "The message is larger than 65536 bytes."),
        415 => (-32600, "Send the message as application/json."),
        503 => (-32600, "The HTTP API is closed, because no API_TOKEN is configured."),
        _ => (-32600, "This Worker failed where it never should."),
    };
    let data = json!({ "correlationId": problems::CORRELATION_ID });
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message, "data": data } })
}
