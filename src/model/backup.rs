//! Backups: what the SDK's `createBackup` takes, returns, and stores in R2.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BackupId, Directory, Error, Result, Timestamp, json};

/// The largest handle, in bytes of JSON. The SDK's handles have about 100.
const MAX_HANDLE_BYTES: usize = 8 * 1024;

/// The maximum nesting depth of objects and lists in a handle, including the handle itself. Rows and responses nest the
/// handle deeper, and JSON with more than 127 levels cannot be read back.
const MAX_DEPTH: usize = 16;

/// The largest integer that JavaScript represents exactly, as all smaller ones.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The longest time to live, in seconds: 100 years of 365 days. All backups are stored with it, because the retention
/// policy of the workspace decides when a snapshot expires.
pub const MAX_TTL_SECONDS: u64 = 100 * 365 * 24 * 3600;

/// The SDK stops restoring a backup this long before the end of its time to live, in milliseconds.
const TTL_BUFFER_MILLIS: i64 = 60_000;

/// The handle that `createBackup` returns. It is opaque: stored and passed back without changes.
///
/// Only `id` and `dir` are read, which every version of the SDK has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct BackupHandle {
    fields: Map<String, Value>,
    id: BackupId,
    dir: Directory,
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

    /// Whether the archive was stored through the R2 binding. The SDK extracts such an archive into the directory, and
    /// mounts any other archive over it.
    pub fn is_local(&self) -> bool {
        self.fields.get("localBucket") == Some(&Value::Bool(true))
    }

    /// Returns the directory that must exist before the backup is restored. The SDK creates all parents when it mounts
    /// the archive, but only the last directory when it extracts it.
    pub fn required_parent(&self) -> Option<Directory> {
        if self.is_local() { self.dir.parent() } else { None }
    }

    /// Refuses a backup whose restore would never end: one that is mounted over a directory in use. A backup that was
    /// stored through the R2 binding is extracted and not mounted, so it is accepted.
    pub fn check_restorable(&self) -> Result<()> {
        if self.is_local() { Ok(()) } else { self.dir.check_restorable() }
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
        Ok(Self { fields, id, dir })
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

/// The options of `createBackup`, as the SDK spells them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupOptions {
    /// The directory to capture.
    pub dir: Directory,
    /// The name stored beside the archive: the [`BackupOwner`](super::BackupOwner).
    pub name: String,
    /// Seconds after its creation for which the SDK restores the backup.
    pub ttl: u64,
    /// Whether files that git ignores are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitignore: Option<bool>,
    /// Patterns of names that are left out, at any depth. See [`check_patterns`](super::exclude::check_patterns).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// How the archive is compressed; the SDK's default if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Whether the archive goes through the R2 binding instead of signed URLs. This is for development.
    pub local_bucket: bool,
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

/// What the SDK stores beside an archive (`backups/<id>/meta.json` of 0.12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupMetadata {
    /// The id of the backup.
    pub id: BackupId,
    /// The directory that was captured.
    pub dir: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// Seconds after its creation for which the SDK restores it.
    pub ttl: f64,
    /// When it was stored.
    pub created_at: Timestamp,
}

impl BackupMetadata {
    /// Whether the SDK refuses to restore the backup at `now` because its time to live is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now > self.usable_until()
    }

    /// Returns the time until which the SDK restores the backup.
    pub fn usable_until(&self) -> Timestamp {
        // A time to live beyond the range of an i64 never ends: the conversion and the sums saturate.
        #[allow(clippy::cast_possible_truncation)]
        let ttl_millis = (self.ttl * 1000.0) as i64;
        self.created_at.plus_millis(ttl_millis.saturating_sub(TTL_BUFFER_MILLIS))
    }
}

/// What R2 reports about an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveInfo {
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// R2's checksum of the archive, if it has one: `md5:<hexadecimal>`.
    pub checksum: Option<String>,
}

/// One of the two objects of a backup, as a listing of the bucket shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupObject {
    /// The id of the backup.
    pub id: BackupId,
    /// Which of the two objects it is.
    pub kind: BackupObjectKind,
    /// The size of the object, in bytes.
    pub size_bytes: u64,
    /// When the object was written.
    pub uploaded_at: Timestamp,
}

/// The kind of an object of a backup. The SDK writes the archive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupObjectKind {
    /// `data.sqsh`
    Archive,
    /// `meta.json`
    Metadata,
}

/// A page of a listing of the bucket. The archive of a backup comes directly before its metadata, which may be on the
/// next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupObjectPage {
    /// The backup objects on the page.
    pub objects: Vec<BackupObject>,
    /// The cursor of the next page; absent on the last page.
    pub cursor: Option<String>,
}
