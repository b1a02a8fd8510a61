//! The backups in the bucket: the captured state of a container, and the archive of its files.

use std::hash::{DefaultHasher, Hash, Hasher};

use sandbox_snapshotter::model::named::ContainerMarker;
use sandbox_snapshotter::model::{
    ArchiveFormat, ArchiveInfo, BackupId, BackupLocation, BackupMetadata, BackupObject, BackupObjectKind, BackupOwner,
    ContainerIdentity, SandboxId, Timestamp,
};

use super::Scheduler;
use super::containers::Files;

/// The size of the archive of an empty directory, in bytes.
const EMPTY_ARCHIVE_SIZE: usize = 4096;

/// The captured state of a container.
#[derive(Clone)]
pub struct Capture<N> {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The captured files.
    pub files: Files,
    /// The time at which the container was started, in milliseconds since 1970.
    pub started_at: i64,
    /// What the container ran on.
    pub image: String,
    /// The format of the archive.
    pub format: ArchiveFormat,
    /// The identity of the container.
    pub identity: Option<ContainerIdentity>,
    /// The marker of the container.
    pub marker: Option<ContainerMarker>,
    /// What the test noted about the container.
    pub notes: N,
    /// The time of the capture, in milliseconds since 1970.
    pub captured_at: i64,
    /// The files of the captured directory, if the captured files are those of a carrier.
    pub tree: Option<Files>,
}

/// The objects of a backup. A `DirectoryBackup` has one: what `metadata` has is in the archive's object.
pub struct Backup<S: Scheduler> {
    /// `meta.json`
    pub metadata: Option<BackupMetadata>,
    /// `data.sqsh`
    pub archive: Option<Vec<u8>>,
    /// Whether R2 has a checksum of the archive.
    pub has_checksum: bool,
    pub uploaded_at: Timestamp,
    /// What it was made from.
    pub capture: Capture<S::ContainerNotes>,
    pub(super) id: BackupId,
}

impl<S: Scheduler> Backup<S> {
    pub fn id(&self) -> &BackupId {
        &self.id
    }

    /// Returns the owner that its name states. The name of a `DirectoryBackup` is in the archive's object.
    pub fn owner(&self) -> Option<BackupOwner> {
        if self.capture.format == ArchiveFormat::DirectoryBackup && self.archive.is_none() {
            return None;
        }
        BackupOwner::parse(self.metadata.as_ref()?.name.as_deref()?)
    }

    /// Returns the location of its objects.
    pub fn location(&self) -> BackupLocation {
        let id = self.id.clone();
        if self.capture.format == ArchiveFormat::DirectoryBackup {
            return BackupLocation::DirectoryBackup { key: directory_backup_key(&id), id };
        }
        BackupLocation::Pair(id)
    }

    /// Returns whether both objects exist.
    pub fn is_complete(&self) -> bool {
        self.metadata.is_some() && self.archive.is_some()
    }

    /// Resizes the archive to `size` bytes, and updates the metadata.
    pub fn resize(&mut self, size: usize) {
        self.archive.as_mut().unwrap().resize(size, 0);
        self.metadata.as_mut().unwrap().size_bytes = size as u64;
    }

    /// Returns the existing objects, in the order of their keys.
    pub(super) fn list_objects(&self) -> Vec<BackupObject> {
        let object = |kind, size_bytes| BackupObject {
            location: self.location(),
            kind,
            size_bytes,
            uploaded_at: self.uploaded_at,
        };
        let is_pair = matches!(self.location(), BackupLocation::Pair(_));
        let kind = if is_pair { BackupObjectKind::Archive } else { BackupObjectKind::DirectoryBackup };
        let archive = self.archive.as_ref().map(|archive| object(kind, archive.len() as u64));
        let metadata = self.metadata.as_ref().filter(|_| is_pair);
        archive.into_iter().chain(metadata.map(|_| object(BackupObjectKind::Metadata, 200))).collect()
    }

    /// Returns the archive in a form that the reader of archives can read, unless it was changed: an archive of all files for
    /// that of a delta.
    pub(super) fn readable_archive(&self) -> Option<Vec<u8>> {
        let archive = self.archive.clone()?;
        let Capture { format, files, tree, .. } = &self.capture;
        if archive != build_archive_of(*format, files) {
            return Some(archive);
        }
        let dir = match (tree, &self.metadata) {
            (None, Some(metadata)) => &metadata.dir,
            _ => "/workspace",
        };
        let files = tree.as_ref().unwrap_or(files);
        Some(build_tar(files.iter().map(|(path, content)| (path.strip_prefix(dir).unwrap_or(path), content.as_str()))))
    }

    pub(super) fn archive_info(&self) -> Option<ArchiveInfo> {
        let archive = self.archive.as_ref()?;
        let checksum = || {
            let mut hasher = DefaultHasher::new();
            archive.hash(&mut hasher);
            format!("md5:{:032x}", hasher.finish())
        };
        Some(ArchiveInfo {
            size_bytes: archive.len() as u64,
            checksum: self.has_checksum.then(checksum),
            uploaded_at: self.uploaded_at,
            mark: self.owner().filter(|_| matches!(self.location(), BackupLocation::DirectoryBackup { .. })),
        })
    }
}

/// Returns the key of a `DirectoryBackup`.
pub(super) fn directory_backup_key(id: &BackupId) -> String {
    format!("saved/{id}.tar.zst")
}

/// Builds the archive of `files` in a format.
pub(super) fn build_archive_of(format: ArchiveFormat, files: &Files) -> Vec<u8> {
    let mut archive = build_archive(files);
    if let Some((start, magic)) = format.magic() {
        archive.splice(start..start + magic.len(), magic.iter().copied());
    }
    archive
}

/// Builds the archive of `files`: a squashfs header with the number of files and directories at byte 4 and the length
/// of the archive at byte 40, then the contents.
pub fn build_archive(files: &Files) -> Vec<u8> {
    let content: String = files.iter().map(|(path, content)| path.clone() + content).collect();
    let length = EMPTY_ARCHIVE_SIZE + content.len();
    let mut archive = b"hsqs".to_vec();
    archive.extend((1 + u32::try_from(files.len()).unwrap()).to_le_bytes());
    archive.resize(40, 0);
    archive.extend((length as u64).to_le_bytes());
    archive.extend(content.bytes());
    archive.resize(length, 0);
    archive
}

/// Builds a tar of files, which have paths and contents.
fn build_tar<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut tar = Vec::new();
    for (path, content) in files {
        let mut header = [0; 512];
        let size = format!("{:011o}", content.len());
        for (at, field) in [(0, path), (100, "0000644"), (124, &size), (148, "        "), (156, "0")] {
            header[at..at + field.len()].copy_from_slice(field.as_bytes());
        }
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        tar.extend(header);
        tar.extend(content.bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}
