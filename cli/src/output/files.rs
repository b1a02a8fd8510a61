//! The text output of the files of snapshots.

use sandbox_snapshotter_client::model::Timestamp;
use sandbox_snapshotter_client::model::files::{
    EntrySummary, FileAttributes, FileContent, FileDescription, FileEntry, FilePage, FileTotals, FileType,
    FilesSummary, LargeFile, RestoredFiles,
};

use super::Show;
use super::render::{exact_time, lines, relative_time, size};
use super::sanitize::sanitize_for_terminal;
use super::snapshots::next_page_hint;
use super::table::{details, table, table_with_numbers};

impl Show for FilePage {
    fn ids(&self) -> Vec<String> {
        self.files.iter().map(|file| file.name.clone()).collect()
    }

    fn text(&self, now: Timestamp) -> String {
        if self.files.is_empty() {
            return "The directory is empty.\n".to_owned();
        }
        let row = |file: &FileEntry| {
            let FileAttributes { mode, size_bytes, modified_at, .. } = &file.attributes;
            let size = if file.attributes.r#type == FileType::File { size(*size_bytes) } else { String::new() };
            [mode.clone(), size, relative_time(*modified_at, now), display_name(file)]
        };
        let rows = table_with_numbers(1, ["MODE", "SIZE", "MODIFIED", "NAME"], self.files.iter().map(row));
        format!("{rows}{}", next_page_hint(self.cursor.as_deref()))
    }
}

impl Show for FileDescription {
    fn ids(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    fn text(&self, now: Timestamp) -> String {
        let FileAttributes { r#type, size_bytes, mode, uid, gid, modified_at, target } = &self.attributes;
        details([
            ("path", self.path.clone()),
            ("type", type_name(*r#type).to_owned()),
            ("size", if *r#type == FileType::File { size(*size_bytes) } else { String::new() }),
            ("mode", mode.clone()),
            ("owner", format!("{uid}:{gid}")),
            ("modified", exact_time(*modified_at, now)),
            ("target", target.clone().unwrap_or_default()),
        ])
    }
}

impl Show for FileContent {
    fn ids(&self) -> Vec<String> {
        self.file.ids()
    }

    fn text(&self, _: Timestamp) -> String {
        self.content.clone()
    }
}

impl Show for FilesSummary {
    fn ids(&self) -> Vec<String> {
        self.entries.iter().flatten().map(|entry| entry.name.clone()).collect()
    }

    fn text(&self, _: Timestamp) -> String {
        let FileTotals { files, directories, others, size_bytes } = self.totals;
        let totals = details([
            ("path", self.path.clone()),
            ("size", size(size_bytes)),
            ("files", files.to_string()),
            ("directories", directories.to_string()),
            ("others", if others == 0 { String::new() } else { others.to_string() }),
        ]);
        let entry = |entry: &EntrySummary| {
            let mark = if entry.r#type == FileType::Directory { "/" } else { "" };
            [size(entry.totals.size_bytes), entry.totals.files.to_string(), format!("{}{mark}", entry.name)]
        };
        let entries = match &self.entries {
            None => "The directory has more than 20,000 entries, which are not listed.\n".to_owned(),
            Some(entries) => table_with_numbers(0, ["SIZE", "FILES", "NAME"], entries.iter().map(entry)),
        };
        let file = |file: &LargeFile| [size(file.size_bytes), file.path.clone()];
        let largest = table_with_numbers(0, ["SIZE", "LARGEST FILES"], self.largest.iter().map(file));
        format!("{totals}\n{entries}\n{largest}")
    }
}

impl Show for RestoredFiles {
    fn ids(&self) -> Vec<String> {
        self.restored.clone()
    }

    fn text(&self, _: Timestamp) -> String {
        let restored = self.restored.iter().map(|path| ["restored".to_owned(), path.clone()]);
        let skipped = self.skipped.iter().map(|path| ["skipped".to_owned(), path.clone()]);
        let left_out = self.left_out.iter().map(|path| ["left out".to_owned(), path.clone()]);
        let note = match self.skipped.len() {
            0 => String::new(),
            1 => "1 file exists and was not replaced; it may differ from the snapshot.".to_owned(),
            many => format!("{many} files exist and were not replaced; they may differ from the snapshot."),
        };
        let help = if note.is_empty() { "" } else { " Pass `--overwrite` to replace existing files.\n" };
        let nothing = if self.restored.is_empty() && !note.is_empty() { "Nothing was restored: " } else { "" };
        let place = lines([sanitize_for_terminal(&format!("in {} of the sandbox {}", self.dir, self.sandbox_id))]);
        let why = if self.left_out.is_empty() {
            ""
        } else {
            "Devices and pipes are not restored, and no names and targets of links that are not UTF-8.\n"
        };
        let files = table(["RESULT", "PATH"], restored.chain(skipped).chain(left_out));
        format!("{files}{place}{nothing}{note}{help}{why}")
    }
}

const fn type_name(r#type: FileType) -> &'static str {
    match r#type {
        FileType::File => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Special => "special file",
    }
}

/// Returns the name of a file, with a sign of its type.
fn display_name(file: &FileEntry) -> String {
    match (file.attributes.r#type, &file.attributes.target) {
        (FileType::Directory, _) => format!("{}/", file.name),
        (FileType::Symlink, Some(target)) => format!("{} -> {target}", file.name),
        _ => file.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::json;

    use super::*;

    #[test]
    fn restored_files_name_the_directory_and_the_sandbox() {
        let answer = json!({
            "snapshotId": "snap-aaaaaaaaaaaaaaaa", "sandboxId": "agent-42", "dir": "/workspace", "restored": ["a"],
            "skipped": ["b"],
        });
        let text = json::from_value::<RestoredFiles>(&answer).unwrap().text(Timestamp::from_millis(0));
        let (_, after) = text.split_once("skipped   b\n").unwrap();
        assert!(after.starts_with("in /workspace of the sandbox agent-42\n1 file exists"), "{text}");
        let none = json!({
            "snapshotId": "snap-aaaaaaaaaaaaaaaa", "sandboxId": "agent-42", "dir": "/workspace", "restored": [],
            "skipped": ["a", "b"], "leftOut": ["link"],
        });
        let text = json::from_value::<RestoredFiles>(&none).unwrap().text(Timestamp::from_millis(0));
        assert!(text.contains("\nNothing was restored: 2 files exist and were not replaced"), "{text}");
        assert!(
            text.contains("left out  link\n")
                && text.ends_with(
                    "Devices and pipes are not restored, and no names and targets of links that are not UTF-8.\n"
                )
        );
    }
}
