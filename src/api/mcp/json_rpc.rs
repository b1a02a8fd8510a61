//! JSON-RPC 2.0 messages. MCP accepts one message in a body.

use serde_json::{Map, Value, json};

use crate::model::{Error, json as text};

/// The body is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The body is not a message.
pub const INVALID_REQUEST: i32 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters are not valid for the method.
pub const INVALID_PARAMS: i32 = -32602;
/// The method failed.
pub const INTERNAL_ERROR: i32 = -32603;
/// A header does not match the body (2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;
/// The version of the protocol is not supported (2026-07-28).
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// The parser of messages.
pub struct JsonRpc;

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A request, which requires a response.
    Request {
        /// The id: a string or an integer.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Map<String, Value>,
    },
    /// A message without a response: a notification, or the response to a request that the server never sent.
    NoReply,
}

/// The error for a message that is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The HTTP status.
    pub status: u16,
    /// The error code of JSON-RPC.
    pub code: i32,
    /// The error message.
    pub message: String,
    /// Additional data of the error.
    pub data: Option<Value>,
}

impl JsonRpc {
    /// Parses a body.
    ///
    /// # Errors
    /// [`PARSE_ERROR`] and [`INVALID_REQUEST`], both with status 400.
    pub fn parse(body: &[u8]) -> Result<Message, Fault> {
        let body = text::parse_untrusted(body)
            .map_err(|why| Fault::new(400, PARSE_ERROR, format!("The body cannot be read as JSON: {why}.")))?;
        let invalid = |why: &str| Fault::new(400, INVALID_REQUEST, why);
        let Value::Object(mut members) = body else {
            return Err(invalid("The body must be one JSON-RPC message: an object, not a batch."));
        };
        if members.get("jsonrpc") != Some(&json!("2.0")) {
            return Err(invalid("`jsonrpc` must be \"2.0\"."));
        }
        let params = match members.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(invalid("`params` must be an object.")),
        };
        match (members.remove("method"), members.remove("id")) {
            (Some(Value::String(method)), Some(id)) if is_id(&id) => Ok(Message::Request { id, method, params }),
            (Some(Value::String(_)), Some(_)) => Err(invalid("`id` must be a string or an integer.")),
            (Some(Value::String(_)), None) => Ok(Message::NoReply),
            (Some(_), _) => Err(invalid("`method` must be a string.")),
            (None, _) if members.contains_key("result") || members.contains_key("error") => Ok(Message::NoReply),
            (None, _) => Err(invalid("`method` is missing.")),
        }
    }
}

impl Message {
    /// Returns the id of a request.
    pub const fn id(&self) -> Option<&Value> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::NoReply => None,
        }
    }
}

impl Fault {
    /// Returns a fault without additional data.
    pub fn new(status: u16, code: i32, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }

    /// Converts the fault to an error of this Worker.
    pub fn to_error(&self) -> Error {
        Error::mcp_message_refused(self.status, &self.message)
    }

    /// Adds the correlation id of the log line.
    #[must_use]
    pub fn with_correlation_id(mut self, correlation_id: &str) -> Self {
        if let Value::Object(data) = self.data.get_or_insert_with(|| json!({})) {
            data.insert("correlationId".to_owned(), correlation_id.into());
        }
        self
    }

    /// Returns the response message for the request with the id `id`.
    pub fn body(&self, id: Option<&Value>) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Value::Object(error), Some(data)) = (&mut error, &self.data) {
            error.insert("data".to_owned(), data.clone());
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// Returns the response message with a result.
pub(super) fn result_message(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
