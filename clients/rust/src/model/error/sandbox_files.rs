//! Errors about the files of a running sandbox.

use crate::model::files::FilePath;
use crate::model::{Code, Directory, Error, SandboxId};

/// The remediation for a path through or to a symbolic link.
const NOT_FOLLOWED: &str = "Symbolic links are not followed: pass the path of their target.";

impl Error {
    /// [`Code::InvalidArgument`], for files both of a snapshot and of a workspace or a sandbox.
    pub fn file_source_ambiguous() -> Self {
        Self::invalid_argument(
            "The arguments must select either a snapshot, or a sandbox or workspace",
            "Pass a snapshot's `ref`, or its `sandboxId` and its `snapshotId` or `label`. For the files of a running sandbox, \
             pass its `sandboxId` or the `name` of its workspace, without the options of a snapshot.",
        )
    }

    /// [`Code::InvalidArgument`], for a content both as an option and as a stream.
    pub fn file_content_twice() -> Self {
        Self::invalid_argument(
            "The content is both in `content` and in a stream",
            "Pass the content as `content`, or as a stream.",
        )
    }

    /// [`Code::InvalidArgument`], for a change of the directory itself.
    pub fn file_is_root() -> Self {
        Self::invalid_argument(
            "The path is that of the directory itself",
            "Pass the path of something in it, such as \"src/main.rs\".",
        )
    }

    /// [`Code::InvalidArgument`], for an absolute path outside of the directory.
    pub fn file_outside(dir: &Directory, path: &FilePath) -> Self {
        Self::invalid_argument(
            format!("{:?} is not in the directory {:?}", path.as_str(), dir.as_str()),
            format!(
                "Pass a path relative to {:?}, or an absolute one in it. For the files of another directory, pass it as `dir`.",
                dir.as_str()
            ),
        )
    }

    /// [`Code::InvalidArgument`], for a file that is too long to be read as a whole.
    pub fn file_too_long(path: &str, size: u64, most: u32) -> Self {
        Self::invalid_argument(
            format!("{path:?} has {size} bytes, and an answer has at most {most}."),
            "Read it in parts: pass `length`, and then the `offset` of the next part. `files.download` of the TypeScript client's \
             workspaces and `snapshotter cp` do that.",
        )
    }

    /// [`Code::InvalidArgument`], for a directory that would be moved into itself.
    pub fn file_moved_into_itself(path: &FilePath, to: &FilePath) -> Self {
        Self::invalid_argument(
            format!("`to` ({:?}) is in the directory {:?} that would be moved.", to.as_str(), path.as_str()),
            "Pass a path outside of the directory.",
        )
    }

    /// [`Code::FileNotFound`], for a path at which a sandbox has nothing.
    pub fn sandbox_file_not_found(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        let place = place(id, dir);
        let message = match path.normalized().as_str() {
            "" => format!("The directory {place} does not exist."),
            _ => format!("{place} contains no {:?}.", path.as_str()),
        };
        Self::new(
            Code::FileNotFound,
            message,
            format!("List the files of its directory. Paths are relative to {:?}.", dir.as_str()),
        )
    }

    /// [`Code::NotADirectory`], for a path to or through something other than a directory.
    pub fn sandbox_file_not_a_directory(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        Self::new(
            Code::NotADirectory,
            format!(
                "In {}, {:?} is not a directory, or leads through something other than a directory.",
                place(id, dir),
                path.as_str()
            ),
            format!("Pass the path of a directory, or one that does not lead through a file. {NOT_FOLLOWED}"),
        )
    }

    /// [`Code::NotAFile`], for a path to something other than a regular file.
    pub fn sandbox_file_not_regular(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        Self::new(
            Code::NotAFile,
            format!("In {}, {:?} is not a regular file.", place(id, dir), path.as_str()),
            format!("Pass the path of a regular file. {NOT_FOLLOWED}"),
        )
    }

    /// [`Code::FileExists`], for a move to a path at which something exists.
    pub fn sandbox_file_exists(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        Self::new(
            Code::FileExists,
            format!("In {}, {:?} exists.", place(id, dir), path.as_str()),
            "Pass another path, or `overwrite: true` to replace a file. A directory must be removed first.",
        )
    }

    /// [`Code::FileChanged`], for a file that has another etag than the expected one.
    pub fn sandbox_file_changed(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        Self::new(
            Code::FileChanged,
            format!(
                "In {}, {:?} has changed: it does not have the expected etag. Nothing was written.",
                place(id, dir),
                path.as_str()
            ),
            "Read the file again, apply the change to its present content, and write it with the new `etag`.",
        )
    }

    /// [`Code::DirectoryNotEmpty`], for the removal of a directory with files in it.
    pub fn sandbox_directory_not_empty(id: &SandboxId, dir: &Directory, path: &FilePath) -> Self {
        Self::new(
            Code::DirectoryNotEmpty,
            format!("In {}, the directory {:?} is not empty.", place(id, dir), path.as_str()),
            "Pass `recursive: true` to remove it with everything in it.",
        )
    }

    /// [`Code::SandboxBusy`], while another call writes files of the sandbox.
    pub fn sandbox_files_busy(id: &SandboxId) -> Self {
        Self::busy(&format!("Another call has been writing files of the sandbox {:?} for 10 seconds.", id.as_str()))
    }

    /// [`Code::SandboxFailed`], for a file at which a program in the sandbox failed.
    pub fn sandbox_file_failed(id: &SandboxId, dir: &Directory, path: &FilePath, output: &str) -> Self {
        Self::new(
            Code::SandboxFailed,
            format!("In {}, the call failed at {:?}: {output}", place(id, dir), path.as_str()),
            "Check the permissions and the space on the disk of the sandbox.",
        )
    }
}

fn place(id: &SandboxId, dir: &Directory) -> String {
    format!("{:?} of the sandbox {:?}", dir.as_str(), id.as_str())
}
