//! The runtime of a sandbox.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Error, Result};

/// The runtime of a sandbox: what the class behind its binding is made of. The same id in two runtimes is two
/// containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Runtime {
    /// The class `Sandbox` of the Sandbox SDK 0.12.
    #[serde(rename = "sdk-0.12")]
    Sdk012,
    /// A class over the container of a Durable Object, as applications of the Sandbox SDK 1.0 have.
    #[serde(rename = "container")]
    Container,
}

impl Runtime {
    /// All runtimes.
    pub const ALL: [Self; 2] = [Self::Sdk012, Self::Container];

    /// Returns the name of the runtime.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sdk012 => "sdk-0.12",
            Self::Container => "container",
        }
    }

    /// Parses the name of a runtime.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for another name.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|runtime| runtime.as_str() == name).ok_or_else(|| {
            let names = Self::ALL.map(|runtime| format!("{:?}", runtime.as_str())).join(" or ");
            Error::invalid_argument(format!("`runtime` must be {names}"), format!("Pass {names}, or omit it."))
        })
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
