//! The headers that a message requires, which depend on the version of the protocol.

use base64ct::{Base64, Encoding};
use serde_json::{Map, Value, json};

use super::json_rpc::{Fault, HEADER_MISMATCH, INVALID_PARAMS, Message, UNSUPPORTED_VERSION};
use crate::model::ids::quoted;

/// The versions that begin with a handshake, newest first.
pub(super) const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version in which each request contains what it needs.
pub(super) const CURRENT_VERSION: &str = "2026-07-28";

/// The method that calls a tool.
pub(super) const TOOLS_CALL: &str = "tools/call";

/// The method that returns the description of the server (2026-07-28).
pub(super) const DISCOVER: &str = "server/discover";

/// The headers that a web page must be permitted to send.
pub(super) const REQUEST_HEADERS: &str =
    "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID";

/// The members of a request's `_meta`.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The rules that apply to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolVersion {
    /// The rules of the versions up to 2025-11-25.
    Legacy,
    /// The rules of version 2026-07-28.
    Current,
}

/// The headers of a request that the protocol uses.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// `Accept`
    pub accept: Option<String>,
    /// `Content-Type`
    pub content_type: Option<String>,
    /// `MCP-Protocol-Version`
    pub version: Option<String>,
    /// `Mcp-Method`
    pub method: Option<String>,
    /// `Mcp-Name`
    pub name: Option<String>,
}

impl Headers {
    /// Reads the headers with the function `header`.
    pub fn read(header: impl Fn(&str) -> Option<String>) -> Self {
        let trimmed = |name| header(name).map(|value| value.trim().to_owned());
        Self {
            accept: header("Accept"),
            content_type: header("Content-Type"),
            version: trimmed("MCP-Protocol-Version"),
            method: trimmed("Mcp-Method"),
            name: trimmed("Mcp-Name"),
        }
    }

    /// Verifies that the caller sends JSON and accepts JSON.
    ///
    /// # Errors
    /// Status 415 when the body is not JSON, and 406 when the caller does not accept JSON.
    pub fn check_media_types(&self) -> Result<(), Fault> {
        let is_json = |range: &str| {
            let media_type = range.split(';').next().unwrap_or_default().trim();
            media_type.eq_ignore_ascii_case("application/json")
        };
        let accepts_json = |range: &str| {
            let media_type = range.split(';').next().unwrap_or_default().trim();
            is_json(range) || matches!(media_type, "*/*" | "application/*")
        };
        if !self.content_type.as_deref().is_some_and(is_json) {
            return Err(Fault::new(415, super::json_rpc::INVALID_REQUEST, "Send the message as application/json."));
        }
        if !self.accept.as_deref().unwrap_or("*/*").split(',').any(accepts_json) {
            let message = "`Accept` must include application/json, in addition to text/event-stream.";
            return Err(Fault::new(406, super::json_rpc::INVALID_REQUEST, message));
        }
        Ok(())
    }

    /// Returns the protocol version of a message, after verifying that its headers match.
    ///
    /// # Errors
    /// [`UNSUPPORTED_VERSION`], [`HEADER_MISMATCH`] and [`INVALID_PARAMS`], each with the status 400.
    pub fn protocol_version(&self, message: &Message) -> Result<ProtocolVersion, Fault> {
        let Message::Request { method, params, .. } = message else { return Ok(ProtocolVersion::Legacy) };
        let meta = params.get("_meta").and_then(Value::as_object);
        let in_body = meta.and_then(|meta| meta.get(META_VERSION));
        let header = self.version.as_deref();
        let is_legacy = in_body.is_none() && header.is_none_or(|version| LEGACY_VERSIONS.contains(&version));
        if is_legacy && method != DISCOVER {
            return Ok(ProtocolVersion::Legacy);
        }
        if let (Some(_), Some(version)) = (header, in_body.and_then(Value::as_str)) {
            check_header("MCP-Protocol-Version", header, version)?;
        }
        let requested = in_body.and_then(Value::as_str).or(header);
        if let Some(requested) = requested.filter(|requested| *requested != CURRENT_VERSION) {
            return Err(unsupported(requested));
        }
        self.check_body_matches(method, params, meta)?;
        Ok(ProtocolVersion::Current)
    }

    /// Verifies that the headers match the body.
    fn check_body_matches(
        &self,
        method: &str,
        params: &Map<String, Value>,
        meta: Option<&Map<String, Value>>,
    ) -> Result<(), Fault> {
        let incomplete =
            |member: &str| Fault::new(400, INVALID_PARAMS, format!("`params._meta` must contain a valid {member:?}."));
        let version = meta.and_then(|meta| meta.get(META_VERSION)).and_then(Value::as_str);
        let version = version.ok_or_else(|| incomplete(META_VERSION))?;
        let capabilities = meta.and_then(|meta| meta.get(META_CAPABILITIES));
        capabilities.filter(|value| value.is_object()).ok_or_else(|| incomplete(META_CAPABILITIES))?;
        check_header("MCP-Protocol-Version", self.version.as_deref(), version)?;
        check_header("Mcp-Method", self.method.as_deref(), method)?;
        match params.get("name").and_then(Value::as_str).filter(|_| method == TOOLS_CALL) {
            Some(name) => check_header("Mcp-Name", self.name.as_deref(), name),
            None => Ok(()),
        }
    }
}

impl ProtocolVersion {
    /// Completes a result with the members that the version requires.
    pub fn complete_result(self, method: &str, mut result: Value) -> Value {
        if let (Self::Current, Value::Object(members)) = (self, &mut result) {
            members.insert("resultType".to_owned(), "complete".into());
            if method != TOOLS_CALL {
                // The result depends on the token only, and does not change.
                members.insert("ttlMs".to_owned(), 3_600_000.into());
                members.insert("cacheScope".to_owned(), "private".into());
            }
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), server_info());
            }
        }
        result
    }

    /// Sets the HTTP status that the version requires: up to 2025-11-25, a well-formed request gets the status 200.
    pub fn with_status(self, fault: Fault) -> Fault {
        match self {
            Self::Legacy => Fault { status: 200, ..fault },
            Self::Current => fault,
        }
    }
}

/// Returns the name and the version of this server.
pub(super) fn server_info() -> Value {
    json!({
        "name": env!("CARGO_PKG_NAME"),
        "title": "Snapshots of Cloudflare Sandboxes",
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// Returns the supported versions of the protocol, newest first.
pub fn versions() -> Vec<&'static str> {
    std::iter::once(CURRENT_VERSION).chain(LEGACY_VERSIONS).collect()
}

fn unsupported(version: &str) -> Fault {
    let supported = versions();
    let mut fault =
        Fault::new(400, UNSUPPORTED_VERSION, format!("The protocol version {} is not supported.", quoted(version)));
    fault.data = Some(json!({ "supported": supported, "requested": version }));
    fault
}

fn check_header(name: &str, header: Option<&str>, body: &str) -> Result<(), Fault> {
    if header.map(decode_header).as_deref() == Some(body) {
        return Ok(());
    }
    let header = header.map_or_else(|| "is missing".to_owned(), |header| format!("is {}", quoted(header)));
    Err(Fault::new(
        400,
        HEADER_MISMATCH,
        format!("The header {name} {header}, and the body contains {}.", quoted(body)),
    ))
}

/// Decodes the value of a header. Text that a header cannot contain is encoded as `=?base64?…?=`.
fn decode_header(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    let text = encoded.and_then(|encoded| String::from_utf8(Base64::decode_vec(encoded).ok()?).ok());
    text.unwrap_or_else(|| value.to_owned())
}
