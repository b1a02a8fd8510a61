//! The headers that have to go with a message, which depends on the era of the protocol.

use base64ct::{Base64, Encoding};
use serde_json::{Map, Value, json};

use super::frame::{Fault, HEADER_MISMATCH, INVALID_PARAMS, Message, UNSUPPORTED_VERSION};
use super::methods;
use crate::model::ids::quoted;

/// The versions that begin with a handshake, the newest first.
pub(super) const BEFORE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version in which each request says what it needs.
pub(super) const NOW: &str = "2026-07-28";

/// The headers that a web page has to be allowed to send.
pub(super) const REQUEST_HEADERS: &str =
    "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID";

/// The members of a request's `_meta`.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Which rules a message goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Those up to 2025-11-25.
    Before,
    /// Those of 2026-07-28.
    Now,
}

/// What the headers of a request say.
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
    /// Those that `header` has.
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

    /// Whether JSON is sent, and taken.
    ///
    /// # Errors
    /// The statuses 415 and 406.
    pub fn check_media_types(&self) -> Result<(), Fault> {
        let is_json = |range: &str| {
            let media_type = range.split(';').next().unwrap_or_default().trim();
            media_type.eq_ignore_ascii_case("application/json")
        };
        let fits = |range: &str| {
            let media_type = range.split(';').next().unwrap_or_default().trim();
            is_json(range) || matches!(media_type, "*/*" | "application/*")
        };
        if !self.content_type.as_deref().is_some_and(is_json) {
            return Err(Fault::new(415, super::frame::INVALID_REQUEST, "Send the message as application/json."));
        }
        if !self.accept.as_deref().unwrap_or("*/*").split(',').any(fits) {
            let message = "Answers are application/json: name it in `Accept`, beside text/event-stream.";
            return Err(Fault::new(406, super::frame::INVALID_REQUEST, message));
        }
        Ok(())
    }

    /// The era that a message is of, if its headers agree with it.
    ///
    /// # Errors
    /// [`UNSUPPORTED_VERSION`], [`HEADER_MISMATCH`] and [`INVALID_PARAMS`], each with the status 400.
    pub fn era(&self, message: &Message) -> Result<Era, Fault> {
        let Message::Request { method, params, .. } = message else { return Ok(Era::Before) };
        let meta = params.get("_meta").and_then(Value::as_object);
        let in_body = meta.and_then(|meta| meta.get(META_VERSION));
        let header = self.version.as_deref();
        let is_of_before = in_body.is_none() && header.is_none_or(|version| BEFORE.contains(&version));
        if is_of_before && method != methods::DISCOVER {
            return Ok(Era::Before);
        }
        if let (Some(_), Some(version)) = (header, in_body.and_then(Value::as_str)) {
            same("MCP-Protocol-Version", header, version)?;
        }
        let asked = in_body.and_then(Value::as_str).or(header);
        if let Some(asked) = asked.filter(|asked| *asked != NOW) {
            return Err(unsupported(asked));
        }
        self.agree(method, params, meta)?;
        Ok(Era::Now)
    }

    /// Whether the headers say what the body does.
    fn agree(&self, method: &str, params: &Map<String, Value>, meta: Option<&Map<String, Value>>) -> Result<(), Fault> {
        let incomplete = |member: &str| {
            Fault::new(400, INVALID_PARAMS, format!("The request's `params._meta` has no {member:?} of its form."))
        };
        let version = meta.and_then(|meta| meta.get(META_VERSION)).and_then(Value::as_str);
        let version = version.ok_or_else(|| incomplete(META_VERSION))?;
        let capabilities = meta.and_then(|meta| meta.get(META_CAPABILITIES));
        capabilities.filter(|value| value.is_object()).ok_or_else(|| incomplete(META_CAPABILITIES))?;
        same("MCP-Protocol-Version", self.version.as_deref(), version)?;
        same("Mcp-Method", self.method.as_deref(), method)?;
        match params.get("name").and_then(Value::as_str).filter(|_| method == methods::CALL) {
            Some(name) => same("Mcp-Name", self.name.as_deref(), name),
            None => Ok(()),
        }
    }
}

impl Era {
    /// A result as the era has it.
    pub fn complete(self, method: &str, mut result: Value) -> Value {
        if let (Self::Now, Value::Object(members)) = (self, &mut result) {
            members.insert("resultType".to_owned(), "complete".into());
            if method != methods::CALL {
                // What there is depends on the token, and on nothing that changes.
                members.insert("ttlMs".to_owned(), 3_600_000.into());
                members.insert("cacheScope".to_owned(), "private".into());
            }
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), methods::server_info());
            }
        }
        result
    }

    /// A fault as the era has it: up to 2025-11-25 a request that was understood is answered with the status 200.
    pub fn fault(self, fault: Fault) -> Fault {
        match self {
            Self::Before => Fault { status: 200, ..fault },
            Self::Now => fault,
        }
    }
}

/// The versions of the protocol that are spoken here, the newest first.
pub fn versions() -> Vec<&'static str> {
    std::iter::once(NOW).chain(BEFORE).collect()
}

fn unsupported(version: &str) -> Fault {
    let supported = versions();
    let mut fault = Fault::new(
        400,
        UNSUPPORTED_VERSION,
        format!("The version {} of the protocol is not spoken here.", quoted(version)),
    );
    fault.data = Some(json!({ "supported": supported, "requested": version }));
    fault
}

fn same(name: &str, header: Option<&str>, body: &str) -> Result<(), Fault> {
    if header.map(decoded).as_deref() == Some(body) {
        return Ok(());
    }
    let header = header.map_or_else(|| "is missing".to_owned(), |header| format!("says {}", quoted(header)));
    Err(Fault::new(400, HEADER_MISMATCH, format!("The header {name} {header}, and the body {}.", quoted(body))))
}

/// A header's value: what can't be in a header is `=?base64?…?=`.
fn decoded(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    let text = encoded.and_then(|encoded| String::from_utf8(Base64::decode_vec(encoded).ok()?).ok());
    text.unwrap_or_else(|| value.to_owned())
}
