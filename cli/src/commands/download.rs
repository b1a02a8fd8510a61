//! The commands that download files of snapshots.

use std::path::{Path, PathBuf};
use std::slice;

use sandbox_snapshotter_client::Download;
use sandbox_snapshotter_client::model::files::{FileDescription, FilePath, FileType};
use sandbox_snapshotter_client::model::request::{ExportRequest, FileRequest, StatFileRequest};
use sandbox_snapshotter_client::model::{Code, SecretsMode, Selection};
use serde_json::{Value, json};

use super::context::Context;
use super::copied::Copied;
use super::files::select;
use super::local_files::{
    Body, STDOUT, check_target_directory, check_target_file, directory_target, file_name, unpack, write_file,
    write_to_stdout,
};
use super::{copies, sandbox_copy};
use crate::args::download::{Cp, Export};
use crate::args::files::{split_place, with_colon};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::print_warning;
use crate::output::secrets::left_out_note;
use crate::quoting::shell_words;

/// `cp`
pub fn copy(context: &Context, command: Cp) -> Result<Exit> {
    if let Some(between) = command.between() {
        let [(_, copy)] = between.as_slice() else { return copies::run(context, &command, &between) };
        let copied = sandbox_copy::copy(context, &command, *copy)?;
        return copied.map_or(Ok(Exit::Done), |copied| copied.print(context));
    }
    let (operands, secrets) = (command.operands.clone(), command.secrets.map(Into::into));
    let Some((snapshot, path, local, force)) = command.split() else {
        return Err(invalid_operands(&operands));
    };
    let selection = context.select_snapshot(&snapshot)?;
    let path = FilePath::parse(&path)?;
    let request = FileRequest { selection: selection.clone(), path: path.clone() };
    let stat = StatFileRequest { source: selection.clone().into(), path: path.clone() };
    let found = context.call_read_only::<FileDescription>("files/stat", &stat);
    let found = found.map_err(|failure| context.explain_omitted(failure, &selection, slice::from_ref(&path)))?.value;
    let is_directory = found.attributes.r#type == FileType::Directory;
    if local == STDOUT {
        let download =
            if is_directory { open_tar(context, selection, path, secrets)? } else { context.download(&request)? };
        warn_of_left_out(&download);
        return write_to_stdout(download.body).map(|()| Exit::Done);
    }
    if is_directory {
        let target = directory_target(&local, &path);
        check_target_directory(&target, force)?;
        let download = open_tar(context, selection, path, secrets)?;
        let source = describe(context, &download);
        let totals = unpack(download.body, &target, force)?;
        Copied::local_directory(source, &target, totals).print(context)
    } else {
        let target = PathBuf::from(local);
        let target = if target.is_dir() { target.join(file_name(&path)?) } else { target };
        check_target_file(&target, force)?;
        let download = context.download(&request)?;
        let snapshot_id = download.snapshot_id.clone();
        let size = write_file(download.body, download.size_bytes, &target, force)?;
        Copied::local_file(json!({ "snapshotId": snapshot_id }), &target, size).print(context)
    }
}

/// Returns the failure of operands that select no copy.
fn invalid_operands(operands: &[String]) -> Failure {
    if let [from, to] = operands
        && let Some(((sandbox, from), (other, to))) = split_place(from).zip(split_place(to))
        && sandbox == other
    {
        let remediation = format!("Run `snapshotter exec {}`.", shell_words([sandbox, "cp", from, to]));
        return Failure::invalid("INVALID_USAGE", "Both FROM and TO are in the same sandbox.", remediation);
    }
    let (message, remediation) = match operands {
        [sources @ .., _] if sources.len() > 1 && sources.iter().any(|from| split_place(from).is_some()) => (
            "Several sources must all be on this machine, or all in a sandbox, and TO on the other side.".to_owned(),
            "Copy from each side with a command of its own.".to_owned(),
        ),
        [from, to] if split_place(from).is_some() && split_place(to).is_some() => (
            "Both FROM and TO are in a sandbox.".to_owned(),
            "Copy the file to this machine first, then from this machine.".to_owned(),
        ),
        [from, to] if to.starts_with('@') => {
            let name = Path::new(from).file_name().and_then(|name| name.to_str());
            let name = name.filter(|name| *name != STDOUT).unwrap_or("PATH");
            (format!("TO has no path: {to}."), format!("Write {}.", with_path(to, name)))
        }
        [from, _] if from.starts_with('@') => {
            (format!("FROM has no path: {from}."), format!("Write {}.", with_path(from, "PATH")))
        }
        _ => (
            "The operands select neither a file of a sandbox nor one of a snapshot.".to_owned(),
            "Pass FROM and TO, one of which is SANDBOX:PATH or @NAME:PATH. For a snapshot, pass SANDBOX or @NAME, ID or \
             LABEL, PATH and LOCAL; with `--ref`, PATH and LOCAL."
                .to_owned(),
        ),
    };
    Failure::invalid("INVALID_USAGE", message, remediation)
}

