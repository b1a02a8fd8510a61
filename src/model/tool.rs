//! Tools for language models, and what they answer, in the form of the Model Context Protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Timestamp;
use super::escape::escaped;

/// What `tools/list` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tools {
    /// The tools.
    pub tools: Vec<ToolDefinition>,
}

/// A tool, as a language model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolDefinition {
    /// What it is called by: 1–64 of the characters `A–Z a–z 0–9 _ -`.
    pub name: String,
    /// What it is called for people.
    pub title: String,
    /// What it does, what it does not, and what to do with its answer.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of the `structuredContent` that it answers.
    pub output_schema: Map<String, Value>,
    /// What calling it means.
    pub annotations: ToolAnnotations,
}

/// What calling a tool means, for who decides whether a model may.
#[allow(clippy::struct_excessive_bools)] // The form of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolAnnotations {
    /// Whether it changes nothing.
    pub read_only_hint: bool,
    /// Whether it can take away what somebody may still want.
    pub destructive_hint: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub idempotent_hint: bool,
    /// Whether it reaches beyond the workspaces: none does.
    pub open_world_hint: bool,
}

/// What a tool came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// A short text for the model.
    pub content: Vec<ToolText>,
    /// The same as data, by the tool's output schema; absent where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub structured_content: Option<Value>,
    /// Whether it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Of a failure: the error, as `sandbox-snapshotter/error`.
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

/// What `tools/grant` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolGrant"))]
pub struct Grant {
    /// A bearer token for `/mcp`, which gives these tools and nothing else.
    pub token: String,
    /// Until when.
    pub expires_at: Timestamp,
}

/// The key of the error in the `_meta` of a [`ToolResult`].
pub const ERROR_META: &str = "sandbox-snapshotter/error";

impl ToolText {
    /// A text, in which no character hides, and none changes the order of others.
    pub fn new(text: &str) -> Self {
        Self { r#type: TextType::Text, text: escaped(text).into_owned() }
    }
}
