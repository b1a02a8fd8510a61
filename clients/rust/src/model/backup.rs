//! Backups: the handle that the SDK's `createBackup` returns, and how it compresses archives.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BackupId, Directory, Error, Result, json};

/// The largest handle, in bytes of JSON. The SDK's handles have about 100.
const MAX_HANDLE_BYTES: usize = 8 * 1024;

/// The maximum nesting depth of objects and lists in a handle, including the handle itself. Rows and responses nest the
/// handle deeper, and JSON with more than 127 levels cannot be read back.
const MAX_DEPTH: usize = 16;

/// The largest integer that JavaScript represents exactly, as all smaller ones.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The prefix of the formats of `DirectoryBackup`, before their version.
const DIRECTORY_BACKUP_FORMATS: &str = "tar+zstd/";

/// The handle that `createBackup` returns. It is opaque: stored and passed back without changes.
///
/// Only `id` and `dir` are read, which every version of the SDK has, and the members that make it a record of
/// [`DirectoryBackup`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct BackupHandle {
    fields: Map<String, Value>,
    id: BackupId,
    dir: Directory,
    directory_backup: Option<Box<DirectoryBackup>>,
}

/// What a handle states that is a record of the class `DirectoryBackup` of the SDK 1.0. Such a backup is one object: an
/// archive of the format `tar+zstd/1`, without metadata beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryBackup {
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// The SHA-256 of the archive, in hexadecimal.
    pub sha256: String,
}

impl DirectoryBackup {
    /// The format of the archive.
    pub const FORMAT: &str = "tar+zstd/1";

    /// Returns what a handle states; `None` for a handle that is no record.
    fn of(fields: &Map<String, Value>) -> Result<Option<Self>> {
        let Some(format) = fields.get("format").and_then(Value::as_str) else { return Ok(None) };
        if !format.starts_with(DIRECTORY_BACKUP_FORMATS) {
            return Ok(None);
        }
        if format != Self::FORMAT {
            return Err(Error::directory_backup_format_unsupported(format));
        }
        let size_bytes = fields.get("size").and_then(Value::as_u64);
        let sha256 = fields.get("sha256").and_then(Value::as_str).map(str::to_ascii_lowercase);
        let sha256 = sha256.filter(|hash| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match (size_bytes, sha256) {
            (Some(size_bytes), Some(sha256)) => Ok(Some(Self { size_bytes, sha256 })),
            _ => Err(Error::directory_backup_invalid()),
        }
    }
}

impl BackupHandle {
    /// The id that the SDK gave the backup.
    pub fn id(&self) -> &BackupId {
        &self.id
    }

    /// The directory that the backup is restored into.
    pub fn dir(&self) -> &Directory {
        &self.dir
    }

    /// What the handle states if it is a record of `DirectoryBackup`.
    pub fn directory_backup(&self) -> Option<&DirectoryBackup> {
        self.directory_backup.as_deref()
    }

    /// Whether a restore extracts the archive into the directory: one that was stored through the R2 binding, or that of
    /// a [`DirectoryBackup`]. The SDK (0.12) mounts any other archive over the directory.
    pub fn is_extracted(&self) -> bool {
        self.directory_backup.is_some() || self.fields.get("localBucket") == Some(&Value::Bool(true))
    }

    /// Returns the directory that must exist before the backup is restored. The SDK creates all parents when it mounts
    /// the archive, but only the last directory when it extracts it.
    pub fn required_parent(&self) -> Option<Directory> {
        if self.is_extracted() { self.dir.parent() } else { None }
    }

    /// Refuses a backup whose restore would never end: one that is mounted over a directory in use. A backup that is
    /// extracted is accepted.
    pub fn check_restorable(&self) -> Result<()> {
        if self.is_extracted() { Ok(()) } else { self.dir.check_restorable() }
    }

    /// Whether the handle stays the same when JavaScript reads and writes it. The SDK's handles do; handles from
    /// another source may not.
    pub fn is_javascript_safe(&self) -> bool {
        self.fields.values().all(is_javascript_safe)
    }
}

fn is_javascript_safe(value: &Value) -> bool {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(integer) => (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&integer),
            None => number.as_f64().is_some_and(|number| number.fract() != 0.0),
        },
        Value::Array(items) => items.iter().all(is_javascript_safe),
        Value::Object(members) => !members.contains_key("__proto__") && members.values().all(is_javascript_safe),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// Returns the nesting depth of objects and lists.
fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}

impl TryFrom<Map<String, Value>> for BackupHandle {
    type Error = Error;

    fn try_from(fields: Map<String, Value>) -> Result<Self> {
        let text = |field: &str| {
            fields.get(field).and_then(Value::as_str).ok_or_else(|| Error::backup_handle_field_missing(field))
        };
        // Such a handle would not reach the sandbox unchanged, or could not be read back.
        let is_deep = fields.values().any(|value| depth(value) >= MAX_DEPTH);
        if is_deep || fields.contains_key("__proto__") || json_bytes(&fields) > MAX_HANDLE_BYTES {
            return Err(Error::backup_handle_unsupported(MAX_HANDLE_BYTES, MAX_DEPTH));
        }
        let id = BackupId::parse(text("id")?)?;
        let dir = Directory::parse(text("dir")?)?;
        let directory_backup = DirectoryBackup::of(&fields)?.map(Box::new);
        Ok(Self { fields, id, dir, directory_backup })
    }
}

fn json_bytes(map: &Map<String, Value>) -> usize {
    json::to_string(map).map_or(usize::MAX, |text| text.len())
}

impl From<BackupHandle> for Map<String, Value> {
    fn from(handle: BackupHandle) -> Self {
        handle.fields
    }
}

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compression {
    /// The algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<CompressionFormat>,
    /// The number of threads that compress it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_THREADS)))]
    pub threads: Option<std::num::NonZeroU32>,
}

impl Compression {
    /// The maximum number of threads: more than any container has processors, and a value that every `mksquashfs`
    /// accepts.
    pub const MAX_THREADS: u32 = 64;
}

/// The compression algorithms that the SDK supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum CompressionFormat {
    /// Available everywhere.
    Gzip,
    /// The fastest algorithm.
    Lz4,
    /// The smallest archives at a moderate speed.
    Zstd,
}
