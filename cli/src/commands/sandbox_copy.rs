//! `cp` from or to a running sandbox.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sandbox_snapshotter_client::Options;
use sandbox_snapshotter_client::model::Code;
use sandbox_snapshotter_client::model::files::{FileContent, FileDescription, FilePage, FilePath, FileType};
use sandbox_snapshotter_client::model::request::{
    ListFilesRequest, ReadFileRequest, SandboxFiles, StatFileRequest, WriteFileRequest,
};
use serde_json::json;

use super::context::Context;
use super::copied::Copied;
use super::directory_copy;
use super::file_hints::{Place, explain};
use super::files::{parse_path, sandbox_files};
use super::local_files::{
    STDOUT, check_target_file, directory_target, file_name, kept_name, unreadable, write_file, write_to_stdout,
};
use crate::args::download::{Between, Cp, SandboxCopy};
use crate::exit::Exit;
use crate::failure::{Failure, Result};

/// Copies a file or a directory between this machine and a running sandbox or a workspace. Returns `None` for the standard output.
pub fn copy(context: &Context, command: &Cp, between: Between<'_>) -> Result<Option<Copied>> {
    match copy_between(context, command, between) {
        Ok(Some(copied)) if context.output.json => Ok(Some(copied.after_start(context.take_unreported_start()))),
        Err(failure) if failure.started().is_some() => {
            let first = context.take_unreported_start();
            Err(first.iter().fold(failure, Failure::with_first_start))
        }
        copied => {
            context.warn_of_unreported_start();
            copied
        }
    }
}

fn copy_between(context: &Context, command: &Cp, (target, path, copy): Between<'_>) -> Result<Option<Copied>> {
    let files = sandbox_files(context, target, &command.lineage_scope)?;
    let path = parse_path(path)?;
    match copy {
        SandboxCopy::To(local) => download(context, &files, &path, local, command.force).map_err(|failure| {
            if failure.code() == Some(Code::FileNotFound.as_str()) {
                return explain(context, failure, &Place::of_sandbox(target), files.into(), &path);
            }
            failure
        }),
        SandboxCopy::From(local) if local != STDOUT && Path::new(local).is_dir() => {
            upload_directory(context, target, files, path, local, command.force).map(Some)
        }
        SandboxCopy::From(local) => upload(context, files, path, local, command.force).map(Some),
    }
}

fn download(
    context: &Context,
    files: &SandboxFiles,
    path: &FilePath,
    local: &str,
    force: bool,
) -> Result<Option<Copied>> {
    let request = ReadFileRequest::first_part(files.clone(), path.clone());
    let first = match context.call_read_only::<FileContent>("files/read", &request) {
        Ok(first) => first.value,
        Err(failure) if failure.code() == Some(Code::NotAFile.as_str()) && is_directory(context, files, path)? => {
            return download_directory(context, files, path, local, force);
        }
        Err(failure) => return Err(failure),
    };
    let (id, size) = (first.file.location.sandbox_id.clone(), first.file.attributes.size_bytes);
    let body = RemoteFile::new(context, request, first)?;
    if local == STDOUT {
        return write_to_stdout(body).map(|()| None);
    }
    let target = PathBuf::from(local);
    let target = if target.is_dir() { target.join(file_name(path)?) } else { target };
    check_target_file(&target, force)?;
    let size = write_file(body, Some(size), &target, force)?;
    Ok(Some(Copied::local_file(json!({ "sandboxId": id }), &target, size)))
}

fn is_directory(context: &Context, files: &SandboxFiles, path: &FilePath) -> Result<bool> {
    Ok(type_of(context, files, path)? == Some(FileType::Directory))
}

fn download_directory(
    context: &Context,
    files: &SandboxFiles,
    path: &FilePath,
    local: &str,
    force: bool,
) -> Result<Option<Copied>> {
    if local == STDOUT {
        let end = directory_copy::print(context, files, path)?;
        context.warn_of_loss(end.started.as_ref());
        return Ok(None);
    }
    let target = directory_target(local, path);
    let (end, totals) = directory_copy::download(context, files, path, &target, force)?;
    context.warn_of_loss(end.started.as_ref());
    Ok(Some(Copied::local_directory(json!({ "sandboxId": end.sandbox_id }), &target, totals)))
}

/// A file of a running sandbox, which is read part by part.
struct RemoteFile<'a> {
    context: &'a Context,
    request: ReadFileRequest,
    /// The file, as the first part describes it.
    file: FileDescription,
    part: io::Cursor<Vec<u8>>,
}

impl<'a> RemoteFile<'a> {
    fn new(context: &'a Context, mut request: ReadFileRequest, first: FileContent) -> Result<Self> {
        let bytes = first.bytes().ok_or_else(|| Failure::foreign_answer("the content of a file is not valid"))?;
        request.offset = first.offset + first.length;
        Ok(Self { context, request, file: first.file, part: io::Cursor::new(bytes) })
    }

    /// Reads the next part. Fails if the file has changed since the first one.
    fn read_part(&mut self) -> io::Result<()> {
        let next = self.context.call_read_only::<FileContent>("files/read", &self.request);
        let next = next.map_err(|failure| io::Error::other(failure.code().unwrap_or_default().to_owned()))?.value;
        if next.file.attributes != self.file.attributes || next.file.etag != self.file.etag {
            return Err(io::Error::other("the file changed while it was read"));
        }
        self.request.offset += next.length;
        self.part = io::Cursor::new(next.bytes().ok_or(io::ErrorKind::InvalidData)?);
        Ok(())
    }
}

