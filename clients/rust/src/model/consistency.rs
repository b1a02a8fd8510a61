//! What a capture does if files change while it runs.

use serde::{Deserialize, Serialize};

use super::{Error, Result};

/// What a capture does if files change while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Consistency {
    /// The answer reports the change.
    #[default]
    Reported,
    /// The Worker captures again, up to 3 times in all, as a stop does. The answer is that of the last capture; the
    /// earlier snapshots stay, and the label moves to the last one.
    Settled,
}

impl Consistency {
    /// Parses the option.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "reported" => Ok(Self::Reported),
            "settled" => Ok(Self::Settled),
            _ => Err(Error::invalid_argument(
                "`consistency` must be \"reported\" or \"settled\"",
                "Pass \"reported\" or \"settled\".",
            )),
        }
    }

    /// Returns whether this is the default.
    #[allow(clippy::trivially_copy_pass_by_ref)] // The signature that serde requires.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
