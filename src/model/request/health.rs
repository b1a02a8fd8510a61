//! The request to check the deployment.

use serde_json::Value;

use super::fields::Fields;
use crate::model::Result;

/// The request to check the deployment. It has no options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HealthOptions"))]
pub struct HealthRequest {}

impl HealthRequest {
    /// Decodes `{}`.
    pub fn decode(value: &Value) -> Result<Self> {
        Fields::of(value)?.finish()?;
        Ok(Self {})
    }
}
