//! Errors about requests over HTTP, MCP and RPC, before their operation is known.

use std::fmt::Display;

use crate::model::ids::quoted;
use crate::model::operation::Operation;
use crate::model::similar::most_similar;
use crate::model::{Code, Error};

impl Error {
    /// [`Code::RouteNotFound`], for a path without a route.
    pub fn route_not_found(path: &str) -> Self {
        let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
        let similar = path.strip_prefix("/v1/").and_then(|name| similar_operation(name.trim_end_matches('/'), &names));
        let remediation = match similar {
            Some("workspaces/update") => {
                "Did you mean POST /v1/workspaces/update? With a `currentSnapshotId`, it goes back to that \
                                          snapshot. GET /docs lists all operations."
                    .to_owned()
            }
            Some(similar) => format!("Did you mean POST /v1/{similar}? GET /docs lists all operations."),
            None => {
                "Use POST /v1/<operation>; POST /mcp; or GET /, /docs, /openapi.json or /healthz. GET /docs lists all \
                     operations."
                    .to_owned()
            }
        };
        Self::new(Code::RouteNotFound, format!("There is no route {}.", quoted(path)), remediation)
    }

    /// [`Code::MethodNotAllowed`], for a route that supports only the method `allowed`.
    pub fn method_not_allowed(path: &str, method: &str, allowed: &str) -> Self {
        let with = if allowed == "POST" { ", with the options as a JSON body" } else { "" };
        Self::new(
            Code::MethodNotAllowed,
            format!("{path} does not accept {method}."),
            format!("Use {allowed} {path}{with}."),
        )
    }

    /// [`Code::MethodNotAllowed`], for a request to `/mcp` with a method other than POST.
    pub fn mcp_method_not_allowed() -> Self {
        Self::new(Code::MethodNotAllowed, "/mcp accepts only POST.", "Send messages by POST.")
    }

    /// [`Code::UnsupportedMediaType`], for a body that is not JSON.
    pub fn unsupported_media_type(media_type: &str) -> Self {
        Self::new(
            Code::UnsupportedMediaType,
            format!("The Content-Type of the body must be application/json, got {}.", quoted(media_type)),
            "Send JSON, with the header `Content-Type: application/json`.",
        )
    }

    /// [`Code::PayloadTooLarge`], for arguments of more than `max_bytes`.
    pub fn arguments_too_large(max_bytes: usize) -> Self {
        Self::new(
            Code::PayloadTooLarge,
            format!("The arguments are larger than {max_bytes} bytes."),
            "Send only the operation's options. The content of a longer file is the body of `files/write`, with the `Content-Type` \
             `application/octet-stream` and the options in the query; the TypeScript client does that with bytes and streams.",
        )
    }

    /// [`Code::InvalidArgument`], for a body that cannot be read.
    pub fn body_unreadable(why: impl Display) -> Self {
        Self::invalid_argument(
            format!("The body cannot be read as JSON: {why}."),
            "Send one JSON object with the operation's options, such as `{}`.",
        )
    }

    /// [`Code::InvalidArgument`], for an empty body.
    pub fn body_empty() -> Self {
        Self::invalid_argument("The body is empty.", "Send one JSON object with the operation's options, such as `{}`.")
    }

    /// [`Code::InvalidArgument`], for arguments over RPC that JSON cannot represent.
    pub fn arguments_not_json(why: impl Display) -> Self {
        Self::invalid_argument(
            format!("The arguments cannot be written as JSON: {why}."),
            "Pass one object with the operation's options.",
        )
    }

    /// [`Code::InvalidArgument`], for a `signal` over RPC that is not an `AbortSignal`.
    pub fn signal_invalid() -> Self {
        Self::invalid_argument(
            "`signal` must be an AbortSignal.",
            "Pass an AbortSignal, or omit `signal`. Over RPC, both Workers need the compatibility flag enable_abortsignal_rpc.",
        )
    }

    /// [`Code::InvalidArgument`], for a URL of `/mcp` whose query does not select a toolset.
    pub fn toolset_query_invalid(message: impl Into<String>) -> Self {
        Self::invalid_argument(
            message,
            "Select the workspaces in the URL, such as /mcp?sandbox=agent-42 or /mcp?workspace=project, or use a token that \
             `tools/grant` returned.",
        )
    }

    /// [`Code::InvalidArgument`], for a URL of `/mcp` with a query, although the token selects the toolset.
    pub fn toolset_selected_twice() -> Self {
        Self::invalid_argument("Both the URL and the token select the tools", "Remove the query from the URL.")
    }

    /// The error of a message to `/mcp` that does not conform to the protocol. The HTTP status decides its code.
    pub fn mcp_message_refused(status: u16, message: &str) -> Self {
        let code = match status {
            403 => Code::Unauthorized,
            406 | 415 => Code::UnsupportedMediaType,
            413 => Code::PayloadTooLarge,
            _ => Code::InvalidArgument,
        };
        Self::new(code, message, "Send a message that conforms to the protocol.")
    }
}

/// Returns the operation that a path may mean: of a group alone, its list; of a known group, the similar one there.
fn similar_operation<'a>(path: &str, names: &[&'a str]) -> Option<&'a str> {
    let of_group = |group: &str| {
        let prefix = format!("{group}/");
        names.iter().copied().filter_map(move |name| Some((name, name.strip_prefix(&prefix)?.to_owned())))
    };
    if let Some((list, _)) = of_group(path).find(|(_, operation)| operation == "list") {
        return Some(list);
    }
    match path.split_once('/') {
        None if matches!(path, "rollback" | "revert" | "undo") => Some("workspaces/update"),
        // The operations on snapshots have no group.
        Some(("snapshots", operation)) => {
            let operation = if operation == "create" { "snapshot" } else { operation };
            names.iter().copied().find(|name| *name == operation).or_else(|| most_similar(path, names.iter().copied()))
        }
        Some((group, operation)) if of_group(group).next().is_some() => {
            let operation = match operation {
                "get" | "show" | "describe" => "getByName",
                // With `currentSnapshotId`.
                "rollback" | "revert" | "undo" | "restore" if group == "workspaces" => "update",
                operation => operation,
            };
            let operations: Vec<_> = of_group(group).collect();
            let longer = || operations.iter().find(|(_, known)| known.starts_with(operation) && !operation.is_empty());
            let similar = most_similar(operation, operations.iter().map(|(_, known)| known.as_str()));
            let found = similar.and_then(|similar| operations.iter().find(|(_, known)| known == similar));
            found.or_else(longer).map(|(name, _)| *name)
        }
        _ => most_similar(path, names.iter().copied()),
    }
}