/// Returns what to write for a workspace without a path. It may have a slash in place of the colon.
fn with_path(target: &str, path: &str) -> String {
    let place = format!("{target}:{path}");
    match with_colon(target) {
        Some(meant) if target.matches('/').count() > 1 => meant,
        Some(meant) => format!("{meant}; or {place} for a workspace of another tenant"),
        None => place,
    }
}

/// `export`
pub fn export(context: &Context, command: Export) -> Result<Exit> {
    let Export { file, output, force, secrets } = command;
    let secrets = secrets.map(Into::into);
    let words: Vec<_> = file.target.iter().chain(&file.snapshot).cloned().collect();
    let (selection, path) = select(context, file)?;
    if output == STDOUT {
        let download = open_tar(context, selection, path.clone(), secrets)
            .map_err(|failure| explain_output(failure, &words, path.as_str()))?;
        warn_of_left_out(&download);
        return write_to_stdout(download.body).map(|()| Exit::Done);
    }
    let target = PathBuf::from(output);
    check_target_file(&target, force)?;
    let download = open_tar(context, selection, path, secrets)?;
    let source = describe(context, &download);
    let size = write_file(download.body, download.size_bytes, &target, force)?;
    Copied::local_file(source, &target, size).print(context)
}

/// Adds the option for the file to write to the failure of an export of a path that is not there: the path may be that file.
fn explain_output(failure: Failure, words: &[String], path: &str) -> Failure {
    let is_archive = [".tar", ".tgz", ".gz"].iter().any(|ending| path.ends_with(ending));
    if !is_archive || failure.code() != Some(Code::FileNotFound.as_str()) {
        return failure;
    }
    let words = words.iter().map(String::as_str).chain(["--output", path]);
    failure.with_remediation(format!("To write a tar to that file: `snapshotter export {}`.", shell_words(words)))
}

/// Returns the snapshot of a tar, and what the tar leaves out. Without `--json`, a warning has the latter.
fn describe(context: &Context, download: &Download<Body>) -> Value {
    let mut source = json!({ "snapshotId": download.snapshot_id });
    if !context.output.json {
        warn_of_left_out(download);
    } else if let (Some(report), Some(members)) = (&download.secrets, source.as_object_mut()) {
        members.insert("secrets".to_owned(), json!(report));
    }
    source
}

fn warn_of_left_out(download: &Download<Body>) {
    if let Some(note) = download.secrets.as_ref().and_then(left_out_note) {
        print_warning(&note);
    }
}

fn open_tar(
    context: &Context,
    selection: Selection,
    path: FilePath,
    secrets: Option<SecretsMode>,
) -> Result<Download<Body>> {
    context.export(&ExportRequest { selection, path: Some(path), secrets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_select_no_copy_say_what_to_write() {
        for (operands, expected) in [
            (["./main.py", "@proj"], "Write @proj:main.py."),
            (["@proj", "main.py"], "Write @proj:PATH."),
            (["main.py", "@proj/src"], "Write @proj:src; or @proj/src:main.py for a workspace of another tenant."),
            (["@proj/src/main.py", "."], "Write @proj:src/main.py."),
            (["-", "@proj"], "Write @proj:PATH."),
            (["@a:x", "@b:x"], "Copy the file to this machine first, then from this machine."),
        ] {
            let Failure::Reported(report) = invalid_operands(&operands.map(str::to_owned)) else { panic!() };
            assert_eq!((report.code.as_str(), report.remediation.as_str()), ("INVALID_USAGE", expected));
        }
        let mixed = ["@a:x", "y", "."].map(str::to_owned);
        let Failure::Reported(report) = invalid_operands(&mixed) else { panic!() };
        assert_eq!(report.remediation, "Copy from each side with a command of its own.");
    }

    #[test]
    fn several_sources_of_one_side_are_no_snapshot() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            cp: Cp,
        }
        let count = |words: &[&str]| {
            let line = <Line as clap::Parser>::parse_from(std::iter::once(&"cp").chain(words));
            line.cp.between().map(|between| between.len())
        };
        assert_eq!(count(&["a", "@n:b"]), Some(1));
        assert_eq!(count(&["a", "b", "c", "@n:d/"]), Some(3));
        assert_eq!(count(&["@n:a", "@m:b", "."]), Some(2));
        let existing = env!("CARGO_MANIFEST_DIR");
        assert_eq!(count(&[existing, existing, existing, "agent-42:d/"]), Some(3));
        for other in [
            &["agent-42", "before", "src", "agent-42:d"][..],
            &["@n", "before", "src", "."],
            &["a", "@n:b", "."],
            &["a", "@n:b", "@n:c"],
        ] {
            assert_eq!(count(other), None, "{other:?}");
        }
    }
}
