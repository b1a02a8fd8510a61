//! The operations on tools for language models.

use super::{Client, Result, Transport};
use crate::model::request::{CallToolRequest, GrantRequest, Toolset};
use crate::model::tool::{self, ToolGrant, ToolResult};

/// The operations on tools for language models.
#[derive(Debug)]
pub struct Tools<'a, T>(pub(super) &'a Client<T>);

impl<T: Transport> Tools<'_, T> {
    /// Returns the definitions of the tools in a toolset.
    pub async fn list(&self, toolset: &Toolset) -> Result<tool::Tools> {
        self.0.call_typed("tools/list", toolset).await
    }

    /// Calls a tool. The result, not an error, reports mistakes of the model.
    pub async fn call(&self, request: &CallToolRequest) -> Result<ToolResult> {
        self.0.call_typed("tools/call", request).await
    }

    /// Creates a token for `/mcp` that permits the tools of a toolset and nothing else.
    pub async fn grant(&self, request: &GrantRequest) -> Result<ToolGrant> {
        self.0.call_typed("tools/grant", request).await
    }
}
