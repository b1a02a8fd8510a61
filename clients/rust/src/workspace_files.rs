//! The files of a named workspace, by their paths.

use crate::model::files::{FileContent, FileDescription, FilePage, FilePath, RemovedFile};
use crate::model::named::Address;
use crate::model::request::{
    ListFilesRequest, MakeDirectoryRequest, MoveFileRequest, ReadFileRequest, RemoveFileRequest, SandboxFiles,
    StatFileRequest, WriteFileRequest,
};
use crate::{Client, Result, Transport};

/// The files of a named workspace, which is started if it is not running. Paths are relative to its directory. Symbolic links
/// are not followed.
#[derive(Debug)]
pub struct WorkspaceFiles<'a, T> {
    client: &'a Client<T>,
    files: SandboxFiles,
}

impl<'a, T: Transport> WorkspaceFiles<'a, T> {
    pub(crate) fn new(client: &'a Client<T>, address: Address) -> Self {
        Self { client, files: SandboxFiles::named(address) }
    }

    /// Returns a file of at most 1 MiB. A longer one is refused: see [`read_range`](Self::read_range).
    pub async fn read(&self, path: &str) -> Result<FileContent> {
        let request = ReadFileRequest::of(self.files.clone(), FilePath::parse(path)?);
        self.client.files().read(&request).await
    }

    /// Returns a range of a file: at most `length` bytes, of which there are at most 1 MiB.
    pub async fn read_range(&self, path: &str, offset: u64, length: u32) -> Result<FileContent> {
        let request = ReadFileRequest::of(self.files.clone(), FilePath::parse(path)?);
        self.client.files().read(&ReadFileRequest { offset, length: Some(length), ..request }).await
    }

    /// Writes a text to a file, which appears at once when it is complete. Creates missing directories.
    pub async fn write(&self, path: &str, content: &str) -> Result<FileDescription> {
        self.write_with(path, content, |request| request).await
    }

    /// As [`write`](Self::write). `options` changes the request.
    pub async fn write_with(
        &self,
        path: &str,
        content: &str,
        options: impl FnOnce(WriteFileRequest) -> WriteFileRequest,
    ) -> Result<FileDescription> {
        let request = WriteFileRequest::text(self.files.clone(), FilePath::parse(path)?, content);
        self.client.files().write(&options(request)).await
    }

    /// Returns the first files in a directory, sorted by name. `options` changes the request.
    pub async fn list(
        &self,
        path: &str,
        options: impl FnOnce(ListFilesRequest) -> ListFilesRequest,
    ) -> Result<FilePage> {
        let request =
            ListFilesRequest { path: Some(FilePath::parse(path)?), ..ListFilesRequest::of(self.files.clone()) };
        self.client.files().list(&options(request)).await
    }

    /// Returns the attributes of a file or a directory.
    pub async fn stat(&self, path: &str) -> Result<FileDescription> {
        let request = StatFileRequest { source: self.files.clone().into(), path: FilePath::parse(path)? };
        self.client.files().stat(&request).await
    }

    /// Creates a directory, with those above it.
    pub async fn mkdir(&self, path: &str) -> Result<FileDescription> {
        let request = MakeDirectoryRequest { sandbox: self.files.clone(), path: FilePath::parse(path)? };
        self.client.files().mkdir(&request).await
    }

    /// Moves a file or a directory. Replaces an existing file only with `overwrite`.
    pub async fn move_file(&self, path: &str, to: &str, overwrite: bool) -> Result<FileDescription> {
        let (path, to) = (FilePath::parse(path)?, FilePath::parse(to)?);
        let request = MoveFileRequest { sandbox: self.files.clone(), path, to, overwrite };
        self.client.files().move_file(&request).await
    }

    /// Removes a file, or with `recursive` a directory with everything in it.
    pub async fn remove(&self, path: &str, recursive: bool) -> Result<RemovedFile> {
        let request = RemoveFileRequest { sandbox: self.files.clone(), path: FilePath::parse(path)?, recursive };
        self.client.files().remove(&request).await
    }
}
