//! Differences between files as a patch that `git apply` accepts.

use std::time::Duration;

use sandbox_snapshotter_client::model::files::{FileAttributes, FileType};
use similar::TextDiff;

/// One side of a difference: the file before, or after.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The path, relative to the directory of the workspace.
    pub path: &'a str,
    /// The attributes of the file.
    pub attributes: &'a FileAttributes,
    /// The content, or the target of a symbolic link.
    pub content: &'a Content,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text in UTF-8.
    Text(String),
    /// Other bytes.
    Binary(Vec<u8>),
    /// The file is too large to be compared.
    Large,
}

impl Content {
    /// Decodes the bytes of a file. As in git, text has no null byte.
    pub fn of(bytes: Vec<u8>) -> Self {
        if bytes.contains(&0) {
            return Self::Binary(bytes);
        }
        String::from_utf8(bytes).map_or_else(|error| Self::Binary(error.into_bytes()), Self::Text)
    }
}

/// The time after which the comparison of two texts settles for a patch that is correct and larger than necessary.
const COMPARE_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the patch of one file; empty if a patch shows no difference. A file that became one of another type is removed and added.
pub fn file_patch(from: Option<Side<'_>>, to: Option<Side<'_>>) -> String {
    match (from, to) {
        (Some(from), Some(to)) if git_type(from) == git_type(to) => changed(from, to),
        (from, to) => [from.map(removed), to.map(added)].into_iter().flatten().collect(),
    }
}

fn added(to: Side<'_>) -> String {
    let (a, b) = (quoted("a/", to.path), quoted("b/", to.path));
    let empty = Content::Text(String::new());
    let header = format!("diff --git {a} {b}\nnew file mode {}\n", git_mode(to));
    header + &contents("/dev/null", &empty, &b, to.content)
}

fn removed(from: Side<'_>) -> String {
    let (a, b) = (quoted("a/", from.path), quoted("b/", from.path));
    let empty = Content::Text(String::new());
    let header = format!("diff --git {a} {b}\ndeleted file mode {}\n", git_mode(from));
    header + &contents(&a, from.content, "/dev/null", &empty)
}

fn changed(from: Side<'_>, to: Side<'_>) -> String {
    let (a, b) = (quoted("a/", from.path), quoted("b/", to.path));
    let modes =
        (git_mode(from) != git_mode(to)).then(|| format!("old mode {}\nnew mode {}\n", git_mode(from), git_mode(to)));
    let names = (from.path != to.path)
        .then(|| format!("rename from {}\nrename to {}\n", quoted("", from.path), quoted("", to.path)));
    let lines: String = modes.into_iter().chain(names).chain([contents(&a, from.content, &b, to.content)]).collect();
    if lines.is_empty() { lines } else { format!("diff --git {a} {b}\n{lines}") }
}

/// Returns the lines with the differences of two contents.
fn contents(a: &str, from: &Content, b: &str, to: &Content) -> String {
    match (from, to) {
        (Content::Text(from), Content::Text(to)) => {
            let diff = TextDiff::configure().timeout(COMPARE_TIMEOUT).diff_lines(from.as_str(), to.as_str());
            diff.unified_diff().header(&terminated(a), &terminated(b)).to_string()
        }
        (Content::Large, _) | (_, Content::Large) => format!("Files {a} and {b} differ: too large to show\n"),
        (from, to) if from == to => String::new(),
        _ => format!("Binary files {a} and {b} differ\n"),
    }
}

/// Returns the name of a file for the lines `---` and `+++`, where a tab ends a name with spaces.
fn terminated(name: &str) -> String {
    if name.contains(' ') { format!("{name}\t") } else { name.to_owned() }
}

/// Returns a path in the notation of git: in quotes if it has control characters, quotes or backslashes.
fn quoted(prefix: &str, path: &str) -> String {
    if !path.contains(|char: char| char.is_ascii_control() || matches!(char, '"' | '\\')) {
        return format!("{prefix}{path}");
    }
    let escaped: String = path
        .chars()
        .map(|char| match char {
            '"' | '\\' => format!("\\{char}"),
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            char if char.is_ascii_control() => format!("\\{:03o}", u32::from(char)),
            char => char.to_string(),
        })
        .collect();
    format!("\"{prefix}{escaped}\"")
}

