//! `cp` of directories between this machine and a running sandbox: `tar` in the sandbox packs or unpacks them.

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::thread;

use sandbox_snapshotter_client::Error;
use sandbox_snapshotter_client::model::exec::{ExecEvent, ExecEventReader, ExecExit, OutputStream};
use sandbox_snapshotter_client::model::files::FilePath;
use sandbox_snapshotter_client::model::request::{ExecRequest, SandboxFiles};

use super::context::Context;
use super::copied::Totals;
use super::local_files::{Body, check_target_directory, unpack, unreadable, write_to_stdout};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::interrupt::{self, Effect};
use crate::output::sanitize::sanitize_for_terminal;

/// The size of the parts in which an answer is read, in bytes.
const PART_BYTES: usize = 64 * 1024;

/// How much of the error output of `tar` is reported, in bytes.
const MAX_ERRORS: usize = 2_000;

/// The exit code of a program that does not exist.
const NOT_FOUND: i32 = 127;

/// Creates a directory, and unpacks the standard input there. The files get the owner that runs the command.
const UNPACK: &str = r#"mkdir -p -- "$1" && exec tar -x -o -f - -C "$1""#;

/// Copies the files of a directory of a sandbox to a local directory.
pub(super) fn download(
    context: &Context,
    files: &SandboxFiles,
    path: &FilePath,
    target: &Path,
    force: bool,
) -> Result<(ExecExit, Totals)> {
    check_target_directory(target, force)?;
    let _tracker = interrupt::track_call(Effect::RunsCommand, None);
    let mut tar = pack(context, files, path)?;
    let unpacked = unpack(&mut tar, target, force);
    tar.finish(unpacked)
}

/// Writes the files of a directory of a sandbox to the standard output, as a tar.
pub(super) fn print(context: &Context, files: &SandboxFiles, path: &FilePath) -> Result<ExecExit> {
    let _tracker = interrupt::track_call(Effect::RunsCommand, None);
    let mut tar = pack(context, files, path)?;
    let written = write_to_stdout(&mut tar);
    tar.finish(written).map(|(exit, ())| exit)
}

fn pack(context: &Context, files: &SandboxFiles, path: &FilePath) -> Result<CommandOutput> {
    let argv = ["tar", "-c", "-f", "-", "-C", &operand(path), "."].map(str::to_owned).to_vec();
    start(context, files, argv, None::<io::Empty>)
}

/// Copies the files of a local directory to a directory of a sandbox, which is created.
pub(super) fn upload(
    context: &Context,
    files: &SandboxFiles,
    source: &Path,
    path: &FilePath,
) -> Result<(ExecExit, Totals)> {
    let totals = count_files(source).map_err(|error| unreadable(source, &error))?;
    let (reader, writer) = io::pipe().map_err(|error| unreadable(source, &error))?;
    let _tracker = interrupt::track_call(Effect::RunsCommand, None);
    let from = source.to_owned();
    let packing = thread::spawn(move || {
        let mut tar = tar::Builder::new(writer);
        tar.follow_symlinks(false);
        tar.append_dir_all(".", from)?;
        tar.finish()
    });
    let argv = ["sh", "-c", UNPACK, "sh", &operand(path)].map(str::to_owned).to_vec();
    let unpacked = start(context, files, argv, Some(reader)).and_then(|output| output.finish(Ok(())));
    match packing.join() {
        // The sandbox reads no more after a failure.
        Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(unreadable(source, &error)),
        _ => unpacked.map(|(exit, ())| (exit, totals)),
    }
}

/// Returns the totals of the files in a directory, without following links.
fn count_files(directory: &Path) -> io::Result<Totals> {
    let (mut totals, mut rest) = (Totals::default(), vec![directory.to_owned()]);
    while let Some(directory) = rest.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            match metadata.file_type() {
                kind if kind.is_dir() => rest.push(entry.path()),
                kind if kind.is_file() => totals.add(metadata.len()),
                _ => totals.add(0),
            }
        }
    }
    Ok(totals)
}

/// Returns a path as an operand of a command, which is no option. `/` alone is the directory of the workspace, in which the
/// command runs, and not that of the container.
fn operand(path: &FilePath) -> String {
    match path.as_str() {
        _ if path.normalized().as_str().is_empty() => ".".to_owned(),
        path if path.starts_with('-') => format!("./{path}"),
        path => path.to_owned(),
    }
}

/// Starts a command in the sandbox of `files`, with an input.
fn start(
    context: &Context,
    files: &SandboxFiles,
    argv: Vec<String>,
    input: Option<impl Read>,
) -> Result<CommandOutput> {
    let request = ExecRequest {
        command: None,
        argv,
        cwd: files.dir.as_ref().map(ToString::to_string),
        timeout_seconds: ExecRequest::MAX_TIMEOUT,
        ..ExecRequest::of(files.selection.clone(), "")
    };
    let answer = Box::new(context.exec_stream(&request, input)?);
    Ok(CommandOutput {
        answer,
        events: ExecEventReader::default(),
        output: Cursor::default(),
        errors: Vec::new(),
        end: None,
    })
}

