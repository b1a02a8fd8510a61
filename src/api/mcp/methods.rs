//! The methods of the protocol, and their results.

use serde_json::{Map, Value, json};

use super::json_rpc::{Fault, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use super::protocol_version::{CURRENT_VERSION, DISCOVER, LEGACY_VERSIONS, ProtocolVersion, TOOLS_CALL, server_info};
use crate::api::operations::Operation;
use crate::model::ids::quoted;
use crate::model::{Code, Error};

/// The instructions for a model, which it reads before the definitions of the tools.
const INSTRUCTIONS: &str = "These tools save and restore the files of workspaces. A snapshot is durable: restoring it creates \
    a new workspace, and does not change the present one. A checkpoint is a fast restore point within one workspace, and is \
    lost with that workspace.";

/// The action for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodAction {
    /// Respond with this result.
    Answer(Value),
    /// Run an operation, and respond with its answer.
    Operation(Operation, Value),
}

/// Returns the action for a request. `toolset` contains the arguments that select the tools.
///
/// # Errors
/// [`METHOD_NOT_FOUND`] for an unknown method, and [`INVALID_PARAMS`].
pub fn resolve_method(
    version: ProtocolVersion,
    method: &str,
    params: &Map<String, Value>,
    toolset: &Value,
) -> Result<MethodAction, Fault> {
    let with = |further: Value| {
        let mut arguments = toolset.clone();
        if let (Value::Object(arguments), Value::Object(further)) = (&mut arguments, further) {
            arguments.extend(further);
        }
        arguments
    };
    match (version, method) {
        (ProtocolVersion::Legacy, "initialize") => Ok(MethodAction::Answer(initialize(params))),
        (ProtocolVersion::Legacy, "ping") => Ok(MethodAction::Answer(json!({}))),
        (ProtocolVersion::Current, DISCOVER) => Ok(MethodAction::Answer(discover())),
        (_, "tools/list") => match params.get("cursor") {
            None | Some(Value::Null) => Ok(MethodAction::Operation(Operation::ListTools, with(json!({})))),
            Some(_) => {
                Err(Fault::new(400, INVALID_PARAMS, "`cursor` is not supported: the list of tools has one page."))
            }
        },
        (_, TOOLS_CALL) => {
            let name = params.get("name").and_then(Value::as_str);
            let name =
                name.ok_or_else(|| Fault::new(400, INVALID_PARAMS, "`name`, the name of a tool, is missing."))?;
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            Ok(MethodAction::Operation(Operation::CallTool, with(json!({ "name": name, "arguments": arguments }))))
        }
        _ => Err(Fault::new(404, METHOD_NOT_FOUND, format!("There is no method {}.", quoted(method)))),
    }
}

/// Returns the fault for an operation that failed.
pub(super) fn operation_fault(error: &Error, correlation_id: &str) -> Fault {
    let (status, code) = match error.code() {
        Code::ToolNotFound | Code::InvalidArgument => (400, INVALID_PARAMS),
        _ => (200, INTERNAL_ERROR),
    };
    let mut fault = Fault::new(status, code, error.to_text());
    fault.data = Some(json!(error.body(correlation_id)));
    fault
}

/// Returns the result of the handshake, with the client's version if it is supported, and otherwise the newest version
/// with a handshake.
fn initialize(params: &Map<String, Value>) -> Value {
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let [newest, ..] = LEGACY_VERSIONS;
    let version = requested.filter(|version| LEGACY_VERSIONS.contains(version)).unwrap_or(newest);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}

fn discover() -> Value {
    let versions: Vec<&str> = std::iter::once(CURRENT_VERSION).chain(LEGACY_VERSIONS).collect();
    json!({
        "supportedVersions": versions,
        "capabilities": { "tools": {} },
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    })
}
