//! The request to check the deployment.

use super::declare::request;

request! {
    /// The request to check the deployment. It has no options.
    #[derive(Copy, Default, Eq)]
    #[cfg_attr(feature = "schema", schemars(rename = "HealthOptions"))]
    pub struct HealthRequest {}
}
