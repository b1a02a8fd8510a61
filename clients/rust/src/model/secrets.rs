//! Files with secrets: what a capture does with those that it finds.

use serde::{Deserialize, Serialize};

use super::{Error, Result};

/// What happens to files in which a search finds secrets. The search helps, and guarantees nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum SecretsMode {
    /// They are kept, and reported.
    Keep,
    /// They are left out, and reported.
    Exclude,
    /// The call fails with `SECRETS_FOUND` before anything is stored.
    Refuse,
}

impl SecretsMode {
    /// Parses the option.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](crate::model::Code::InvalidArgument) for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "keep" => Ok(Self::Keep),
            "exclude" => Ok(Self::Exclude),
            "refuse" => Ok(Self::Refuse),
            _ => Err(Error::invalid_argument(
                "`secrets` must be \"keep\", \"exclude\" or \"refuse\"",
                "Pass \"keep\", \"exclude\" or \"refuse\".",
            )),
        }
    }
}

/// The files in which a search found secrets. Contains their paths, and never their content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretsReport {
    /// What happened to them.
    pub mode: SecretsMode,
    /// The number of files that were found.
    pub count: u64,
    /// Their paths, relative to the captured directory: at most 100, and 16 KiB. Bytes that are not UTF-8 are replaced.
    pub paths: Vec<String>,
    /// The number of files that the archive leaves out. With symbolic links of the same names, this may be more than `count`.
    pub excluded: u64,
}

impl SecretsReport {
    /// The maximum number of paths.
    pub const MAX_PATHS: usize = 100;
    /// The maximum size of all paths, in bytes.
    pub const MAX_PATH_BYTES: usize = 16 * 1024;

    /// Returns the first paths of a list that a report may have.
    pub fn first_paths<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut bytes = 0;
        let texts = paths.into_iter().take(Self::MAX_PATHS).map(|path| String::from_utf8_lossy(path).into_owned());
        let fits = |text: &String| {
            bytes += text.len();
            bytes <= Self::MAX_PATH_BYTES
        };
        texts.take_while(fits).collect()
    }
}
