//! The image from which the containers of a named workspace start.

use serde::{Deserialize, Serialize};

use crate::model::{Error, Result};

/// The maximum length of the name of an image, in characters.
pub(crate) const MAX_IMAGE: usize = 128;

/// A choice of an image: the name of one that the class of the sandboxes declares, or `None` for the default of the class. In
/// JSON, `null` is the default, which differs from an absent choice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImageChoice(pub Option<String>);

/// Verifies the name of an image. Only the class of the sandboxes knows which ones exist.
pub(crate) fn check_image(name: &str) -> Result<()> {
    let length = name.chars().count();
    if (1..=MAX_IMAGE).contains(&length) && !name.contains(char::is_control) {
        return Ok(());
    }
    Err(Error::invalid_argument(
        format!("`image` must have 1–{MAX_IMAGE} characters, and no control characters"),
        "Pass the name of an image of `[containers.images]`, or null for the default of the class.",
    ))
}
