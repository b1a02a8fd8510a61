//! Errors about the files of a snapshot.

use crate::model::files::FilePath;
use crate::model::{BackupId, Code, Directory, Error, Failure, SandboxId, SnapshotId};

impl Error {
    /// [`Code::FileNotFound`], for a path that a snapshot does not contain.
    pub fn file_not_found(id: &SnapshotId, path: &FilePath) -> Self {
        let remediation = if path.as_str().starts_with('/') {
            "Pass the path without the directory that the snapshot contains: \"src/main.rs\" for \"/workspace/src/main.rs\"."
        } else {
            "List the files of its directory. Paths are relative to the directory that the snapshot contains."
        };
        let message = format!("The snapshot {id} contains no {:?}.", path.as_str());
        Self::new(Code::FileNotFound, message, remediation)
    }

    /// [`Code::NotADirectory`], for a path to or through something other than a directory.
    pub fn file_not_a_directory(id: &SnapshotId, path: &FilePath) -> Self {
        Self::new(
            Code::NotADirectory,
            format!(
                "In the snapshot {id}, {:?} is not a directory, or leads through something other than a directory.",
                path.as_str()
            ),
            "Pass the path of a directory. Symbolic links are not followed: pass the path of their target.",
        )
    }

    /// [`Code::NotAFile`], for a path to something other than a regular file.
    pub fn file_not_regular(id: &SnapshotId, path: &FilePath) -> Self {
        Self::new(
            Code::NotAFile,
            format!("In the snapshot {id}, {:?} is not a regular file.", path.as_str()),
            "Pass the path of a regular file. Symbolic links are not followed: pass the path of their target.",
        )
    }

    /// [`Code::InvalidArgument`], for a path that no archive can contain.
    pub fn invalid_path(path: &FilePath, why: &str) -> Self {
        Self::invalid_argument(
            format!("`path` {why}, got {:?}", path.as_str()),
            "Pass a path relative to the directory of the snapshot, such as \"src/main.rs\".",
        )
    }

    /// [`Code::StorageUnavailable`], when R2 failed while an archive was read.
    pub fn archive_source_failed(id: &BackupId, message: &str) -> Self {
        let doing = format!("reading the archive of the backup {id}");
        Self::storage_unavailable(&doing, Failure::new("R2Error", message))
    }

    /// [`Code::CrossLineage`], for the differences between snapshots of two lineages.
    pub fn diff_of_lineages(from: &SandboxId, to: &SandboxId) -> Self {
        Self::new(
            Code::CrossLineage,
            format!(
                "The first snapshot belongs to the lineage of {:?}, and the second one to that of {:?}.",
                from.as_str(),
                to.as_str()
            ),
            "Compare snapshots of the same lineage, or pass `allowCrossLineage: true` with the second one to permit others.",
        )
    }

    /// [`Code::SandboxNotRunning`], for a snapshot that is compared with the present files of a sandbox.
    pub fn diff_not_running(id: &SandboxId) -> Self {
        Self::new(
            Code::SandboxNotRunning,
            format!("The sandbox {:?} is not running, so it has no files to compare the snapshot with.", id.as_str()),
            "Start it first, or compare the snapshot with the newest one.",
        )
    }

    /// [`Code::InvalidArgument`], for a cursor whose list of files is gone.
    pub fn diff_list_ended(id: &SandboxId) -> Self {
        Self::invalid_argument(
            format!("The list of files in the sandbox {:?} that `cursor` continues no longer exists", id.as_str()),
            "Start again without a cursor. The sandbox keeps the lists of the last three comparisons, until it ends.",
        )
    }

    /// [`Code::SandboxFailed`], for files that can't be listed completely.
    pub fn files_not_listed(id: &SandboxId, dir: &Directory, why: &str) -> Self {
        Self::new(
            Code::SandboxFailed,
            format!(
                "The files in {:?} of the sandbox {:?} can't be listed completely: {why}",
                dir.as_str(),
                id.as_str()
            ),
            "Try again when no program changes the files, or compare two snapshots.",
        )
    }

    /// [`Code::CrossLineage`], for files of a snapshot of another lineage than the sandbox.
    pub fn files_of_other_lineage(source: &SandboxId, target: &SandboxId) -> Self {
        Self::new(
            Code::CrossLineage,
            format!(
                "The snapshot belongs to the lineage of {:?}, and the sandbox to that of {:?}.",
                source.as_str(),
                target.as_str()
            ),
            "Use a snapshot of the same lineage, or pass `allowCrossLineage: true` to permit others.",
        )
    }

    /// [`Code::InvalidArgument`], for more files than one call restores.
    pub fn too_many_restored_files(most: usize) -> Self {
        Self::invalid_argument(
            format!("The directories of `paths` contain more than {most} files, links and directories."),
            "Pass subdirectories or files, or unpack a tar of `files/export` in the sandbox. For all files, roll back or fork the workspace, \
             or restore the snapshot.",
        )
    }

    /// [`Code::InvalidArgument`], for more bytes than one call restores.
    pub fn restored_files_too_large(bytes: u64, most: u64) -> Self {
        Self::invalid_argument(
            format!("The files of `paths` have {bytes} bytes; the maximum is {most}."),
            "Pass fewer files. For larger ones, write a download of `files/download` to the sandbox, roll back or fork the workspace, or \
             restore the snapshot.",
        )
    }

    /// [`Code::NotADirectory`], for a file that has no place in a sandbox.
    pub fn file_place_blocked(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        Self::new(
            Code::NotADirectory,
            format!(
                "In {:?} of the sandbox {:?}, something is in the way of {:?}: a directory in the place of a file, or something else in \
                 the place of a directory.",
                dir.as_str(),
                id.as_str(),
                path.as_str()
            ),
            "Move what is there, or pass another `dir`. Symbolic links are not followed.",
        )
    }

    /// [`Code::SandboxFailed`], for a file that a program in the sandbox could not write.
    pub fn file_not_written(id: &SandboxId, dir: &Directory, path: &FilePath, output: &str) -> Self {
        Self::new(
            Code::SandboxFailed,
            format!(
                "In {:?} of the sandbox {:?}, {:?} can't be written, and is unchanged: {output}",
                dir.as_str(),
                id.as_str(),
                path.as_str()
            ),
            "Check the permissions and the space on the disk of the sandbox.",
        )
    }

    /// [`Code::ArchiveUnreadable`], for an archive that this release restores and does not read.
    pub fn archive_unreadable(id: &SnapshotId, why: &str) -> Self {
        Self::new(
            Code::ArchiveUnreadable,
            format!("The files of the snapshot {id} can't be read without a restore: {why}."),
            "Restore the snapshot, and read the files in the sandbox.",
        )
    }
}
