//! The directory that a snapshot captures.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::{checked_string, quoted};
use super::{Code, Error, Result};

/// The roots that the SDK backs up (`BACKUP_ALLOWED_PREFIXES` of 0.12.10).
pub const ROOTS: [&str; 5] = ["/workspace", "/home", "/tmp", "/var/tmp", "/app"];

checked_string! {
    /// A directory that the SDK can back up: absolute, without `..`, at or under one of [`ROOTS`].
    Directory
}

impl Directory {
    /// The directory above, where that is not one that every sandbox has.
    pub fn parent(&self) -> Option<Self> {
        let (above, _) = self.as_str().trim_end_matches('/').rsplit_once('/')?;
        let parent = Self::parse(above.trim_end_matches('/')).ok()?;
        (!ROOTS.contains(&parent.as_str())).then_some(parent)
    }

    /// Checks a path, or says what is wrong with it ([`Code::InvalidDirectory`]).
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| {
            Err(Error::new(
                Code::InvalidDirectory,
                format!("The directory {} {why}.", quoted(text)),
                format!("Give an absolute path at or under one of {}, without \"..\".", ROOTS.join(", ")),
            ))
        };
        if !text.starts_with('/') {
            return refuse("is not an absolute path");
        }
        if text.len() > 4096 {
            return refuse("is longer than a path can be");
        }
        if text.contains('\0') {
            return refuse("contains a null byte");
        }
        if text.split('/').any(|part| part == "..") {
            return refuse("contains \"..\"");
        }
        let allowed = ROOTS
            .iter()
            .any(|root| text.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        if !allowed {
            return refuse("is not under a directory that sandboxes can back up");
        }
        Ok(Self(text.to_owned()))
    }
}
