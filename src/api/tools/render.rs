//! The result of a tool, as text.
//!
//! Not every program shows the structured content to the model, so the text contains everything that the model needs to
//! continue. Except for the word "checkpoint", the texts of checkpoints have the form that other sandbox products use.

use serde_json::Value;

use super::catalog::{MAX_LIMIT, Tool};
use crate::model::counted;

/// The length of a commit id in a list, in characters.
const COMMIT_CHARS: usize = 12;

/// The maximum length of a description in a list, in characters.
const DESCRIPTION_CHARS: usize = 1_000;

/// The length of a time without fractions of a second, in characters.
const TIME_CHARS: usize = 19;

/// Returns the text for the answer of a tool.
pub(super) fn render(tool: Tool, answer: &Value) -> String {
    match tool {
        Tool::Snapshot => format!("Took a snapshot. This is its ref:\n{}", member(answer, "ref")),
        Tool::Restore | Tool::Branch => render_created(member(answer, "ref")),
        Tool::List => snapshots(answer),
        Tool::Delete => deleted(answer),
        Tool::CheckpointCreate => format!("checkpoint {} created: {}", text(answer, "name"), text(answer, "commit")),
        Tool::CheckpointList => checkpoints(answer),
        Tool::CheckpointRestore => restored(answer),
        Tool::CheckpointDiff => diff(answer),
        Tool::Exec => command(answer),
        Tool::StartCommand => started(answer),
        Tool::ListCommands => background_commands(answer),
        Tool::ReadCommandOutput => output(answer),
        Tool::EndCommand => format!("The command {}.", state(answer)),
        Tool::ReadFile => content(answer),
        Tool::WriteFile => {
            format!(
                "Wrote {:?}: {}.{}",
                text(answer, "path"),
                counted(number(answer, "sizeBytes"), "byte"),
                start_note(answer)
            )
        }
        Tool::ListFiles => files(answer),
    }
}

/// Returns the exit code and the outputs of a command.
fn command(answer: &Value) -> String {
    let code = member(answer, "exitCode");
    let mut lines = vec![if flag(answer, "timedOut") {
        format!("The command exceeded its time limit and was killed (exit code {code}).")
    } else {
        format!("Exit code {code}.")
    }];
    if flag(member(answer, "started"), "mayHaveLost") {
        lines.push(MAY_HAVE_LOST.to_owned());
    }
    if member(answer, "encoding").is_string() {
        lines.push("The outputs are not UTF-8, and are written in Base64.".to_owned());
    }
    for (name, title) in [("stdout", "Standard output:"), ("stderr", "Standard error:")] {
        let output = text(answer, name);
        if !output.is_empty() {
            lines.extend([title.to_owned(), output.trim_end_matches('\n').to_owned()]);
        }
    }
    if flag(answer, "truncated") {
        lines.push("… the end of an output is left out".to_owned());
    }
    lines.join("\n")
}

/// Returns the state of a background command, as the end of a sentence.
fn state(command: &Value) -> String {
    let code = member(command, "exitCode").as_i64().map(|code| format!(" (exit code {code})")).unwrap_or_default();
    match text(command, "state") {
        "running" => "runs".to_owned(),
        "killed" if flag(command, "timedOut") => format!("exceeded its time limit and was killed{code}"),
        "killed" => format!("was killed{code}"),
        _ => format!("exited{code}"),
    }
}

fn started(answer: &Value) -> String {
    format!("Started the command {}. It {}.{}", text(answer, "commandId"), state(answer), start_note(answer))
}

/// Returns a row for each background command: its id, its state and its command line.
fn background_commands(answer: &Value) -> String {
    let row = |command: &Value| {
        let line = text(command, "command").split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{}\t{}\t{line}", text(command, "commandId"), state(command))
    };
    let rows: Vec<String> = list(answer, "commands").iter().map(row).collect();
    if rows.is_empty() { "no background commands".to_owned() } else { rows.join("\n") }
}

/// Returns a part of an output. It comes first and unchanged, because programs show it as the output.
fn output(answer: &Value) -> String {
    let total = number(answer, &format!("{}Bytes", text(answer, "stream")));
    let next = number(answer, "nextOffset");
    let mut notes = if next < total || text(answer, "state") == "running" {
        format!("… The command {}. The output continues at the offset {next}.", state(answer))
    } else {
        format!("… The command {}.", state(answer))
    };
    if text(answer, "encoding") == "base64" {
        notes.push_str(" The output is not UTF-8, and is written in Base64.");
    }
    match text(answer, "content") {
        "" => notes,
        content if content.ends_with('\n') => format!("{content}{notes}"),
        content => format!("{content}\n{notes}"),
    }
}

/// The note about a workspace that was started without its newest files.
const MAY_HAVE_LOST: &str = "The workspace was started again, and changes that are in no snapshot may be lost.";

fn start_note(answer: &Value) -> String {
    if flag(member(answer, "started"), "mayHaveLost") { format!(" {MAY_HAVE_LOST}") } else { String::new() }
}

