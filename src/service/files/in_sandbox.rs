//! The files of a running sandbox. The entrypoint reads and changes them, so that their content does not pass through the
//! objects of this Worker.

use std::rc::Rc;

use super::read::checked;
use super::{to_attributes, to_page};
use crate::model::exec_call::ExecPurpose;
use crate::model::file_call::{FileAction, FileCall, FileInput, FileOutcome, FileRefusal};
use crate::model::files::{FileContent, FileCursor, FileDescription, FileLocation, FilePage, FilePath, RemovedFile};
use crate::model::named::messages::ResumedWorkspace;
use crate::model::request::{
    FileSource, ListFilesRequest, MakeDirectoryRequest, MoveFileRequest, ReadFileRequest, RemoveFileRequest,
    SandboxFiles, StatFileRequest, WriteFileRequest,
};
use crate::model::required_container::RequiredContainer;
use crate::model::{Directory, Error, Result, SandboxId, ShortId};
use crate::ports::{CallerCommands, InputOf, Ports};
use crate::service::calls::failures::{During, from_sandbox};
use crate::service::draw_random;
use crate::service::exec::attempts::{Destination, in_container, in_sandbox, prepare};
use crate::service::exec::{INPUT_FILE, refusal_error};

/// Returns a page of the files in a directory.
pub async fn list<P: Ports>(ports: &Rc<P>, request: ListFilesRequest) -> Result<FilePage> {
    let ListFilesRequest { source, path, cursor, limit } = request;
    let path = path.unwrap_or_else(FilePath::root);
    let action = FileAction::List { after: cursor.map(|FileCursor(name)| name), limit };
    match call(ports, &of_sandbox(source)?, &path, action).await? {
        (location, FileOutcome::Page { entries, next }) => Ok(to_page(location, path, &entries, next.as_ref())),
        _ => Err(other_outcome()),
    }
}

/// Returns the attributes of a file. Does not follow symbolic links.
pub async fn stat<P: Ports>(ports: &Rc<P>, request: StatFileRequest) -> Result<FileDescription> {
    describe(ports, &of_sandbox(request.source)?, request.path, FileAction::Stat, None).await
}

/// Returns a range of a file, which is cut at the end of the file.
pub async fn read<P: Ports>(ports: &Rc<P>, request: ReadFileRequest) -> Result<FileContent> {
    let is_of_whole = request.is_of_whole();
    let ReadFileRequest { source, path, offset, length } = request;
    let length = length.unwrap_or(ReadFileRequest::MAX_LENGTH);
    match call(ports, &of_sandbox(source)?, &path, FileAction::Read { offset, length }).await? {
        (location, FileOutcome::Content(attributes, etag, bytes)) => {
            let attributes = to_attributes(&attributes);
            let file = FileDescription { location, path: path.into(), etag, attributes };
            checked(FileContent::of(file, offset, bytes), is_of_whole)
        }
        _ => Err(other_outcome()),
    }
}

/// Writes a file. With `input`, its content is that of the stream.
pub async fn write<P: Ports>(
    ports: &Rc<P>,
    request: WriteFileRequest,
    input: Option<InputOf<P>>,
) -> Result<FileDescription> {
    check_inner(&request.path)?;
    let content = request.content_bytes().ok_or_else(Error::internal)?;
    let WriteFileRequest { sandbox, path, mode, if_match, .. } = request;
    let action = FileAction::Write { content: FileInput::Bytes(content), mode, if_match };
    describe(ports, &sandbox, path, action, input).await
}

/// Creates a directory, with those above it.
pub async fn make_directory<P: Ports>(ports: &Rc<P>, request: MakeDirectoryRequest) -> Result<FileDescription> {
    describe(ports, &request.sandbox, request.path, FileAction::MakeDirectory, None).await
}

/// Moves a file or a directory.
pub async fn move_file<P: Ports>(ports: &Rc<P>, request: MoveFileRequest) -> Result<FileDescription> {
    let MoveFileRequest { sandbox, path, to, overwrite } = request;
    check_inner(&path)?;
    check_inner(&to)?;
    if to.normalized().parents().any(|parent| parent == path.normalized()) {
        return Err(Error::file_moved_into_itself(&path, &to));
    }
    let action = FileAction::Move { to: to.clone(), overwrite };
    Ok(FileDescription { path: to.into(), ..describe(ports, &sandbox, path, action, None).await? })
}

/// Removes a file or a directory.
pub async fn remove<P: Ports>(ports: &Rc<P>, request: RemoveFileRequest) -> Result<RemovedFile> {
    let RemoveFileRequest { sandbox, path, recursive } = request;
    check_inner(&path)?;
    match call(ports, &sandbox, &path, FileAction::Remove { recursive }).await? {
        (location, FileOutcome::Removed(removed)) => Ok(RemovedFile { location, path: path.into(), removed }),
        _ => Err(other_outcome()),
    }
}

/// Returns a path as the container gets it.
fn resolve(path: &FilePath, dir: &Directory, action: &FileAction) -> Result<FilePath> {
    let path = path.relative_to(dir).ok_or_else(|| Error::file_outside(dir, path))?;
    if matches!(action, FileAction::Write { .. } | FileAction::Move { .. } | FileAction::Remove { .. }) {
        check_inner(&path)?;
    }
    Ok(path)
}

/// Refuses the path of the directory itself.
fn check_inner(path: &FilePath) -> Result<()> {
    if path.normalized().as_str().is_empty() { Err(Error::file_is_root()) } else { Ok(()) }
}

