//! Characters that do not display as themselves.
//!
//! Terminals execute some of them, log viewers break lines at others, and some are invisible or change the order of the
//! text around them. In text for people or language models, each of them is written as `\uXXXX`.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character does anything other than display itself.
pub fn needs_escape(c: char) -> bool {
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

/// Escapes such characters as JSON does, so that escaped JSON keeps its meaning. Line breaks and tabs are not escaped.
pub fn escape(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| needs_escape(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let escape = |mut escaped: String, c: char| {
        if is_escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
        escaped
    };
    Cow::Owned(text.chars().fold(String::with_capacity(text.len()), escape))
}