/// Returns the content of a file. Its text comes first and unchanged, because programs show it as the file.
fn content(answer: &Value) -> String {
    let mut notes = start_note(answer);
    if text(answer, "encoding") == "base64" {
        notes.push_str(" The content is not UTF-8, and is written in Base64.");
    }
    let (next, size) = (number(answer, "offset") + number(answer, "length"), number(answer, "sizeBytes"));
    let rest = if next < size {
        format!(" The file has {size} bytes, and continues at the offset {next}.")
    } else {
        String::new()
    };
    match (text(answer, "content"), notes + &rest) {
        (content, notes) if notes.is_empty() => content.to_owned(),
        (content, notes) => format!("{content}\n…{notes}"),
    }
}

/// Returns a row for each file: its name, with a slash after that of a directory and the target of a link, and its size.
fn files(answer: &Value) -> String {
    // A row is one line, also if a name contains line breaks.
    let one_line = |text: &str| if text.contains(char::is_control) { format!("{text:?}") } else { text.to_owned() };
    let row = |file: &Value| match (text(file, "type"), one_line(text(file, "name"))) {
        ("directory", name) => format!("{name}/"),
        ("symlink", name) => format!("{name} -> {}", one_line(text(file, "target"))),
        ("file", name) => format!("{name}\t{}", number(file, "sizeBytes")),
        (_, name) => format!("{name}\t(special)"),
    };
    let mut rows: Vec<String> = list(answer, "files").iter().map(row).collect();
    if rows.is_empty() {
        rows.push("no files".to_owned());
    }
    if let Some(cursor) = member(answer, "cursor").as_str() {
        rows.push(format!("… there are more: pass the cursor {cursor:?}"));
    }
    if flag(member(answer, "started"), "mayHaveLost") {
        rows.push(MAY_HAVE_LOST.to_owned());
    }
    rows.join("\n")
}

fn render_created(r#ref: &Value) -> String {
    let sandbox = r#ref.pointer("/ref/sandboxId").and_then(Value::as_str).unwrap_or_default();
    format!(
        "Created a new workspace, {sandbox:?}. The previous workspace is unchanged: to continue with these files, work in the \
         new workspace. This is its ref:\n{ref}"
    )
}

fn snapshots(answer: &Value) -> String {
    let snapshots = list(answer, "snapshots");
    if snapshots.is_empty() {
        return "There are no snapshots.".to_owned();
    }
    let mut lines = vec![format!("{} snapshot(s), newest first:", snapshots.len())];
    lines.extend(snapshots.iter().map(Value::to_string));
    if flag(answer, "more") {
        lines.push(older_note());
    }
    lines.join("\n")
}

fn older_note() -> String {
    format!("There are older ones; a list has at most {MAX_LIMIT}.")
}

fn deleted(answer: &Value) -> String {
    let id = text(answer, "snapshotId");
    if flag(answer, "removed") {
        format!("Deleted the snapshot {id}.")
    } else {
        format!("The snapshot {id} was deleted before.")
    }
}

/// Returns a row for each checkpoint: name, short commit id, time and truncated description, separated by tabs.
fn checkpoints(answer: &Value) -> String {
    let row = |checkpoint: &Value| {
        let commit: String = text(checkpoint, "commit").chars().take(COMMIT_CHARS).collect();
        let time: String = text(checkpoint, "createdAt").chars().take(TIME_CHARS).collect();
        // A row is one line, also if the description contains line breaks.
        let description = text(checkpoint, "description").split_whitespace().collect::<Vec<_>>().join(" ");
        let truncated = description.char_indices().nth(DESCRIPTION_CHARS).and_then(|(end, _)| description.get(..end));
        let description = truncated.map_or(description.clone(), |truncated| format!("{truncated}…"));
        format!("{}\t{commit}\t{time}+00:00\t{description}", text(checkpoint, "name"))
    };
    let mut rows: Vec<String> = list(answer, "checkpoints").iter().map(row).collect();
    if flag(answer, "more") {
        rows.push(older_note());
    }
    if rows.is_empty() { "no checkpoints".to_owned() } else { rows.join("\n") }
}

fn restored(answer: &Value) -> String {
    let (name, count) = (text(answer, "name"), number(answer, "changedCount"));
    if count == 0 {
        return format!("restored checkpoint {name} (no files changed)");
    }
    let mut lines = vec![format!("restored checkpoint {name} ({count} file(s) changed):")];
    lines.extend(list(answer, "changed").iter().filter_map(Value::as_str).map(str::to_owned));
    let listed = lines.len() as u64 - 1;
    if listed < count {
        lines.push(format!("… and {} more", count - listed));
    }
    lines.join("\n")
}

fn diff(answer: &Value) -> String {
    let diff = text(answer, "diff");
    if flag(answer, "truncated") {
        return format!("{diff}\n… cut off here: the whole diff has {} bytes", number(answer, "sizeBytes"));
    }
    if diff.is_empty() { "no differences".to_owned() } else { diff.to_owned() }
}

fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    member(value, name).as_str().unwrap_or_default()
}

fn number(value: &Value, name: &str) -> u64 {
    member(value, name).as_u64().unwrap_or_default()
}

fn flag(value: &Value, name: &str) -> bool {
    member(value, name).as_bool().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    member(value, name).as_array().map(Vec::as_slice).unwrap_or_default()
}
