//! What the commands that copy files print.

use std::path::Path;

use sandbox_snapshotter_client::model::exec::StartedForExec;
use sandbox_snapshotter_client::model::files::FileDescription;
use serde::Serialize;
use serde_json::{Value, json};

use super::context::Context;
use crate::exit::Exit;
use crate::failure::Result;
use crate::output::answer::Answer;
use crate::output::render::{count, lines, size};
use crate::output::sanitize::{sanitize, sanitize_for_terminal};
use crate::output::{Show, now, print, print_json};

/// The number and the size of the files in a copied directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Totals {
    /// How many files and links.
    pub files: usize,
    /// The size of their contents, in bytes.
    pub size_bytes: u64,
    /// How many devices and pipes were left out. A snapshot and a directory of a sandbox can contain them.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Totals {
    /// Adds a file.
    pub fn add(&mut self, size_bytes: u64) {
        self.files += 1;
        self.size_bytes += size_bytes;
    }

    fn text(self, path: &str) -> String {
        let (files, size, path) =
            (count(self.files, "file", "files"), size(self.size_bytes), sanitize_for_terminal(path));
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!("; {} left out", count(left_out, "device or pipe was", "devices and pipes were")),
        };
        lines([format!("Copied {files}, {size}, to {path}{left_out}")])
    }
}

/// What was copied, in each output mode.
pub(super) struct Copied {
    /// The JSON document.
    pub document: Value,
    path: String,
    text: String,
}

impl Copied {
    /// Returns a local file. `source` has the id of the snapshot or of the sandbox.
    pub fn local_file(source: Value, target: &Path, size_bytes: u64) -> Self {
        let path = target.display().to_string();
        let text = lines([format!("{}  {}", sanitize_for_terminal(&path), size(size_bytes))]);
        let document = with(source, [("output", json!(path)), ("sizeBytes", json!(size_bytes))]);
        Self { document, path, text }
    }

    /// Returns a local directory. `source` has the id of the snapshot or of the sandbox.
    pub fn local_directory(source: Value, target: &Path, totals: Totals) -> Self {
        let path = target.display().to_string();
        let document = with(source, [("output", json!(path)), ("copied", json!(totals))]);
        Self { document, text: totals.text(&path), path }
    }

    /// Returns a file of a sandbox.
    pub fn file(answer: Answer<FileDescription>) -> Self {
        let Answer { raw: document, value, .. } = answer;
        Self { document, text: value.text(now()), path: value.path }
    }

    /// Returns a directory of the sandbox that `operand` names.
    pub fn directory(operand: &str, answer: Answer<FileDescription>, totals: Totals) -> Self {
        let Answer { raw, value: FileDescription { path, .. }, .. } = answer;
        let text = totals.text(&format!("{operand}:{path}"));
        Self { document: with(raw, [("copied", json!(totals))]), text, path }
    }

    /// Adds how the workspace was started for the command to the document.
    pub fn after_start(self, started: Option<StartedForExec>) -> Self {
        match started {
            Some(started) => Self { document: with(self.document, [("started", json!(started))]), ..self },
            None => self,
        }
    }

    /// Prints it.
    pub fn print(&self, context: &Context) -> Result<Exit> {
        if context.output.json {
            print_json(&self.document)?;
        } else {
            self.print_text(context)?;
        }
        Ok(Exit::Done)
    }

    /// Prints the text, or only the path.
    pub fn print_text(&self, context: &Context) -> Result<()> {
        if context.output.quiet { print(&lines([sanitize(&self.path)])) } else { print(&self.text) }
    }
}

/// Adds members to a document.
fn with<const N: usize>(mut document: Value, members: [(&str, Value); N]) -> Value {
    if let Some(document) = document.as_object_mut() {
        document.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_directory_is_reported_with_its_files_and_their_size() {
        let mut totals = Totals::default();
        totals.add(34_000);
        totals.add(500);
        let copied = Copied::local_directory(json!({ "sandboxId": "s" }), Path::new("back"), totals);
        assert_eq!(copied.text, "Copied 2 files, 34.5 kB, to back\n");
        let expected = json!({ "sandboxId": "s", "output": "back", "copied": { "files": 2, "sizeBytes": 34_500 } });
        assert_eq!(copied.document, expected);
        totals.left_out = 1;
        let copied = Copied::local_directory(json!({ "sandboxId": "s" }), Path::new("back"), totals);
        assert_eq!(copied.text, "Copied 2 files, 34.5 kB, to back; 1 device or pipe was left out\n");
        assert_eq!(copied.document["copied"]["leftOut"], 1);
    }
}
