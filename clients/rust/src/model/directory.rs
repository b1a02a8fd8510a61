//! The directory that a snapshot captures.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::checked_string;
use super::{Error, Result};

/// The roots that the SDK backs up (`BACKUP_ALLOWED_PREFIXES` of 0.12.10).
pub const ALLOWED_ROOTS: [&str; 5] = ["/workspace", "/home", "/tmp", "/var/tmp", "/app"];

/// Directories with files that the SDK, or a program of the image, has open during a restore. A mount over such a
/// directory hides these files, and `restoreBackup` never returns.
const DIRECTORIES_IN_USE: [(&str, &str); 2] = [
    ("/tmp", "the SDK stores the files of its shell sessions there"),
    ("/var/tmp", "running programs store their temporary files there"),
];

/// The folders of the SDK's container server under `/tmp`, by the prefixes of their names (0.12.10).
const SDK_FOLDER_PREFIXES: [&str; 2] = ["session-", "sandbox-internal"];

checked_string! {
    /// A directory that the SDK can back up: absolute, without `..`, at or under one of [`ALLOWED_ROOTS`].
    Directory
}

impl Directory {
    /// Returns the parent directory, unless every sandbox has it.
    pub fn parent(&self) -> Option<Self> {
        let (above, _) = self.as_str().trim_end_matches('/').rsplit_once('/')?;
        let parent = Self::parse(above.trim_end_matches('/')).ok()?;
        (!ALLOWED_ROOTS.contains(&parent.as_str())).then_some(parent)
    }

    /// Parses a path. Fails with [`Code::InvalidDirectory`].
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |why: &str| Err(Error::invalid_directory(text, why, &ALLOWED_ROOTS));
        if !text.starts_with('/') {
            return refuse("is not an absolute path");
        }
        if text.len() > 4096 {
            return refuse("is longer than 4096 bytes");
        }
        if text.contains('\0') {
            return refuse("contains a null byte");
        }
        if text.split('/').any(|part| part == "..") {
            return refuse("contains \"..\"");
        }
        let allowed = ALLOWED_ROOTS
            .iter()
            .any(|root| text.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        if !allowed {
            return refuse("is not under a directory that sandboxes can back up");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns whether two paths are of the same directory: empty names and `.` are ignored.
    pub fn is_same(&self, other: &Self) -> bool {
        self.parts().eq(other.parts())
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty() && *part != ".")
    }

    /// Refuses a directory that the SDK can back up but not restore ([`Code::InvalidDirectory`]).
    /// [`parse`](Self::parse) does not check this, so that stored backups of such a directory stay readable.
    pub fn check_restorable(&self) -> Result<()> {
        let parts: Vec<&str> = self.parts().collect();
        let path = format!("/{}", parts.join("/"));
        let in_use = DIRECTORIES_IN_USE.iter().find(|(dir, _)| *dir == path).map(|(_, why)| *why);
        let used_by_sdk = match parts.as_slice() {
            ["tmp", name, ..] if SDK_FOLDER_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) => {
                Some("the SDK stores its own files there")
            }
            _ => None,
        };
        let Some(why) = in_use.or(used_by_sdk) else { return Ok(()) };
        Err(Error::directory_in_use(self, why))
    }
}
