//! The text output of unified diffs, in colors.

use anstyle::Style;

use super::sanitize::sanitize_for_terminal;
use super::style::{GOOD, LOCATION, REMOVED, STRONG, styled};

/// Colors the lines of a diff, and escapes control characters.
pub fn colorize(diff: &str) -> String {
    let mut in_hunk = false;
    diff.lines()
        .map(|line| {
            // In a hunk, every line starts with a sign, so `diff ` there is always the header of a file.
            if line.starts_with("diff ") {
                in_hunk = false;
            } else if line.starts_with("@@") {
                in_hunk = true;
            }
            let shown = line.split('\t').map(sanitize_for_terminal).collect::<Vec<_>>().join("\t");
            match style_of(line, in_hunk) {
                Some(style) => styled(style, &shown) + "\n",
                None => shown + "\n",
            }
        })
        .collect()
}

fn style_of(line: &str, in_hunk: bool) -> Option<Style> {
    match line.chars().next() {
        _ if !in_hunk => Some(STRONG),
        Some('@') => Some(LOCATION),
        Some('+') => Some(GOOD),
        Some('-') => Some(REMOVED),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(style: Style, text: &str) -> String {
        styled(style, text) + "\n"
    }

    #[test]
    fn added_and_removed_lines_have_colors() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-- old\n++ new\n";
        let expected = [
            shown(STRONG, "diff --git a/x b/x"),
            shown(STRONG, "--- a/x"),
            shown(STRONG, "+++ b/x"),
            shown(LOCATION, "@@ -1,2 +1,2 @@"),
            " same\n".to_owned(),
            shown(REMOVED, "-- old"),
            shown(GOOD, "++ new"),
        ];
        assert_eq!(colorize(diff), expected.concat());
    }

    #[test]
    fn a_changed_line_that_looks_like_a_file_header_is_a_change() {
        assert_eq!(
            colorize("diff x\n@@ -1 +1 @@\n--- a/x"),
            [shown(STRONG, "diff x"), shown(LOCATION, "@@ -1 +1 @@"), shown(REMOVED, "--- a/x")].concat()
        );
    }

    #[test]
    fn escape_sequences_are_escaped_and_tabs_are_kept() {
        let shown = colorize("diff x\n@@ -1 +1 @@\n \tx\u{1b}[2J\r\n");
        assert!(shown.ends_with(" \tx\\u{1b}[2J\n"), "{shown:?}");
    }

    #[test]
    fn an_empty_diff_is_empty() {
        assert_eq!(colorize(""), "");
    }
}
