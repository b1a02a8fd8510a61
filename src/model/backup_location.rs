//! Where the objects of a backup are in the bucket.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BackupHandle, BackupId, DirectoryBackup, Error, Result};

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

/// The handle of a backup, with the location of its objects.
///
/// The rows of the ledger contain it. For a pair of objects, it is the handle alone. For a `DirectoryBackup`, it is
/// `{record, key}`: an earlier release can't read such a row, and so neither restores nor deletes the backup as a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct LocatedBackup {
    handle: BackupHandle,
    location: BackupLocation,
}

impl LocatedBackup {
    /// Returns a backup whose object has the key `key` if it is a `DirectoryBackup`.
    pub fn new(handle: BackupHandle, key: impl FnOnce(&BackupId) -> String) -> Self {
        let id = handle.id().clone();
        let location = match handle.directory_backup() {
            Some(_) => BackupLocation::DirectoryBackup { key: key(&id), id },
            None => BackupLocation::Pair(id),
        };
        Self { handle, location }
    }

    /// Returns the handle.
    pub const fn handle(&self) -> &BackupHandle {
        &self.handle
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
            let handle = BackupHandle::try_from(fields)?;
            let location = BackupLocation::Pair(handle.id().clone());
            return Ok(Self { handle, location });
        }
        match (fields.remove("record"), fields.remove("key")) {
            (Some(Value::Object(record)), Some(Value::String(key))) => {
                Ok(Self::new(BackupHandle::try_from(record)?, |_| key))
            }
            _ => Err(Error::backup_handle_field_missing("id")),
        }
    }
}

impl From<LocatedBackup> for Map<String, Value> {
    fn from(LocatedBackup { handle, location }: LocatedBackup) -> Self {
        let handle = Self::from(handle);
        match location {
            BackupLocation::Pair(_) => handle,
            BackupLocation::DirectoryBackup { key, .. } => {
                Self::from_iter([("record".to_owned(), handle.into()), ("key".to_owned(), key.into())])
            }
        }
    }
}
