//! `cp` of several files or directories between this machine and running sandboxes.

use std::path::Path;

use sandbox_snapshotter_client::model::files::FileType;
use serde_json::json;

use super::context::Context;
use super::files::{parse_path, sandbox_files};
use super::local_files::STDOUT;
use super::sandbox_copy::{self, type_of};
use crate::args::download::{Between, Cp, SandboxCopy};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{print_failure, print_json};
use crate::quoting::shell_words;

/// Copies each source into the directory in order, also after another one failed. The exit status is that of the first failure.
pub(super) fn run(context: &Context, command: &Cp, copies: &[(&str, Between<'_>)]) -> Result<Exit> {
    check_not_of_snapshot(command, copies)?;
    for (_, copy) in copies {
        check_source(*copy)?;
    }
    if let Some((_, copy)) = copies.first() {
        check_directory(context, command, *copy)?;
    }
    let (mut exit, mut results) = (Exit::Done, Vec::new());
    for (from, copy) in copies {
        match sandbox_copy::copy(context, command, *copy) {
            Ok(Some(done)) => {
                if !context.output.json {
                    done.print_text(context)?;
                }
                results.push(json!({ "from": from, "value": done.document }));
            }
            // Nothing else than the standard output, which is refused for several sources.
            Ok(None) => {}
            Err(failure) => {
                exit = if exit == Exit::Done { failure.exit() } else { exit };
                if !context.output.json {
                    print_failure(&failure);
                }
                if let Failure::Reported(report) = failure {
                    results.push(json!({ "from": from, "error": report.to_json() }));
                }
            }
        }
    }
    if context.output.json {
        print_json(&json!({ "copies": results }))?;
    }
    Ok(exit)
}

/// Refuses `@name snapshot path target:path`: a snapshot has its files on this machine or, with another command, in a sandbox.
fn check_not_of_snapshot(command: &Cp, copies: &[(&str, Between<'_>)]) -> Result<()> {
    let [(workspace, (target, _, SandboxCopy::From(_))), (snapshot, _), (path, _), ..] = copies else { return Ok(()) };
    if !workspace.starts_with('@') || workspace.contains(':') || Path::new(workspace).exists() {
        return Ok(());
    }
    let message = format!("`cp` copies a file of a snapshot of {workspace} to this machine, not to {target}.");
    let overwrite = if command.force { " --overwrite" } else { "" };
    let to = shell_words(["--to", target]);
    let restore = format!("snapshotter restore-files {} {to}{overwrite}", shell_words([*workspace, *snapshot, *path]));
    let remediation = format!("It comes back, at its own path, with `{restore}`.");
    Err(Failure::invalid("INVALID_USAGE", message, remediation))
}

fn check_source((_, _, copy): Between<'_>) -> Result<()> {
    match copy {
        SandboxCopy::From(STDOUT) => {
            let message = "The standard input has no name, so it can't be one of several sources.";
            Err(Failure::invalid("INVALID_USAGE", message, "Copy it with a command of its own."))
        }
        _ => Ok(()),
    }
}

/// Verifies that several sources have a directory to be copied into.
fn check_directory(context: &Context, command: &Cp, (target, path, copy): Between<'_>) -> Result<()> {
    let (to, is_directory, remediation) = match copy {
        SandboxCopy::To(local) => {
            (local.to_owned(), Path::new(local).is_dir(), "Create the directory first.".to_owned())
        }
        SandboxCopy::From(_) => {
            let is_directory = path.is_empty() || path.ends_with('/') || {
                let files = sandbox_files(context, target, &command.lineage_scope)?;
                type_of(context, &files, &parse_path(path)?)? == Some(FileType::Directory)
            };
            let to = format!("{target}:{path}");
            let remediation = format!("Pass `{to}/`, which creates the directory.");
            (to, is_directory, remediation)
        }
    };
    if is_directory {
        return Ok(());
    }
    let message = format!("{to} is no directory, and several sources are copied into one.");
    Err(Failure::invalid("INVALID_USAGE", message, remediation))
}
