//! Backups: what the SDK's `createBackup` takes, answers, and stores in R2.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BackupId, Code, Directory, Error, Result, Timestamp, json};

/// The largest handle, in bytes of JSON. Those of the SDK have about 100.
const MAX_HANDLE: usize = 8 * 1024;

/// How deep objects and lists may be within each other in a handle, itself included. Rows and answers are deeper than the handle
/// in them, and what is deeper than 127 is not read again.
const MAX_DEPTH: usize = 16;

/// The largest whole number that JavaScript tells from its neighbours.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The longest time to live, in seconds: 100 years of 365 days. Snapshots end by the policy of their workspace, so their
/// backups are all stored with it.
pub const MAX_TTL: u64 = 100 * 365 * 24 * 3600;

/// How long before the end of its time to live the SDK stops restoring a backup, in milliseconds.
const TTL_BUFFER_MILLIS: i64 = 60_000;

/// The handle that `createBackup` answers: opaque, kept whole and given back whole.
///
/// Only `id` and `dir`, which every version of the SDK has, are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct BackupHandle {
    whole: Map<String, Value>,
    id: BackupId,
    dir: Directory,
}

impl BackupHandle {
    /// The id that the SDK gave the backup.
    pub fn id(&self) -> &BackupId {
        &self.id
    }

    /// The directory that the backup goes back into.
    pub fn dir(&self) -> &Directory {
        &self.dir
    }

    /// Whether the archive was stored through the binding of the bucket, and is unpacked into the directory; others are mounted
    /// over it.
    pub fn is_local(&self) -> bool {
        self.whole.get("localBucket") == Some(&Value::Bool(true))
    }

    /// The directory that has to be there before the backup is restored. The SDK makes it where it mounts the archive; where it
    /// unpacks the archive, it makes the last directory alone.
    pub fn needed_parent(&self) -> Option<Directory> {
        if self.is_local() { self.dir.parent() } else { None }
    }

    /// Refuses a backup whose restore would not end: one that is mounted over a directory which is in use. What goes through
    /// the R2 binding is unpacked, and not mounted.
    pub fn check_restorable(&self) -> Result<()> {
        if self.is_local() { Ok(()) } else { self.dir.check_restorable() }
    }

    /// Whether it comes back from JavaScript as it was. What the SDK answers does; what was written elsewhere need not.
    pub fn is_of_javascript(&self) -> bool {
        self.whole.values().all(is_of_javascript)
    }
}

fn is_of_javascript(value: &Value) -> bool {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(whole) => (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&whole),
            None => number.as_f64().is_some_and(|number| number.fract() != 0.0),
        },
        Value::Array(items) => items.iter().all(is_of_javascript),
        Value::Object(members) => !members.contains_key("__proto__") && members.values().all(is_of_javascript),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// How deep objects and lists are within each other.
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

    fn try_from(whole: Map<String, Value>) -> Result<Self> {
        let text = |field: &str| {
            whole.get(field).and_then(Value::as_str).ok_or_else(|| {
                Error::new(
                    Code::InvalidRef,
                    format!("The backup handle has no `{field}`."),
                    "Pass the ref on exactly as snapshot() answered it.",
                )
            })
        };
        // None of them would arrive whole at the sandbox, or come back.
        let is_deep = whole.values().any(|value| depth(value) >= MAX_DEPTH);
        if is_deep || whole.contains_key("__proto__") || json_length(&whole) > MAX_HANDLE {
            return Err(Error::new(
                Code::InvalidRef,
                format!(
                    "The backup handle has a field `__proto__`, is larger than {MAX_HANDLE} bytes, or deeper than {MAX_DEPTH} \
                     objects and lists."
                ),
                "Pass the ref on exactly as snapshot() answered it.",
            ));
        }
        let id = BackupId::parse(text("id")?)?;
        let dir = Directory::parse(text("dir")?)?;
        Ok(Self { whole, id, dir })
    }
}

fn json_length(map: &Map<String, Value>) -> usize {
    json::print(map).map_or(usize::MAX, |text| text.len())
}

impl From<BackupHandle> for Map<String, Value> {
    fn from(handle: BackupHandle) -> Self {
        handle.whole
    }
}

/// The options of `createBackup`, as the SDK spells them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupOptions {
    /// The directory to capture.
    pub dir: Directory,
    /// The name stored beside the archive: the [`Mark`](super::Mark).
    pub name: String,
    /// Seconds from its creation for which the SDK restores the backup.
    pub ttl: u64,
    /// Whether files that git ignores are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitignore: Option<bool>,
    /// Patterns of names that are left out, at any depth: see [`check_patterns`](super::exclude::check_patterns).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// How the archive is compressed; the SDK's choice where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Whether the archive goes through the R2 binding instead of signed URLs: for development.
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
    /// How many threads work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_THREADS)))]
    pub threads: Option<std::num::NonZeroU32>,
}

impl Compression {
    /// The most threads that are asked for: more than any container has processors, and as many as `mksquashfs` takes anywhere.
    pub const MAX_THREADS: u32 = 64;
}

/// The compression algorithms that the SDK knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum CompressionFormat {
    /// Found everywhere.
    Gzip,
    /// The fastest.
    Lz4,
    /// The smallest at a fair speed.
    Zstd,
}

/// What the SDK stores beside an archive (`backups/<id>/meta.json` of 0.12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupMetadata {
    /// The backup.
    pub id: BackupId,
    /// The directory that was captured.
    pub dir: String,
    /// The name that it was given, if any.
    pub name: Option<String>,
    /// The size of the archive, in bytes.
    pub size_bytes: u64,
    /// Seconds from its creation for which the SDK restores it.
    pub ttl: f64,
    /// When it was stored.
    pub created_at: Timestamp,
}

impl BackupMetadata {
    /// Whether the SDK would refuse at `now` to restore it because its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now > self.usable_until()
    }

    /// Until when the SDK restores it.
    pub fn usable_until(&self) -> Timestamp {
        // A time to live that no i64 holds does not end: the conversion saturates, and so do the sums.
        #[allow(clippy::cast_possible_truncation)]
        let ttl_millis = (self.ttl * 1000.0) as i64;
        self.created_at.plus_millis(ttl_millis.saturating_sub(TTL_BUFFER_MILLIS))
    }
}

/// What R2 says of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// R2's checksum of it, where it has one: `md5:<hexadecimal>`.
    pub checksum: Option<String>,
}

/// One of the two objects of a backup, as a listing of the bucket shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The backup.
    pub id: BackupId,
    /// Which of its objects it is.
    pub part: Part,
    /// The size of the object, in bytes.
    pub size_bytes: u64,
    /// When the object was written.
    pub uploaded_at: Timestamp,
}

/// An object of a backup. The SDK writes the archive first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `data.sqsh`
    Archive,
    /// `meta.json`
    Metadata,
}

/// A page of a listing of the bucket. The archive of a backup comes right before its metadata, which may be on the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The objects of backups on it.
    pub objects: Vec<Listed>,
    /// Where the next page begins, if there is one.
    pub cursor: Option<String>,
}
