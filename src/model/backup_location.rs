//! Where the objects of a backup are in the bucket.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::delta::Delta;
use super::{BackupHandle, BackupId, Directory, DirectoryBackup, Error, Result, SnapshotId};

/// Where the objects of a backup are in the bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BackupLocation {
    /// An archive and its metadata, whose keys follow from the id of the backup.
    Pair(BackupId),
    /// The one object of a `DirectoryBackup`. Earlier releases refuse messages that contain it.
    DirectoryBackup {
        /// The id of the backup.
        id: BackupId,
        /// The key of the object.
        key: String,
    },
}

impl BackupLocation {
    /// Returns the id of the backup.
    pub const fn id(&self) -> &BackupId {
        match self {
            Self::Pair(id) | Self::DirectoryBackup { id, .. } => id,
        }
    }
}

impl fmt::Display for BackupLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().fmt(formatter)
    }
}

/// The handle of a backup, with the location of its objects, and its relation to other backups.
///
/// The rows of the ledger contain it. For a pair of objects, it is the handle alone. An earlier release can't read the other
/// forms, and so neither restores nor deletes such a backup as a pair of its own: `{record, key}` for a `DirectoryBackup`,
/// `{carrier, delta}` for a delta, `{base, deltas}` for the base of deltas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct LocatedBackup {
    handle: BackupHandle,
    location: BackupLocation,
    delta: Option<Box<Delta>>,
    /// The snapshots that are based on this one, in the order of their captures.
    deltas: Vec<SnapshotId>,
}

impl LocatedBackup {
    /// Returns a backup whose object has the key `key` if it is a `DirectoryBackup`.
    pub fn new(handle: BackupHandle, key: impl FnOnce(&BackupId) -> String) -> Self {
        let id = handle.id().clone();
        let location = match handle.directory_backup() {
            Some(_) => BackupLocation::DirectoryBackup { key: key(&id), id },
            None => BackupLocation::Pair(id),
        };
        Self { handle, location, delta: None, deltas: Vec::new() }
    }

    fn pair(handle: BackupHandle) -> Self {
        let location = BackupLocation::Pair(handle.id().clone());
        Self { handle, location, delta: None, deltas: Vec::new() }
    }

    /// Returns the backup as that of the carrier of a delta.
    #[must_use]
    pub fn with_delta(self, delta: Delta) -> Self {
        Self { delta: Some(Box::new(delta)), ..self }
    }

    /// Returns the backup without its relation to deltas, as a delta records its base.
    #[must_use]
    pub fn without_deltas(&self) -> Self {
        Self { deltas: Vec::new(), ..self.clone() }
    }

    /// Returns the handle for callers. That of a delta is none that a sandbox can restore, because the archive alone does not
    /// contain the files: its id is derived from the one of the backup.
    ///
    /// # Errors
    /// None: a derived handle is valid.
    pub fn public_handle(&self) -> Result<BackupHandle> {
        let Some(delta) = &self.delta else { return Ok(self.handle.clone()) };
        let fields = json!({ "id": derive_id(self.handle.id())?, "dir": delta.dir, "format": "delta/1" });
        match fields {
            Value::Object(fields) => BackupHandle::try_from(fields),
            _ => Err(Error::internal()),
        }
    }

    /// Returns the directory of the archive: the captured directory, or the carrier of a delta.
    pub fn handle_dir(&self) -> &Directory {
        self.handle.dir()
    }

    /// Returns the captured directory.
    pub fn dir(&self) -> &Directory {
        self.delta.as_ref().map_or_else(|| self.handle.dir(), |delta| &delta.dir)
    }

    /// Returns the handle of the backup that has all files: of the base of a delta, or this one.
    pub fn base_handle(&self) -> &BackupHandle {
        self.delta.as_ref().map_or(&self.handle, |delta| &delta.base.backup.handle)
    }

    /// Returns what the backup changes, if it is that of a delta.
    pub fn delta(&self) -> Option<&Delta> {
        self.delta.as_deref()
    }

    /// Returns the snapshots that are based on this one.
    pub fn deltas(&self) -> &[SnapshotId] {
        &self.deltas
    }

    /// Adds a snapshot that is based on this one.
    pub fn add_delta(&mut self, id: SnapshotId) {
        if !self.deltas.contains(&id) {
            self.deltas.push(id);
        }
    }

    /// Removes a snapshot that was based on this one.
    pub fn remove_delta(&mut self, id: &SnapshotId) {
        self.deltas.retain(|delta| delta != id);
    }

    /// Returns what the handle states, for a backup whose location is that of a `DirectoryBackup`.
    pub fn directory_backup(&self) -> Option<&DirectoryBackup> {
        match &self.location {
            BackupLocation::Pair(_) => None,
            BackupLocation::DirectoryBackup { .. } => self.handle.directory_backup(),
        }
    }

    /// Returns the location of the objects.
    pub const fn location(&self) -> &BackupLocation {
        &self.location
    }
}

impl Deref for LocatedBackup {
    type Target = BackupHandle;

    fn deref(&self) -> &BackupHandle {
        &self.handle
    }
}

impl TryFrom<Map<String, Value>> for LocatedBackup {
    type Error = Error;

    fn try_from(mut fields: Map<String, Value>) -> Result<Self> {
        if fields.contains_key("id") {
            return Ok(Self::pair(BackupHandle::try_from(fields)?));
        }
        let mut take = |name: &str| fields.remove(name);
        if let (Some(Value::Object(carrier)), Some(delta)) = (take("carrier"), take("delta")) {
            let delta = super::json::from_value(&delta).map_err(|_| Error::backup_handle_field_missing("delta"))?;
            return Ok(Self::pair(BackupHandle::try_from(carrier)?).with_delta(delta));
        }
        if let (Some(Value::Object(base)), Some(deltas)) = (take("base"), take("deltas")) {
            let deltas = super::json::from_value(&deltas).map_err(|_| Error::backup_handle_field_missing("deltas"))?;
            return Ok(Self { deltas, ..Self::pair(BackupHandle::try_from(base)?) });
        }
        match (take("record"), take("key")) {
            (Some(Value::Object(record)), Some(Value::String(key))) => {
                Ok(Self::new(BackupHandle::try_from(record)?, |_| key))
            }
            _ => Err(Error::backup_handle_field_missing("id")),
        }
    }
}

impl From<LocatedBackup> for Map<String, Value> {
    fn from(LocatedBackup { handle, location, delta, deltas }: LocatedBackup) -> Self {
        let handle = Self::from(handle);
        let object = |members: [(&str, Value); 2]| members.map(|(name, value)| (name.to_owned(), value)).into_iter();
        match (location, delta) {
            (BackupLocation::DirectoryBackup { key, .. }, _) => {
                object([("record", handle.into()), ("key", key.into())]).collect()
            }
            (BackupLocation::Pair(_), Some(delta)) => {
                object([("carrier", handle.into()), ("delta", json!(delta))]).collect()
            }
            (BackupLocation::Pair(_), None) if !deltas.is_empty() => {
                object([("base", handle.into()), ("deltas", json!(deltas))]).collect()
            }
            (BackupLocation::Pair(_), None) => handle,
        }
    }
}

/// Derives an id that no backup has.
fn derive_id(id: &BackupId) -> Result<BackupId> {
    let digest = Sha256::digest(format!("delta {id}"));
    let hex = digest.iter().take(16).fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let group = |start: usize, end: usize| hex.get(start..end).unwrap_or_default();
    BackupId::parse(&[group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)].join("-"))
}
