//! A unified diff, in colours.

use anstyle::Style;

use super::harmless::safe;
use super::style::{GONE, GOOD, PLACE, STRONG, styled};

/// The diff with its lines in colours, and without anything that a terminal would obey.
pub fn coloured(diff: &str) -> String {
    let mut in_hunk = false;
    diff.lines()
        .map(|line| {
            // Inside of a hunk every line begins with a sign, so nothing there looks like the head of a file.
            if line.starts_with("diff ") {
                in_hunk = false;
            } else if line.starts_with("@@") {
                in_hunk = true;
            }
            let shown = line.split('\t').map(safe).collect::<Vec<_>>().join("\t");
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
        Some('@') => Some(PLACE),
        Some('+') => Some(GOOD),
        Some('-') => Some(GONE),
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
    fn what_was_added_and_removed_is_told_by_colour() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-- old\n++ new\n";
        let expected = [
            shown(STRONG, "diff --git a/x b/x"),
            shown(STRONG, "--- a/x"),
            shown(STRONG, "+++ b/x"),
            shown(PLACE, "@@ -1,2 +1,2 @@"),
            " same\n".to_owned(),
            shown(GONE, "-- old"),
            shown(GOOD, "++ new"),
        ];
        assert_eq!(coloured(diff), expected.concat());
    }

    #[test]
    fn a_line_that_looks_like_the_head_of_a_file_is_a_change() {
        assert_eq!(
            coloured("diff x\n@@ -1 +1 @@\n--- a/x"),
            [shown(STRONG, "diff x"), shown(PLACE, "@@ -1 +1 @@"), shown(GONE, "--- a/x")].concat()
        );
    }

    #[test]
    fn escape_sequences_in_files_are_harmless_and_tabs_stay() {
        let shown = coloured("diff x\n@@ -1 +1 @@\n \tx\u{1b}[2J\r\n");
        assert!(shown.ends_with(" \tx\\u{1b}[2J\n"), "{shown:?}");
    }

    #[test]
    fn no_difference_is_nothing() {
        assert_eq!(coloured(""), "");
    }
}
