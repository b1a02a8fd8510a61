//! Characters that a reader is not shown as what they are.
//!
//! A terminal obeys some, a viewer of logs breaks a line at others, and some change the order of what is beside them or are not
//! seen at all. In a text that people or language models read, each of them is written as `\uXXXX`.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character does something else than to be seen.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Escapes those characters as JSON does, so that JSON means the same afterwards. Line breaks and tabs stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| is_harmful(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let escape = |mut escaped: String, c: char| {
        if is_escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a text can't fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
        escaped
    };
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), escape))
}
