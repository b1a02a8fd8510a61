//! The request about the deployment itself.

use serde_json::Value;

use super::fields::Fields;
use crate::model::Result;

/// A look at the deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HealthOptions"))]
pub struct HealthRequest {}

impl HealthRequest {
    /// Decodes `{}`.
    pub fn decode(value: &Value) -> Result<Self> {
        Fields::of(value)?.end()?;
        Ok(Self {})
    }
}