impl Read for RemoteFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.part.read(buffer)?;
        if length > 0 || self.request.offset >= self.file.attributes.size_bytes {
            return Ok(length);
        }
        self.read_part()?;
        self.part.read(buffer)
    }
}

/// Copies a local directory to a path of the sandbox. It keeps its name in an existing directory, and if the path ends with a
/// slash.
fn upload_directory(
    context: &Context,
    operand: &str,
    files: SandboxFiles,
    path: FilePath,
    source: &str,
    force: bool,
) -> Result<Copied> {
    let found = type_of(context, &files, &path)?;
    let is_into = found == Some(FileType::Directory) || path.as_str().ends_with('/');
    let (path, found) = match kept_name(source) {
        Some(name) if is_into => {
            let inner = inside(&path, name)?;
            let found = type_of(context, &files, &inner)?;
            (inner, found)
        }
        _ => (path, found),
    };
    let is_free = match found {
        None => true,
        Some(FileType::Directory) => force || is_empty(context, &files, &path)?,
        Some(_) => false,
    };
    if !is_free {
        return Err(exists(&path));
    }
    let (end, totals) = directory_copy::upload(context, &files, Path::new(source), &path)?;
    context.warn_of_loss(end.started.as_ref());
    let request = StatFileRequest { source: files.into(), path };
    Ok(Copied::directory(operand, context.call_read_only("files/stat", &request)?, totals))
}

fn is_empty(context: &Context, files: &SandboxFiles, path: &FilePath) -> Result<bool> {
    let request = ListFilesRequest { source: files.clone().into(), path: Some(path.clone()), cursor: None, limit: 1 };
    Ok(context.call_read_only::<FilePage>("files/list", &request)?.value.files.is_empty())
}

fn upload(context: &Context, files: SandboxFiles, path: FilePath, local: &str, force: bool) -> Result<Copied> {
    let source = Path::new(local);
    let (path, existing) = find_target(context, &files, path, source)?;
    if existing && !force {
        return Err(exists(&path));
    }
    let mut request = WriteFileRequest::text(files, path, "");
    let written = if local == STDOUT {
        context.write_file(&request, io::stdin())?
    } else {
        let (file, metadata) = open(source)?;
        request.mode = if existing { None } else { mode_of(&metadata) };
        context.write_file(&request, file)?
    };
    Ok(Copied::file(written))
}

fn exists(path: &FilePath) -> Failure {
    let message = format!("{:?} exists in the sandbox, and may have newer content.", path.as_str());
    let remediation = "Pass another path, or `--force` to replace files.";
    Failure::local(Exit::Conflict, Code::FileExists.as_str(), message, remediation)
}

/// Returns the type of what is at a path of the sandbox; `None` if nothing is.
pub(super) fn type_of(context: &Context, files: &SandboxFiles, path: &FilePath) -> Result<Option<FileType>> {
    let request = StatFileRequest { source: files.clone().into(), path: path.clone() };
    match context.call_without_suggestions::<FileDescription>("files/stat", &request) {
        Ok(found) => Ok(Some(found.value.attributes.r#type)),
        Err(failure) if failure.code() == Some(Code::FileNotFound.as_str()) => Ok(None),
        Err(failure) => Err(context.explain_target(failure, &request.to_json())),
    }
}

/// Returns the path that is written, and whether a file exists there. A file keeps its name in an existing directory, and if
/// the path ends with a slash.
fn find_target(context: &Context, files: &SandboxFiles, path: FilePath, source: &Path) -> Result<(FilePath, bool)> {
    let name = source.file_name().and_then(|name| name.to_str()).filter(|name| *name != STDOUT);
    let found = type_of(context, files, &path)?;
    let is_directory = found == Some(FileType::Directory) || path.as_str().ends_with('/');
    match name {
        Some(name) if is_directory => {
            let inner = inside(&path, name)?;
            let existing = type_of(context, files, &inner)?.is_some();
            Ok((inner, existing))
        }
        None if is_directory => {
            let message = format!("{:?} is a directory, and the standard input has no name.", path.as_str());
            Err(Failure::invalid("INVALID_USAGE", message, "Append the name of the file to the path."))
        }
        _ => Ok((path, found.is_some())),
    }
}

/// Returns the path of a file in a directory. An absolute path stays absolute.
fn inside(directory: &FilePath, name: &str) -> Result<FilePath> {
    let directory = directory.as_str().trim_end_matches('/');
    let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
    Ok(FilePath::parse(&path)?)
}

fn open(path: &Path) -> Result<(File, Metadata)> {
    let open = || Ok((File::open(path)?, fs::metadata(path)?));
    open().map_err(|error: io::Error| unreadable(path, &error))
}

/// Returns the permission bits of a file, where this machine has them.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps)] // Other machines have none.
fn mode_of(metadata: &Metadata) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    Some(format!("{:04o}", metadata.permissions().mode() & 0o777))
}

#[cfg(not(unix))]
fn mode_of(_: &Metadata) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_name_in_a_directory() {
        for (directory, expected) in [
            ("", "main.py"),
            ("/", "main.py"),
            ("src", "src/main.py"),
            ("src//", "src/main.py"),
            ("/workspace/", "/workspace/main.py"),
        ] {
            assert_eq!(inside(&parse_path(directory).unwrap(), "main.py").unwrap().as_str(), expected, "{directory}");
        }
    }
}
