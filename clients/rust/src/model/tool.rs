//! Tools for language models, and their results, in the form of the Model Context Protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Timestamp;
use super::escape::escape;

/// The result of `tools/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolList {
    /// The tools.
    pub tools: Vec<ToolDefinition>,
}

/// The definition of a tool, as a language model receives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolDefinition {
    /// The name by which it is called: 1–64 characters of `A–Z a–z 0–9 _ -`.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// What it does, what it does not do, and how to use its result.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of the `structuredContent` that it returns.
    pub output_schema: Map<String, Value>,
    /// The effects of a call.
    pub annotations: ToolAnnotations,
}

/// The effects of calling a tool, for clients that decide whether a model may call it.
#[allow(clippy::struct_excessive_bools)] // The format of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolAnnotations {
    /// Whether a call changes nothing.
    pub read_only_hint: bool,
    /// Whether a call can delete data.
    pub destructive_hint: bool,
    /// Whether a repeated call with the same arguments changes nothing more.
    pub idempotent_hint: bool,
    /// Whether a call has effects outside of the workspaces. It is `false` for all tools.
    pub open_world_hint: bool,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// A short text for the model.
    pub content: Vec<ToolText>,
    /// The same result as data, in the form of the tool's output schema; absent if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub structured_content: Option<Value>,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// If the call failed, the error under the key `sandbox-snapshotter/error`.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// A text for a language model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolText {
    /// Always `text`.
    pub r#type: TextType,
    /// The text.
    pub text: String,
}

/// The type of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum TextType {
    /// A text.
    Text,
}

/// The result of `tools/grant`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolGrant"))]
pub struct ToolGrant {
    /// A bearer token for `/mcp`, which gives access to these tools only.
    pub token: String,
    /// When the token expires.
    pub expires_at: Timestamp,
}

/// The key of the error in the `_meta` of a [`ToolResult`].
pub const ERROR_META: &str = "sandbox-snapshotter/error";

impl ToolText {
    /// Creates a text in which hidden characters, and characters that change the order of others, are escaped.
    pub fn new(text: &str) -> Self {
        Self { r#type: TextType::Text, text: escape(text).into_owned() }
    }
}
