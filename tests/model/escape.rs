//! Escaping of characters that a reader cannot see.

use sandbox_snapshotter::model::escape::escape;
use sandbox_snapshotter::model::tool::ToolText;
use serde_json::{Value, json};

#[test]
fn escape_replaces_line_separators_and_direction_marks() {
    assert_eq!(escape("one\u{2028}two\u{2029}\u{85}"), r"one\u2028two\u2029\u0085");
    assert_eq!(escape("gpj\u{202e}.exe\u{2066}"), r"gpj\u202e.exe\u2066");
    assert_eq!(escape("\u{1b}[2J\u{9b}31m\r\u{7}"), r"\u001b[2J\u009b31m\u000d\u0007");
}

#[test]
fn escape_replaces_invisible_characters() {
    for hidden in ['\u{ad}', '\u{200b}', '\u{2060}', '\u{feff}', '\u{fff9}'] {
        assert_eq!(escape(&format!("a{hidden}b")), format!("a\\u{:04x}b", u32::from(hidden)));
    }
    assert_eq!(escape("\u{e0041}"), r"\udb40\udc41");
}

#[test]
fn escape_leaves_visible_text_unchanged() {
    for text in ["two\nlines\tand a tab", "größer", "日本語 \u{1f680}", "שלום", r"a\u2028b"] {
        assert_eq!(escape(text), text);
    }
}

#[test]
fn escaped_json_has_the_same_value() {
    let value = json!({ "a\u{2028}": "\u{9b}2J\u{202e}\u{e0041}\u{7f}é\n\u{2029}" });
    let text = escape(&value.to_string()).into_owned();
    assert!(text.is_ascii() || text.contains('é'), "{text}");
    assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{202e}', '\u{9b}', '\u{7f}']), "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
}

#[test]
fn tool_text_is_escaped() {
    assert_eq!(ToolText::new("+a\u{202e}b\u{2028}c\n\td").text, "+a\\u202eb\\u2028c\n\td");
}
