//! What a tool came to, as a text.
//!
//! Not every program shows a model the data beside the text, so the text says all that the model needs to go on. Those of
//! checkpoints are what people know from other sandboxes.

use serde_json::Value;

use super::call::MAX_LIMIT;
use super::catalog::Tool;

/// How much of a commit's name is enough in a list.
const SHORT: usize = 12;

/// How many characters of a description are enough in a list.
const DESCRIPTION: usize = 1_000;

/// How much of a time is without the parts of a second.
const SECONDS: usize = 19;

/// The text for what a tool answers.
pub(super) fn of(tool: Tool, answer: &Value) -> String {
    match tool {
        Tool::Snapshot => format!("Took a snapshot. This is its ref:\n{}", member(answer, "ref")),
        Tool::Restore | Tool::Branch => made(member(answer, "ref")),
        Tool::List => snapshots(answer),
        Tool::Delete => deleted(answer),
        Tool::SnapshotCreate => format!("snapshot {} created: {}", text(answer, "name"), text(answer, "commit")),
        Tool::SnapshotList => checkpoints(answer),
        Tool::SnapshotRestore => restored(answer),
        Tool::SnapshotDiff => diff(answer),
    }
}

fn made(r#ref: &Value) -> String {
    let sandbox = r#ref.pointer("/ref/sandboxId").and_then(Value::as_str).unwrap_or_default();
    format!(
        "Made a new workspace, {sandbox:?}. The one before is unchanged: to go on with these files, work in the new one. This \
         is its ref:\n{ref}"
    )
}

fn snapshots(answer: &Value) -> String {
    let snapshots = list(answer, "snapshots");
    if snapshots.is_empty() {
        return "There are no snapshots.".to_owned();
    }
    let mut lines = vec![format!("{} snapshot(s), the newest first:", snapshots.len())];
    lines.extend(snapshots.iter().map(Value::to_string));
    if flag(answer, "more") {
        lines.push(older());
    }
    lines.join("\n")
}

fn older() -> String {
    format!("There are older ones; a list has {MAX_LIMIT} at most.")
}

fn deleted(answer: &Value) -> String {
    let id = text(answer, "snapshotId");
    if flag(answer, "removed") {
        format!("Deleted the snapshot {id}.")
    } else {
        format!("The snapshot {id} was gone already.")
    }
}

/// A row for each: name, short commit, time and the beginning of the description, with tabs between them.
fn checkpoints(answer: &Value) -> String {
    let row = |checkpoint: &Value| {
        let commit: String = text(checkpoint, "commit").chars().take(SHORT).collect();
        let time: String = text(checkpoint, "createdAt").chars().take(SECONDS).collect();
        // A row is one line, whatever the description holds.
        let description = text(checkpoint, "description").split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = description.char_indices().nth(DESCRIPTION).and_then(|(end, _)| description.get(..end));
        let description = cut.map_or(description.clone(), |cut| format!("{cut}…"));
        format!("{}\t{commit}\t{time}+00:00\t{description}", text(checkpoint, "name"))
    };
    let mut rows: Vec<String> = list(answer, "checkpoints").iter().map(row).collect();
    if flag(answer, "more") {
        rows.push(older());
    }
    if rows.is_empty() { "no snapshots".to_owned() } else { rows.join("\n") }
}

fn restored(answer: &Value) -> String {
    let (name, count) = (text(answer, "name"), number(answer, "changedCount"));
    if count == 0 {
        return format!("restored snapshot {name} (no files changed)");
    }
    let mut lines = vec![format!("restored snapshot {name} ({count} file(s) changed):")];
    lines.extend(list(answer, "changed").iter().filter_map(Value::as_str).map(str::to_owned));
    let told = lines.len() as u64 - 1;
    if told < count {
        lines.push(format!("… and {} more", count - told));
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
