//! Escaping of texts from outside, which must not control the terminal, hide characters or reorder other text.

use std::borrow::Cow;

use sandbox_snapshotter_client::model::escape::needs_escape;

/// Escapes control characters, invisible characters and characters that change the text direction.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.contains(needs_escape) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if needs_escape(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Sanitizes a text for a terminal: also isolates right-to-left text, so that it does not reorder the text around it.
pub fn sanitize_for_terminal(text: &str) -> Cow<'_, str> {
    let plain = sanitize(text);
    if plain.contains(is_right_to_left) { Cow::Owned(format!("\u{2068}{plain}\u{2069}")) } else { plain }
}

/// Sanitizes the lines of a text for a terminal. `indent` begins each line but the first, so that it can't imitate other output.
pub fn sanitize_lines(text: &str, indent: &str) -> String {
    text.trim_end().lines().map(sanitize_for_terminal).collect::<Vec<_>>().join(&format!("\n{indent}"))
}

/// Returns whether a character belongs to a right-to-left script.
fn is_right_to_left(c: char) -> bool {
    matches!(
        c,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(sanitize_for_terminal("\u{1b}[2Jgone\u{7}"), "\\u{1b}[2Jgone\\u{7}");
        assert_eq!(sanitize_for_terminal("two\nlines\r\tx"), "two\\nlines\\r\\tx");
        assert_eq!(sanitize_for_terminal("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(sanitize_for_terminal("evil\u{202e}txt.exe"), "evil\\u{202e}txt.exe");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        for hidden in ['\u{ad}', '\u{200b}', '\u{2060}', '\u{2064}', '\u{feff}', '\u{fff9}', '\u{e0041}', '\u{e007f}'] {
            let text = format!("a{hidden}b");
            assert_eq!(sanitize_for_terminal(&text), format!("a{}b", hidden.escape_unicode()));
        }
    }

    #[test]
    fn ordinary_text_stays_unchanged() {
        for text in ["before the risk", "größer", "日本語 \u{1f680}", "a\\nb"] {
            assert_eq!((sanitize_for_terminal(text), sanitize(text)), (text.into(), text.into()));
        }
    }

    #[test]
    fn right_to_left_text_is_isolated_on_a_terminal() {
        assert_eq!((sanitize_for_terminal("שלום"), sanitize("שלום")), ("\u{2068}שלום\u{2069}".into(), "שלום".into()));
    }
}
