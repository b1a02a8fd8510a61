//! The operations on tools for language models.

use super::{Client, Result, Transport};
use crate::model::request::{CallToolRequest, GrantRequest, Toolset};
use crate::model::tool::{self, Grant, ToolResult};

/// Tools for language models.
#[derive(Debug)]
pub struct Tools<'a, T>(pub(super) &'a Client<T>);

impl<T: Transport> Tools<'_, T> {
    /// The definitions of some tools.
    pub async fn list(&self, toolset: &Toolset) -> Result<tool::Tools> {
        self.0.ask("tools/list", toolset).await
    }

    /// Calls a tool. What the model did wrong is in the result.
    pub async fn call(&self, request: &CallToolRequest) -> Result<ToolResult> {
        self.0.ask("tools/call", request).await
    }

    /// A token for `/mcp` that gives some tools and nothing else.
    pub async fn grant(&self, request: &GrantRequest) -> Result<Grant> {
        self.0.ask("tools/grant", request).await
    }
}
