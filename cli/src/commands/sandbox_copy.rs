//! `cp` from or to a running sandbox.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sandbox_snapshotter_client::Options;
use sandbox_snapshotter_client::model::Code;
use sandbox_snapshotter_client::model::files::{FileContent, FileDescription, FilePath, FileType};
use sandbox_snapshotter_client::model::request::{ReadFileRequest, SandboxFiles, StatFileRequest, WriteFileRequest};
use serde_json::json;

use super::context::Context;
use super::file_hints::{Place, explain};
use super::files::{parse_path, sandbox_files};
use super::local_files::{STDOUT, check_target_file, file_name, report, write_file, write_to_stdout};
use crate::args::download::{Cp, SandboxCopy};
use crate::directory_copy::upload_of_directory;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::quoting::shell_words;

/// Copies a file between this machine and a running sandbox or a workspace.
pub fn copy(context: &Context, command: &Cp, target: &str, path: &str, copy: SandboxCopy<'_>) -> Result<Exit> {
    let files = sandbox_files(context, target, &command.lineage_scope)?;
    let path = parse_path(path)?;
    match copy {
        SandboxCopy::To(local) => download(context, files.clone(), &path, local, command.force).map_err(|failure| {
            let failure = explain_directory(failure, target, &path);
            if failure.code() == Some(Code::FileNotFound.as_str()) {
                return explain(context, failure, &Place::of_sandbox(target), files.into(), &path);
            }
            failure
        }),
        SandboxCopy::From(local) => upload(context, files, target, path, local, command.force),
    }
}

fn download(context: &Context, files: SandboxFiles, path: &FilePath, local: &str, force: bool) -> Result<Exit> {
    let request = ReadFileRequest::of(files, path.clone());
    let first = context.call_read_only::<FileContent>("files/read", &request)?.value;
    let (id, size) = (first.file.location.sandbox_id.clone(), first.file.attributes.size_bytes);
    let body = RemoteFile::new(context, request, first)?;
    if local == STDOUT {
        return write_to_stdout(body);
    }
    let target = PathBuf::from(local);
    let target = if target.is_dir() { target.join(file_name(path)?) } else { target };
    check_target_file(&target, force)?;
    let size = write_file(body, Some(size), &target, force)?;
    report(context, &json!({ "sandboxId": id }), &target, Some(size))
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

fn upload(
    context: &Context,
    files: SandboxFiles,
    sandbox: &str,
    path: FilePath,
    local: &str,
    force: bool,
) -> Result<Exit> {
    let source = Path::new(local);
    if local != STDOUT && source.is_dir() {
        return Err(unreadable(source, sandbox, &path, &io::ErrorKind::IsADirectory.into()));
    }
    let (path, existing) = find_target(context, &files, path, source)?;
    if existing && !force {
        let message = format!("{:?} exists in the sandbox, and may have newer content.", path.as_str());
        let remediation = "Pass another path, or `--force` to replace files.";
        return Err(Failure::local(Exit::Conflict, Code::FileExists.as_str(), message, remediation));
    }
    let mut request = WriteFileRequest::text(files, path, "");
    let written = if local == STDOUT {
        context.write_file(&request, io::stdin())?
    } else {
        let (file, metadata) = open(source, sandbox, &request.path)?;
        request.mode = if existing { None } else { mode_of(&metadata) };
        context.write_file(&request, file)?
    };
    context.show(&written)
}

/// Returns the path that is written, and whether a file exists there. A file keeps its name in an existing directory, and if
/// the path ends with a slash.
fn find_target(context: &Context, files: &SandboxFiles, path: FilePath, source: &Path) -> Result<(FilePath, bool)> {
    let stat = |path: &FilePath| {
        let request = StatFileRequest { source: files.clone().into(), path: path.clone() };
        match context.call_without_suggestions::<FileDescription>("files/stat", &request) {
            Ok(found) => Ok(Some(found.value.attributes.r#type)),
            Err(failure) if failure.code() == Some(Code::FileNotFound.as_str()) => Ok(None),
            Err(failure) => Err(context.suggest_workspace(failure, &request.to_json())),
        }
    };
    let name = source.file_name().and_then(|name| name.to_str()).filter(|name| *name != STDOUT);
    let found = stat(&path)?;
    let is_directory = found == Some(FileType::Directory) || path.as_str().ends_with('/');
    match name {
        Some(name) if is_directory => {
            let inner = inside(&path, name)?;
            let existing = stat(&inner)?.is_some();
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

fn open(path: &Path, sandbox: &str, to: &FilePath) -> Result<(File, Metadata)> {
    let open = || Ok((File::open(path)?, fs::metadata(path)?));
    open().map_err(|error: io::Error| unreadable(path, sandbox, to, &error))
}

/// Returns the failure of a file of this machine that can't be read.
fn unreadable(path: &Path, sandbox: &str, to: &FilePath, error: &io::Error) -> Failure {
    let message = format!("{} can't be read: {error}.", path.display());
    let remediation = match error.kind() {
        io::ErrorKind::IsADirectory => {
            format!(
                "Pass a file. For a directory, run `{}`.",
                upload_of_directory(&path.display().to_string(), sandbox, to.as_str())
            )
        }
        _ => "Pass a file that this user can read.".to_owned(),
    };
    Failure::local(Exit::Failed, "LOCAL_FILE_UNREADABLE", message, remediation)
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

/// Adds how to copy a directory to the failure of a copy of something that is no file.
fn explain_directory(failure: Failure, sandbox: &str, path: &FilePath) -> Failure {
    if failure.code() != Some(Code::NotAFile.as_str()) {
        return failure;
    }
    let path = path.as_str().trim_end_matches('/');
    let tar = match path.rsplit_once('/') {
        Some((parent, name)) => {
            vec![sandbox, "tar", "c", "-C", if parent.is_empty() { "/" } else { parent }, name]
        }
        None => vec![sandbox, "tar", "c", if path.is_empty() { "." } else { path }],
    };
    failure.with_remediation(format!(
        "Pass the path of a regular file. For a directory, run `snapshotter exec {} | tar x`.",
        shell_words(tar)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_copied_from_the_path_without_its_parents() {
        let not_a_file = || Failure::invalid(Code::NotAFile.as_str(), "", "");
        for (path, expected) in [
            ("src", "tar c src | tar x`"),
            ("/workspace/src/", "tar c -C /workspace src | tar x`"),
            ("a/b", "tar c -C a b | tar x`"),
            ("", "tar c . | tar x`"),
        ] {
            let path = parse_path(path).unwrap();
            let Failure::Reported(report) = explain_directory(not_a_file(), "@ws", &path) else { panic!() };
            assert!(report.remediation.contains(expected), "{}", report.remediation);
        }
    }

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