/// Returns the files of a sandbox. The ledger of the origin reads those of a snapshot.
fn of_sandbox(source: FileSource) -> Result<SandboxFiles> {
    match source {
        FileSource::Sandbox(files) => Ok(files),
        FileSource::Snapshot(_) => Err(Error::internal()),
    }
}

fn other_outcome() -> Error {
    Error::internal()
}

/// Makes a call whose outcome are the attributes of a file.
async fn describe<P: Ports>(
    ports: &Rc<P>,
    files: &SandboxFiles,
    path: FilePath,
    action: FileAction,
    input: Option<InputOf<P>>,
) -> Result<FileDescription> {
    match call_with_input(ports, files, &path, action, input).await? {
        (location, FileOutcome::Entry(attributes, etag)) => {
            Ok(FileDescription { location, path: path.into(), etag, attributes: to_attributes(&attributes) })
        }
        _ => Err(other_outcome()),
    }
}

async fn call<P: Ports>(
    ports: &Rc<P>,
    files: &SandboxFiles,
    path: &FilePath,
    action: FileAction,
) -> Result<(FileLocation, FileOutcome)> {
    call_with_input(ports, files, path, action, None).await
}

/// Makes a call in the container of the selected sandbox, and returns where that is. A workspace is started if it is not
/// running.
async fn call_with_input<P: Ports>(
    ports: &Rc<P>,
    files: &SandboxFiles,
    path: &FilePath,
    action: FileAction,
    mut input: Option<InputOf<P>>,
) -> Result<(FileLocation, FileOutcome)> {
    // A stream is read only once, so there is no second attempt.
    let destination = Destination { target: files.selection.target()?, revive: None, once: input.is_some() };
    let work = async |found| call_in(ports, files, found, path, action.clone(), input.take()).await;
    Box::pin(in_sandbox(&**ports, &destination, work)).await
}

async fn call_in<P: Ports>(
    ports: &Rc<P>,
    files: &SandboxFiles,
    found: ResumedWorkspace,
    path: &FilePath,
    mut action: FileAction,
    input: Option<InputOf<P>>,
) -> Result<(FileLocation, FileOutcome)> {
    let ResumedWorkspace { sandbox_id: id, started, .. } = found;
    let prepared = prepare(&**ports, &id, &files.selection, ExecPurpose::Command).await?;
    let dir = files.dir.clone().unwrap_or_else(|| prepared.dir.clone());
    let resolved = resolve(path, &dir, &action)?;
    if let FileAction::Move { to, overwrite } = &action {
        action = FileAction::Move { to: resolve(to, &dir, &action)?, overwrite: *overwrite };
    }
    let sandboxes = ports.sandboxes(prepared.runtime)?;
    let failed = |failure| from_sandbox(failure, &id, During::Files);
    let call_id = draw_random(&**ports, ShortId::from_random)?.as_str().to_owned();
    if let (Some(input), FileAction::Write { content, .. }) = (input, &mut action) {
        let file = format!("{INPUT_FILE}{call_id}");
        sandboxes.write_input(&id, &file, input).await.map_err(failed)?;
        *content = FileInput::File(file);
    }
    // Files that were moved away would be missing in the next snapshot.
    let has_dir = prepared.has_dir && dir.is_same(&prepared.dir);
    let call = FileCall { id: call_id, dir: dir.clone(), has_dir, path: resolved, action };
    let attempt = async |required: &RequiredContainer| sandboxes.call_files(&id, required, &call).await.map_err(failed);
    match in_container(ports, &id, &prepared, attempt).await? {
        Ok(outcome) => Ok((FileLocation { snapshot_id: None, sandbox_id: Some(id), started }, outcome)),
        Err(refusal) => Err(error_of(refusal, &id, &dir, path, &call.action)),
    }
}

/// Returns the error of a refused call about `path`.
pub(super) fn error_of(
    refusal: FileRefusal,
    id: &SandboxId,
    dir: &Directory,
    path: &FilePath,
    action: &FileAction,
) -> Error {
    let to = if let FileAction::Move { to, .. } = action { to } else { path };
    match refusal {
        FileRefusal::Command(refusal) => refusal_error(&refusal, id, None, (dir, None)),
        FileRefusal::Hidden => Error::unmounted_directory(dir),
        FileRefusal::NoDirectory => Error::directory_missing(dir),
        FileRefusal::NotFound => Error::sandbox_file_not_found(id, dir, path),
        FileRefusal::NotADirectory => Error::sandbox_file_not_a_directory(id, dir, path),
        FileRefusal::NewPathBlocked => Error::sandbox_file_not_a_directory(id, dir, to),
        FileRefusal::NotAFile => Error::sandbox_file_not_regular(id, dir, path),
        FileRefusal::Exists => Error::sandbox_file_exists(id, dir, to),
        FileRefusal::Changed => Error::sandbox_file_changed(id, dir, path),
        FileRefusal::ListEnded => Error::diff_list_ended(id),
        FileRefusal::TooMany => Error::files_not_listed(id, dir, "there are too many."),
        FileRefusal::NotEmpty => Error::sandbox_directory_not_empty(id, dir, path),
        FileRefusal::Busy => Error::sandbox_files_busy(id),
        FileRefusal::Failed(output) if matches!(action, FileAction::Walk { .. }) => {
            Error::files_not_listed(id, dir, &output)
        }
        FileRefusal::Failed(output) => Error::sandbox_file_failed(id, dir, path, &output),
    }
}
