//! The formats of archives.

use serde::{Deserialize, Serialize};

use super::DirectoryBackup;

/// The format of the archive of a backup, as its `meta.json` or its handle names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum ArchiveFormat {
    /// A squashfs: the only format of the SDK (0.12), whose metadata does not name it.
    #[default]
    #[serde(rename = "squashfs")]
    Squashfs,
    /// A tar that is not compressed.
    #[serde(rename = "tar")]
    Tar,
    /// A tar compressed by gzip.
    #[serde(rename = "tar+gzip")]
    TarGzip,
    /// A tar compressed by zstd.
    #[serde(rename = "tar+zstd")]
    TarZstd,
    /// A tar compressed by zstd, as the class `DirectoryBackup` of the SDK 1.0 stores it: without metadata beside it.
    #[serde(rename = "tar+zstd/1")]
    DirectoryBackup,
    /// A format of another version.
    #[serde(rename = "unknown", other)]
    Unknown,
}

impl ArchiveFormat {
    /// Returns whether this is the format of archives whose metadata names none.
    #[allow(clippy::trivially_copy_pass_by_ref)] // For `skip_serializing_if`.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the bytes that identify the format, and the offset of the first one; `None` for an unknown format.
    pub const fn magic(self) -> Option<(usize, &'static [u8])> {
        match self {
            Self::Squashfs => Some((0, b"hsqs")),
            Self::Tar => Some((257, b"ustar")),
            Self::TarGzip => Some((0, b"\x1f\x8b")),
            Self::TarZstd | Self::DirectoryBackup => Some((0, b"\x28\xb5\x2f\xfd")),
            Self::Unknown => None,
        }
    }

    /// Returns the name of the format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Squashfs => "squashfs",
            Self::Tar => "tar",
            Self::TarGzip => "tar+gzip",
            Self::TarZstd => "tar+zstd",
            Self::DirectoryBackup => DirectoryBackup::FORMAT,
            Self::Unknown => "unknown",
        }
    }
}
