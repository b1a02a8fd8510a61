//! What is asked for, and its answer.

use serde_json::{Map, Value, json};

use super::era::{BEFORE, Era, NOW};
use super::frame::{Fault, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::api::operations::Operation;
use crate::model::ids::quoted;
use crate::model::{Code, Error};

/// The method that calls a tool.
pub(super) const CALL: &str = "tools/call";

/// The method that asks what the server is (2026-07-28).
pub(super) const DISCOVER: &str = "server/discover";

/// What a model is told before it is told of the tools.
const INSTRUCTIONS: &str = "These tools save the files of workspaces, and bring them back. A snapshot is durable: restoring it \
    makes a new workspace, and changes nothing in the present one. A checkpoint is a quick point to return to within one \
    workspace, and is gone with it.";

/// What a request needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Nothing: this is its result.
    Answer(Value),
    /// An operation, whose answer is its result.
    Operation(Operation, Value),
}

/// What a request asks for. `toolset` are the arguments that say which tools there are.
///
/// # Errors
/// [`METHOD_NOT_FOUND`] and [`INVALID_PARAMS`].
pub fn asked(era: Era, method: &str, params: &Map<String, Value>, toolset: &Value) -> Result<Asked, Fault> {
    let with = |further: Value| {
        let mut arguments = toolset.clone();
        if let (Value::Object(arguments), Value::Object(further)) = (&mut arguments, further) {
            arguments.extend(further);
        }
        arguments
    };
    match (era, method) {
        (Era::Before, "initialize") => Ok(Asked::Answer(initialize(params))),
        (Era::Before, "ping") => Ok(Asked::Answer(json!({}))),
        (Era::Now, DISCOVER) => Ok(Asked::Answer(discover())),
        (_, "tools/list") => match params.get("cursor") {
            None | Some(Value::Null) => Ok(Asked::Operation(Operation::ListTools, with(json!({})))),
            Some(_) => Err(Fault::new(400, INVALID_PARAMS, "There is one page of tools, and no `cursor`.")),
        },
        (_, CALL) => {
            let name = params.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| Fault::new(400, INVALID_PARAMS, "`name`, that of a tool, is missing."))?;
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            Ok(Asked::Operation(Operation::CallTool, with(json!({ "name": name, "arguments": arguments }))))
        }
        _ => Err(Fault::new(404, METHOD_NOT_FOUND, format!("There is no method {}.", quoted(method)))),
    }
}

/// The fault of an operation that failed.
pub(super) fn fault(error: &Error, correlation_id: &str) -> Fault {
    let (status, code) = match error.code() {
        Code::ToolNotFound | Code::InvalidArgument => (400, INVALID_PARAMS),
        _ => (200, INTERNAL_ERROR),
    };
    let mut fault = Fault::new(status, code, format!("{}: {} {}", error.code(), error.message(), error.remediation()));
    fault.data = Some(json!(error.body(correlation_id)));
    fault
}

/// What this server is.
pub(super) fn server_info() -> Value {
    json!({
        "name": env!("CARGO_PKG_NAME"),
        "title": "Snapshots of Cloudflare Sandboxes",
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// The handshake: the client's version where it is spoken here, and else the newest that has one.
fn initialize(params: &Map<String, Value>) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let [newest, ..] = BEFORE;
    let version = asked.filter(|version| BEFORE.contains(version)).unwrap_or(newest);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

fn discover() -> Value {
    let versions: Vec<&str> = std::iter::once(NOW).chain(BEFORE).collect();
    json!({
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}