/// Returns the type that git stores: it knows symbolic links and files.
fn git_type(side: Side<'_>) -> FileType {
    side.attributes.r#type
}

/// Returns the mode that git stores: of the permission bits, whether the owner may execute the file.
fn git_mode(side: Side<'_>) -> &'static str {
    let is_executable = u32::from_str_radix(&side.attributes.mode, 8).is_ok_and(|mode| mode & 0o100 != 0);
    match git_type(side) {
        FileType::Symlink => "120000",
        _ if is_executable => "100755",
        _ => "100644",
    }
}

#[cfg(test)]
mod tests {
    use sandbox_snapshotter_client::model::json;
    use serde_json::json;

    use super::*;

    struct File {
        path: &'static str,
        attributes: FileAttributes,
        content: Content,
    }

    fn file(path: &'static str, r#type: &str, mode: &str, content: impl Into<Vec<u8>>) -> File {
        let attributes = json!({
            "type": r#type, "sizeBytes": 1, "mode": mode, "uid": 0, "gid": 0, "modifiedAt": "2026-11-20T05:00:00.000Z",
        });
        File { path, attributes: json::from_value(&attributes).unwrap(), content: Content::of(content.into()) }
    }

    fn text(path: &'static str, content: &str) -> File {
        file(path, "file", "0644", content)
    }

    fn side(of: &File) -> Side<'_> {
        Side { path: of.path, attributes: &of.attributes, content: &of.content }
    }

    fn patch(from: Option<&File>, to: Option<&File>) -> String {
        file_patch(from.map(side), to.map(side))
    }

    #[test]
    fn a_changed_line_is_shown_with_its_context() {
        let patch = patch(Some(&text("a.txt", "1\n2\n3\n")), Some(&text("a.txt", "1\ntwo\n3\n")));
        assert_eq!(patch, "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n");
    }

    #[test]
    fn added_and_removed_files_have_a_mode_and_the_null_device() {
        let script = file("run", "file", "0755", "x\n");
        assert_eq!(
            patch(None, Some(&script)),
            "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n"
        );
        assert_eq!(
            patch(Some(&script), None),
            "diff --git a/run b/run\ndeleted file mode 100755\n--- a/run\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        );
    }

    #[test]
    fn a_changed_mode_and_a_new_path_need_no_changed_line() {
        let patch = patch(Some(&text("old", "x\n")), Some(&file("new", "file", "0755", "x\n")));
        assert_eq!(patch, "diff --git a/old b/new\nold mode 100644\nnew mode 100755\nrename from old\nrename to new\n");
    }

    #[test]
    fn a_file_that_became_a_link_is_removed_and_added() {
        let patch = patch(Some(&text("x", "1\n")), Some(&file("x", "symlink", "0777", "target")));
        assert!(patch.contains("deleted file mode 100644\n--- a/x\n"), "{patch}");
        assert!(
            patch.contains("new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+target\n\\ No"),
            "{patch}"
        );
    }

    #[test]
    fn contents_that_are_no_text_are_not_shown() {
        let binary = |byte| file("x", "file", "0644", [byte, 0]);
        let lines = |of: &str| format!("diff --git a/x b/x\n{of}");
        assert_eq!(patch(Some(&binary(1)), Some(&binary(2))), lines("Binary files a/x and b/x differ\n"));
        assert_eq!(patch(Some(&binary(1)), Some(&binary(1))), "");
        let large = File { content: Content::Large, ..text("x", "") };
        let shown = patch(Some(&large), Some(&text("x", "1\n")));
        assert_eq!(shown, lines("Files a/x and b/x differ: too large to show\n"));
    }

    #[test]
    fn equal_files_have_no_patch() {
        assert_eq!(patch(Some(&text("x", "1\n")), Some(&text("x", "1\n"))), "");
    }

    #[test]
    fn unusual_paths_are_written_as_git_writes_them() {
        let patch_of = |path| patch(Some(&text(path, "1\n")), Some(&text(path, "2\n")));
        assert!(patch_of("a b").contains("\n--- a/a b\t\n+++ b/a b\t\n"));
        assert!(patch_of("a\"\n\u{1}\\").contains("\n--- \"a/a\\\"\\n\\001\\\\\"\n"));
    }
}