/// The standard output of a command that runs.
struct CommandOutput {
    answer: Body,
    events: ExecEventReader,
    /// The output that was received and not read yet.
    output: Cursor<Vec<u8>>,
    /// The begin of the error output.
    errors: Vec<u8>,
    end: Option<Result<ExecExit>>,
}

impl Read for CommandOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.output.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            match &self.end {
                Some(Ok(_)) => return Ok(0),
                Some(Err(_)) => return Err(io::Error::other("the command failed")),
                None => {
                    if let Err(failure) = self.receive() {
                        self.end = Some(Err(failure));
                    }
                }
            }
        }
    }
}

impl CommandOutput {
    /// Receives a part of the answer.
    fn receive(&mut self) -> Result<()> {
        let mut part = vec![0; PART_BYTES];
        let length = self.answer.read(&mut part).map_err(|error| broken(&error))?;
        if length == 0 {
            return Err(broken(&io::ErrorKind::UnexpectedEof.into()));
        }
        let events = self.events.read(part.get(..length).unwrap_or_default());
        let events = events.map_err(|why| Failure::foreign_answer(&why))?;
        let mut output = Vec::new();
        for event in events {
            match event {
                ExecEvent::Output(OutputStream::Stdout, bytes) => output.extend(bytes),
                ExecEvent::Output(OutputStream::Stderr, bytes) => {
                    let rest = MAX_ERRORS.saturating_sub(self.errors.len());
                    self.errors.extend(bytes.iter().take(rest));
                }
                ExecEvent::Exit(exit) => self.end = Some(Ok(exit)),
                ExecEvent::Failed(error) => {
                    let failure = Error::from_json(&error).map(Failure::from);
                    self.end =
                        Some(Err(failure.unwrap_or_else(|| Failure::foreign_answer("an error that can't be read"))));
                }
            }
        }
        self.output = Cursor::new(output);
        Ok(())
    }

    /// Returns the end of the command whose output was used with this outcome. What ended the command, or its answer,
    /// is the cause of what the use of the output failed with.
    fn finish<T>(mut self, used: Result<T>) -> Result<(ExecExit, T)> {
        if used.is_ok() {
            // A tar ends before the output does. A failure of the rest is the end of the command.
            let _ = io::copy(&mut self, &mut io::sink());
        }
        match self.end.take() {
            Some(Err(failure)) => Err(failure),
            Some(Ok(exit)) if exit.exit_code != 0 => Err(self.failed(&exit)),
            Some(Ok(exit)) => used.map(|used| (exit, used)),
            None => Err(used.err().unwrap_or_else(|| broken(&io::ErrorKind::UnexpectedEof.into()))),
        }
    }

    fn failed(&self, exit: &ExecExit) -> Failure {
        let errors = String::from_utf8_lossy(&self.errors);
        let errors = sanitize_for_terminal(errors.trim());
        let (code, timed_out) = (exit.exit_code, if exit.timed_out { ", at its time limit" } else { "" });
        let message = format!("`tar` in the sandbox ended with exit code {code}{timed_out}: {errors}");
        let remediation = if code == NOT_FOUND {
            "Add `tar` to the image of the sandbox: it packs and unpacks directories."
        } else {
            "The copy is incomplete. Correct what the message names, and copy again, with `--force`."
        };
        Failure::local(Exit::Failed, "COPY_FAILED", message, remediation)
    }
}

fn broken(error: &io::Error) -> Failure {
    let message = format!("The answer broke off, and the copy is incomplete: {error}.");
    Failure::transient(Exit::NoAnswer, "COPY_INCOMPLETE", message, "Try again, with `--force`.", true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_the_workspace_is_not_that_of_the_container() {
        for (path, expected) in [
            ("/", "."),
            ("//", "."),
            ("/./", "."),
            (".", "."),
            ("src", "src"),
            ("-x", "./-x"),
            ("/workspace/src", "/workspace/src"),
        ] {
            assert_eq!(operand(&FilePath::parse(path).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn the_files_of_a_directory_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for (name, size) in [("1", 3), ("a/2", 4), ("a/b/3", 5)] {
            fs::write(folder.path().join(name), vec![0; size]).unwrap();
        }
        assert_eq!(count_files(folder.path()).unwrap(), Totals { files: 3, size_bytes: 12, left_out: 0 });
    }

    #[test]
    fn an_answer_that_breaks_off_is_the_failure_of_the_copy_and_not_the_local_file() {
        let mut tar = CommandOutput {
            answer: Box::new(io::empty()),
            events: ExecEventReader::default(),
            output: Cursor::default(),
            errors: Vec::new(),
            end: None,
        };
        let unwritable = Err::<(), _>(Failure::invalid("LOCAL_FILE_UNWRITABLE", "", ""));
        assert!(tar.read(&mut [0]).is_err());
        assert_eq!(tar.finish(unwritable).unwrap_err().code(), Some("COPY_INCOMPLETE"));
    }
}
